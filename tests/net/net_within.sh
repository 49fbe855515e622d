#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets within packets (tune --inner on), and what passes although its address is banned: docs/what-passes.md has a line
# for each case of the second kind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
passes=$(realpath "$(dirname "$0")/passes.py")
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"

tunnels=(in4 in6 gre4 gre6 vlan+in4 qinq+gre6 pppoe+in6)

# within MODE ARGS...: of what comes in, by each match.
within() {
	local mode=$1 match tunnel

	setting
	for match in source destination both; do
		bloom attach edge0 --mode "$mode" --match "$match"
		bloom tune --inner off
		for tunnel in "${tunnels[@]}"; do
			send 0 -c everybody -e "$tunnel"
		done
		bloom tune --inner on
		for tunnel in plain "${tunnels[@]}"; do
			by $match 0 -e "$tunnel"
		done
		bloom detach edge0
	done
}

leave() {
	"$TRAFFIC" -q "${@:2}" "edge$1" "wire$1" >"$WORK/sent" 2>"$WORK/err" ||
		fail "traffic ${*:2} out of edge$1: $(cat "$WORK/err" "$WORK/sent")"
}

leaving() {
	local tunnel match

	setting
	bloom tune --inner on
	# shellcheck disable=SC2034 # of edges.sh
	sends=leave
	for match in destination both source; do
		bloom attach edge0 --egress --match "$match"
		for tunnel in plain "${tunnels[@]}"; do
			by $match 0 -e "$tunnel"
		done
	done
}

# It is a packet of its own to whoever looks; it counts once, by the list that holds it.
shown() {
	setting
	bloom tune --inner on
	is "$(get .inner tune)" true "the setting"
	bloom attach edge0
	"$XDP_BLOOM" -j watch --count 2 >seen &
	watching=$!
	while kill -0 "$watching" 2>/dev/null; do
		send 0 -b banned -c clean -e gre4
	done
	is "$(jq -c '[.inner,.protocol,.list]' seen | sort -u)" '[true,"udp","bad"]' "what watch says"
	is "$(jq -r 'select(.source|IN("192.0.2.7","2001:db8::7","203.0.113.0","203.0.113.255","2001:db8:99::1")|not)' seen)" "" \
		"whose it is said to be"
	is "$(get '.packets.dropped == .lists[0].packets' stats)" true "that each counts once, by its list"
}

# A ban that ends, an exception, a shadow: the same as for what is not within anything.
rules() {
	setting
	bloom tune --inner on
	bloom attach edge0
	bloom allow 192.0.2.7
	sed -i /192.0.2.7/d banned
	echo 192.0.2.7 >>clean
	send 0 -b banned -c clean -e in6
	bloom add 192.0.2.8
	sed -i /192.0.2.8/d clean
	echo 192.0.2.8 >>banned
	send 0 -b banned -c clean -e gre4
	bloom del 192.0.2.8
	bloom add 192.0.2.8 --ttl 1s
	sed -i /192.0.2.8/d banned
	echo 192.0.2.8 >short
	wait_until "its end" heard_again
	bloom rotate
	send 0 -b banned -c clean -e vlan+in4
	bloom shadow bad
	send 0 -c everybody -e in4
	bloom tune --inner off
	send 0 -c everybody -e in4
}

heard_again() {
	(
		timeout -s KILL 1 "$TRAFFIC" -c short -e gre6 wire0 edge0 >"$WORK/sent"
		exit
	) 2>/dev/null
}

# rows: of the tables, what is sent, what becomes of it, and the command behind it, with tabs between.
rows() {
	awk -F ' *[|] *' -v OFS='\t' '$3 == "passes" || $3 == "dropped" { gsub("`", "", $5); print $2, $3, $5 }' "$top/docs/what-passes.md"
}

# table MODE: each line of the page, one by one.
table() {
	local name becomes command

	need_sources
	setting
	bloom attach edge0 --mode "$1"
	rows >table
	[ "$(wc -l <table)" -gt 25 ] || fail "the page has $(wc -l <table) lines"
	while IFS=$'\t' read -r name becomes command; do
		is "$(python3 "$passes" wire0 edge0 "$name")" "$([ "$becomes" = dropped ] || echo "$name")" "what comes of: $name"
		case $command in
		tune*)
			# shellcheck disable=SC2086 # words
			bloom $command
			is "$(python3 "$passes" wire0 edge0 "$name")" "" "what comes of $name behind $command"
			# shellcheck disable=SC2086
			bloom ${command% on} off
			;;
		attach*)
			# shellcheck disable=SC2086
			bloom $command --mode "$1"
			is "$(python3 "$passes" wire0 edge0 "$name")" "" "what comes of $name behind $command"
			bloom attach edge0 --match source
			;;
		esac
	done <table
	echo "# $(wc -l <table) lines, $(grep -c ' --' table) with a command"
}

# Who is within a tunnel passed until then.
needs() {
	veth 0
	bloom attach edge0
	echo 45.50.0.2 >own
	bloom load own own
	SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22' refused "45.50.0.2, the peer of this SSH session" tune --inner on
	SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22' bloom tune --headroom 40
	SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22' bloom tune --inner on --force
	SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22' bloom tune --inner off
	SSH_CONNECTION='45.50.0.2 5000 45.50.0.1 22' bloom tune --inner on
}

run_cases "table native" "table skb" "within native" "within skb" leaving shown rules needs
