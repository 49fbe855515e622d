#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Captures against lists, images and the filter in force: as tcpdump, tshark and capture write them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
no_kernel='lists_|limits_|images_|links|cut_|written|refusals|many_|confined'
sandbox "$@"

# made FILE LINK SOURCE...: a pcap file, a packet of 60 bytes from each source, one a second; LINK is a number.
made() {
	python3 - "$@" <<'PYTHON'
import ipaddress, struct, sys

def headers(link, kind):
    return {1: bytes(12) + kind, 101: b"", 113: bytes(14) + kind, 276: kind + bytes(18),
            0: struct.pack("<I", 2 if kind == b"\x08\x00" else 10)}[link]

link = int(sys.argv[2])
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, link))
    for i, text in enumerate(sys.argv[3:]):
        source = ipaddress.ip_address(text).packed
        if len(source) == 4:
            packet = headers(link, b"\x08\x00") + bytes.fromhex("4500002e0000000040fd0000") + source + bytes(12)
        else:
            packet = headers(link, b"\x86\xdd") + bytes.fromhex("6000000000003b40") + source + bytes(24)
        packet += bytes(90 - len(packet))
        out.write(struct.pack("<IIII", 1700000000 + i, 0, len(packet), len(packet)) + packet)
PYTHON
}

# replayed ARGS...: its JSON is in out.
replayed() {
	expect 0 "$XDP_BLOOM" -j replay "$@"
}

got() {
	is "$(jq -c "$1" out)" "$2" "${3:-$1}"
}

sources=(192.0.2.1 192.0.2.1 192.0.2.9 198.51.100.7 2001:db8::1 2001:db8:1::1 203.0.113.5)

lists_entry_by_entry() {
	made packets 1 "${sources[@]}"
	printf '# ours\n192.0.2.0/29\n2001:db8::/48\n' >drop.txt
	printf '198.51.100.7 # again\n192.0.2.1\n' >more.txt
	replayed packets drop.txt more.txt
	got '.against' '"lists"'
	got '[.passed, .dropped | [.packets, .bytes]]' '[[3,270],[4,360]]'
	got '[.lists[] | [.list, .packets]]' '[["drop",3],["more",1]]'
	got '[.entries[] | [.list, .entry, .line, .sources, .packets]]' \
		'[["drop","192.0.2.0/29",2,1,2],["drop","2001:db8::/48",3,1,1],["more","198.51.100.7",1,1,1]]'
	got '[.sources.known, (.sources.dropped[0] | .address, .list, .packets)]' '[6,"192.0.2.1","drop",2]'
	got '[.sources.passed[].address]' '["192.0.2.9","203.0.113.5","2001:db8:1::1"]'
	got '[.seconds[] | .dropped.packets]' '[1,1,0,1,1,0,0]'
	got '.seconds[0].time' '"2023-11-14T22:13:20Z"'
	expect 0 "$XDP_BLOOM" replay packets drop.txt more.txt --top 1
	grep -qE '^dropped +4 packets +360 B +57.1 %$' out || fail "$(cat out)"
	grep -qE '^entries +192.0.2.0/29 +2 packets  drop:2$' out || fail "$(cat out)"
	is "$(grep -c '^ ' out)" 1 "lines that follow others, with --top 1"
	[ ! -e "$XDP_BLOOM_STATE" ] || fail "it made a state"
	expect 0 "$XDP_BLOOM" -j replay - drop.txt <packets
	got '.dropped.packets' 3
}

# What a wide line holds is known after it, and other lines do not ask again; the first one that holds it is shown.
many_lines() {
	made packets 1 45.0.0.{1..9} 45.9.9.9
	printf '45.0.0.0/28 # %d\n' {1..300} >wide
	printf '%s\n' 45.0.0.0/8 >>wide
	replayed packets wide
	got '[.entries[] | [.entry, .line, .sources]]' '[["45.0.0.0/28",1,9],["45.0.0.0/8",301,1]]'
}

# By the settings of this machine: an IPv4 address within another counts where it does so here.
embedded_as_here() {
	made packets 1 2002:c000:201::1 2001:db8::7
	echo 192.0.2.0/29 >drop.txt
	expect 0 "$XDP_BLOOM" image make image drop.txt
	replayed packets drop.txt
	got .dropped.packets 0 "what is dropped where it is off"
	bloom tune --embedded on
	replayed packets drop.txt
	got .dropped.packets 1 "what is dropped by lists where it is on"
	replayed packets --image image
	got .dropped.packets 1 "what is dropped by an image where it is on"
}

# Live bans were saved with it: they have no text, but a name.
images_of_bans() {
	made packets 1 192.0.2.1 192.0.2.9
	bloom add 192.0.2.1
	bloom save image
	replayed packets --image image
	got '[.lists[] | [.list, .packets]]' '[["live",1]]'
}

# Its addresses are those of a list: the same numbers come out of the lists.
images_of_lists() {
	made packets 1 "${sources[@]}"
	printf '192.0.2.0/29\n2001:db8::/48\n' >drop.txt
	expect 0 "$XDP_BLOOM" image make image drop.txt
	replayed packets drop.txt
	jq '[.passed, .dropped, .lists, .sources, .seconds]' out >by_list
	replayed packets --image image
	jq '[.passed, .dropped, .lists, .sources, .seconds]' out >by_image
	is "$(cat by_image)" "$(cat by_list)" "what an image of the list drops"
	got '[.against, .entries]' '["image",null]'
	expect 2 "$XDP_BLOOM" replay packets drop.txt --image image
	one_line "not both"
}

links() {
	local link

	printf '192.0.2.0/29\n2001:db8::/48\n' >drop.txt
	for link in 1 101 113 276 0; do
		made packets $link "${sources[@]}"
		replayed packets drop.txt
		got '[.dropped.packets, .passed.packets, .unparsed.packets]' '[3,4,0]' "link type $link"
	done
	made packets 1 192.0.2.1
	printf '\x93' | dd of=packets bs=1 seek=20 conv=notrunc status=none
	expect 2 "$XDP_BLOOM" replay packets drop.txt
	one_line "link type 147"
}

# Whole packets are judged, and one line says that the last is none.
cut_off() {
	local n

	made packets 1 "${sources[@]}"
	echo 192.0.2.0/29 >drop.txt
	for n in 24 130 131 200 500; do
		head -c $n packets >part
		expect 0 "$XDP_BLOOM" -j replay part drop.txt
		got '[.dropped.packets + .passed.packets, .cut]' "[$(((n - 24) / 106)),$([ $(((n - 24) % 106)) = 0 ] && echo false || echo true)]" \
			"what is in $n bytes"
		is "$(wc -l <err)" "$(jq 'if .cut then 1 else 0 end' out)" "lines about $n bytes"
	done
	for n in 0 1 3; do
		head -c $n packets >part
		expect 2 "$XDP_BLOOM" replay part drop.txt
		one_line "part: it is "
	done
	for n in 4 23; do
		head -c $n packets >part
		expect 2 "$XDP_BLOOM" replay part drop.txt
		one_line "part: it ends within its own header"
	done
}

# More sources than are remembered: an entry has less than its list, and says so.
# One of ten sources sends 40 SYNs in a second, the others a packet a second.
limits_proposed() {
	python3 - >packets <<'PYTHON'
import struct, sys
out = sys.stdout.buffer
out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
def packet(second, source, protocol, flags):
    frame = bytes(12) + b"\x08\x00" + bytes.fromhex("4500002e0000000040") + bytes([protocol, 0, 0, 198, 51, 100, source])
    frame += bytes(17) + bytes([flags]) + bytes(12)
    out.write(struct.pack("<IIII", 1700000000 + second, 0, len(frame), 90) + frame)
for second in range(5):
    for source in range(1, 10):
        packet(second, source, 17, 0)
    for _ in range(40 if second == 2 else 1):
        packet(second, 10, 6, 2)
PYTHON
	echo 198.51.100.9 >drop.txt
	replayed packets drop.txt --detect
	got '.detect.one_in' 1
	# The one that is dropped is not among them.
	got '.detect.classes.packets | [.sources, .median, .p999, (.proposed | floor), .above]' '[9,1,40,10,1]'
	got '.detect.unknown' '["unanswered","scan"]'
	got '.detect.classes.packets.busiest | [length, .[0]]' '[9,{"source":"198.51.100.10","second":40,"above":true}]'
	got '.detect.classes.bytes.busiest[0].second' 3600
	got '[.detect.classes | .syn.sources, .udp.sources, .icmp, .fragments]' '[1,8,null,null]'
	expect 0 "$XDP_BLOOM" replay packets drop.txt --detect
	grep -qx 'packets    198.51.100.10 *40/s' out || fail "$(cat out)"
	# What it says can be typed.
	grep '^xdp-bloom detect limit' out >commands
	is "$(wc -l <commands)" 4 "commands"
	replayed packets drop.txt
	got .detect null
}

many_sources() {
	echo 11.0.0.0/8 >drop.txt
	made packets 101 11.0.0.1
	replayed packets ./drop.txt
	got '[.entries[] | [.packets, .exact]]' '[[1,true]]'
	python3 - >packets <<'PYTHON'
import struct, sys
packet = struct.pack("<IIII", 1700000000, 0, 20, 20) + bytes.fromhex("450000140000000040fd0000")
sys.stdout.buffer.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
sys.stdout.buffer.write(b"".join(packet + struct.pack(">II", 11 << 24 | i, 0) for i in range((1 << 20) + 9)))
PYTHON
	replayed packets ./drop.txt
	got '.lists[0].packets' 1048585
	got '[.entries[] | .packets < 1048585, .exact]' '[true,false]'
	expect 0 "$XDP_BLOOM" replay packets ./drop.txt
	grep -q '^entries .* packets at least  drop:1$' out || fail "$(cat out)"
}

# Other programs read what is written; and both files together are the capture.
written_apart() {
	need tcpdump tshark
	made packets 1 "${sources[@]}"
	echo 192.0.2.0/29 >drop.txt
	replayed packets drop.txt --write-passed passed --write-dropped dropped
	tcpdump -nr dropped 2>/dev/null | grep -c '192.0.2.1 >' >n
	is "$(cat n)" 2 "packets that tcpdump finds in the file of those that are dropped"
	is "$(tshark -nr dropped -T fields -e frame.comment -e frame.time_epoch 2>/dev/null | head -1)" \
		"$(printf 'dropped by drop (roster)\t1700000000.000000000')" "what tshark says of the first"
	is "$(tcpdump -nr passed 2>/dev/null | wc -l)" 5 "packets that pass"
	is "$(stat -c %a passed dropped | xargs)" "600 600" "their modes"
	tcpdump -nxr packets 2>/dev/null | sort >wanted
	{ tcpdump -nxr passed && tcpdump -nxr dropped; } 2>/dev/null | sort >both
	cmp -s wanted both || fail "together they are not the capture: $(diff wanted both | head -3)"
	# What it has written itself, and of any link type.
	replayed passed drop.txt
	got '[.dropped.packets, .passed.packets]' '[0,5]'
	made packets 276 "${sources[@]}"
	replayed packets drop.txt --write-dropped dropped
	is "$(tshark -nr dropped -T fields -e sll.ifindex -e ip.src 2>/dev/null | head -1)" "$(printf '0\t192.0.2.1')" \
		"what tshark reads of a cooked packet"
	# Without a source address: they pass.
	python3 - <<'PYTHON'
import struct
with open("arp", "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
    for kind in b"\x08\x06", b"\x88\xcc":
        out.write(struct.pack("<IIII", 1700000000, 0, 60, 60) + bytes(12) + kind + bytes(46))
PYTHON
	replayed arp drop.txt --write-passed passed --write-dropped dropped
	got '[.unparsed.packets, .dropped.packets]' '[2,0]'
	is "$(tshark -nr passed 2>/dev/null | wc -l)" 2 "packets without an address that pass"
	if [ "$(id -u)" = 0 ] && [ -w /dev/full ]; then
		expect 2 "$XDP_BLOOM" replay packets drop.txt --write-passed /dev/full
		one_line "No space left"
		[ -c /dev/full ] || fail "/dev/full is gone"
	fi
}

refusals() {
	made packets 1 "${sources[@]}"
	echo 192.0.2.0/29 >drop.txt
	cp packets before
	for file in --write-passed --write-dropped; do
		expect 2 "$XDP_BLOOM" replay packets drop.txt $file packets
		one_line "that is the capture itself"
		cmp -s packets before || fail "the capture was changed"
		expect 2 "$XDP_BLOOM" replay packets drop.txt $file -
		one_line "into a file"
	done
	expect 2 "$XDP_BLOOM" replay packets drop.txt --write-passed both --write-dropped both
	one_line "one file"
	expect 2 "$XDP_BLOOM" replay drop.txt drop.txt --write-passed out.pcapng
	one_line "drop.txt: it is neither pcap nor pcapng"
	[ ! -e out.pcapng ] || fail "it left a file"
	# What is there stays until all of the new file is, whatever is refused; and by no name is it something that is read.
	echo precious >kept
	ln packets linked
	ln -s drop.txt link.txt
	cp drop.txt list_before
	for file in --write-passed --write-dropped; do
		expect 2 "$XDP_BLOOM" replay drop.txt drop.txt $file kept
		is "$(cat kept)" precious "a file that was there, after a capture that is refused"
		expect 2 "$XDP_BLOOM" replay packets drop.txt $file linked
		one_line "that is the capture itself"
		expect 2 "$XDP_BLOOM" replay packets drop.txt $file link.txt
		one_line "that is one of the lists"
		expect 2 "$XDP_BLOOM" replay - drop.txt $file ./drop.txt <packets
		one_line "that is one of the lists"
		cmp -s drop.txt list_before || fail "the list was changed"
		cmp -s packets before || fail "the capture was changed"
		expect 0 "$XDP_BLOOM" image make image drop.txt
		cp image image_before
		expect 2 "$XDP_BLOOM" replay packets --image image $file ./image
		one_line "that is the image"
		cmp -s image image_before || fail "the image was changed"
		rm image
	done
	expect 2 "$XDP_BLOOM" replay packets drop.txt --write-passed ./both --write-dropped both
	one_line "one file"
	touch both
	ln -s both also
	expect 2 "$XDP_BLOOM" replay packets drop.txt --write-passed also --write-dropped both
	one_line "one file"
	expect 0 "$XDP_BLOOM" replay packets drop.txt --write-passed also --write-dropped kept
	if [ ! -L also ] || [ ! -s both ]; then
		fail "a link does not lead to what was written"
	fi
	expect 0 "$XDP_BLOOM" replay packets drop.txt --write-passed /dev/null --write-dropped /dev/null
	is "$(find . -name '*.??????' | wc -l)" 0 "files left beside"
	gzip -c packets >packed
	expect 2 "$XDP_BLOOM" replay packed drop.txt
	one_line "zcat"
	expect 2 "$XDP_BLOOM" replay nosuch drop.txt
	one_line "nosuch"
	expect 2 "$XDP_BLOOM" replay packets nosuch
	one_line "'nosuch' is neither a loaded list nor a file"
	expect 2 "$XDP_BLOOM" replay - - <packets
	one_line "standard input"
	expect 2 "$XDP_BLOOM" replay packets drop.txt ./drop.txt
	one_line "two lists would be called"
	expect 2 "$XDP_BLOOM" replay
	one_line "which capture?"
}

# No right is left to what reads a capture.
confined() {
	need strace
	echo 192.0.2.0/29 >drop.txt
	made packets 1 "${sources[@]}"
	strace -f -qq -e trace=prctl,seccomp -o calls "$XDP_BLOOM" replay - drop.txt <packets >/dev/null ||
		skip "needs the right to trace"
	is "$(grep -c SECCOMP calls)" 3 "how many processes have no rights: for the list, for the capture, for the list's entries"
}

# In force, with live bans and exceptions: the counters of the interface are those of the capture, and what came through
# is what is written as passed. The capture is of the other end, where nothing is dropped yet.
in_force_as_the_interface() {
	local why

	need tcpdump
	veth 0
	printf '192.0.2.0/24\n2001:db8::/48\n' >drop.txt
	printf '198.51.100.0/25\n' >shadow.txt
	bloom load drop drop.txt
	bloom load --shadow would shadow.txt
	bloom add 203.0.113.9
	bloom allow 192.0.2.128/25
	bloom attach edge0
	capture_both
	python3 - "$XDP_BLOOM_SEED" <<'PYTHON'
import random, socket, struct, sys

random.seed(int(sys.argv[1]))
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire0", 0))
for i in range(3000):
    if random.randrange(3):
        source = bytes(random.choice(([192, 0, 2], [198, 51, 100], [203, 0, 113]))) + bytes([random.randrange(256)])
        if random.randrange(20) == 0:
            source = bytes([203, 0, 113, 9])
        packet = bytes.fromhex("08004500001c0000000040fd0000") + source + bytes([198, 18, 0, 1]) + bytes(4)
    else:
        source = bytes.fromhex("20010db8000%d0000" % random.randrange(3)) + random.randbytes(8)
        packet = bytes.fromhex("86dd6000000000043b40") + source + bytes(16)
    packet = b"\xff" * 6 + bytes(6) + packet + struct.pack(">I", i)
    # Where a tag is cut off, the kernel drops the frame before anybody sees it.
    if random.randrange(10) == 0:
        packet = packet[:14 + random.randrange(40)]
    elif random.randrange(4) == 0:
        packet = packet[:12] + b"\x81\x00\x00\x05" + packet[12:]
    wire.send(packet + bytes(max(0, 14 - len(packet))))
PYTHON
	capture_ends
	"$XDP_BLOOM" -j stats >counters
	replayed sent.pcap --write-passed passed --top 1000000
	got '.against' '"in force"'
	is "$(jq -c '[.passed.packets - .unparsed.packets, .dropped.packets, .unparsed.packets]' out)" \
		"$(jq -c '.packets | [.passed, .dropped, .unparsed]' counters)" "what passed, was dropped and was not parsed"
	got '.passed.bytes + .dropped.bytes' "$(jq '.bytes | add' counters)"
	is "$(jq -c '[.lists[] | {(.list): [.packets, .bytes]}] | add' out)" \
		"$(jq -c '[.lists[] | {(.name): [.packets, .bytes]}] | add | {live, drop, would}' counters)" "what each list dropped"
	for why in live drop would; do
		got "[.lists[] | select(.list == \"$why\").packets] | add" \
			"$(jq "[.entries[] | select(.list == \"$why\").packets] | add" out)" "the entries of $why, in sum"
	done
	got '([.entries[].sources] | add) + (.sources.passed | length) == .sources.known' true
	tcpdump -nxr passed 2>/dev/null | cut -d' ' -f2- >by_replay
	tcpdump -nxr came.pcap 2>/dev/null | cut -d' ' -f2- >by_interface
	cmp -s by_replay by_interface || fail "what passes differs: $(diff by_replay by_interface | head -5)"
	# One of the lists, by its name.
	replayed sent.pcap would
	got '[.lists[] | [.list, .shadow]]' '[["would",false]]'
}

# A pipe takes no more than 64 KiB until somebody reads: who has written the half is sure that the lists are open.
in_force_while_lists_change() {
	local change reader addresses

	mapfile -t addresses < <(seq -f '192.0.2.%g' 1 200)
	made packets 1 "${addresses[@]}" "${addresses[@]}" "${addresses[@]}" "${addresses[@]}" "${addresses[@]}" "${addresses[@]}"
	mkfifo pipe
	echo 192.0.2.0/24 >drop.txt
	echo 203.0.113.0/24 >other.txt
	for change in none lists bans; do
		bloom load first drop.txt
		"$XDP_BLOOM" -j replay - <pipe >out 2>err &
		reader=$!
		exec 7>pipe
		head -c 100000 packets >&7
		case $change in
		lists)
			bloom unload first
			bloom load third other.txt
			;;
		bans)
			bloom add 198.51.100.9
			;;
		esac
		tail -c +100001 packets >&7
		exec 7>&-
		end_of $reader || fail "replay ended with $?: $(cat err)"
		got '[.lists[] | [.list, .packets]]' '[["first",1200]]' "which list, with changes of $change"
		if [ $change = none ]; then
			got '[.entries[] | [.list, .packets]]' '[["first",1200]]'
			[ ! -s err ] || fail "$(cat err)"
		else
			got .entries null "the entries, with changes of $change"
			one_line "the lists changed"
		fi
		bloom unload "$([ $change = lists ] && echo third || echo first)"
	done
}

# capture_both: what is sent out of wire0, and what comes through the filter on edge0.
capture_both() {
	tcpdump -qUni wire0 -Q out -w sent.pcap 2>sent.err &
	out_pid=$!
	tcpdump -qUni edge0 -Q in -w came.pcap 2>came.err &
	in_pid=$!
	wait_until "that tcpdump listens" grep -qs listening sent.err
	wait_until "that tcpdump listens" grep -qs listening came.err
}

# The last packet, which passes, is in both files.
capture_ends() {
	python3 -c 'import socket
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("wire0", 0))
wire.send(b"\xff" * 6 + bytes(6) + bytes.fromhex("08004500001c0000000040fd0000c6134d4dc6120001") + bytes(26))'
	wait_until "the last packet, sent" last_in sent.pcap
	wait_until "the last packet, received" last_in came.pcap
	kill "$out_pid" "$in_pid"
	end_of "$out_pid"
	end_of "$in_pid"
}

last_in() {
	tcpdump -nr "$1" 2>/dev/null | grep -q 198.19.77.77
}

# What capture writes: all of it was dropped, and is again.
our_own() {
	# shellcheck source=../support/service.sh
	. "$here/service.sh"
	veth 0
	echo 192.0.2.0/24 >drop.txt
	bloom load drop drop.txt
	bloom attach edge0
	"$XDP_BLOOM" -v capture -w file.pcapng --count 1 2>ready &
	watcher=$!
	wait_until "that it watches" grep -qs watching ready
	echo 192.0.2.7 >banned
	echo 198.51.100.7 >clean
	send 0 -b banned -c clean
	end_of $watcher || fail "capture ended with $?"
	replayed file.pcapng
	got '[.passed.packets, .dropped.packets, .lists[0].list]' '[0,1,"drop"]'
}

run_cases lists_entry_by_entry many_lines limits_proposed embedded_as_here images_of_bans images_of_lists links cut_off many_sources written_apart refusals confined in_force_as_the_interface \
	in_force_while_lists_change our_own
