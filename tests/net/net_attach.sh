#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Interfaces: several at once, and one after another.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/edges.sh
. "$here/edges.sh"

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
	is "$(jq -sc "$(numbers '[.[].rate.packets.dropped]')" "$WORK/out")" "[0,0]" "two lines of rates without traffic"
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
	refused edge0 attach edge0 --mode native
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
	local detaching

	prepare
	bloom attach edge0
	hold_lock
	mv "$XDP_BLOOM_BPFFS/links/edge0" "$XDP_BLOOM_BPFFS/hidden" || fail "cannot hide the pin"
	"$XDP_BLOOM" detach edge0 &
	detaching=$!
	until grep -q -- "-> POSIX .* $detaching " /proc/locks || ! kill -0 $detaching; do moment; done
	mv "$XDP_BLOOM_BPFFS/hidden" "$XDP_BLOOM_BPFFS/links/edge0"
	kill "$holder"
	end_of $detaching
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

# The filter goes with the interface, and is called as that is now; another one that has its old name now is another.
renamed_interface() {
	prepare
	bloom attach edge0
	filters_renamed
	veth 0
	passes_all 0
	bloom restore
	filters 0
	filters 8
	refused "edge8: the filter is attached there already" attach edge8
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",false,false],["edge8",false,false]]' "what show says"
	bloom detach edge0
	passes_all 0
	filters 8
	bloom attach edge0
	filters 0
	bloom detach edge8
	passes_all 8
	filters 0
	bloom detach edge0
	passes_all 0
	is "$(ls "$XDP_BLOOM_BPFFS/links")" "" "the pins that are left"
}

# Names move up by one: what was attached under the last of them is filtered by its name of today, too, and stays so.
names_move_up() {
	prepare
	bloom attach edge0 edge1
	renamed 0 7
	renamed 1 0
	bloom detach edge1
	is "$(cat err)" "xdp-bloom: edge0, attached as edge1, stays filtered: 'xdp-bloom detach edge0' ends that" "what is said"
	filters 0
	refused "edge1: the filter is not attached there" detach edge1
	bloom restore
	filters 0
	filters 7
	bloom detach edge0
	passes_all 0
	filters 7
}

# other_name N NAME: one more name of edgeN.
other_name() {
	ip link property add dev "edge$1" altname "$2" 2>/dev/null || skip "interfaces have no other names here"
}

# The names that the state has.
kept() {
	get '[.interfaces[].name]|join(" ")' show
}

# A name that the interface has beside its own, of any length, stands for that one.
other_names() {
	local long=a-name-that-is-longer-than-what-the-kernel-has-room-for

	prepare
	other_name 0 lan0
	other_name 0 "$long"
	bloom attach lan0
	is "$(cat err)" "xdp-bloom: lan0 is edge0" "what is said of the name"
	is "$(kept)" edge0 "interfaces"
	filters 0
	bloom status
	refused "edge0: the filter is attached there already" attach edge0
	expect 2 "$XDP_BLOOM" attach "$long"
	grep -q "edge0: the filter is attached there already" err || fail "what is said of the long name: $(cat err)"
	bloom detach "$long"
	is "$(cat err)" "xdp-bloom: $long is edge0" "what is said of the long name"
	passes_all 0
	is "$(kept)" "" "interfaces that are left"
	"$XDP_BLOOM" doctor lan0 >out 2>err
	grep -q "^ok .* edge0 " out || fail "doctor says nothing of edge0: $(cat out)"
	refused "can be no interface's name" attach "${long}er"
}

# Of an interface with many names, and what is behind it.
many_other_names() {
	prepare
	ip addr add 45.0.0.1/24 dev edge0
	many_names edge0
	veth 9
	ip addr add 45.9.0.1/24 dev edge9
	bloom attach "n$(printf %0120d 480)" edge9
	"$XDP_BLOOM" guards >out 2>err || fail "guards: $(cat err)"
	grep -q "^45.9.0.1 .*edge9" out || fail "addresses that guards know: $(cat out)"
	bloom add 198.51.100.77
	filters 0
	filters 9
	bloom status
	"$XDP_BLOOM" doctor >out 2>err
	grep -q " edge9 " out || fail "doctor says nothing of edge9: $(cat out)"
	# One by tc is looked for where its interface has another name.
	bloom attach edge9 --egress
	renamed 9 8
	bloom status
	is "$(get '[.interfaces[]|select(.direction=="egress")|[.name,.gone]]' show)" '[["edge8",false]]' "what is renamed"
	bloom detach edge8
	passes_all 8
}

# It is remembered by a name that an interface gets later.
other_name_later() {
	prepare
	expect 1 "$XDP_BLOOM" attach lan0 --if-needed
	bloom attach edge0 --egress
	passes_all 0
	other_name 0 lan0
	bloom restore
	filters 0
	bloom status
	is "$(get '[.interfaces[]|[.name,.direction]|join(",")]|sort|join(" ")' show)" "edge0,egress edge0,ingress" "interfaces"
	bloom detach edge0
	passes_all 0
	bloom restore
	passes_all 0
}

# Another interface comes with the name as another name of its own, as a container's root gives them, and goes again.
name_of_what_is_away() {
	prepare
	bloom attach edge0
	ip link del edge0
	veth 9
	other_name 9 edge0
	expect 1 "$XDP_BLOOM" restore
	grep -q "edge0: that is another name of edge9" err || fail "what restore says: $(cat err)"
	passes_all 9
	bloom add 198.51.100.77
	ip link del edge9
	veth 0
	bloom restore
	filters 0
	bloom status
}

# What was attached under a name goes by it, though the interface is called otherwise today.
detach_by_other_name() {
	prepare
	bloom attach edge0
	filters_renamed
	other_name 8 edge0
	bloom status
	bloom detach edge0
	is "$(cat err)" "" "what detaching says"
	passes_all 8
	bloom attach edge0
	is "$(cat err)" "xdp-bloom: edge0 is edge8" "what is said of the name"
	bloom detach edge8
	passes_all 8
}

# It has its old name again, or is asked for by it.
renamed_and_back() {
	prepare
	bloom attach edge0
	filters_renamed
	bloom detach edge0
	passes_all 8
	renamed 8 0
	bloom attach edge0
	filters_renamed
	veth 0
	bloom attach edge0
	ip link del edge0
	renamed 8 0
	refused "edge0: the filter is attached there already" attach edge0
	filters 0
	bloom detach edge0
	passes_all 0
}

# In another network namespace it filters on, and the one that has its name now is filtered, too.
moved_interface() {
	local away

	prepare
	need nsenter
	bloom attach edge0
	unshare --net sleep infinity &
	away=$!
	wait_until "a network namespace" other_network $away
	ip link set edge0 netns $away
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]' show)" '[["edge0",true,false]]' "what show says of the moved"
	ip link set wire0 down
	ip link set wire0 name wire8
	veth 0
	bloom restore
	filters 0
	is "$(get '[.interfaces[]|[.name,.moved,.gone]]|sort' show)" '[["edge0",false,false],["edge0",true,false]]' "what show says"
	bloom detach edge0
	passes_all 0
	[ "$(away_id $away)" != none ] || fail "the interface that was moved is not filtered any more"
	bloom detach edge0
	is "$(away_id $away)" none "the program of the interface that was moved"
	kill $away
}

away_id() {
	nsenter -t "$1" -n ip -j link show edge0 | jq -r '.[0].xdp.prog.id // "none"'
}

# shellcheck disable=SC2120 # by wait_until
other_network() {
	[ -e "/proc/$1/ns/net" ] && ! [ "/proc/$1/ns/net" -ef /proc/self/ns/net ]
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
	# One of another name is not taken for it.
	# shellcheck disable=SC2016 # that shell's own
	other=(unshare --net "$BASH" -c 'ip link add edge7 index $0 type veth peer name wire7 && exec "$@"' "$number" "$XDP_BLOOM")
	expect 0 "${other[@]}" attach edge7
	filters 0
}

# What has an Ethernet header without being of Ethernet; net_bare.sh has those without.
with_ethernet() {
	prepare
	ip tuntap add edge9 mode tap 2>/dev/null || skip "the kernel has no tun devices (CONFIG_TUN)"
	bloom attach edge9
	bloom attach lo --mode skb
	bloom detach edge9 lo
	ip link del edge9
}

# Where a filter sees less than somebody may think, attach says so at once, and names where it sees all.
between_ports() {
	veth 0 1 2
	bloom attach edge2
	is "$(cat err)" "" "what is said of an interface that sees all"
	ip link add edgebr type bridge || skip "needs bridges: this kernel has none (CONFIG_BRIDGE)"
	ip link set edge0 master edgebr
	ip link set edge1 master edgebr
	bloom attach edgebr --mode skb
	one_line "edgebr: packets between the bridge's ports (edge0, edge1) are not seen here"
	bloom detach edgebr
	is "$(get '.[0].misses|contains("edge0, edge1")' attach edgebr --mode skb)" true "what it misses"
}

# A port whose name begins another's is one of them; so many that they are cut are counted.
names_all_ports() {
	local i port

	ip link add edgebr type bridge || skip "needs bridges: this kernel has none (CONFIG_BRIDGE)"
	ip link add edgea1 type veth peer name edgea
	ip link add edgeb type veth peer name edgeb1
	for port in edgea edgea1 edgeb edgeb1; do
		ip link set $port master edgebr
	done
	veth 0
	bloom add 45.0.0.1
	bloom attach edgebr --mode skb
	is "$(grep -o '(.*)' err | tr -d '(),' | tr ' ' '\n' | sort | paste -sd' ')" "edgea edgea1 edgeb edgeb1" "the ports"
	bloom detach edgebr
	for i in {10..24}; do
		ip link add "edge-port-ab$i" type veth peer name "edge-port-cd$i"
		ip link set "edge-port-ab$i" master edgebr
		ip link set "edge-port-cd$i" master edgebr
	done
	bloom attach edgebr --mode skb
	is $(($(grep -o 'edge-port-[a-d]*[0-9]*' err | wc -l) + $(grep -oE 'and [0-9]+ more' err | tr -dc 0-9))) 30 "the number of ports"
}

its_own_share() {
	veth 2
	ip link add link edge2 name edge2.7 type vlan id 7 2>/dev/null || skip "needs VLANs: this kernel has none (CONFIG_VLAN_8021Q)"
	bloom attach edge2.7 --mode skb
	one_line "edge2.7: only its own share of what edge2 receives is seen here; attach to edge2 for all"
}

# together KIND...: edgetop, of edge0 and edge1.
together() {
	local n

	veth 0 1
	ip link add edgetop type "$@" 2>/dev/null || skip "the kernel has no devices of the kind $1"
	for n in 0 1; do
		ip link set "edge$n" down
		ip link set "edge$n" master edgetop
		ip link set "edge$n" up
	done
	ip link set edgetop up
}

# banned_from WIRE: three packets of a source that is banned.
banned_from() {
	python3 - "$1" <<-'EOF'
		import socket, sys

		out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		out.bind((sys.argv[1], 0x800))
		mac = open("/sys/class/net/edgetop/address").read().strip().replace(":", "")
		for _ in range(3):
		    out.send(bytes.fromhex(mac + "020000000001" "0800" "4500001c000000004011" "0000" "2d000001" "c0000206" "00090009" "00080000"))
	EOF
}

has_dropped() {
	[ "$(get .packets.dropped stats)" = "$1" ]
}

# What it says, and that it is so: what comes in by the standby is not seen, but at the ports.
standby() {
	local port active

	together bond mode active-backup miimon 50
	bloom add 45.0.0.1
	bloom attach edgetop --mode skb
	one_line "edgetop: what a port (edge0, edge1) does not hand on is not seen here, such as a standby's packets; attach to the ports for all"
	wait_until "an active port" grep -q edge /sys/class/net/edgetop/bonding/active_slave
	active=$(cat /sys/class/net/edgetop/bonding/active_slave)
	port=$([ "$active" = edge0 ] && echo 1 || echo 0)
	banned_from "wire$port"
	banned_from "wire$((1 - port))"
	wait_until "what came in by $active" has_dropped 3
	bloom detach edgetop
	bloom attach "edge$port" --mode skb
	is "$(cat err)" "" "what is said of a port"
	banned_from "wire$port"
	wait_until "what came in by the standby, too" has_dropped 6
}

# Packets are sent to it, and go on as received by the interface that they came in by.
goes_on_elsewhere() {
	veth 0
	ip link add edgetop type ifb 2>/dev/null || skip "the kernel has no ifb (CONFIG_IFB)"
	ip link set edgetop up
	bloom add 45.0.0.1
	bloom attach edgetop --mode skb
	one_line "edgetop: no packet is seen here, as the interface that it came in by goes on with it; attach to that one"
	redirected edge0 edgetop || skip "the kernel has no u32 or mirred (CONFIG_NET_CLS_U32, CONFIG_NET_ACT_MIRRED)"
	banned_from wire0
	wait_until "what was sent to it" has_sent edgetop 3
	is "$(get .packets.dropped stats)" 0 "what was dropped there"
	bloom attach edge0 --mode skb
	is "$(cat err)" "" "what is said of where it came in"
	banned_from wire0
	wait_until "what came in" has_dropped 3
}

redirected() {
	tc qdisc add dev "$1" ingress 2>/dev/null &&
		tc filter add dev "$1" ingress u32 match u32 0 0 action mirred egress redirect dev "$2" 2>/dev/null
}

has_sent() {
	[ "$(cat "/sys/class/net/$1/statistics/tx_packets")" -ge "$2" ]
}

# drops_by N SUM: with what comes in by that port.
drops_by() {
	banned_from "wire$1"
	wait_until "what came in by edge$1" has_dropped "$2"
}

# Packets are sent until one is dropped, behind so many.
follows() {
	banned_from "wire$1"
	[ "$(get .packets.dropped stats)" -gt "$2" ]
}

# A port that comes receives for the bond.
comes() {
	veth "$1"
	ip link set "edge$1" down
	ip link set "edge$1" master edgetop
	ip link set "edge$1" up
	wait_until "edge$1 to be the active port" ip link set edgetop type bond active_slave "edge$1"
}

# Of a bond that is filtered in native mode packets have its ports' numbers: a scope of the bond holds for them, and the
# bond's counters have them. Without the service the next command follows a port that comes.
of_bond() {
	local active

	together bond mode active-backup miimon 50
	echo 45.0.0.1 >list
	bloom load bad list --on edgetop
	bloom attach edgetop --mode "$1"
	wait_until "an active port" grep -q edge /sys/class/net/edgetop/bonding/active_slave
	active=$(cat /sys/class/net/edgetop/bonding/active_slave)
	drops_by "${active#edge}" 3
	comes 2
	bloom add 192.0.2.1
	drops_by 2 6
	is "$(get '[.interfaces[] | select(.name) | [.name, .packets.dropped]]' stats)" '[["edgetop",6]]' "what it counts"
	: >conf
	ready
	comes 3
	wait_until "the service to follow a port that came" follows 3 6
}

teamed() {
	together team
	bloom add 45.0.0.1
	bloom attach edgetop --mode skb
	one_line "edgetop: what a port (edge0, edge1) does not hand on is not seen here"
}

run_cases "two_interfaces native" "two_interfaces skb" counts_by_interface attached_before_anything_is_loaded \
	second_attach_is_refused detach_one detach_all detach_has_the_last_word unknown_interface \
	falls_back_to_skb_with_a_warning jumbo_frames with_ethernet between_ports names_all_ports its_own_share standby "of_bond native" "of_bond skb" "of_bond tc" goes_on_elsewhere teamed vanished_interface renamed_interface names_move_up \
	renamed_and_back other_names many_other_names other_name_later name_of_what_is_away detach_by_other_name moved_interface same_name_in_another_namespace
