#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces: several at once, one after another, and beside other XDP programs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"

# A program of somebody else's, which drops what comes from 192.0.2.66: so that one sees whether it still runs.
other_program() {
	command -v clang >/dev/null || skip "needs clang"
	clang -O2 -g -target bpf -c -x c -o other.o - <<'C' || fail "cannot compile it"
struct xdp_md { unsigned int data, data_end; };
struct packet { unsigned char ethernet[14]; unsigned short ip[6]; unsigned short source[2]; };

__attribute__((section("xdp"), used)) int other_program(struct xdp_md *ctx)
{
	struct packet *p = (void *)(long)ctx->data;

	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return 2;
	return p->source[0] == __builtin_bswap16(0xc000) && p->source[1] == __builtin_bswap16(0x0242) ? 1 : 2;
}

char _license[] __attribute__((section("license"), used)) = "GPL";
C
	echo 192.0.2.66 >of_other
}

# Two hosts and a prefix are banned; the sources to send from.
prepare() {
	veth 0 1
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0/24 >list
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0 203.0.113.255 >banned
	printf '%s\n' 192.0.2.6 192.0.2.8 2001:db8::6 203.0.112.255 203.0.114.0 >clean
	cat banned clean >everybody
	bloom load bad list
}

filters() {
	send "$1" -b banned -c clean
}

passes_all() {
	send "$1" -c everybody
}

two_interfaces() {
	prepare
	bloom attach edge0 edge1 --mode "$1"
	is "$(get '[.interfaces[]|.name,.mode]|sort' show)" "[\"edge0\",\"edge1\",\"$1\",\"$1\"]" "what show says"
	filters 0
	filters 1
	is "$(get .packets.dropped stats)" $((2 * $(wc -l <banned))) "the number dropped on both"
}

# What each interface counted, by stage too; and where it goes when the filter leaves an interface.
counts_by_interface() {
	local rows='[.interfaces[]|[.name,.packets.dropped,.packets.passed]]'

	prepare
	bloom attach edge0 edge1
	filters 0
	filters 1
	filters 1
	is "$(get "$rows" stats)" '[["edge0",4,5],["edge1",8,10],[null,0,0]]' "dropped and passed by interface"
	is "$(get '[.stages[]|select(.verdict=="dropped").packets]|add' stats)" 12 "the sum of the stages that drop"
	is "$(get '[.stages[]|select(.verdict=="dropped")|select(.stage=="gate").packets]|add' stats)" 6 "dropped by the gate"
	bloom detach edge1
	bloom attach edge1
	is "$(get "$rows" stats)" '[["edge0",4,5],["edge1",0,0],[null,8,10]]' "after detaching and attaching again"
	is "$(get '[.packets[]]' stats)" '[15,12,0]' "the sums"
	bloom -j stats --interval 0.1 --count 2
	is "$(jq -sc '[.[].rate.packets.dropped]' "$WORK/out")" '[0,0]' "two lines of rates without traffic"
}

attached_before_anything_is_loaded() {
	veth 0
	printf '%s\n' 192.0.2.7 192.0.2.8 >everybody
	bloom attach edge0
	passes_all 0
	echo 192.0.2.7 >banned
	echo 192.0.2.8 >clean
	bloom load bad banned
	filters 0
	bloom unload bad
	passes_all 0
}

second_attach_is_refused() {
	prepare
	bloom attach edge0
	refused edge0 attach edge0
	refused edge0 attach edge0 --mode skb
	refused edge0 attach edge1 edge0
	filters 0
	passes_all 1
}

detach_one() {
	prepare
	bloom attach edge0 edge1
	bloom detach edge0
	is "$(xdp_id edge0)" none "the program on edge0"
	passes_all 0
	filters 1
	refused edge0 detach edge0
	refused edge0 detach edge1 edge0
	bloom attach edge0
	filters 0
}

detach_all() {
	prepare
	bloom attach edge0 edge1
	bloom detach --all
	is "$(xdp_id edge0) $(xdp_id edge1)" "none none" "the programs"
	is "$(get .interfaces show)" "[]" "what show says of the interfaces"
	is "$(get 'map(.name)' lists)" '["bad"]' "the lists that are kept"
	passes_all 0
}

# One that is attached again while detach waits for the state does not stay so. Here it is hidden for so long.
detach_has_the_last_word() {
	local holder detaching

	prepare
	bloom attach edge0
	mkfifo release
	python3 -c '
import fcntl
lock = open("state/lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("held", "w")
open("release").read()' &
	holder=$!
	until [ -e held ]; do :; done
	mv "$XDP_BLOOM_BPFFS/links/edge0" "$XDP_BLOOM_BPFFS/links/hidden" || fail "cannot hide the pin"
	"$XDP_BLOOM" detach edge0 &
	detaching=$!
	until grep -q -- "-> POSIX .* $detaching " /proc/locks || ! kill -0 $detaching; do :; done
	mv "$XDP_BLOOM_BPFFS/links/hidden" "$XDP_BLOOM_BPFFS/links/edge0"
	: >release
	wait $holder
	wait $detaching
	is "$?" 0 "the status of detach"
	is "$(xdp_id edge0)" none "the program on edge0"
	bloom restore
	passes_all 0
}

unknown_interface() {
	prepare
	refused nosuch0 attach nosuch0
	refused nosuch0 attach edge0 nosuch0
	refused nosuch0 detach nosuch0
	refused "the filter is not attached there" detach ""
	refused interface attach
	refused interface detach
	refused sideways attach edge0 --mode sideways
}

# A veth whose other end sends jumbo frames takes no native program.
falls_back_to_skb_with_a_warning() {
	prepare
	refused lo: attach lo --mode native
	bloom attach lo
	one_line lo:
	is "$(get '.interfaces[]|[.name,.mode]' show)" '["lo","skb"]' "what show says"
}

# Frames of several buffers: natively where the kernel has that (5.18), in skb mode where it has not.
jumbo_frames() {
	local mode got

	prepare
	ip link set edge0 mtu 9000
	ip link set wire0 mtu 9000
	for mode in native skb; do
		if ! "$XDP_BLOOM" attach edge0 --mode "$mode" &>/dev/null; then
			[ $mode = native ] || fail "skb mode is refused"
			echo "# no native mode for jumbo frames on this kernel"
			bloom attach edge0
			one_line edge0
			bloom detach edge0
			continue
		fi
		filters 0
		bloom rotate
		got=$(get '[.packets.passed,.packets.dropped,.bytes.passed,.bytes.dropped]' stats)
		jumbo 40
		is "$(get "[.packets.passed,.packets.dropped,.bytes.passed,.bytes.dropped]|[.,$got]|transpose|map(.[0]-.[1])" stats)" \
			"[40,80,$((40 * 9000)),$((80 * 9000))]" "what $mode mode counted"
		bloom detach edge0
	done
}

# jumbo N: so many frames of 9000 bytes from a clean source, each behind two banned ones, which must not arrive.
jumbo() {
	python3 - "$1" 203.0.113.9 192.0.2.8 <<'PYTHON' || fail "jumbo frames do not pass as they must"
import socket, struct, sys

count, banned, clean = int(sys.argv[1]), *map(socket.inet_aton, sys.argv[2:])
out, back = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, kind) for kind in (0, socket.htons(0x0800)))
out.bind(("wire0", 0))
back.bind(("edge0", 0x0800))
back.settimeout(5)
for n in range(count):
    for source in banned, banned, clean:
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 8986, n, 0, 64, 17, 0, source, b"\x0a\0\0\1")
        out.send((b"\2\0\0\0\0\1" * 2 + b"\x08\0" + ip).ljust(9000, b"x"))
    frame = back.recv(10000)
    if len(frame) != 9000 or frame[18:20] != struct.pack("!H", n) or frame[26:30] != clean:
        sys.exit("# frame %d: %d bytes from %s" % (n, len(frame), socket.inet_ntoa(frame[26:30])))
PYTHON
}

vanished_interface() {
	prepare
	bloom attach edge0 edge1
	ip link del edge0
	filters 1
	is "$(get '[.interfaces[]|select(.gone|not).name]' show)" '["edge1"]' "what show says is filtered"
	veth 0
	passes_all 0
	bloom attach edge0
	filters 0
	bloom detach --all
}

# The first interface becomes the eighth, and is filtered there.
filters_renamed() {
	ip link set edge0 down
	ip link set edge0 name edge8 up
	ip link set wire0 down
	ip link set wire0 name wire8 up
	filters 8
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",true,false]]' "what show says"
}

# The filter goes with the interface; another one that has its name now is open, and nobody says that it is not.
renamed_interface() {
	prepare
	bloom attach edge0
	filters_renamed
	veth 0
	passes_all 0
	expect 1 "$XDP_BLOOM" restore
	grep -q "edge0: the filter that was attached under this name" err || fail "restore does not say so: $(cat err)"
	expect 1 "$XDP_BLOOM" attach edge0 --if-needed
	one_line "edge0: the filter that was attached under this name"
	refused "edge0: the filter that was attached under this name" attach edge0
	filters 8
	bloom detach edge0
	passes_all 8
	bloom attach edge0
	filters 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,false]]' "what show says"
}

# In a container eth0 often has the number that eth0 has outside: what is attached there is not attached here.
same_name_in_another_namespace() {
	local number
	local -a other

	prepare
	bloom attach edge0
	number=$(cat /sys/class/net/edge0/ifindex)
	# shellcheck disable=SC2016 # that shell's own
	other=(unshare --net "$BASH" -c 'ip link add edge0 index $0 type veth peer name wire0 && exec "$@"' "$number" "$XDP_BLOOM")
	expect 0 "${other[@]}" -j show
	is "$(jq -c '[.interfaces[]|[.name,.moved,.gone]]' out)" '[["edge0",true,false]]' "what show says there"
	expect 2 "${other[@]}" attach edge0
	one_line "edge0: the filter that was attached under this name"
	filters 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,false]]' "what show says here"
}

another_program_is_there() {
	local id mode=$1

	other_program
	prepare
	ip link set dev edge0 "$mode" obj other.o sec xdp 2>err || skip "ip cannot attach a program: $(cat err)"
	id=$(xdp_id edge0)
	refused edge0 attach edge0
	refused edge0 attach edge0 --mode skb
	refused edge0 attach edge0 --shared
	is "$(xdp_id edge0)" "$id" "the other program"
	sed -i 1q of_other
	send 0 -b of_other -c everybody
}

# Both of them see the traffic; then each of them without the other.
both_then_one() {
	cat banned of_other >of_both
	is "$(get '[.interfaces[]|.name]' show)" '["edge0"]' "what show says"
	send 0 -b of_both -c clean
	refused edge0 attach edge0 --shared
	bloom rotate
	send 0 -b of_both -c clean
	bloom detach edge0
	send 0 -b of_other -c everybody
	bloom attach edge0 --shared
	send 0 -b of_both -c clean
	expect 0 xdp-loader unload edge0 --id "$(other_id)"
	cat clean of_other >clean_and_other
	send 0 -b banned -c clean_and_other
	bloom detach edge0
	is "$(xdp_id edge0)" none "the program on edge0"
}

other_id() {
	xdp-loader status edge0 | awk '/other_program/ { print $4 }'
}

# shared MODE FIRST ARGS...: who is there first, and how the command attaches.
shared() {
	local mode=$1 first=$2

	shift 2
	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	[ "$first" = other ] || bloom attach edge0 --mode "$mode" "$@"
	expect 0 xdp-loader load -m "$mode" edge0 other.o
	[ "$first" != other ] || bloom attach edge0 --mode "$mode" "$@"
	both_then_one
}

has_dispatcher() {
	command -v xdp-loader >/dev/null || skip "needs xdp-loader"
	expect 0 xdp-loader load -m skb edge1 other.o
	xdp-loader status edge1 | grep -q xdp_dispatcher
}

# Without a dispatcher libxdp would put our program there alone, where nobody can join it or take it away.
shared_without_dispatcher() {
	other_program
	prepare
	! has_dispatcher || skip "libxdp has its dispatcher here"
	refused edge0 attach edge0 --shared
	is "$(xdp_id edge0)" none "the program on edge0"
	refused edge1 attach edge1
	refused edge1 attach edge1 --shared
	send 1 -b of_other -c clean
}

# An interface that comes back has no dispatcher; nor has one whose programs others took away.
shared_is_lost() {
	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	bloom attach edge0 --shared
	filters 0
	ip link del edge0
	veth 0
	passes_all 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,true]]' "what show says of one that came back"
	bloom attach edge0 --shared --if-needed
	filters 0
	expect 0 xdp-loader unload edge0 --all
	passes_all 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,true]]' "what show says of one taken away"
	bloom attach edge0 --shared
	filters 0
	bloom detach edge0
	passes_all 0
}

# It filters on under its new name, what is in force, until it is detached under the old one.
shared_is_renamed() {
	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	bloom attach edge0 --shared
	filters_renamed
	printf '%s\n' 192.0.2.6 2001:db8::6 >list
	printf '%s\n' 192.0.2.6 2001:db8::6 >banned
	printf '%s\n' 192.0.2.7 2001:db8::7 203.0.113.0 >clean
	bloom load bad list --force
	filters 8
	bloom detach edge0
	passes_all 8
}

# Who may not have libxdp put the new generation there leaves the old one in force everywhere, as the service does.
shared_without_the_right() {
	local generation
	local -a limited=(setpriv --bounding-set "-all,+bpf,+net_admin,+perfmon" --inh-caps -all)

	setpriv --list-caps | grep -q perfmon || skip "setpriv does not know CAP_PERFMON"
	ulimit -l unlimited 2>/dev/null # before 5.11 maps count against it
	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	bloom attach edge0 --shared
	generation=$(get .generation show)
	expect 2 "${limited[@]}" "$XDP_BLOOM" rotate
	one_line "edge0: to share an interface with other programs, libxdp wants CAP_SYS_ADMIN, too"
	is "$(get .generation show)" "$generation" "the generation"
	expect 0 "${limited[@]}" "$XDP_BLOOM" -j show
	is "$(jq -c '[.interfaces[]|[.name,.moved,.gone]]' out)" '[["edge0",false,false]]' "what show says"
	expect 2 "${limited[@]}" "$XDP_BLOOM" detach edge0
	one_line "libxdp wants CAP_SYS_ADMIN, too"
	filters 0
	bloom rotate
	filters 0
	bloom detach edge0
	passes_all 0
}

# There is no address where one is looked for: it would say that it filters, and let everything pass.
without_ethernet() {
	prepare
	ip tuntap add edge9 mode tun 2>/dev/null || skip "no tun device can be made"
	refused "edge9: its packets have no Ethernet header" attach edge9
	refused "edge9: its packets have no Ethernet header" attach edge0 edge9 --mode skb
	is "$(xdp_id edge9)" none "the program on edge9"
	ip link del edge9
	ip tuntap add edge9 mode tap
	bloom attach edge9
	bloom attach lo --mode skb
	bloom detach edge9 lo
	ip link del edge9
}

# Two instances side by side: each takes away only its own.
shared_by_two_instances() {
	local second=(-S "$WORK/state2" -B "$XDP_BLOOM_BPFFS-2")

	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	bloom attach edge0 --shared
	bloom "${second[@]}" load other of_other
	bloom "${second[@]}" attach edge0 --shared
	cat banned of_other >of_both
	send 0 -b of_both -c clean
	bloom "${second[@]}" detach edge0
	send 0 -b banned -c clean
	send 0 -c of_other
	bloom "${second[@]}" attach edge0 --shared
	bloom detach edge0
	send 0 -b of_other -c everybody
	bloom "${second[@]}" detach --all
	rm -rf "$XDP_BLOOM_BPFFS-2"
}

ours() {
	xdp-loader status edge0 | grep -c xdp_bloom_gen
}

# cut_short CALL PATH ARGS...: the command is killed at its call of that name, of that pin; CALL:2 at the second.
cut_short() {
	local call=${1%:*} nth=${1#*:} path=$2

	shift 2
	[ "$nth" != "$call" ] || nth=1
	# The shell that says of it that it was killed is not this one.
	(
		strace -o /dev/null -e trace="$call" -e inject="$call:signal=KILL:when=$nth" -P "$path" "$XDP_BLOOM" "$@"
		exit $?
	) >out 2>err
	is "$?" 137 "status of $*, to be killed at $call $path ($(cat err))"
}

# One program follows the other there. Whoever is killed in between, the next command leaves the one in force, alone.
shared_cut_short() {
	local pin=$XDP_BLOOM_BPFFS/links/edge0%shared at

	strace -e trace=rename,mkdir,rmdir,unlink true 2>/dev/null || skip "needs strace, and these calls"
	other_program
	prepare
	has_dispatcher || skip "libxdp has no dispatcher on this kernel"
	bloom attach edge0 --shared
	cp banned banned_too
	echo 192.0.2.8 >>banned_too
	grep -vx 192.0.2.8 clean >fewer
	# Before the new program; behind it, without a pin; with it; behind the old one.
	for at in mkdir%exchange unlink%new rename%new unlink:2%new rmdir%exchange; do
		cut_short "${at%\%*}" "$pin%${at#*%}" rotate
		bloom add 192.0.2.8
		is "$(ours)" 1 "programs of ours behind the dispatcher, after $at"
		send 0 -b banned_too -c fewer
		is "$(find "$XDP_BLOOM_BPFFS/links" -name 'edge0*' | wc -l)" 1 "the pins of edge0, after $at"
		bloom del 192.0.2.8
	done
	bloom detach edge0
	cut_short rename "$pin%new" attach edge0 --shared
	filters 0
	bloom rotate
	is "$(get .interfaces show)" '[]' "the interfaces"
	passes_all 0
}

run_cases "two_interfaces native" "two_interfaces skb" counts_by_interface \
	attached_before_anything_is_loaded second_attach_is_refused detach_one detach_all detach_has_the_last_word unknown_interface falls_back_to_skb_with_a_warning \
	jumbo_frames without_ethernet \
	vanished_interface renamed_interface same_name_in_another_namespace "another_program_is_there xdpdrv" "another_program_is_there xdpgeneric" \
	shared_without_dispatcher "shared native other --shared" "shared skb other --shared" "shared native other" "shared skb other" \
	"shared native us --shared" "shared skb us --shared" shared_is_lost shared_is_renamed \
	shared_without_the_right shared_by_two_instances shared_cut_short
