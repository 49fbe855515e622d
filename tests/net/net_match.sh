#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Destinations: interfaces where they are asked about, alone or as well, beside others where they are not.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

# every MATCH MODE: each kind of frame, and what is counted.
every() {
	local tags frames=0 dropped=0 counted

	setting
	bloom attach edge0 --match "$1" --mode "$2"
	is "$(get '.interfaces[]|[.name,.match,.mode]' show)" "[\"edge0\",\"$1\",\"$2\"]" "what show says"
	for tags in plain vlan qinq pppoe qinq+pppoe vlan+vlan+vlan; do
		by "$1" 0 -e "$tags"
		frames=$((frames + 22))
		dropped=$((dropped + ($(counted_twice "$1") * 5)))
	done
	counted=$(get '[.packets.passed,.packets.dropped,.lists[0].packets]' stats)
	is "$counted" "[$((frames - dropped)),$dropped,$dropped]" "what is counted"
}

counted_twice() {
	[ "$1" = both ] && echo 2 || echo 1
}

# What is added and taken out, lists and a rotation reach all of them; so do live bans with an end.
together() {
	setting
	veth 2
	bloom attach edge0
	bloom attach edge1 --match destination
	bloom attach edge2 --match both
	all_filter
	bloom rotate
	all_filter
	bloom add 192.0.2.6 --ttl 1h
	grep -v '^192.0.2.6$' clean >rest
	echo 192.0.2.6 >>banned
	mv rest clean
	all_filter
	bloom del 192.0.2.6
	echo 192.0.2.6 >>clean
	sed -i /192.0.2.6/d banned
	all_filter
	bloom unload bad
	send 1 -d -c everybody
	send 2 -c everybody
}

all_filter() {
	by source 0
	by destination 1
	by both 2
}

# An end of a ban that both addresses have, or one of them.
ends() {
	setting
	bloom attach edge0 --match both
	bloom attach edge1 --match destination
	bloom add 192.0.2.6 --ttl 1s
	echo 192.0.2.6 >short
	echo 192.0.2.8 >other
	wait_until "its end" passes_now
	send 0 -c short
	send 0 -d -c short
	send 1 -d -c short
	by both 0
}

# What is lost is waited for much longer.
passes_now() {
	within 1 -d -c short
}

# Its shell would say "Killed", so that is another's.
within() {
	(
		timeout -s KILL "$1" "$TRAFFIC" "${@:2}" wire0 edge0 >"$WORK/sent"
		exit
	) 2>/dev/null
}

# Only what is in use is there: a slot and a program of each match.
only_what_is_used() {
	setting
	bloom attach edge0
	is "$(pins)" "" "pins of sources alone"
	bloom attach edge1 --match destination
	is "$(pins)" "generation/program_to generation/slot_to root_to slot_to" "pins of destinations"
	bloom rotate
	is "$(pins)" "generation/program_to generation/slot_to root_to slot_to" "pins after a rotation"
	bloom detach edge1
	bloom rotate
	is "$(pins)" "" "pins when it is not used any more"
	bloom attach edge1 --match both
	is "$(pins)" "generation/program_both generation/slot_both root_both slot_both" "pins of both"
	by both 1
	by source 0
}

pins() {
	(cd "$bpffs" && find . -name '*_to' -o -name '*_both' | sed 's|^./||; s|/[0-9]*/|/|' | sort | paste -sd' ')
}

on_trial() {
	setting
	bloom attach edge0 --match destination --confirm 3s
	wait_until "that it is taken back" xdp_is_gone
	bloom attach edge0 --match destination --confirm 1h
	by destination 0
	bloom confirm
	by destination 0
	bloom load bad clean --force --confirm 3s
	send 0 -d -b clean -c banned
	wait_until "the list before" by_destination_now
	by destination 0
	bloom load bad clean --force --confirm 1h
	refused "on trial" attach edge1 --match both
	send 0 -d -b clean -c banned
	# A slot that is made anew has what is on trial, too.
	rm "$bpffs"/slot_to "$bpffs"/generation/*/slot_to "$bpffs"/root_to
	bloom restore
	is "$(in_slot_to)" xdp_bloom_trial "the program in the new slot"
	bloom confirm
	is "$(in_slot_to)" xdp_bloom_gen "the program in the slot"
	send 0 -d -b clean -c banned
	is "$(find "$bpffs" -name 'trial_to' -o -name 'before_to')" "" "pins of a trial"
}

xdp_is_gone() {
	[ "$(xdp_id edge0)" = none ]
}

in_slot_to() {
	local id

	id=$(bpftool -j map dump pinned "$bpffs/slot_to" | python3 -c '
import json, sys
print(int.from_bytes((int(byte, 16) for byte in json.load(sys.stdin)[0]["value"]), "little"))')
	bpftool -j prog show id "$id" | jq -r .name
}

by_destination_now() {
	within 2 -d -b banned -c clean
}

# By attach again, one into the other: under packets, none that both of them drop passes, and none that both pass is lost.
in_place() {
	local match

	setting
	bloom attach edge0
	for match in destination both source both destination source; do
		bloom attach edge0 --match "$match"
		by "$match" 0
		is "$(get '[.interfaces[]|[.name,.match]]' show)" "[[\"edge0\",\"$match\"]]" "what show says"
	done
	is "$(ls "$bpffs/links")" edge0 "pins"
	bloom attach edge0 --if-needed --match both
	bloom rotate
	by both 0
	rm -r "${bpffs:?}"/*
	bloom restore
	by both 0
	bloom tune --headroom 30 --confirm 1h
	refused "on trial" attach edge1 edge0 --match destination
	is "$(xdp_id edge1)" none "the program on edge1"
	by both 0
}

# changes HOW: beside a service, which has nothing to mend.
changes() {
	local -a change=(source both) how=(-b banned -c clean)
	local i n=${MATCH_CHANGES:-40}

	[ "$1" = sources ] || { change=(both destination) && how=(-d "${how[@]}"); }
	setting
	printf 'load bad %s/list\nattach edge0 --match %s\n' "$WORK" "${change[0]}" >conf
	ready
	flow 0 "${how[@]}"
	for ((i = 1; i <= n; i++)); do
		bloom attach edge0 --match "${change[i % 2]}"
		((i % 7)) || bloom rotate
	done
	stop_flow 0
	[ "$(sent .banned.sent)" -gt "$n" ] || fail "few packets: $(cat sent)"
	stop TERM
	cat <&"$log" >logged
	! grep -E 'made again|other addresses' logged || fail "the service took a change for a fault"
	is "$(find "$bpffs/links" -type f | wc -l)" 1 "pins"
}

# killed_while MATCH: when the pin has its new name, and the link no new root. The next command, of whatever kind, leaves it as it
# was or as it was to be: what is shown is what is done, and what the state has.
killed_while() {
	local as from

	need strace
	setting
	for from in both source destination; do
		[ "$from" != "$1" ] || continue
		bloom attach edge0 --match "$from" --if-needed
		stopped_under calls -D -e trace=/rename -e inject=/rename:signal=STOP:when=1 "$XDP_BLOOM" attach edge0 --match "$1" >out 2>err
		kill -KILL $!
		end_of $! && fail "it ended before it was killed"
		grep -q "links/edge0" calls || fail "it was killed elsewhere: $(cat calls)"
		bloom add 198.18.0.1 && bloom del 198.18.0.1
		as=$(get '.interfaces[].match' show)
		by "$as" 0
		bloom restore
		is "$(get '.interfaces[].match' show)" "$as" "what it is asked about once it is restored"
	done
}

# Killed between the name of the pin and the link: the service turns it, and without one the next command.
halfway() {
	setting
	bloom attach edge1 --match both
	bloom attach edge0 --match destination
	mv "$bpffs/links/edge0%to" "$bpffs/links/edge0"
	bloom add 198.51.100.9
	by destination 0
	bloom attach edge0 --match source
	printf 'load bad %s/list\nattach edge0 --match source\nattach edge1 --match both\n' "$WORK" >conf
	ready
	mv "$bpffs/links/edge0" "$bpffs/links/edge0%or"
	wait_until "that the service turns it" judged_by_both
	by both 0
	stop TERM
}

judged_by_both() {
	within 1 -b banned -c clean && within 1 -d -b banned -c clean
}

# The state has it: after a reboot, by the config file, by the service.
comes_back() {
	setting
	bloom attach edge0 --match destination
	bloom attach edge1 --match both
	rm -r "${bpffs:?}"/*
	bloom restore
	by destination 0
	by both 1
	rm "$bpffs/slot_to" "$bpffs"/generation/*/slot_to
	bloom rotate
	by destination 0
	rm "$bpffs/root_both"
	bloom rotate
	by both 1
	bloom detach edge0
	bloom attach edge0
	is "$(get '.interfaces[0].match' show)" source "its match now"
	by source 0
}

# Who watches is told which address it was, and who is banned is counted as who is.
seen() {
	setting
	bloom attach edge0 --match both
	watch_two
	echo 192.0.2.7 >banned
	send 0 -b banned -c clean
	wait_until "its sample" test -s seen
	send 0 -d -b banned -c clean
	end_of "$watching" || fail "watch ended with $?"
	is "$(jq -sc '[.[]|[.match,.source,.destination]]' seen)" \
		'[["source","192.0.2.7","198.51.100.1"],["destination","198.51.100.1","192.0.2.7"]]' "what watch says"
}

# Whoever inside sent to what is banned has a table of its own: it is not who is banned.
inside() {
	setting
	printf 'load bad %s/list\nattach edge0 --match both\nattach edge1 --match destination\n' "$WORK" >conf
	ready
	send 0 -b banned -c clean
	wait_until "who is banned" reports '.sources|length' 5
	is "$(get '.inside|length' report)" 0 "hosts inside that only received"
	send 1 -d -b banned -c clean
	wait_until "who sent" reports '[.inside[].name]|sort' '["198.51.100.1","2001:db8::1"]'
	is "$(get '[.sources[].name]|sort' report)" "$(jq -Rsc 'split("\n")[:-1]|sort' banned)" "who is banned"
	bloom report
	is "$(grep -c '^inside' out)" 1 "the table's name in the text"
	stop TERM
}

# reports FILTER WHAT
reports() {
	[ "$(get "$1" report --last hour)" = "$2" ]
}

heals() {
	local pin number

	setting
	printf 'load bad %s/list\nattach edge0 --match destination\n' "$WORK" >conf
	ready
	by destination 0
	for pin in root_to slot_to links/edge0%to; do
		rm "$bpffs/$pin"
		wait_until "$pin" test -e "$bpffs/$pin"
		by destination 0
	done
	# What another command puts into its place is what is held from then on.
	bloom rotate
	number=$(get .generation show)
	rm "$bpffs/root_to"
	wait_until "root_to" test -e "$bpffs/root_to"
	is "$(get .generation show)" "$number" "the generation after it was healed"
	by destination 0
	bpftool map delete pinned "$bpffs/slot_to" key 0 0 0 0 || fail "no slot"
	wait_until "that it filters" by_destination_now
	rm -r "${bpffs:?}"/*
	wait_until "all of them" test -e "$bpffs/links/edge0%to"
	wait_until "that it filters" by_destination_now
	stop TERM
	by destination 0
}

refuses() {
	setting
	refused "--match is source, destination or both, not 'dest'" attach edge0 --match dest
	refused "only sources can be asked about: leave out --match" attach edge0 --match destination --shared
	refused "the filter is attached there already" attach edge0 edge0 --match both
	is "$(xdp_id edge0)" none "the program on edge0"
	bloom add 198.51.100.9
	ip addr add 198.51.100.9/24 dev edge0
	refused "bans 198.51.100.9" attach edge0 --match destination
	bloom attach edge0 --match destination --force
}

cases=()
for match in destination both; do
	for mode in native skb; do
		cases+=("every $match $mode")
	done
done
# Without these no neighbour finds this machine, and nobody else hears what is meant for all.
groups() {
	local solicited="ff02::1:ff00:77, a multicast group of this machine (interface edge0)" all

	veth 0
	sysctl -qw net.ipv6.conf.edge0.disable_ipv6=0
	ip addr add 2001:db8::77/64 dev edge0 nodad
	ip addr add 10.9.8.7/24 brd 10.9.8.255 dev edge0
	bloom attach edge0
	# Of sources they are none.
	bloom add ff02::1:ff00:77
	refused "$solicited" attach edge0 --match destination
	bloom del ff02::1:ff00:77
	bloom attach edge0 --match both
	refused "$solicited" add ff02::1:ff00:77
	for all in 255.255.255.255 10.9.8.255 224.0.0.1 ff02::1; do
		refused "$all, a " add $all
	done
	bloom fleet accept edge-7
	printf '%s\n' '@edge-7 +ff02::1:ff00:77 1h' '@edge-7 +192.0.2.9 1h' >lines
	! "$XDP_BLOOM" follow - <lines >out 2>&1 || fail "a member's word of a group is taken"
	grep -q "ff02::1:ff00:77 stands for no single host" out || fail "a group: $(cat out)"
	verdicts ff02::1:ff00:77=pass 192.0.2.9=drop
	bloom add 239.1.2.3 ff02::1:ff00:78
	bloom add ff02::1:ff00:77 --force
	bloom detach edge0
	bloom attach edge0 --egress --match both
	bloom add 224.0.0.1
}

run_cases "${cases[@]}" together ends only_what_is_used on_trial in_place "changes sources" "changes destinations" "killed_while destination" "killed_while both" halfway comes_back seen inside heals refuses groups
