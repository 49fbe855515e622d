#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What comes in, filtered by tc where XDP cannot be; and from one mode into another under packets.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
leaves=$(realpath "$(dirname "$0")/leaves.py")
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"
# shellcheck source=../support/service.sh
. "$here/service.sh"
bpffs=${XDP_BLOOM_BPFFS:?}

# every MATCH: each kind of frame, and what is counted.
every() {
	local tags frames=0 dropped=0 twice=1

	[ "$1" != both ] || twice=2
	setting
	bloom attach edge0 --mode tc --match "$1"
	is "$(get '.interfaces[]|[.name,.match,.mode,.direction]' show)" "[\"edge0\",\"$1\",\"tc\",\"ingress\"]" "what show says"
	for tags in plain vlan qinq pppoe qinq+pppoe vlan+vlan+vlan; do
		by "$1" 0 -t -e "$tags"
		frames=$((frames + 22))
		dropped=$((dropped + (twice * 5)))
	done
	is "$(get '[.packets.passed,.packets.dropped,.lists[0].packets]' stats)" "[$((frames - dropped)),$dropped,$dropped]" \
		"what is counted"
	is "$(get '[.interfaces[]|select(.name)|[.name,.direction,.packets.dropped]]' stats)" "[[\"edge0\",\"ingress\",$dropped]]" \
		"where it is counted"
}

# What is added and taken out, lists, ends and a rotation reach it, and so does what leaves beside it.
together() {
	setting
	bloom attach edge0 --mode tc
	bloom attach edge1 --mode tc --match both
	bloom attach edge0 --egress
	filter_all
	bloom rotate
	filter_all
	bloom add 192.0.2.6
	grep -v '^192.0.2.6$' clean >rest
	echo 192.0.2.6 >>banned
	mv rest clean
	filter_all
	bloom del 192.0.2.6
	echo 192.0.2.6 >>clean
	sed -i /192.0.2.6/d banned
	filter_all
	bloom detach edge0 --ingress
	send 0 -t -c everybody
	bloom unload bad
	send 1 -t -d -c everybody
	refused "attached there already (tc mode, sources and destinations)" attach edge1
	refused "without --shared" attach edge1 --mode tc --shared
}

filter_all() {
	by source 0 -t
	by both 1 -t
}

# Whoever filters nothing by tc has none of it, and what was there only on the way goes.
only_what_is_used() {
	setting
	bloom attach edge0 --mode skb
	is "$(pins)" "" "pins of what XDP filters"
	bloom attach edge0 --mode tc
	is "$(pins)" "generation/program_in generation/slot_in links/edge0%in root_in slot_in" "pins"
	bloom rotate
	is "$(pins)" "generation/program_in generation/slot_in links/edge0%in root_in slot_in" "pins after a rotation"
	bloom attach edge0 --mode native
	bloom rotate
	is "$(pins)" "" "pins when it is not used any more"
}

pins() {
	(cd "$bpffs" && find . -name '*_in*' -o -name '*%in*' | sed 's|^./||; s|/[0-9]*/|/|' | sort | paste -sd' ')
}

on_trial() {
	setting
	bloom attach edge0 --mode tc --confirm 3s
	by source 0 -t
	wait_until "that it is taken back" not_attached
	send 0 -t -c everybody
	bloom attach edge0 --mode tc --confirm 1h
	refused "a change of it waits for confirmation" attach edge0 --mode native --confirm 1h
	refused "a change of it waits for confirmation" attach edge0 --mode native
	by source 0 -t
	bloom confirm
	by source 0 -t
	bloom load bad clean --force --confirm 3s
	send 0 -t -b clean -c banned
	wait_until "the list before" by_source_now
	by source 0 -t
}

not_attached() {
	[ -z "$(ls "$bpffs/links")" ]
}

# at_once ARGS...: without patience for what is lost. Its shell would say "Killed", so that is another's.
at_once() {
	(
		timeout -s KILL 1 "$TRAFFIC" -t "$@" wire0 edge0 >"$WORK/sent"
		exit
	) 2>/dev/null
}

by_source_now() {
	at_once -b banned -c clean
}

# shown MODE [WORD]: how edge0 is filtered.
shown() {
	is "$(get '[.interfaces[]|[.name,.mode,.shared]]' show)" "[[\"edge0\",\"$1\",${2:-false}]]" "what show says"
}

# From each mode into each, with a match that stays; the state has it, too.
into_each() {
	local mode

	setting
	bloom attach edge0 --mode native --match both
	for mode in tc native skb tc skb native; do
		bloom attach edge0 --mode $mode
		shown $mode
		by both 0 -t
		bloom rotate
		by both 0 -t
		is "$(find "$bpffs/links" -type f | wc -l)" 1 "pins"
	done
	bloom attach edge0 --mode tc --match destination
	by destination 0 -t
	bloom attach edge0 --match source
	shown tc
	by source 0 -t
	rm -r "${bpffs:?}"/*
	wait_until "that all pass" at_once -c everybody
	bloom restore
	shown tc
	by source 0 -t
	rm "$bpffs/slot_in" "$bpffs"/generation/*/slot_in
	bloom rotate
	by source 0 -t
	rm "$bpffs/root_in"
	bloom rotate
	by source 0 -t
	bloom attach edge0 --mode skb
	bloom attach edge0 --match destination
	rm -r "${bpffs:?}"/*
	bloom restore
	shown skb
	by destination 0
	bloom detach edge0
	send 0 -t -c everybody
}

# A driver that cannot has what was there again.
goes_back() {
	ip tuntap add edge9 mode tun 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	setting
	bloom attach edge9 --mode skb
	bloom attach edge0 --mode tc
	refused "has no XDP" attach edge9 --mode native
	refused "has no XDP" attach edge0 edge9 --mode native
	is "$(get '[.interfaces[]|[.name,.mode]]' show)" '[["edge0","tc"],["edge9","skb"]]' "what show says"
	by source 0 -t
	bloom attach edge9 --mode tc
	refused "has no XDP" attach edge9 --mode native
	is "$(get '[.interfaces[]|[.name,.mode]]' show)" '[["edge0","tc"],["edge9","tc"]]' "what show says"
	printf 'load bad %s/list\nattach edge9 --mode native\n' "$WORK" >conf
	bloom attach edge9 --if-needed --mode native
	grep -q 'it stays in tc mode' err || fail "said: $(cat err)"
	rm -r "${bpffs:?}"/*
	bloom restore
	is "$(get '[.interfaces[]|[.name,.mode]]' show)" '[["edge0","tc"],["edge9","tc"]]' "what is restored"
}

# Beside other programs through libxdp, and back.
shared() {
	setting
	bloom attach edge0 --mode tc
	"$XDP_BLOOM" attach edge0 --mode native --shared >out 2>said || skip "$(head -n 1 said)"
	shown native true
	by source 0
	bloom attach edge0 --mode tc
	shown tc
	by source 0 -t
	is "$(xdp_id edge0)" none "the program of XDP"
}

# Under packets, beside a service which has nothing to mend: no banned one comes through, and no other is lost.
changes() {
	local -a modes=(native tc skb)
	local i n=${TC_CHANGES:-30}

	setting
	printf 'load bad %s/list\nattach edge0\n' "$WORK" >conf
	ready
	flow 0 -t -b banned -c clean
	for ((i = 1; i <= n; i++)); do
		bloom attach edge0 --mode "${modes[(i * (1 + i / 3)) % 3]}" --if-needed
		((i % 7)) || bloom rotate
	done
	stop_flow 0
	[ "$(sent .banned.sent)" -gt "$n" ] || fail "few packets: $(cat sent)"
	stop TERM
	cat <&"$log" >logged
	# That a command is at work, it may say.
	! grep ': made again$' logged || fail "the service took a change for a fault"
	is "$(find "$bpffs/links" -type f | wc -l)" 1 "pins"
}

# Killed at any of its calls: what is banned is dropped all the same, and then there is one filter again, as the state says.
killed() {
	local n from=$1 to=$2 status=137 last

	need strace
	setting
	bloom attach edge0 --mode "$from"
	bloom attach edge0 --mode "$to"
	bloom attach edge0 --mode "$from"
	strace -o calls -e trace=bpf,unlink "$XDP_BLOOM" attach edge0 --mode "$to" >out || fail "not attached"
	bloom attach edge0 --mode "$from"
	last=$(wc -l <calls)
	flow 0 -t -b banned -c clean
	for ((n = last > 60 ? last - 60 : 1; status == 137; n += 3)); do
		(
			strace -o /dev/null -e trace=bpf,unlink -e inject=bpf,unlink:signal=KILL:when=$n "$XDP_BLOOM" attach edge0 --mode "$to"
			exit $?
		) >out 2>err
		status=$?
		[ $status = 137 ] || break
		bloom restore
		shown "$from"
		is "$(find "$bpffs/links" -type f | wc -l)" 1 "pins, killed at call $n"
	done
	stop_flow 0
	is "$status" 0 "status: $(cat err)"
	shown "$to"
}

# The service makes one of two, and attaches again what was taken off or lost.
heals() {
	local pin

	setting
	printf 'load bad %s/list\nattach edge0 --mode tc\n' "$WORK" >conf
	ready
	by source 0 -t
	for pin in root_in slot_in links/edge0%in; do
		rm "$bpffs/$pin"
		wait_until "$pin" test -e "$bpffs/$pin"
		by source 0 -t
	done
	bpftool map delete pinned "$bpffs/slot_in" key 0 0 0 0 || fail "no slot"
	wait_until "that it filters" by_source_now
	rm -r "${bpffs:?}"/*
	wait_until "all of them" test -e "$bpffs/links/edge0%in"
	wait_until "that it filters" by_source_now
	bpftool link detach pinned "$bpffs/links/edge0%in" 2>/dev/null || tc qdisc del dev edge0 clsact || fail "not detached"
	wait_until "that it is attached again" by_source_now
	ip link del edge0
	veth 0
	wait_until "that it is attached to the new one" by_source_now
	stop TERM
	by source 0 -t
}

# Killed when both are there: the service makes one of them, and so does the next attach.
twice() {
	local how

	need strace
	setting
	for how in service attach; do
		bloom attach edge0 --mode skb
		until_both_are_there
		is "$(get '[.interfaces[].mode]|sort' show)" '["skb","tc"]' "what show says"
		by source 0 -t
		if [ $how = attach ]; then
			bloom attach edge0 --match destination
			by destination 0 -t
		else
			echo "load bad $WORK/list" >conf
			ready
			wait_until "that the service makes one of them" one_is_left
			stop TERM
			by source 0 -t
		fi
		shown skb
		bloom detach edge0
	done
}

until_both_are_there() {
	local n=200

	strace -o calls -e trace=bpf,unlink "$XDP_BLOOM" attach edge0 --mode tc >out || fail "not attached"
	bloom attach edge0 --mode skb
	for ((n = $(wc -l <calls); n; n--)); do
		(
			strace -o /dev/null -e trace=bpf,unlink -e inject=bpf,unlink:signal=KILL:when=$n "$XDP_BLOOM" attach edge0 --mode tc
			exit
		) >out 2>err
		one_is_left || return 0
		bloom attach edge0 --mode skb --if-needed
	done
	fail "never are both there"
}

one_is_left() {
	[ "$(find "$bpffs/links" -type f | wc -l)" = 1 ]
}

# A program behind it goes on seeing what is kept.
beside_others() {
	setting
	other_tc_program ingress 26
	bloom attach edge0 --mode tc
	grep -v '^192.0.2.8$' clean >rest
	echo 192.0.2.8 >>banned
	mv rest clean
	send 0 -t -b banned -c clean
	bloom detach edge0
	printf '%s\n' 192.0.2.8 >banned
	send 0 -t -b banned -c clean
}

# What is put before the filter later is not its fault, and is said.
behind_another() {
	setting
	bloom attach edge0 --mode tc
	another attach edge0 --mode tc
	[ "$(get '.interfaces[].behind' show)" != 0 ] || skip "before 6.6 no other program is asked first"
	bloom status
	grep -qF 'edge0: who is asked before the filter may let in what is banned: bpftool net show dev edge0' out ||
		fail "status says: $(cat out)"
	bloom doctor
	grep -q "^note .*edge0 .*1 other programs are asked .*let in what.*'detach edge0 --ingress' and 'attach' it" out ||
		fail "doctor says: $(cat out)"
}

# Where XDP is refused: another project's program, and packets of a kind that only tc reads.
where_xdp_is_not() {
	setting
	other_program
	ip link set edge0 xdpgeneric object other.o section xdp 2>err || skip "ip loads no program: $(head -n 1 err)"
	refused "--mode tc" attach edge0 --mode skb
	bloom attach edge0 --mode tc
	by source 0 -t
	cat banned of_other >dropped
	send 0 -t -b dropped -c clean
	bloom doctor edge0
	grep -q 'attached there already (tc mode)' out || fail "doctor says: $(cat out)"
	rm -r "${bpffs:?}"/*
	bloom doctor edge0
	grep -q 'tc mode, as it was to be' out || fail "doctor says: $(cat out)"
	bloom restore
	by source 0 -t
	bloom detach edge0
	expect 1 "$XDP_BLOOM" doctor edge0
	grep -q 'or try --shared or --mode tc' out || fail "doctor says: $(cat out)"
}

# Who watches is told which way it went.
seen() {
	setting
	bloom attach edge0 --mode tc --match both
	bloom attach edge0 --egress
	watch_two
	echo 192.0.2.7 >banned
	send 0 -t -b banned -c clean
	wait_until "its sample" test -s seen
	send 0 -t -d -b banned -c clean -e vlan
	end_of "$watching" || fail "watch ended with $?"
	is "$(jq -sc '[.[]|[.interface,.direction,.match,.source,.destination,.protocol]]' seen)" \
		'[["edge0","ingress","source","192.0.2.7","198.51.100.1","udp"],["edge0","ingress","destination","198.51.100.1","192.0.2.7","udp"]]' \
		"what watch says"
	"$XDP_BLOOM" watch --passed --duration 1s >out 2>err
	grep -q 'not those of --mode tc' err || fail "watch says of what passes: $(cat err)"
}

# Packets that come joined count as what they were joined of.
joined() {
	need nsenter
	[ -e /proc/sys/net/ipv6 ] || skip "needs IPv6 in the kernel"
	ip link set lo up
	beyond edge7
	echo 192.0.2.7 >list
	bloom load bad list --force
	nsenter -t "$far" -n "$XDP_BLOOM" attach wire7 --mode tc --force >out 2>err || fail "not attached: $(cat err)"
	is "$(python3 "$leaves" connects "$far" 192.0.2.6 | paste -sd' ')" 192.0.2.6 "who is reached"
	[ "$(get .packets.passed stats)" -gt 600 ] || fail "a megabyte counts as $(get .packets.passed stats) packets"
	bloom attach edge7 --mode tc
	is "$(python3 "$leaves" connects "$far" 192.0.2.7 192.0.2.6 | paste -sd' ')" 192.0.2.6 "who is reached"
}

# Before 6.6 there are no links: it is a filter of clsact.
by_clsact() {
	need setarch
	printf '#!/bin/sh\nexec setarch --uname-2.6 "%s" "$@"\n' "$XDP_BLOOM" >older
	chmod +x older
	XDP_BLOOM=$WORK/older
	setting
	bloom attach edge0 --mode tc
	bloom attach edge0 --egress
	by source 0 -t
	bloom attach edge0 --match both
	by both 0 -t
	bloom rotate
	by both 0 -t
	is "$(cd "$bpffs/links" && echo *)" "edge0%inor edge0%out" "pins"
	bloom attach edge0 --mode skb
	by both 0
	bloom attach edge0 --mode tc
	by both 0 -t
	bloom detach edge0 --ingress
	send 0 -t -c everybody
	is "$(get '[.interfaces[]|[.name,.direction]]' show)" '[["edge0","egress"]]' "what show says"
}

refuses() {
	setting
	bloom add 198.51.100.9
	ip addr add 198.51.100.9/24 dev edge0
	refused "bans 198.51.100.9" attach edge0 --mode tc --match destination
	bloom attach edge0 --mode tc --match destination --force
	refused "--mode is auto, native, skb or tc, not 'xdp'" attach edge1 --mode xdp
}

cases=()
for match in source destination both; do
	cases+=("every $match")
done
for way in "native tc" "tc skb" "skb native"; do
	cases+=("killed $way")
done
run_cases "${cases[@]}" together only_what_is_used on_trial into_each goes_back shared changes heals twice beside_others behind_another where_xdp_is_not seen joined by_clsact refuses
