#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the detector drops, with real packets: what is above a limit that is policed, counted and shown as that, of nobody
# else, and nothing of who is allowed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
first=$(realpath "$(dirname "$0")/first.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# As in net_detect.sh: the clock cannot spoil them.
burst=100

policing() {
	veth 0
	printf '198.51.100.%d\n' {1..40} >quiet
	printf '2001:db8:0:%x::1\n' {1..20} >>quiet
	printf '%s\n' 203.0.113.7 2001:db8:5:5::7 >loud
	bloom attach edge0
	bloom detect limit packets 1/s --burst $burst --then police
	bloom detect limit bytes none
	bloom detect limit udp none
	bloom detect on
}

# dropped: by the detector, as counters say.
dropped() {
	get '[.stages[] | select(.stage == "detector").packets] | add' stats
}

# flood: 300 packets of each of the loud ones, and one of each of the others, which arrives. What the loud ones lost is
# added to $lost.
lost=0
flood() {
	awk '{ for (i = 0; i < 300; i++) print }' loud >many
	"$TRAFFIC" -b many -c quiet wire0 edge0 >"$WORK/sent" 2>err
	is "$(sent .clean.lost)" 0 "what those lost who keep the limit: $(cat err)"
	lost=$((lost + $(sent .banned.sent) - $(sent .banned.arrived)))
}

# held_back: they are above the limit for long, and of a flood hardly anything arrives: a packet a second.
held_back() {
	flood
	local since=$SECONDS
	flood
	[ "$(sent .banned.arrived)" -le $((2 * (SECONDS - since + 2))) ] ||
		fail "$1: $(sent .banned.arrived) of a flood arrive"
}

not_held_back() {
	flood
	is "$(sent .banned.arrived)" "$(sent .banned.sent)" "$1: what arrives"
}

only_the_loud() {
	policing
	is "$(dropped)" 0 "what is dropped before a packet came"
	held_back "a limit that is policed"
	is "$(dropped)" "$lost" "what was dropped"
	is "$(get '.packets.dropped' stats)" "$lost" "what was dropped in all"
	is "$(get '[.suspects[].dropped] | add' detect)" "$lost" "what the suspects lost"
	is "$(get '.dropped' detect)" "$lost" "what the detector says that it dropped"
	is "$(get '[.suspects[] | select(.dropped > 0).source] | sort | join(" ")' detect)" \
		"2001:db8:5:5::/64 203.0.113.7" "who lost packets"
	# Each drop is explained.
	"$XDP_BLOOM" metrics | grep -q "^xdp_bloom_packets_total{interface=\"edge0\",verdict=\"dropped\",stage=\"detector\"} $lost\$" ||
		fail "metrics do not have it: $("$XDP_BLOOM" metrics | grep detector)"
	"$XDP_BLOOM" stats >out
	grep -Eq "^ +detector +$lost packets" out || fail "stats does not have it: $(cat out)"
	"$XDP_BLOOM" detect >out
	grep -q "^dropped   $lost packets" out || fail "detect does not say it: $(cat out)"
	grep -q '^203\.0\.113\.7 .*dropped)' out || fail "detect does not say of whom: $(cat out)"
	expect 1 "$XDP_BLOOM" test 203.0.113.7 198.51.100.1
	grep -q '^  the detector: above the limit of packets (.* dropped)' out || fail "test does not say it: $(cat out)"
	is "$(grep -c 'the detector' out)" 1 "of how many test says it"
	is "$("$XDP_BLOOM" -j test 203.0.113.7 198.51.100.1 | jq -c '[.[].detector.above.packets > 0]')" '[true,false]' "what test says"
	is "$(get '.detector.dropped' status)" "$lost" "what status says"
	# What was counted for an interface is not lost with it.
	bloom detach edge0
	is "$(get '.packets.dropped' stats)" "$lost" "what was dropped in all, without the interface"
}

# A sample of it says who dropped it.
samples() {
	policing
	"$XDP_BLOOM" -j watch --count 3 >watched 2>watch.err &
	local watcher=$!
	while kill -0 $watcher 2>/dev/null; do flood; done
	wait $watcher || fail "watch: $(cat watch.err)"
	is "$(jq -r '.verdict + " " + .stage + " " + (.list | tostring)' watched | sort -u)" "dropped detector null" "what samples say"
	is "$(jq -r .source watched | sort -u | grep -vc '^203.0.113.7$\|^2001:db8:5:5::7$')" 0 "others who were sampled"
}

# Allowed addresses lose nothing, from the moment that the command returns; and lose again when they are not allowed.
allowed() {
	policing
	held_back "before"
	bloom allow 203.0.113.0/24 2001:db8:5:5::7
	not_held_back "allowed addresses"
	echo 2001:db8:5:5::8 >neighbour
	bloom disallow 203.0.113.0/24 2001:db8:5:5::7
	held_back "disallowed"
	echo 203.0.113.0/24 >partners
	echo 2001:db8::/32 >>partners
	bloom load partners partners --allow
	not_held_back "an allow list"
	bloom unload partners
	held_back "without it"
	is "$(dropped)" "$lost" "what was dropped"
}

# What a class does is changed without what is known being lost.
then_what() {
	policing
	bloom detect limit packets --then watch
	is "$(get .limits.packets.then detect)" watch "what the class does"
	not_held_back "only watched"
	is "$(dropped)" 0 "what is dropped where nothing is policed"
	bloom detect limit packets --then police
	is "$(get '.limits.packets | "\(.rate | floor) \(.burst | floor) \(.then)"' detect)" "1 $burst police" "what was set before"
	held_back "policed"
	bloom rotate
	local since=$SECONDS
	flood
	[ "$(sent .banned.arrived)" -le $((2 * (SECONDS - since + 4))) ] || fail "a rotation forgets them"
	bloom detect limit packets 1/s --burst $burst
	is "$(get .limits.packets.then detect)" police "what the class does when only its rate is said"
	is "$(dropped)" "$lost" "what was dropped"
	bloom detect off
	not_held_back "off"
	is "$(dropped)" "$lost" "what was dropped by a detector that is off"
	refused "'drop' is not watch, police or ban" detect limit syn 1/s --then drop
	refused "--then belongs to limit" detect on --then police
	refused "limit takes a class and a rate" detect limit syn
}

# arrives N: of 300 packets of the loud one that come in by edgeN.
arrives() {
	awk '{ for (i = 0; i < 300; i++) print }' loud >many
	"$TRAFFIC" -b many -c quiet "wire$1" "edge$1" >"$WORK/sent" 2>err
	sent .banned.arrived
}

# Two interfaces, and one has a limit of its own: it holds for what comes in there, and nothing else does.
by_interface() {
	policing
	veth 1
	bloom attach edge1
	echo 203.0.113.7 >loud
	echo 198.51.100.1 >quiet
	bloom detect limit packets 1/s --burst 1000 --on edge1
	is "$(get '.interfaces | map_values(.limits |= map_values("\(.rate | floor) \(.burst | floor) \(.then)"))' detect | jq -c .)" \
		'{"edge1":{"there":true,"limits":{"packets":"1 1000 police"}}}' "what detect says"
	is "$(arrives 1)" 300 "what arrives by an interface with a higher limit"
	[ "$(arrives 0)" -lt 200 ] || fail "by the other one $(sent .banned.arrived) arrive"
	is "$(arrives 1)" 300 "what arrives there, whatever the other one was sent"
	bloom rotate
	is "$(arrives 1)" 300 "what arrives there after a rotation"
	[ "$(arrives 1)" -lt 250 ] || fail "by its own limit $(sent .banned.arrived) arrive"
	[ "$(arrives 1)" -lt 50 ] || fail "by its own limit $(sent .banned.arrived) arrive"
	is "$(get '[.suspects[] | select(.source == "203.0.113.7") | .interface // "general"] | sort | join(" ")' detect)" \
		"edge1 general" "by what the source is judged"
	bloom detect
	grep -q '^on edge1  packets 1/s (policed)$' out || fail "$(cat out)"
	grep -q '^203\.0\.113\.7 .*; on edge1; ' out || fail "$(cat out)"
	# Its own verdict, and the general one again; neither forgets anybody.
	bloom detect limit packets --then watch --on edge1
	is "$(arrives 1)" 300 "what arrives where the interface only watches"
	[ "$(arrives 0)" -lt 50 ] || fail "by the other one $(sent .banned.arrived) arrive"
	bloom tune --headroom 60 --confirm 10m
	[ "$(arrives 0)" -lt 50 ] || fail "on trial by the other one $(sent .banned.arrived) arrive"
	is "$(arrives 1)" 300 "what arrives on trial where the interface only watches"
	bloom confirm
	bloom detach edge1
	bloom attach edge1
	is "$(arrives 1)" 300 "what arrives where it was attached again"
	bloom detect limit packets none --on edge1
	is "$(get .interfaces detect)" "{}" "who has a limit of its own"
	arrives 1 >/dev/null
	[ "$(arrives 1)" -lt 50 ] || fail "by the general limit $(sent .banned.arrived) arrive"
	refused "packets has no limit of its own on edge1, so the general one holds" detect limit packets none --on edge1
	refused "syn has no limit of its own on edge1; give a rate, too" detect limit syn --then police --on edge1
	refused "none has no --then" detect limit syn none --then ban
	refused "none has no --burst" detect limit syn none --burst 5
	refused "--on belongs to limit" detect on --on edge1
	refused "'a b' can be no interface's name" detect limit syn 5/s --on 'a b'
	"$XDP_BLOOM" detect limit syn 5/s --on later0 2>err || fail "an interface that is to come is refused: $(cat err)"
	grep -q "there is no interface 'later0'" err || fail "$(cat err)"
	bloom detect
	grep -q '^on later0 syn 5/s (not there)$' out || fail "$(cat out)"
	# Of limits that it has no more, the service takes none up.
	bloom detect limit syn none --on later0
	is "$(cat err)" "" "what is said where none are left"
	is "$(get .interfaces detect)" "{}" "who has a limit of its own then"
}

# held N LESS: so little of a flood by edgeN arrives.
held() {
	[ "$(arrives "$1")" -lt "$2" ]
}

# slots_held: of the interfaces that have limits of their own.
slots_held() {
	bpftool -j map dump pinned "$(echo "$XDP_BLOOM_BPFFS"/generation/*/slot_of)" | jq -c '[.[] | (.formatted // .).key]'
}

slots_held_are() {
	[ "$(slots_held | jq "$1")" = true ]
}

# The service follows names in the generation in force: of an interface that goes, of one that is renamed, and of
# another one that comes with a number that was in use.
follows_names() {
	need bpftool
	policing
	echo 203.0.113.7 >loud
	echo 198.51.100.1 >quiet
	bloom detect limit packets 1/s --burst 3600 --on later0
	printf 'attach edge0\n' >conf
	ready
	local generation
	generation=$(get .generation show)
	arrives 0 >/dev/null
	wait_until "that the general limit holds" held 0 50
	# The name comes: to the interface that is attached.
	ip link set edge0 down
	ip link set edge0 name later0
	ip link set later0 up
	wait_until "its number" slots_held_are 'length == 1'
	local number
	number=$(slots_held)
	# It goes, and another one has its number.
	ip link set later0 down
	ip link set later0 name edge0
	ip link set edge0 up
	wait_until "that it is forgotten" slots_held_are 'length == 0'
	ip link add later0 type veth peer name wire9
	wait_until "another number" slots_held_are 'length == 1'
	[ "$(slots_held)" != "$number" ] || fail "the number is still that of edge0"
	ip link del later0
	wait_until "that one that is gone is forgotten" slots_held_are 'length == 0'
	is "$(get .generation show)" "$generation" "the generation in force"
	stop TERM
}

# owned ADDRESS: does the detector in force know it as this machine's own (END_KEY_OWN + 4)?
owned() {
	bpftool -j map dump pinned "$(echo "$XDP_BLOOM_BPFFS"/generation/*/trusted)" | python3 -c '
import ipaddress, json, struct, sys

rows = [bytes(int(byte, 0) for byte in row["key"]) for row in json.load(sys.stdin)]
own = [key[8:12] for key in rows if struct.unpack("=I", key[4:8])[0] == 260]
sys.exit(ipaddress.ip_address(sys.argv[1]).packed not in own)' "$1"
}

disowned() {
	! owned "$1"
}

# What is unanswered is known by this machine's addresses: by those that come and go while the generation is in force.
follows_addresses() {
	need bpftool
	policing
	ip addr add 203.0.113.1/24 dev edge0
	bloom detect limit unanswered 100/s
	printf 'attach edge0\n' >conf
	owned 203.0.113.1 || fail "an address that was there when the generation was made"
	ready
	local generation
	generation=$(get .generation show)
	ip addr add 203.0.113.2/24 dev edge0
	wait_until "that an address is known that has come" owned 203.0.113.2
	ip addr del 203.0.113.2/24 dev edge0
	wait_until "that an address is forgotten that has gone" disowned 203.0.113.2
	owned 203.0.113.1 || fail "another one is forgotten with it"
	is "$(get .generation show)" "$generation" "the generation in force"
	stop TERM
}

# By a program on trial, too.
on_trial() {
	policing
	bloom tune --headroom 60 --confirm 10m
	held_back "on trial"
	bloom confirm
	held_back "confirmed"
	is "$(dropped)" "$lost" "what was dropped"
}

# And behind a dispatcher.
shared() {
	policing
	bloom detach edge0
	"$XDP_BLOOM" attach edge0 --shared 2>err || skip_dispatcher
	held_back "behind a dispatcher"
	bloom rotate
	held_back "after a rotation"
	is "$(dropped)" "$lost" "what was dropped"
}

# Two hundred hosts of a network, each of which keeps the limit; and seven of another, each of which does, too.
carpet() {
	policing
	local of

	for of in 192.0.2. 2001:db8:77:; do
		bloom detect networks off
		bloom detect limit packets 1/s --burst $burst
		case $of in
		*:) printf "$of%x::9\n" {1..200} >hosts && printf '2001:db8:78:%x::9\n' {1..7} >few ;;
		*) printf "$of%d\n" {1..200} >hosts && printf '192.0.3.%d\n' {1..7} >few ;;
		esac
		for _ in {1..20}; do cat hosts; done >loud
		for _ in {1..40}; do cat few; done >quiet
		"$TRAFFIC" -b loud -c quiet wire0 edge0 >"$WORK/sent" 2>err
		is "$(sent .banned.arrived)" 4000 "what arrives of a network that is not judged"
		bloom detect networks x1
		bloom detect limit packets 2/s --burst $burst
		"$TRAFFIC" -b loud -c quiet wire0 edge0 >"$WORK/sent" 2>err
		is "$(sent .clean.lost)" 0 "what seven hosts lost: $(cat err)"
		[ "$(sent .banned.arrived)" -le $((5 * burst)) ] || fail "of a network $(sent .banned.arrived) arrive"
		[ "$(sent .banned.arrived)" -ge $((burst / 2)) ] || fail "of a network $(sent .banned.arrived) arrive"
	done
	is "$(get '.suspects[] | select(.above != {}) | .source' detect)" "2001:db8:77::/48" "who is above a limit"
	is "$(get '.networks' detect)" 1 "what detect says"
	bloom detect
	grep -q 'networks x1' out || fail "$(cat out)"
	refused "x1 to x1000" detect networks x0
	refused "x1 to x1000" detect networks 8
}

# The first packet above the limit is not the first that is dropped, but soon: XDP_BLOOM_ATTACKS (200) from new sources.
first_drop() {
	local class

	veth 0
	bloom attach edge0
	for class in bytes syn udp icmp fragments; do
		bloom detect limit $class none
	done
	bloom detect limit packets 1kpps --burst 20 --then police
	bloom detect room --suspects 20k
	bloom detect on
	WORK=$WORK python3 "$first" "${XDP_BLOOM_ATTACKS:-200}" 1000 20 >out 2>err || fail "$(cat out err)"
	sed 's/^/# /' out
}

run_cases first_drop only_the_loud carpet samples allowed then_what by_interface follows_names follows_addresses on_trial shared
