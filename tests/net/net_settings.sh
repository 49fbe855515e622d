#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the operator says to the detector beside its limits, with real packets: how long it bans, whom he trusts, and which
# interface's sources are proven.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready and stop have arguments of their own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# As in net_detect.sh: the clock cannot spoil them.
burst=100

# flood: 300 packets of each of the loud ones.
flood() {
	awk '{ for (i = 0; i < 300; i++) print }' loud >many
	echo 198.51.100.1 >quiet
	"$TRAFFIC" -b many -c quiet wire0 edge0 >"$WORK/sent" 2>err
	is "$(sent .clean.lost)" 0 "what those lost who keep the limit: $(cat err)"
}

# Of a source that is banned nothing is judged, nor counted as its.
judged() {
	get "[.suspects[] | select(.source == \"$1\").packets] | add" detect
}

banned() {
	local before

	flood
	before=$(judged "$1")
	flood
	is "$(sent .banned.arrived)" 0 "$2: what arrives"
	is "$(judged "$1")" "$before" "$2: what is judged"
}

not_banned() {
	local before

	flood
	before=$(judged "$1")
	flood
	[ "$(judged "$1")" -gt "$before" ] || fail "$2: nothing is judged"
}

# Shown, kept, and no event where it is only shown.
ladder() {
	is "$(get .ladder detect ladder)" '[60,600,3600,86400,604800]' "the ladder by default"
	bloom detect ladder 30s,10m,1d
	is "$(get .ladder detect ladder)" '[30,600,86400]' "the ladder"
	bloom detect ladder
	is "$(cat out)" 30s,10m,1d "the ladder"
	bloom detect attacks
	is "$("$XDP_BLOOM" -j events | jq -s length)" 1 "events of what is only shown"
	refused "10s to 365d, as in 1m,10m,1h,1d,7d; not '9s'" detect ladder 9s,1m
	refused "not '366d'" detect ladder 366d
	refused "not ''" detect ladder 1m,
	refused "each step of the ladder is longer than the one before it; '1m' is not" detect ladder 1m,1m
	refused "a ladder has 8 steps at most" detect ladder 1m,2m,3m,4m,5m,6m,7m,8m,9m
	refused "its steps are one word" detect ladder 1m, 2m
	refused "--then belongs to limit" detect ladder 1m --then police
	is "$(get .ladder detect ladder)" '[30,600,86400]' "the ladder that was kept"
	# Who has none of it in force builds nothing; with a detector a new first step is a new generation.
	veth 0
	bloom attach edge0
	local before
	before=$(get .generation status)
	bloom detect ladder 40s,10m
	is "$(get .generation status)" "$before" "the generation where the detector is off"
	bloom detect on
	before=$(get .generation status)
	bloom detect ladder 40s,20m
	is "$(get .generation status)" "$before" "the generation with the first step as it was"
	bloom detect ladder 50s,20m
	is "$(get .generation status)" $((before + 1)) "the generation with another first step"
}

# Whose source is proven by nothing is policed; who comes by an interface that is proven is banned, there and nowhere else.
proven() {
	veth 0
	bloom attach edge0
	bloom detect limit packets 1/s --burst $burst --then ban
	is "$(get .limits.packets.then detect)" ban "what the class does"
	bloom detect
	grep -q 'packets 1/s (banned)' out || fail "$(cat out)"
	bloom detect limit bytes none
	bloom detect limit udp none
	bloom detect proven
	grep -q '^no interface is proven' out || fail "$(cat out)"
	bloom detect on
	printf '203.0.113.%d\n' 7 >loud
	not_banned 203.0.113.7 "without proof"
	bloom detect proven nosuch0
	one_line "there is no interface 'nosuch0'"
	not_banned 203.0.113.7 "by another interface"
	bloom detect proven edge0
	bloom detect proven edge0
	is "$(get .proven detect proven)" '["edge0","nosuch0"]' "what is proven"
	bloom detect proven
	is "$(cat out)" $'edge0\nnosuch0 (not there)' "what is proven"
	banned 203.0.113.7 "by one that is proven"
	bloom rotate
	echo 2001:db8:5:5::7 >loud
	banned 2001:db8:5:5::/64 "after a rotation"
	bloom detect proven edge0 off
	bloom detect proven nosuch0 off
	echo 203.0.113.8 >loud
	not_banned 203.0.113.8 "no longer"
	is "$(get .proven detect proven)" '[]' "what is proven"
	refused "'edge0' is not proven" detect proven edge0 off
	refused "one at a time" detect proven edge0 edge1
	refused "'a/b' can be no interface's name" detect proven a/b
	refused "--burst belongs to limit" detect proven edge0 --burst 7
}

# One that comes later has another number: the service looks.
proven_later() {
	veth 0
	bloom detect limit packets 1/s --burst $burst --then ban
	bloom detect proven edge0
	bloom detect on
	echo attach edge0 >conf
	ready
	ip link del edge0
	veth 0
	heard "$log" "rotate: done"
	without_program edge0 && restored
	echo 203.0.113.7 >loud
	banned 203.0.113.7 "by one that came back"
	stop
}

# A gateway in use and its neighbour, the same flood: one is banned.
needed() {
	veth 0
	ip addr add 203.0.113.1/24 dev edge0
	sysctl -qw net.ipv6.conf.edge0.disable_ipv6=0
	ip -6 addr add 2001:db8:6::1/64 dev edge0 nodad
	ip route add 192.0.2.0/24 via 203.0.113.7
	ip -6 route add 2001:db8:99::/64 via 2001:db8:6::7
	bloom attach edge0
	bloom detect limit packets 1/s --burst $burst --then ban
	bloom detect limit bytes none
	bloom detect limit udp none
	bloom detect proven edge0
	bloom detect on
	local source
	for source in 203.0.113.7 2001:db8:6::7; do
		echo $source >loud
		case $source in *:*) source=2001:db8:6::/64 ;; esac
		not_banned $source "what this machine needs"
		[ "$(sent .banned.arrived)" -le 10 ] || fail "$source is not policed: $(sent .banned.arrived) arrive"
	done
	echo 203.0.113.8 >loud
	banned 203.0.113.8 "its neighbour"
	echo 2001:db8:7::7 >loud
	banned 2001:db8:7::/64 "another network"
	is "$(get .banned detect)" "$(get '[.suspects[] | select(.source == "203.0.113.8" or .source == "2001:db8:7::/64").dropped] | add' detect)" \
		"packets of the banned"
}

run_cases ladder proven proven_later needed
