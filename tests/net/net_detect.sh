#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The detector with real packets: who sends too much is shown, who does not is not, and nothing is dropped.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

# Limits that the clock cannot spoil: who sends less than the burst is never above one, however long that takes, and who
# sends twenty times as much always is.
burst=100

watching() {
	veth 0
	printf '198.51.100.%d\n' {1..40} >quiet
	printf '2001:db8:0:%x::1\n' {1..20} >>quiet
	printf '%s\n' 203.0.113.7 >loud
	bloom attach edge0
	bloom detect limit packets 1/s --burst $burst
	bloom detect limit udp none
	bloom detect on
}

# above: the sources above a limit, sorted.
above() {
	get '.suspects[] | select(.above != {}) | .source' detect | sort | paste -sd' '
}

one_among_many() {
	watching
	is "$(above)" "" "who is above a limit before a packet came"
	send 0 -c quiet -n $((burst / 2))
	is "$(above)" "" "who is above a limit of those who keep it"
	send 0 -c loud -n $((burst * 20))
	is "$(above)" 203.0.113.7 "who is above a limit"
	is "$(get '.suspects[] | select(.above != {}).above | keys[]' detect)" packets "of what"
	# All of them arrived: send looks.
	printf '2001:db8:5:5::%x\n' {1..99} >net
	send 0 -c net -n $((burst / 5))
	is "$(above)" "2001:db8:5:5::/64 203.0.113.7" "who is above a limit, with a network of IPv6"
	expect 0 "$XDP_BLOOM" detect
	grep -q '^203\.0\.113\.7 .* packets (' out || fail "not shown: $(cat out)"
	! grep -q '^198\.51\.100' out || fail "one that keeps the limit is shown: $(cat out)"
}

sockets() {
	[ "$(wc -l </proc/net/packet)" -gt 1 ]
}

# suggests ARGS...: what it proposes of what is sent meanwhile is in out.
suggests() {
	"$XDP_BLOOM" -j detect suggest --for 1h "$@" >out 2>err &
	local pid=$!
	wait_until "a socket that looks at what passes" sockets
	send 0 -b dropped -c quiet -n 5
	send 0 -c loud -n 200
	kill -INT $pid
	end_of $pid || fail "it ended with $?: $(cat err)"
}

proposes_limits() {
	veth 0
	bloom attach edge0
	printf '198.51.%s\n' {0..3}.{1..200} >quiet
	printf '203.0.113.7\n' >loud
	# What is dropped is not looked at.
	echo 192.0.2.66 >dropped
	bloom add 192.0.2.66
	suggests
	is "$(jq -c '.missed, .detect.one_in' out)" $'0\n1' "how it looked"
	is "$(jq -c '.detect.classes.packets | [.sources, .above, .busiest[0].source, .busiest[0].above]' out)" \
		'[801,1,"203.0.113.7",true]' "what it saw"
	jq -e '.detect.classes | (.packets.busiest[0].second | . > 5 and . <= 200) and .packets.proposed == 10 and
		.udp.sources == 801 and .syn == null' out >/dev/null || fail "$(cat out)"
	# Of one source in four it sees all: as often as there are, by five standard errors.
	suggests --one-in 4
	jq -e '.detect | .one_in == 4 and (.classes.packets.sources | . > 200 - 62 and . < 200 + 62)' out >/dev/null ||
		fail "of one in four: $(cat out)"
	is "$(get '.detect.classes.packets' detect suggest --for 1s)" null "what it saw where nothing passes"
	! sockets || fail "sockets are left"
	refused "--for belongs to suggest" detect on --for 1m
}

learned() {
	"$XDP_BLOOM" -j detect learn >learned && jq -e "$1" learned >/dev/null
}

# The service does it by itself, for as long as was said, and over its restart.
learns() {
	veth 0
	bloom attach edge0
	printf 'attach edge0\n' >conf
	printf '203.0.113.7\n' >loud
	printf '198.51.100.%d\n' {1..40} >quiet
	bloom detect learn
	grep -q '^nothing was learned; as in' out || fail "$(cat out)"
	refused "detect learn: how long? 1s to 30d" detect learn 31d
	refused "detect learn: how long? 1s to 30d" detect learn soon
	ready
	bloom detect learn 1h
	wait_until "a socket that looks at what passes" sockets
	learned '.learning.until > .learning.from and .learned == null' || fail "$(cat learned)"
	bloom detect learn
	grep -q '^the service (xdp-bloom run) learns until 20' out || fail "$(cat out)"
	stop TERM
	! sockets || fail "sockets are left"
	ready
	wait_until "a socket that looks at what passes, after a restart" sockets
	bloom detect learn off
	wait_until "the end of that socket" eval '! sockets'
	learned '.learning == null and .learned == null' || fail "$(cat learned)"
	bloom detect learn 8s
	wait_until "a socket that looks at what passes" sockets
	send 0 -c quiet -n 5
	send 0 -c loud -n 200
	wait_until "what was learned" learned '.learned.detect.classes.packets | .sources == 41 and .busiest[0].source == "203.0.113.7"'
	! sockets || fail "sockets are left"
	wait_until "its end" learned '.learning == null'
	bloom detect learn
	grep -q '^learned from 20' out || fail "$(cat out)"
	grep -qE '^udp +41 ' out || fail "$(cat out)"
	grep -q '^xdp-bloom detect limit udp ' out || fail "$(cat out)"
	grep -q '^Of unanswered and scan nothing is proposed' out || fail "$(cat out)"
	bloom events
	grep -q ' learned .*: xdp-bloom detect learn$' out || fail "$(cat out)"
	is "$(get '.on, .limits.udp.then' detect)" $'false\nwatch' "what it has changed"
	stop TERM
}

# status, its JSON and the metrics: nothing of it where there is no detector.
summed_up() {
	veth 0
	bloom attach edge0
	bloom add 192.0.2.66
	bloom status
	! grep -q detector out || fail "a detector that is off: $(cat out)"
	is "$(get .detector status)" null "a detector that is off"
	bloom metrics
	! grep -q detector out || fail "a detector that is off: $(grep detector out)"
	printf '198.51.100.%d\n' {1..40} >quiet
	echo 203.0.113.7 >loud
	bloom detect limit packets 1/s --burst $burst
	bloom detect on
	bloom status
	grep -qx 'detector    nobody is above a limit' out || fail "$(cat out)"
	send 0 -c quiet -n $((burst / 2))
	send 0 -c loud -n $((burst * 20))
	bloom status
	grep -qE '^detector    1 above a limit, most often 203\.0\.113\.7 \([0-9]+ packets\): xdp-bloom detect$' out || fail "$(cat out)"
	is "$(get '.detector | [.room > 1000, .suspects >= 1, .above, .untracked, .busiest]' status)" \
		'[true,true,1,0,"203.0.113.7"]' "what status says"
	bloom metrics
	grep -qx 'xdp_bloom_detector_above 1' out || fail "$(grep detector out)"
	is "$(grep '^xdp_bloom_detector_above_class' out | tr '\n' ' ')" \
		"$(for class in packets bytes syn udp icmp fragments; do
			printf 'xdp_bloom_detector_above_class{class="%s"} %d ' $class $((${#class} == 7))
		done)" "who is above which limit"
	is "$(sed -n 's/^xdp_bloom_detector_packets_total{found="above"} //p' out)" "$(get .above detect)" "what is counted"
	grep -qx 'xdp_bloom_detector_packets_total{found="untracked"} 0' out || fail "$(grep detector out)"
	# Its maps are gone, and what is in force is not what was to be.
	rm -r "$XDP_BLOOM_BPFFS"/generation/*/detect
	expect 1 "$XDP_BLOOM" status
	grep -q "the detector is on, and not in force: 'rotate' builds it" out || fail "$(cat out)"
	bloom rotate
	bloom status
}

attacks() {
	grep '^{' "$XDP_BLOOM_STATE/events" 2>/dev/null | jq -c 'select(.event == "attack") | .attack | [.ended == null, .kind, .sources, .busiest, .classes, .above >= 1500]'
}

attack_is() {
	[ "$(attacks)" = "$1" ]
}

# The service says when one begins and when it has ended; one that goes on ends with the service.
on_record() {
	veth 0
	echo 203.0.113.7 >loud
	bloom attach edge0
	bloom detect attacks
	grep -q '^no attack is on record' out || fail "$(cat out)"
	bloom detect limit packets 1/s --burst $burst
	bloom detect on
	printf 'attach edge0\n' >conf
	ready
	send 0 -c loud -n $((burst * 20))
	wait_until "an attack that begins" attack_is '[true,"one source",1,"203.0.113.7",["packets"],true]'
	is "$(get '.attacks | length' detect attacks)" 1 "attacks on record"
	bloom detect attacks
	grep -qE '^20.* not over +1 +[0-9]+ +[0-9]+  packets +203\.0\.113\.7 +one source, packets$' out || fail "$(cat out)"
	stop TERM
	is "$(attacks | tail -n 1)" '[false,"one source",1,"203.0.113.7",["packets"],true]' "the attack that has ended"
	is "$(get '[.attacks[] | .ended != null]' detect attacks)" '[true]' "attacks on record"
	# A line that cannot be hides nothing behind it.
	{ head -c 40000 /dev/zero | tr '\0' x && echo; } >>"$XDP_BLOOM_STATE/events"
	# What is dropped is an attack as well, and its words are not of the one before.
	bloom detect limit packets --then police
	ready
	echo 198.51.100.1 >quiet
	for ((i = 0; i < burst * 20; i++)); do echo 203.0.113.8; done >loud
	"$TRAFFIC" -b loud -c quiet wire0 edge0 >sent 2>&1
	wait_until "an attack that begins" attack_is "$(attacks | head -n 2)
[true,\"one source\",1,\"203.0.113.8\",[\"packets\"],true]"
	stop TERM
	is "$(get '[.attacks[] | [.busiest, .ended != null]]' detect attacks)" '[["203.0.113.7",true],["203.0.113.8",true]]' \
		"attacks on record"
	bloom events
	grep -q 'attack .* ended after .*: one source, at most 1 at a time, most often 203.0.113.7; ' out || fail "$(cat out)"
}

# kind: of the attacks on record, the last.
kind() {
	get '.attacks[-1] | [.kind, .what, .service, .network, .sources]' detect attacks
}

kind_is() {
	[ "$(kind)" = "$1" ]
}

# answers PORT N: N packets from that port of UDP, from each of three sources.
answers() {
	python3 - "$1" "$2" <<'PYTHON'
import socket, struct, sys

port, n = int(sys.argv[1]), int(sys.argv[2])
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire0", 0))
for i in range(n):
    for last in 7, 8, 9:
        udp = struct.pack("!HHHH", port, 40000, 20, 0) + bytes(12)
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 17, 0, bytes((192, 0, 2, last)), bytes((198, 51, 100, 1)))
        wire.send(b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1" + b"\x08\0" + ip + udp)
PYTHON
}

# What kind of attack it is. One that changes is what most of it was.
kinds() {
	veth 0
	bloom attach edge0
	bloom detect limit packets none
	bloom detect limit udp 1/s --burst $burst
	bloom detect on
	printf 'attach edge0\n' >conf
	printf '203.0.113.%d\n' 7 8 9 >few
	ready
	send 0 -c few -n $((burst * 2))
	wait_until "an attack of many" kind_is '["many sources","udp",null,null,3]'
	stop TERM
	bloom detect attacks
	grep -qE '  udp +203\.0\.113\.[789] +many sources, UDP$' out || fail "$(cat out)"
	bloom detect limit udp 1/s --burst $((burst + 1))
	printf '203.0.113.%d\n' {1..60} >carpet
	printf '198.51.%d.1\n' {1..20} >>carpet
	ready
	send 0 -c carpet -n $((burst * 2))
	wait_until "an attack of a network" kind_is '["carpet","udp",null,"203.0.113.0/24",80]'
	stop TERM
	bloom detect limit udp 1/s --burst $burst
	bloom detect limit packets 1/s --burst $burst
	ready
	answers 53 $((burst * 2))
	wait_until "an attack by answers" kind_is '["many sources","reflection","dns",null,3]'
	stop TERM
	is "$(get '.attacks[-1].port' detect attacks)" 53 "the port"
	bloom events
	grep -q 'attack .* begins: many sources, DNS reflection, ' out || fail "$(cat out)"
	grep -qE 'attack .* begins: carpet of 203\.0\.113\.0/24, UDP, ' out || fail "$(cat out)"
	grep -qE 'attack .* ended after .*: carpet of .* packets above the limit of udp, [0-9]+ in the worst second' out || fail "$(cat out)"
	# Above two limits.
	grep -qE 'attack .* ended after .*: many sources, DNS .* packets above the limit of packets, udp, [0-9]+ in the worst second' out ||
		fail "$(cat out)"
}

# Far more sources than are usual, of which none comes again soon: nobody of them is above a limit, and they are counted.
forged() {
	veth 0
	bloom attach edge0
	bloom detect limit udp 1/s --burst $burst
	bloom detect on
	printf 'attach edge0\n' >conf
	echo 203.0.113.7 >loud
	awk 'BEGIN { srand(7); for (i = 0; i < 400000; i++) printf "%d.%d.%d.%d\n", 1 + rand() * 99, rand() * 256, rand() * 256, 1 + rand() * 250 }' >random
	ready
	send 0 -c loud -n $((burst * 20))
	# From here on it is known what is usual.
	wait_until "an attack that begins" kind_is '["one source","udp",null,null,1]'
	"$TRAFFIC" -c random -n 0 wire0 edge0 >sent 2>err &
	local sender=$!
	wait_until "a flood of forged sources" kind_is '["forged flood",null,null,null,1]'
	kill $sender
	stop TERM
	bloom -j detect attacks
	jq -e '.attacks | length == 1 and (.[0] | .ended and .distinct > 10000)' out >/dev/null || fail "how many: $(cat out)"
	bloom events
	grep -qE 'attack .* goes on: forged flood; (about|more than) [0-9]+ sources a second, hardly a packet of each$' out ||
		fail "$(cat out)"
}

# What is known of them outlives rotations and changes of lists, and goes with the detector.
goes_on() {
	watching
	send 0 -c loud -n $((burst * 20))
	local over
	over=$(get '.suspects[] | select(.above != {}).above.packets' detect)
	bloom rotate
	bloom add 198.51.100.200
	printf '%s\n' 192.0.2.0/24 >list
	bloom load list list
	is "$(above)" 203.0.113.7 "who is above a limit after rotations"
	send 0 -c loud -n $((burst * 2))
	[ "$(get '.suspects[] | select(.above != {}).above.packets' detect)" -gt "$over" ] || fail "it is not counted any more"
	bloom detect off
	is "$(get '.on, .in_force' detect)" $'false\nfalse' "a detector that is off"
	! find "$XDP_BLOOM_BPFFS" -name sketch | grep -q . || fail "a detector that is off leaves its maps"
	bloom detect on
	is "$(above)" "" "who is above a limit in a new one"
	is "$(get '.limits.packets.rate | floor' detect)" 1 "the limit that was kept"
}

# After a reboot all as it was, but what was seen.
after_a_reboot() {
	watching
	send 0 -c loud -n $((burst * 20))
	bloom detach edge0
	rm -rf "$XDP_BLOOM_BPFFS"
	bloom restore
	is "$(get '.on, .in_force' detect)" $'true\ntrue' "the detector after a reboot"
	bloom attach edge0
	is "$(above)" "" "who is above a limit after a reboot"
	send 0 -c loud -n $((burst * 20))
	is "$(above)" 203.0.113.7 "who is above a limit"
}

# A generation that is on trial has it too.
on_trial() {
	watching
	bloom tune --headroom 60 --confirm 10m
	send 0 -c loud -n $((burst * 20))
	is "$(above)" 203.0.113.7 "who is above a limit by a program on trial"
	bloom confirm
	is "$(above)" 203.0.113.7 "who is above a limit when it is confirmed"
}

# And one behind a dispatcher.
shared() {
	watching
	bloom detach edge0
	"$XDP_BLOOM" attach edge0 --shared 2>err || skip_dispatcher
	send 0 -c loud -n $((burst * 20))
	is "$(above)" 203.0.113.7 "who is above a limit behind a dispatcher"
	bloom rotate
	send 0 -c quiet -n 2
	is "$(above)" 203.0.113.7 "who is above a limit after a rotation there"
}

# crowd N PACKETS: so many sources, each with all of its packets in a row.
crowd() {
	python3 - "$@" <<'END'
import sys
for source in range(int(sys.argv[1])):
    print(f"10.{source >> 16}.{source >> 8 & 255}.{source & 255}\n" * int(sys.argv[2]), end="")
END
}

# at_most FOUND FORETOLD: of so many sources, by six standard errors.
at_most() {
	python3 -c 'import sys; found, told = map(float, sys.argv[1:]); sys.exit(found > told + 6 * told ** 0.5 + 1)' "$1" "$2"
}

# Tables are as large as is asked for: what plan foretells of 10,000 attackers comes true.
room() {
	veth 0
	bloom attach edge0
	bloom detect limit packets 1/s --burst 10
	bloom detect on
	is "$(get '.size | .pps, .suspects, .cells, .places' detect)" $'null\nnull\n16384\n4096' "the usual room"
	bloom detect room --suspects 20k
	is "$(get '.size | (.suspects | floor), .suspects_most >= 20000, .cells' detect)" $'20000\ntrue\n16384' "room for 20,000"
	is "$(get .room detect)" "$(get .size.places detect)" "places"
	local planned
	planned=$(get '.detect.crowds[0].without_place * 10000' plan --detect --attackers 10k --sources 1)
	crowd 10000 14 >loud
	send 0 -c loud
	get '.suspects | map(select(.above != {})) | length' detect >tracked
	at_most $((10000 - $(cat tracked))) "$planned" || fail "$(cat tracked) of 10,000 are tracked, $planned were not to be"
	# Who is tracked is looked up by its source: none of them is another's.
	is "$(get '[.suspects[].above.packets | select(. != null)] | min >= 1 and max <= 4' detect)" true "what is above"
	bloom detect
	grep -Eq '^room      11\.[0-9]+k/s for the strictest limit, 200[0-9][0-9] suspects at a time: ' out || fail "$(head out)"
	# It is kept, and forgotten when it is changed.
	bloom rotate
	is "$(get '.suspects | map(select(.above != {})) | length' detect)" "$(cat tracked)" "after a rotation"
	bloom detect room --suspects default --pps 20k
	is "$(get '.size | .suspects, (.pps | floor), .places, .pps_most >= 20000, .cells' detect)" \
		$'null\n20000\n4096\ntrue\n28576' "room for 20,000 packets a second"
	is "$(get '.suspects | length' detect)" 0 "suspects in tables of another size"
	bloom detect room --pps default
	is "$(get .size.cells detect)" 16384 "the usual room"
	refused "--suspects takes 16 to 200000, as 20000 or 20k, or default, not '1M'" detect room --suspects 1M
	refused "--pps takes 1000 to 1000000000" detect room --pps 1
	refused "room takes --pps N" detect room
	refused "--suspects belongs to room" detect on --suspects 20k
}

# Ten times as many as there is room for, of whom nobody is thrown out or dropped by mistake: those who are tracked stay
# exact, and who finds no place passes and is counted.
full() {
	local class untracked

	veth 0
	bloom attach edge0
	bloom detect limit packets 1/s --burst 20 --then police
	for class in bytes syn udp icmp fragments; do
		bloom detect limit $class none
	done
	bloom detect room --suspects 200
	bloom detect on
	printf '203.0.113.%d\n' {1..20} >loud
	# One of them closes each window of frames: so many that each sends only a few.
	printf '198.18.%s\n' {0..15}.{1..250} >quiet
	awk '{ for (i = 0; i < 60; i++) print }' loud >many
	"$TRAFFIC" -b many -c quiet wire0 edge0 >"$WORK/sent" 2>err
	local tracked='.suspects[] | select(.source | startswith("203.0.113."))' lost places
	is "$(get "[$tracked | select(.dropped > 10)] | length" detect)" 20 "attackers that are tracked"
	lost=$(($(sent .banned.sent) - $(sent .banned.arrived)))
	places=$(get .size.places detect)
	crowd 2000 60 >flood
	cat many >>flood
	get "$tracked | \"\(.source) \(.packets + 60)\"" detect | sort >expected
	"$TRAFFIC" -b flood -c quiet wire0 edge0 >"$WORK/sent" 2>err
	is "$(sent .clean.lost)" 0 "what those lost who keep the limit: $(cat err)"
	lost=$((lost + $(sent .banned.sent) - $(sent .banned.arrived)))
	get "$tracked | \"\(.source) \(.packets)\"" detect | sort >found
	cmp -s expected found || fail "who was tracked before is not exact: $(diff expected found)"
	# All that was lost, those lost who are tracked; and nobody else.
	is "$(get '[.suspects[].dropped] | add' detect)" "$lost" "what the tracked lost"
	is "$(get .dropped detect)" "$lost" "what was dropped"
	is "$(get "(.suspects | length) > $places * 0.98" detect)" true "the places are all taken"
	# Of each of the others, what its cell let through before it was hot is not counted.
	untracked=$((2000 - $(get '[.suspects[] | select(.source | startswith("10."))] | length' detect)))
	is "$(get ".untracked | . > $untracked * 39 and . <= $untracked * 60 + $(sent .clean.sent)" detect)" true \
		"packets of $untracked that found no place: $(get .untracked detect)"
}

words() {
	refused "'fish' is not packets, bytes, syn, udp, icmp, fragments, unanswered or scan" detect limit fish 1/s
	refused "'1mile' is no rate of syn: 1/s to 100M/s" detect limit syn 1mile
	refused "'5kpps' is no rate of bytes: 16kbit" detect limit bytes 5kpps
	refused "--burst takes" detect limit syn 1M/s --burst 1
	refused "--burst belongs to limit" detect on --burst 7
	refused "on, off, limit CLASS RATE, or what else of 'xdp-bloom help detect'?" detect maybe
	bloom detect limit bytes 80Mbit --burst 2M
	is "$(get '.limits.bytes | (.rate | floor), (.burst | floor)' detect)" $'10000000\n2000000' "a limit of bytes"
	bloom detect limit bytes none
	is "$(get .limits.bytes detect)" null "no limit of bytes"
	is "$(get .on detect)" false "whether it is on"
}

# Where it cannot look, nobody is to believe that it does.
unseen() {
	local why="it needs --match source, in native or skb mode"

	watching
	veth 1
	bloom attach edge1 --egress
	! grep unseen <("$XDP_BLOOM" detect) || fail "all is seen"
	"$XDP_BLOOM" attach edge0 --match both 2>said || fail "not attached"
	grep -q "the detector sees nothing of edge0: $why" said || fail "attach said: $(cat said)"
	"$XDP_BLOOM" attach edge1 --mode tc 2>said || fail "not attached"
	grep -q "the detector sees nothing of edge1: $why" said || fail "attach said: $(cat said)"
	grep -qx "unseen    edge0, edge1: $why" <("$XDP_BLOOM" detect) || fail "detect: $("$XDP_BLOOM" detect)"
	grep -q " sees nothing of edge0, edge1: $why" <("$XDP_BLOOM" status) || fail "status: $("$XDP_BLOOM" status)"
	bloom detect off
	bloom attach edge0 --match source
	"$XDP_BLOOM" detect on 2>said || fail "not on"
	grep -q "the detector sees nothing of edge1: $why" said || fail "detect said: $(cat said)"
}

run_cases one_among_many proposes_limits learns summed_up on_record kinds forged goes_on after_a_reboot on_trial shared room full words unseen
