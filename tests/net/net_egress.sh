#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What leaves: filtered by where it goes, beside what comes in, and beside others.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
leaves=$(realpath "$(dirname "$0")/leaves.py")
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

# shellcheck disable=SC2034 # of edges.sh
sends=leave

# every MATCH: each kind of frame, and what is counted.
every() {
	local tags frames=0 dropped=0 twice=1

	[ "$1" != both ] || twice=2
	setting
	bloom attach edge0 --egress --match "$1"
	is "$(get '.interfaces[]|[.name,.match,.mode,.direction]' show)" "[\"edge0\",\"$1\",\"tc\",\"egress\"]" "what show says"
	for tags in plain vlan qinq pppoe qinq+pppoe vlan+vlan+vlan; do
		by "$1" 0 -e "$tags"
		frames=$((frames + 22))
		dropped=$((dropped + (twice * 5)))
	done
	is "$(get '[.packets.passed,.packets.dropped,.lists[0].packets]' stats)" "[$((frames - dropped)),$dropped,$dropped]" \
		"what is counted"
	send 0 -c everybody
}

# Both at once: each counts for itself, and neither knows of the other.
beside_ingress() {
	setting
	bloom attach edge0
	bloom attach edge0 --egress
	is "$(get '[.interfaces[]|[.name,.direction,.match]]|sort' show)" \
		'[["edge0","egress","destination"],["edge0","ingress","source"]]' "what show says"
	send 0 -b banned -c clean
	by destination 0
	is "$(get '[.interfaces[]|[.name,.direction,.packets.dropped]]|sort' stats)" \
		'[[null,null,0],["edge0","egress",5],["edge0","ingress",5]]' "what is counted"
	refused "edge0: the filter is attached there already (tc mode, destinations of what leaves)" attach edge0 --egress
	bloom detach edge0 --ingress
	send 0 -c everybody
	by destination 0
	bloom attach edge0
	bloom detach edge0 --egress
	send 0 -b banned -c clean
	leave 0 -d -c everybody
	refused "not attached there to what leaves" detach edge0 --egress
	bloom attach edge0 --egress
	bloom detach edge0
	send 0 -c everybody
	leave 0 -d -c everybody
	is "$(get '.interfaces|length' show)" 0 "attachments that are left"
	refused "without --mode" attach edge0 --egress --mode skb
	refused "without --shared" attach edge0 --egress --shared
}

# What is added and taken out, lists, ends and a rotation reach what leaves as they reach what comes.
together() {
	setting
	bloom attach edge0 --egress
	bloom attach edge1 --egress --match both
	filter_both
	bloom rotate
	filter_both
	bloom add 192.0.2.6
	grep -v '^192.0.2.6$' clean >rest
	echo 192.0.2.6 >>banned
	mv rest clean
	filter_both
	bloom del 192.0.2.6
	echo 192.0.2.6 >>clean
	sed -i /192.0.2.6/d banned
	filter_both
	bloom add 192.0.2.6 --ttl 1s
	echo 192.0.2.6 >short
	wait_until "its end" ended 0
	wait_until "its end" ended 1
	filter_both
	bloom unload bad
	leave 0 -d -c everybody
	leave 1 -d -c everybody
}

filter_both() {
	by destination 0
	by both 1
}

ended() {
	at_once "$1" -d -c short
}

# at_once N ARGS...: without patience for what is lost. Its shell would say "Killed", so that is another's.
at_once() {
	(
		timeout -s KILL 1 "$TRAFFIC" -q "${@:2}" "edge$1" "wire$1" >"$WORK/sent"
		exit
	) 2>/dev/null
}

# Whoever filters nothing that leaves has none of it.
only_what_is_used() {
	setting
	bloom attach edge0
	is "$(pins)" "" "pins of what comes in"
	bloom attach edge0 --egress
	is "$(pins)" "counters_out generation/program_out_to generation/slot_out_to root_out_to slot_out_to" "pins"
	bloom rotate
	is "$(pins)" "counters_out generation/program_out_to generation/slot_out_to root_out_to slot_out_to" "pins after a rotation"
	bloom detach edge0 --egress
	bloom rotate
	is "$(pins)" counters_out "pins when it is not used any more"
}

pins() {
	(cd "$bpffs" && find . -name '*_out*' | sed 's|^./||; s|/[0-9]*/|/|' | sort | paste -sd' ')
}

on_trial() {
	setting
	bloom attach edge0
	bloom attach edge0 --egress --confirm 3s
	by destination 0
	wait_until "that it is taken back" nothing_leaves_filtered
	leave 0 -d -c everybody
	send 0 -b banned -c clean
	bloom attach edge0 --egress --confirm 1h
	is "$(get '[.waiting[]|.name]' show)" '["edge0 egress"]' "what waits"
	by destination 0
	bloom confirm
	by destination 0
	bloom load bad clean --force --confirm 3s
	leave 0 -d -b clean -c banned
	wait_until "the list before" by_destination_now
	by destination 0
	bloom load bad clean --force --confirm 1h
	bloom confirm
	leave 0 -d -b clean -c banned
	is "$(find "$bpffs" -name 'trial*out*' -o -name 'before*out*')" "" "pins of a trial"
}

nothing_leaves_filtered() {
	[ ! -e "$bpffs/links/edge0%out" ]
}

all_leave() {
	at_once 0 -d -c everybody
}

by_destination_now() {
	at_once 0 -d -b banned -c clean
}

# The state has it: after a reboot, when something of it was lost, and by the config file.
comes_back() {
	setting
	bloom attach edge0
	bloom attach edge0 --egress
	bloom attach edge1 --egress --match both
	rm -r "${bpffs:?}"/*
	# The kernel lets go of a link some time after its pin.
	wait_until "that it lets everything out" all_leave
	bloom restore
	send 0 -b banned -c clean
	filter_both
	rm "$bpffs/slot_out_to" "$bpffs"/generation/*/slot_out_to
	bloom rotate
	filter_both
	rm "$bpffs/root_out_both"
	bloom rotate
	filter_both
	bloom attach edge0 --egress --match both
	by both 0
	bloom attach edge0 --egress --match destination
	by destination 0
	send 0 -b banned -c clean
}

heals() {
	local pin

	setting
	printf 'load bad %s/list\nattach edge0\nattach edge0 --egress\n' "$WORK" >conf
	ready
	by destination 0
	send 0 -b banned -c clean
	for pin in root_out_to slot_out_to counters_out links/edge0%out; do
		rm "$bpffs/$pin"
		wait_until "$pin" test -e "$bpffs/$pin"
		by destination 0
	done
	bpftool map delete pinned "$bpffs/slot_out_to" key 0 0 0 0 || fail "no slot"
	wait_until "that it filters" by_destination_now
	rm -r "${bpffs:?}"/*
	wait_until "all of them" test -e "$bpffs/links/edge0%out"
	wait_until "that it filters" by_destination_now
	send 0 -b banned -c clean
	bpftool link detach pinned "$bpffs/links/edge0%out" 2>/dev/null || tc qdisc del dev edge0 clsact || fail "not detached"
	wait_until "that it is attached again" by_destination_now
	ip link del edge0
	veth 0
	wait_until "that it is attached to the new one" by_destination_now
	stop TERM
	by destination 0
}

# Nothing that is not banned is lost while what leaves is filtered and is not, beside what comes in.
changes() {
	local i n=${EGRESS_CHANGES:-40}

	setting
	bloom attach edge0
	# The qdisc that is there from then on, before 6.6: for a moment, nothing leaves while it is put there.
	bloom attach edge0 --egress
	bloom detach edge0 --egress
	flow 0 -b banned -c clean
	flow_out 0 -d -c clean
	for ((i = 1; i <= n; i++)); do
		bloom attach edge0 --egress
		((i % 7)) || bloom rotate
		if ((i % 9 == 0)); then
			"$XDP_BLOOM" rotate &
			moment
			kill -KILL $! 2>/dev/null
			wait $! 2>/dev/null
		fi
		bloom detach edge0 --egress
	done
	stop_flow 0
	[ "$(sent .banned.sent)" -gt "$n" ] || fail "few packets: $(cat sent)"
	stop_flow 9
	[ "$(sent .clean.sent)" -gt "$n" ] || fail "few packets out: $(cat sent)"
}

# And no banned one leaves while the rest of it changes.
rotations() {
	local i

	setting
	bloom attach edge0 --egress
	flow_out 0 -d -b banned -c clean
	for ((i = 1; i <= 10; i++)); do
		bloom rotate
		"$XDP_BLOOM" rotate &
		moment
		kill -KILL $! 2>/dev/null
		wait $! 2>/dev/null
		bloom attach edge0 --egress --match "$( ((i % 2)) && echo both || echo destination)"
		bloom attach edge0
		bloom detach edge0 --ingress
	done
	stop_flow 9
}

# flow_out N ARGS...: as flow, the other way; its number is 9.
flow_out() {
	local n=$1 fd line=

	mkfifo "$WORK/flow9"
	nice "$TRAFFIC" -q -n 0 "${@:2}" "edge$n" "wire$n" >"$WORK/flow9" 2>"$WORK/flow9.err" &
	flow_pid[9]=$!
	exec {fd}<"$WORK/flow9"
	flow_fd[9]=$fd
	read -rt "${patience:?}" line <&"$fd"
	[ "$line" = flowing ] || fail "no traffic: $(cat "$WORK/flow9.err")"
}

connected() {
	is "$(python3 "$leaves" connects "$far" 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6 | paste -sd' ')" "$*" "who is reached"
}

# connects DEVICE WHERE: by TCP, with packets that are cut into many on their way; each of which is counted.
connects() {
	need nsenter
	[ -e /proc/sys/net/ipv6 ] || skip "needs IPv6 in the kernel"
	ip link set lo up
	beyond "$1"
	connected 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6
	bloom attach "$2" --egress
	connected 192.0.2.6 2001:db8::6
	[ "$(get .packets.passed stats)" -gt 1000 ] || fail "packets that were cut count as $(get .packets.passed stats)"
	[ "$(get .packets.dropped stats)" -ge 2 ] || fail "counted as dropped: $(get .packets.dropped stats)"
	bloom detach "$2"
	connected 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6
}

# A device without a link's header.
tun() {
	[ -e /proc/sys/net/ipv6 ] || skip "needs IPv6 in the kernel"
	ip tuntap add edge9 mode tun 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	ip link set edge9 up
	ip addr add 10.9.0.1/24 dev edge9
	ip addr add fd09::1/64 dev edge9 nodad
	ip route add 192.0.2.0/24 dev edge9
	ip route add 2001:db8::/32 dev edge9
	printf '%s\n' 192.0.2.7 2001:db8::7 >list
	bloom load bad list
	bloom attach edge9 --egress
	bloom attach edge9
	is "$(python3 "$leaves" sent edge9 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6 | paste -sd' ')" \
		"192.0.2.6 2001:db8::6" "who is sent to"
	is "$(get '[.interfaces[]|select(.direction=="egress").packets.dropped]' stats)" "[2]" "what is counted"
	bloom detach edge9 --egress
	is "$(python3 "$leaves" sent edge9 192.0.2.7 2001:db8::7 | paste -sd' ')" "192.0.2.7 2001:db8::7" "who is sent to"
}

# Whoever has a packet socket says of a frame what he likes; it goes by what is in it.
lies() {
	setting
	is "$(python3 "$leaves" lies edge0 wire0 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6 | paste -sd' ')" \
		"192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6" "whom frames are for before"
	bloom attach edge0 --egress
	is "$(python3 "$leaves" lies edge0 wire0 192.0.2.7 2001:db8::7 192.0.2.6 2001:db8::6 | paste -sd' ')" \
		"192.0.2.6 2001:db8::6" "whom frames are for"
}

# What is for all of a link is never dropped, whatever a list says: else neighbours are not found.
spares_the_link() {
	setting
	printf '%s\n' 224.0.0.0/4 255.255.255.255 ff00::/8 240.0.0.0/8 >list
	printf '%s\n' 224.0.1.1 240.1.2.3 ff05::1 >banned
	printf '%s\n' 224.0.0.1 224.0.0.251 255.255.255.255 ff02::1 ff02::1:ff00:7 ff12::5 >clean
	bloom load bad list --bogons=keep --force
	bloom attach edge0 --egress
	leave 0 -d -b banned -c clean
}

# A program behind it goes on seeing what is kept.
beside_others() {
	setting
	other_tc_program egress 30
	bloom attach edge0 --egress
	grep -v '^192.0.2.8$' clean >rest
	echo 192.0.2.8 >>banned
	mv rest clean
	leave 0 -d -b banned -c clean
	bloom detach edge0
	printf '%s\n' 192.0.2.8 >banned
	leave 0 -d -b banned -c clean
}

# What is put before the filter later is not its fault, and is said.
behind_another() {
	setting
	bloom attach edge0 --egress
	is "$(get '.interfaces[].behind' show)" 0 "how many are asked before it"
	another attach edge0 --egress
	[ "$(get '.interfaces[].behind' show)" != 0 ] || skip "before 6.6 no other program is asked first"
	by destination 0
	bloom show
	grep -q '^interfaces  edge0 (tc, destinations of what leaves, behind 1 other)$' out || fail "show says: $(cat out)"
	bloom status
	grep -qF 'edge0: who is asked before the filter may let out what is banned: bpftool net show dev edge0' out ||
		fail "status says: $(cat out)"
	bloom doctor
	grep -q '^note .*edge0 egress .*1 other programs are asked before the filter' out || fail "doctor says: $(cat out)"
	bloom detach edge0 --egress
	bloom attach edge0 --egress
	is "$(get '.interfaces[].behind' show)" 0 "how many are asked before it once it is attached again"
	by destination 0
}

# Who watches is told which way it went.
seen() {
	setting
	bloom attach edge0
	bloom attach edge0 --egress
	watch_two
	echo 192.0.2.7 >banned
	send 0 -b banned -c clean
	wait_until "its sample" test -s seen
	leave 0 -d -b banned -c clean -e vlan
	end_of "$watching" || fail "watch ended with $?"
	is "$(jq -sc '[.[]|[.interface,.direction,.match,.source,.destination,.protocol]]' seen)" \
		'[["edge0","ingress","source","192.0.2.7","198.51.100.1","udp"],["edge0","egress","destination","198.51.100.1","192.0.2.7","udp"]]' \
		"what watch says"
}

refuses() {
	setting
	bloom add 198.51.100.9
	ip addr add 198.51.100.9/24 dev edge0
	refused "bans 198.51.100.9" attach edge0 --egress
	bloom attach edge0 --egress --force
	by destination 0
}

without_links() {
	need setarch
	printf '#!/bin/sh\nexec setarch --uname-2.6 "%s" "$@"\n' "$XDP_BLOOM" >older
	chmod +x older
	XDP_BLOOM=$WORK/older
}

on_today() {
	is "$(get '[.interfaces[]|select(.gone|not).name]|sort|join(" ")' show)" "$*" "what it is on"
}

# renamed [without_links]: what is filtered is the interface, whatever it is called by now, and two at once; another one of the old
# name is not.
renamed() {
	local n

	"${1:-:}"
	setting
	bloom attach edge0 --egress
	bloom attach edge1 --egress
	for n in 0 1; do
		ip link set "edge$n" down
		ip link set "edge$n" name "edge-was$n"
		ip link set "edge-was$n" up
		ip link add "edge$n" type veth peer name "edge-end$n"
	done
	on_today edge-was0 edge-was1
	is "$(get '.status' status)" degraded "what status says of those that have the names now"
	"$TRAFFIC" -q -d -b banned -c clean edge-was0 wire0 >sent 2>err || fail "out of edge-was0: $(cat err sent)"
	bloom rotate
	bloom attach edge0 --egress
	on_today edge-was0 edge-was1 edge0
	bloom detach edge-was1
	on_today edge-was0 edge0
	"$TRAFFIC" -q -d -c everybody edge-was1 wire1 >sent 2>err || fail "out of edge-was1: $(cat err sent)"
	"$TRAFFIC" -q -d -b banned -c clean edge-was0 wire0 >sent 2>err || fail "out of edge-was0: $(cat err sent)"
	bloom detach edge0
	on_today edge-was0
	bloom detach --all
	"$TRAFFIC" -q -d -c everybody edge-was0 wire0 >sent 2>err || fail "out of edge-was0: $(cat err sent)"
	is "$(get '.interfaces|length' show)" 0 "what is left"
}

# Before 6.6 there are no links: nothing but a pin tells of a filter. Whoever is killed leaves none that nobody knows of.
cut_short() {
	local n status=137

	need strace
	without_links
	setting
	bloom attach edge0 --egress
	by destination 0
	ip link del edge0
	veth 0
	is "$(get '.interfaces[]|[.name,.mode,.gone]' show)" '["edge0","tc",true]' "what show says of one that is gone"
	[ ! -s err ] || fail "show says: $(cat err)"
	is "$(get '.troubles[]|select(test("gone"))' status)" \
		'edge0 egress: the interface is gone, or the filter was taken off it' "what status says"
	bloom detach edge0
	leave 0 -d -c everybody
	# Of its calls of bpf the last ones: it is loaded by then.
	strace -o calls -e trace=bpf "$XDP_BLOOM" attach edge0 --egress >out || fail "not attached"
	bloom detach edge0
	for ((n = $(wc -l <calls) - 15; status == 137; n++)); do
		(
			strace -o /dev/null -e trace=bpf -e inject=bpf:signal=KILL:when=$n "$XDP_BLOOM" attach edge0 --egress
			exit $?
		) >out 2>err
		status=$?
		[ $status = 137 ] || break
		bloom add 198.51.100.9
		nothing_leaves_filtered || fail "killed at call $n of bpf, it is attached"
		leave 0 -d -c everybody
	done
	is "$status" 0 "status: $(cat err)"
	by destination 0
}

cases=()
for match in source destination both; do
	cases+=("every $match")
done
# What was to leave is among the sums of the history, and by itself.
reported() {
	setting
	printf 'load bad %s/list\nattach edge0\nattach edge0 --egress\n' "$WORK" >conf
	ready
	send 0 -b banned -c clean
	leave 0 -d -b banned -c clean
	wait_until "the report" said '[.dropped.packets,.leaving.dropped.packets]' '[10,5]'
	bloom report
	grep -q '^leaving  *5 dropped, ' out || fail "report says: $(cat out)"
	is "$(get '[.inside[].name]|sort' report)" '["198.51.100.1","2001:db8::1"]' "who sent it"
	stop TERM
}

said() {
	[ "$(get "$1" report)" = "$2" ]
}

run_cases reported "${cases[@]}" beside_ingress together "connects edge7 edge7" "connects edge7.5 edge7" "connects edge7.5 edge7.5" tun lies spares_the_link beside_others behind_another only_what_is_used on_trial comes_back heals changes rotations seen refuses renamed "renamed without_links" cut_short
