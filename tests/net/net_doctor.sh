#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What doctor says of machine and interfaces, held against attach itself: where it finds a problem, attach fails; where it
# finds none, attach takes the mode that it named, and packets are filtered.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"

everything() {
	ip -d -j link | jq -c '.[] | {ifname, mtu, xdp, promiscuity}'
	# SQLite's own, beside a file that is read.
	find /sys/fs/bpf state 2>/dev/null | grep -v 'state.db-'
}

# says STATUS LEVEL ABOUT WORDS: and it changes nothing.
says() {
	local before

	before=$(everything)
	# shellcheck disable=SC2086 # none, or one word
	expect "$1" "$XDP_BLOOM" doctor ${doctored-edge0}
	is "$(everything)" "$before" "what there is after doctor"
	grep -qE "^$2  *$3  *" out || fail "nothing of $3 as a $2: $(cat out)"
	grep -E "^$2  *$3  *" out | grep -qF -e "$4" || fail "no '$4' in: $(cat out)"
}

# attaches MODE INTERFACE: in that mode, and filters.
attaches() {
	expect 0 "$XDP_BLOOM" attach "$2"
	grep -qx "$2: filtering, $1 mode" out || fail "not in $1 mode: $(cat out err)"
}

# refuses WORDS ARGS...: attach does, in the words in which doctor found it.
refuses() {
	local words=$1

	shift
	refused "$words" attach "$@"
	is "$(xdp_id edge0)" "${foreign:-none}" "the program on edge0"
}

pair() {
	veth 0
	a_list
	bloom load bad list
	says 0 ok edge0 'native mode (veth, MTU 1500'
	says 0 ok program 'the kernel takes it'
	is "$(get '.ready, (.findings[] | select(.interface) | [.level, .about])' doctor edge0)" $'true\n["ok","edge0"]' "its JSON"
	attaches native edge0
	send 0 -b banned -c clean
	says 0 ok edge0 'the filter is attached there already (native mode)'
}

# What native mode cannot have, auto goes round; asked for, it is refused, in the same words.
queues() {
	need ethtool
	ip link add edge0 numrxqueues 1 type veth peer name wire0 numtxqueues 4 || fail "cannot make a veth pair"
	ip link set edge0 up
	ip link set wire0 up
	ethtool -L wire0 tx 4 2>/dev/null || skip "the kernel's veth has no channels to set (5.13)"
	says 0 note edge0 'skb mode, slower and behind the driver: its other end sends from 4 queues, and it can receive on 1'
	refuses 'its other end sends from 4 queues, and it can receive on 1: ethtool -L wire0 tx 1; --mode skb works' edge0 --mode native
	attaches skb edge0
	grep -qF 'no native mode (its other end sends from 4 queues' err || fail "no reason: $(cat err)"
	bloom detach edge0
	# As it says.
	ethtool -L wire0 tx 1
	says 0 ok edge0 'native mode (veth'
	attaches native edge0
}

there() {
	nsenter -t "$far" -n "$@"
}

# Whoever has the other end says from how many queues that sends: so attach sees to it that as many receive.
queues_away() {
	need ethtool nsenter
	ip link add edge0 numrxqueues 2 type veth peer name wire0 numtxqueues 4 || fail "cannot make a veth pair"
	ip link set edge0 up
	ip link set wire0 up
	ethtool -L edge0 rx 1 2>/dev/null || skip "the kernel's veth has no channels to set (5.13)"
	a_list
	bloom load bad list
	other_network
	ip link set wire0 netns "${far:?}"
	there ethtool -L wire0 tx 2
	says 0 ok edge0 'native mode (veth'
	attaches native edge0
	one_line 'edge0: it receives on all of its queues from now on, and no longer on 1'
	is "$(ethtool -l edge0 | grep -c 'RX:.*2')" 2 "how many receive, and may"
	# With the program there no more can send.
	there ethtool -L wire0 tx 4 2>/dev/null && fail "its other end sends from 4 queues"
	bloom detach edge0
	# More than there are: nothing is changed.
	ethtool -L edge0 rx 1
	there ethtool -L wire0 tx 4
	refused 'its other end, in another network namespace, sends from more queues than it can receive on (2); --mode skb works' attach edge0 --mode native
	is "$(ethtool -l edge0 | grep -c 'RX:.*1')" 1 "how many receive"
	ethtool -L edge0 rx 2
	says 0 note edge0 'skb mode, slower and behind the driver: its other end, in another network namespace, sends from more queues'
	attaches skb edge0
	grep -qF 'no native mode (its other end, in another network namespace, sends from more queues than it can receive on (2))' err ||
		fail "no reason: $(cat err)"
}

# At the limit, and one above it: before 5.18 no program takes packets that lie in several buffers.
mtu() {
	local most

	veth 0
	says 0 ok program 'the kernel takes it'
	if grep -q 'several buffers' out; then
		ip link set wire0 mtu 9000
		ip link set edge0 mtu 9000
		says 0 ok edge0 'native mode (veth, MTU 9000)'
		attaches native edge0
		return
	fi
	says 0 ok edge0 'at most'
	most=$(grep -o 'at most [0-9]*' out | grep -o '[0-9]*')
	ip link set wire0 mtu $((most + 1))
	says 0 note edge0 "its other end's MTU is $((most + 1)), and its driver (veth) has at most $most in native mode"
	refuses "its other end's MTU is $((most + 1))" edge0 --mode native
	attaches skb edge0
	bloom detach edge0
	ip link set wire0 mtu "$most"
	says 0 ok edge0 'native mode'
	attaches native edge0
}

# foreign MODE: another's program.
foreign() {
	veth 0
	other_program
	ip link set edge0 "$1" obj other.o sec xdp 2>err || skip "the ip of this iproute2 attaches no programs: $(tail -n 1 err)"
	foreign=$(xdp_id edge0)
	says 1 problem edge0 'another XDP program is attached there; detach it, or try --shared or --mode tc'
	is "$(head -n 1 out | cut -d ' ' -f 1,3)" 'problem edge0' "what comes first"
	refuses 'another XDP program is attached there; detach it, or try --shared or --mode tc' edge0
	# Nobody asked for it: it is no problem of this machine.
	doctored='' says 0 note edge0 'another XDP program'
	ip link set edge0 "$1" off
	says 0 ok edge0 'native mode'
}

no_interface() {
	veth 0
	doctored=edge7 says 1 problem edge7 "there is no such interface (did you mean 'edge0'?)"
	refuses 'there is no such interface' edge7
	expect 2 "$XDP_BLOOM" doctor edge/7
	one_line "can be no interface's name"
}

tap() {
	ip tuntap add edge0 mode tap 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	says 0 ok edge0 'native mode (tun'
	attaches native edge0
}

tun() {
	local words='this kernel cannot run the filter where packets have no Ethernet header'

	ip tuntap add edge0 mode tun 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	# An interpreter calls no functions in a program that calls another one last.
	if "$XDP_BLOOM" doctor | grep -q '^note *JIT *off'; then
		says 1 problem edge0 "$words"
		refuses "$words" edge0
		return
	fi
	says 0 ok edge0 'skb mode, as its packets have no Ethernet header'
	attaches skb edge0
}

no_header() {
	ip link add edge0 type vxlan dstport 4790 gpe external 2>/dev/null || skip "the kernel has no VXLAN (CONFIG_VXLAN)"
	says 1 problem edge0 'its packets have no Ethernet header'
	refuses 'its packets have no Ethernet header' edge0
}

# Its ports take the driver's mode; itself it has none.
bridge() {
	veth 0
	ip link add edgebr type bridge || skip "needs bridges: this kernel has none (CONFIG_BRIDGE)"
	ip link set edge0 master edgebr
	says 0 ok edge0 'native mode (veth'
	doctored=edgebr says 0 note edgebr "skb mode, slower and behind the driver: its driver (bridge) has no XDP"
	grep -q "packets between the bridge's ports (edge0) are not seen here" out || fail "of the ports: $(cat out)"
	refuses 'its driver (bridge) has no XDP; --mode skb works' edgebr --mode native
	attaches native edge0
	bloom detach edge0
	attaches skb edgebr
	says 1 problem edge0 'edgebr, which it is a port of, has an XDP program'
	refuses 'edgebr, which it is a port of, has an XDP program' edge0
}

# The other end, whose MTU and queues count, is elsewhere.
far() {
	veth 0
	other_network
	ip link set wire0 netns "${far:?}"
	says 0 ok edge0 'native mode (veth'
	attaches native edge0
}

# Others than those who are root here have the other end: it is said in which mode they can send past the filter.
gone_round() {
	local mode words

	need nsenter
	veth 0
	a_list
	bloom load bad list
	bloom attach edge0 --mode skb
	lacks redirects status
	bloom detach edge0
	other_network
	ip link set wire0 netns "${far:?}"
	for mode in skb tc; do
		words="edge0: packets that its other end, in another network namespace, redirects to it are not seen in $mode mode"
		expect 0 "$XDP_BLOOM" attach edge0 --mode $mode
		one_line "$words; native mode sees them"
		expect 0 "$XDP_BLOOM" status
		grep -qF "  $words" out || fail "status does not say it: $(cat out)"
		says 0 note edge0 "${words#edge0: }"
		says 0 ok edge0 "the filter is attached there already ($mode mode"
		# As after a start of the machine.
		rm -r "${XDP_BLOOM_BPFFS:?}"/*
		[ $mode = skb ] || tc qdisc del dev edge0 clsact 2>/dev/null
		expect 0 "$XDP_BLOOM" restore
		grep -qF "$words" err || fail "restore does not say it: $(cat err)"
		bloom detach edge0
	done
	expect 0 "$XDP_BLOOM" attach edge0
	[ ! -s err ] || fail "it is said of native mode: $(cat err)"
	lacks redirects status
	lacks redirects doctor edge0
}

# The end of a tunnel, where some pair has its other end elsewhere; of a VXLAN wherever it is.
# gone_round_in_a_tunnel KIND ARGS...
gone_round_in_a_tunnel() {
	local words='edge9: packets in this tunnel that another network namespace redirects to its end of a veth are not seen in skb mode'

	veth 0
	a_list
	bloom load bad list
	ip link add edge9 type "$@" 2>/dev/null || skip "the kernel has no devices of the kind $1"
	bloom attach edge9
	if [ "$1" = vxlan ]; then
		words='edge9: packets in this tunnel that another network namespace of this machine redirects, or sends as what they are not, are not seen in skb mode'
	else
		lacks redirects status
		lacks redirects doctor edge9
	fi
	bloom detach edge9
	other_network
	ip link set wire0 netns "${far:?}"
	expect 0 "$XDP_BLOOM" attach edge9 --mode skb
	one_line "$words; tc mode sees them: --mode tc"
	expect 0 "$XDP_BLOOM" status
	grep -qF "  $words" out || fail "status does not say it: $(cat out)"
	doctored=edge9 says 0 note edge9 "${words#edge9: }"
	# As after a start of the machine.
	rm -r "${XDP_BLOOM_BPFFS:?}"/*
	expect 0 "$XDP_BLOOM" restore
	grep -qF "$words" err || fail "restore does not say it: $(cat err)"
	expect 0 "$XDP_BLOOM" attach edge9 --mode tc
	[ ! -s err ] || fail "it is said of tc mode: $(cat err)"
	lacks redirects status
	lacks redirects doctor edge9
}

# lacks WORDS ARGS...
lacks() {
	expect 0 "$XDP_BLOOM" "${@:2}"
	! grep -F "$1" out err || fail "$1, of $2"
}

# as CAPABILITIES COMMAND...
as() {
	local all=-all${1:+,+}${1//,/,+}

	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set "$all" --inh-caps "$all" --ambient-caps "$all" "$@"
}

# Without rights it says so, and sees what there is to be seen; with all but one it names that one.
rights() {
	local missing with

	need setpriv
	setpriv --list-caps | grep -q perfmon || skip "needs a setpriv that knows CAP_PERFMON, of a newer package util-linux"
	veth 0
	chmod 755 "$WORK"
	install -m 755 "$XDP_BLOOM" command
	mkdir own
	chown 65534 own
	export XDP_BLOOM_STATE=$WORK/own/state
	expect 1 as '' ./command doctor edge0
	grep -q '^problem  rights .* lacks CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON$' out || fail "$(cat out)"
	grep -q '^ok  *edge0  *native mode (veth, MTU 1500' out || fail "of the interface: $(cat out)"
	[ ! -s err ] || fail "it warns: $(cat err)"
	expect 2 as '' ./command attach edge0
	for missing in bpf net_admin perfmon; do
		with=$(printf '%s\n' bpf net_admin perfmon | grep -vx $missing | paste -sd,)
		expect 1 as "$with" ./command doctor edge0
		grep -q "^problem  rights .* lacks CAP_${missing^^}\$" out || fail "without $missing: $(cat out)"
	done
}

# Where pins would have to be, there is another file system.
bpffs() {
	veth 0
	export XDP_BLOOM_BPFFS=$WORK/elsewhere
	says 1 problem bpffs 'is not on a BPF file system; mount one'
	refuses 'is not on a BPF file system; mount one' edge0
	# Within one that is there: to mount another over it would hide all pins.
	mkdir /sys/fs/bpf/other
	mount -t tmpfs tmpfs /sys/fs/bpf/other
	export XDP_BLOOM_BPFFS=/sys/fs/bpf/other/xdp-bloom
	says 1 problem bpffs 'is not on a BPF file system; mount one'
	refuses 'is not on a BPF file system; mount one' edge0
	umount /sys/fs/bpf/other
	rmdir /sys/fs/bpf/other
	export XDP_BLOOM_BPFFS=/sys/fs/bpf/xdp-bloom-test
	umount /sys/fs/bpf
	says 0 note bpffs 'not mounted yet: attach mounts it at /sys/fs/bpf'
	attaches native edge0
}

# Its file is none.
state() {
	veth 0
	mkdir -m 700 "$XDP_BLOOM_STATE"
	head -c 5000 /dev/urandom >"$XDP_BLOOM_STATE/state.db"
	says 1 problem state "$XDP_BLOOM_STATE"
	expect 2 "$XDP_BLOOM" attach edge0
	one_line "$(sed -n 's/^problem *state *//p' out | cut -c 1-60)"
}

# What this kernel is told by its command line: make hardened-test. Whatever it is, the filter works.
this_kernel() {
	local lockdown=

	mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security 2>/dev/null
	[ ! -e /sys/kernel/security/lockdown ] || lockdown=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)
	veth 0
	a_list
	bloom load bad list
	says 0 ok program 'the kernel takes it'
	cp out doctor
	is "$(sed -n 's/^ok *lockdown *\([a-z]*\), which forbids nothing that the filter does$/\1/p' doctor)" "${lockdown#none}" "the lockdown"
	attaches native edge0
	send 0 -b banned -c clean
	if ip -d link show edge0 | grep -q jited; then
		grep -qx 'ok *JIT *on' doctor || fail "of the JIT, which is on: $(cat doctor)"
	else
		grep -q '^note *JIT *off, or this kernel has none: the program is interpreted' doctor || fail "of the JIT: $(cat doctor)"
	fi
	echo "# $(uname -r): lockdown ${lockdown:-none}, $(ip -d link show edge0 | grep -o jited || echo 'no JIT')"
}

# As far as user space sees it: the kernel's description of itself is not there.
no_btf() {
	mkdir empty
	mount --bind empty /sys/kernel/btf 2>/dev/null || skip "there is no /sys/kernel/btf"
	veth 0
	a_list
	bloom load bad list
	says 0 note BTF 'this kernel has none'
	attaches native edge0
	send 0 -b banned -c clean
	bloom detect on
	bloom detect limit syn 500/s --then ban
	send 0 -b banned -c clean
	umount /sys/kernel/btf
}

run_cases pair queues queues_away mtu "foreign xdpdrv" "foreign xdpgeneric" no_interface tap tun no_header bridge far gone_round "gone_round_in_a_tunnel vxlan id 7 dstport 4789 local 10.0.0.1 dev edge0" \
	"gone_round_in_a_tunnel gretap local 10.0.0.1 remote 10.0.0.2" rights bpffs state this_kernel no_btf
