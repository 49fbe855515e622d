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
	if ip link property add dev edge0 altname nosuch0 2>/dev/null; then
		bloom rotate
		not_banned 203.0.113.7 "by one that has its name as another name"
		ip link property del dev edge0 altname nosuch0
	fi
	bloom detect proven edge0
	bloom detect proven edge0
	is "$(get .proven detect proven)" '["edge0","nosuch0"]' "what is proven"
	bloom detect proven
	is "$(cat out)" $'edge0\nnosuch0 (not there)' "what is proven"
	banned 203.0.113.7 "by one that is proven"
	bloom detect
	grep -qx 'proven    edge0, nosuch0' out || fail "detect does not say it: $(cat out)"
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

# policing: what is above a limit is dropped, of everybody.
policing() {
	veth 0
	bloom attach edge0
	bloom detect limit packets 1/s --burst $burst --then police
	bloom detect limit bytes none
	bloom detect limit udp none
	bloom detect on
}

# Each of the loud ones sends five times the limit at once.
floods() {
	awk -v n=$((burst * 5)) '{ for (i = 0; i < n; i++) print }' loud >many
	echo 198.51.100.1 >quiet
	"$TRAFFIC" -b many -c quiet wire0 edge0 >"$WORK/sent" 2>err
}

loses_nothing() {
	floods
	is "$(sent .banned.arrived)" "$(sent .banned.sent)" "$1: what arrives"
}

loses() {
	floods
	[ "$(sent .banned.arrived)" -lt $((burst * 4)) ] || fail "$1: $(sent .banned.arrived) arrive"
}

# Who is trusted tenfold loses nothing at five times the limit; the neighbour does.
trust() {
	policing
	printf '%s\n' 203.0.113.0/25 2001:db8:5:5::/64 10.7.0.0/16 >partners
	bloom detect trust
	grep -q '^nobody is trusted' out || fail "$(cat out)"
	bloom load partners partners --trust
	is "$(get .trusted detect trust)" '[{"list":"partners","times":10,"prefixes":3}]' "whom it trusts"
	is "$(get '.[] | .kind + " \(.times)"' lists)" "trust 10" "what lists says"
	bloom lists partners
	grep -q '^list  *partners (trust)' out || fail "$(cat out)"
	bloom stats
	! grep -q partners out || fail "it counts: $(cat out)"
	echo 203.0.113.7 >loud
	loses_nothing "one that is trusted"
	echo 2001:db8:5:5::7 >loud
	loses_nothing "one of IPv6 that is trusted"
	# What a ban list would leave out: private addresses.
	echo 10.7.0.1 >loud
	loses_nothing "a private one that is trusted"
	echo 203.0.113.200 >loud
	loses "its neighbour"
	# Neither banned nor allowed by it.
	expect 1 "$XDP_BLOOM" test 203.0.113.7
	grep -q '^203.0.113.7: pass' out || fail "$(cat out)"
	grep -q '^  trusted by the detector, as in partners: 203.0.113.0/25 (partners:1)' out || fail "$(cat out)"
	bloom add 203.0.113.9
	expect 0 "$XDP_BLOOM" test 203.0.113.9
	bloom del 203.0.113.9
	bloom detect
	grep -qx 'trusted   partners x10' out || fail "detect does not say it: $(cat out)"
	is "$(get '.trusted[].times, .proven, .ladder[0]' detect)" $'10\n[]\n60' "what detect says"
	# Twice is less than five times; none is as all.
	bloom detect trust partners x2
	echo 203.0.113.11 >loud
	loses "one that is trusted twofold"
	bloom detect trust partners x1000
	echo 203.0.113.12 >loud
	loses_nothing "one that is trusted a thousandfold"
	# Loaded again it keeps what was said.
	printf '%s\n' 203.0.113.64/26 >partners
	bloom load partners partners --big-change
	is "$(get .trusted detect trust)" '[{"list":"partners","times":1000,"prefixes":1}]' "whom it trusts when it is read again"
	echo 203.0.113.13 >loud
	loses "one that is in it no longer"
	bloom detect trust partners none
	bloom detect trust
	grep -qE '^partners +none +1 prefixes$' out || fail "$(cat out)"
	echo 203.0.113.70 >loud
	loses "one of a list that trusts nobody"
	bloom detect trust partners x10
	echo 203.0.113.71 >loud
	bloom rotate
	loses_nothing "trusted again"
	bloom unload partners
	echo 203.0.113.72 >loud
	loses "one of a list that is gone"
	bloom load partners partners --shadow
	is "$(get '.[].kind' lists)" shadow "the kind of another list of its name"
}

# An allow list comes first, whichever has the longer prefix; and of two trust lists the more generous one.
trust_and_allow() {
	policing
	echo 203.0.113.7 >one
	echo 203.0.113.0/24 >all
	bloom load one one --trust
	bloom load all all --allow
	bloom detect trust one x2
	echo 203.0.113.7 >loud
	loses_nothing "trusted within an allowed network"
	bloom unload all
	bloom load all all --trust
	echo 203.0.113.8 >loud
	loses_nothing "of the network"
	echo 203.0.113.7 >loud
	loses_nothing "of both, by the wider one"
	bloom detect trust one x10
	bloom detect trust all x2
	loses_nothing "of both, by the narrower one"
	echo 203.0.113.10 >loud
	loses "of the wider one alone"
	echo 203.0.113.7 >loud
	bloom detect trust all none
	bloom unload one
	bloom load one one --allow
	bloom detect trust all x2
	loses_nothing "allowed within a trusted network"
	echo 203.0.113.9 >loud
	loses "beside it"
}

went_back() {
	# It is refused while that goes back just now.
	"$XDP_BLOOM" rotate 2>/dev/null || return 1
	! "$XDP_BLOOM" lists later &>/dev/null
}

refuses_trust() {
	echo 203.0.113.0/24 >list
	bloom load list list
	bloom load partners list --trust
	refused "'list' is of another kind (ban)" detect trust list x10
	refused "there is no list 'partner'" detect trust partner x10
	for times in x1 x0 x1001 10 x x10k -3; do
		refused "x2 to x1000, or none" detect trust partners -- "$times"
	done
	refused "x2 to x1000, or none" detect trust partners
	refused "'partners' is a trust list" enforce partners
	refused "'partners' is a trust list" shadow partners
	refused "'partners' is a trust list" load partners list --allow
	refused "'list' is a ban list" load list list --trust
	refused "does not go together with --allow" load other list --allow --trust
	refused "and a trust list bans nobody" load partners list --ban-own
	is "$(get '[.[].kind]' lists)" '["ban","trust"]' "the kinds"
	# Taken back, a new one leaves nothing behind.
	bloom load later list --trust --confirm 1s
	wait_until "it goes back" went_back
	bloom load later list --shadow
	is "$(get '.[] | select(.name == "later").kind' lists)" shadow "the kind of another one of its name"
}

run_cases ladder proven proven_later needed trust trust_and_allow refuses_trust
