#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Samples of what is dropped, as real packets: watch, capture, and their bounds.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready and stop have arguments of their own
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"
# shellcheck source=../support/screen.sh
. "$here/screen.sh"

# watching OUTPUT ARGS...: in the background, once it says that it watches.
watching() {
	local output=$1 line fd

	shift
	rm -f ready
	mkfifo ready
	"$XDP_BLOOM" -v "$@" >"$output" 2>ready &
	watcher=$!
	exec {fd}<ready
	read -rt "$patience" line <&"$fd"
	is "$line" "xdp-bloom: watching" "what '$*' says first"
}

# of_now BEGUN FILE FORMAT: each line has a time, in that format, between then and now.
of_now() {
	local second

	for ((second = $1; second <= $(date +%s); second++)); do
		date "+$3" -d "@$second"
	done >clock
	! grep -vFf clock "$2" || fail "since $(head -n 1 clock) there is no such time: $2"
}

text() {
	local begun

	filtering bad
	watching seen watch --count 3
	begun=$(date +%s)
	send 0 -b banned -c clean
	end_of $watcher || fail "watch ended with $?"
	of_now "$begun" seen %T
	cut -d' ' -f2- seen | tr -s ' ' | sort >got
	sort >wanted <<-'EOF'
		edge0 bad roster 192.0.2.7:9 > 198.51.100.1:9 udp 66
		edge0 bad roster [2001:db8::7]:9 > [2001:db8::1]:9 udp 86
		edge0 bad gate 203.0.113.9:9 > 198.51.100.1:9 udp 66
	EOF
	is "$(cat got)" "$(cat wanted)" "what was seen"
}

json_lines() {
	local begun

	filtering bad
	watching seen -j watch --count 3
	begun=$(date +%s)
	send 0 -b banned -c clean
	end_of $watcher || fail "watch ended with $?"
	TZ=UTC of_now "$begun" seen %FT%T
	is "$(jq -sc 'map([.interface,.list,.stage,.source,.protocol,.source_port,.bytes])|sort' seen)" \
		'[["edge0","bad","gate","203.0.113.9","udp",9,66],["edge0","bad","roster","192.0.2.7","udp",9,66],["edge0","bad","roster","2001:db8::7","udp",9,86]]' \
		"what was seen"
}

# In a terminal, among people: a line comes when a packet does, and it ends clean.
# ended_by SIZE HOW
ended_by() {
	filtering attackers
	attacked "$1" watch
	shows 'edge0 +attackers +gate +203\.0\.113\.9:9 > 198'
	ends_by "$2"
	ended 0
	stop_flow 0
}

left_alone() {
	filtering attackers
	: >conf
	ready
	attacked "$1" watch
	shows 'edge0 +attackers +gate +203\.0\.113\.9:9'
	stop
	ended 2
	shows '^xdp-bloom: the service has gone$'
	stop_flow 0
}

# Another program reads the file; the comment says on whose account.
captured() {
	local begun

	need tcpdump
	filtering bad
	watching /dev/null capture -w file.pcapng --count 3
	begun=$(date +%s)
	send 0 -b banned -c clean
	end_of $watcher || fail "capture ended with $?"
	is "$(stat -c %a file.pcapng)" 600 "the mode of the file"
	expect 0 tcpdump -ttttnr file.pcapng
	of_now "$begun" out '%F %T'
	is "$(grep -o 'IP6* [0-9a-f.:]* > ' out | sort | paste -sd' ')" \
		"IP 192.0.2.7.9 >  IP 203.0.113.9.9 >  IP6 2001:db8::7.9 > " "what tcpdump read"
	is "$(grep -ao 'dropped by bad (roster)' file.pcapng | wc -l)" 2 "the number of comments"
}

# And one that reads the comments, and by which interface it came.
captured_for_tshark() {
	need tshark
	filtering bad
	watching /dev/null capture -w file.pcapng --count 3
	send 0 -b banned -c clean
	end_of $watcher || fail "capture ended with $?"
	expect 0 tshark -nr file.pcapng -T fields -e frame.interface_name -e ip.src -e ipv6.src -e udp.dstport -e frame.len \
		-e frame.comment
	is "$(tr -s '\t' ' ' <out | sort)" "$(sort <<-'EOF'
		edge0 192.0.2.7 9 66 dropped by bad (roster)
		edge0 2001:db8::7 9 86 dropped by bad (roster)
		edge0 203.0.113.9 9 66 dropped by bad (gate)
	EOF
	)" "what tshark read"
}

# Who reads along sees a packet when it comes, not when a buffer is full; and a reader that goes ends it.
captured_to_a_pipe() {
	local reader

	need tcpdump
	filtering bad
	mkfifo pipe
	tcpdump -lnr pipe >seen 2>tcpdump.err &
	reader=$!
	watching pipe capture -w -
	"$TRAFFIC" -b banned -c clean wire0 edge0 >sent
	wait_until "a packet that tcpdump has read" grep -q '203.0.113.9' seen
	kill $reader
	flow 0 -b banned -c clean
	end_of $watcher
	stop_flow 0
}

# Packets are other people's: no terminal gets them as they are.
no_terminal() {
	filtering bad
	terminal 80x24
	tries "$XDP_BLOOM capture -w - 2>said"
	ended 2
	is "$(cut -d';' -f1 said)" "xdp-bloom: capture: standard output is a terminal" "what it says"
}

# Those of live bans are named as stats names them.
live() {
	filtering bad
	bloom add 198.51.100.9
	echo 198.51.100.9 >banned
	watching seen -j watch --count 1
	send 0 -b banned -c clean
	end_of $watcher || fail "watch ended with $?"
	is "$(jq -r .list seen)" live "the list of a live ban"
}

disk_full() {
	filtering bad
	expect 2 "$XDP_BLOOM" capture -w /dev/full
	one_line "/dev/full: No space left on device"
	expect 2 "$XDP_BLOOM" capture -w /nowhere/file
	one_line "/nowhere/file: No such file or directory"
}

# sees_first SOURCE: who watches from now on sees one that comes from there, and nothing before.
sees_first() {
	echo "$1" >one
	watching seen -j watch --count 1
	"$TRAFFIC" -b one -c clean wire0 edge0 >sent
	end_of $watcher
	is "$(jq -r .source seen)" "$1" "the first one seen"
}

# A reader that is killed leaves samples behind; they are not the next one's.
killed() {
	filtering bad
	watching /dev/null watch
	kill -STOP $watcher
	send 0 -b banned -c clean
	kill -KILL $watcher
	end_of $watcher
	sees_first 203.0.113.9
}

# When it is ended, everything dropped until then has been shown.
ended_with_samples() {
	need strace
	filtering bad
	# When it says that it watches.
	stopped_under calls -D -e trace=write -e inject=write:signal=STOP:when=1 "$XDP_BLOOM" -vj watch >seen 2>said
	watcher=$!
	send 0 -b banned -c clean
	kill -INT $watcher
	kill -CONT $watcher
	end_of $watcher || fail "watch ended with $?"
	is "$(wc -l <seen)" 3 "the number seen"
}

# A flood does not buy more than the budget: so many for each refill, of which there are ten a second.
bounded() {
	local begin seconds most

	filtering bad
	bloom tune --samples 50
	begin=$(date +%s%N)
	watching seen -j watch
	send 0 -n 200 -b banned -c clean
	bloom stats
	kill -INT $watcher
	end_of $watcher || fail "watch ended with $?"
	seconds=$((($(date +%s%N) - begin) / 1000000000 + 1))
	most=$((50 * (seconds + 1) * $(nproc)))
	[ "$(get .packets.dropped stats)" -gt 500 ] || fail "too little was sent"
	[ "$(wc -l <seen)" -gt 0 ] || fail "nothing was seen"
	[ "$(wc -l <seen)" -le $most ] || fail "$(wc -l <seen) samples in $seconds s"
}

# Without a reader no sample is taken, so that a later reader sees nothing old.
nothing_old() {
	filtering bad
	send 0 -b banned -c clean
	sees_first 192.0.2.7
}

one_reader() {
	filtering bad
	watching seen watch
	refused "somebody reads the samples already" watch
	kill -TERM $watcher
	end_of $watcher || fail "watch ended with $?"
}

refusals() {
	refused "nothing is loaded" watch
	filtering bad
	refused "capture -w FILE" capture
	refused "--count takes" watch --count none
	bloom tune --samples 0
	refused "samples are off" watch
}

# The first clean ones, whatever else the kernel says to its neighbours meanwhile.
has_passed() {
	[ "$(jq -r 'select(.destination_port==9).source' "$1" | sort -u | paste -sd' ')" = "192.0.2.6 2001:db8::6 203.0.112.255" ]
}

# passed_in MODE: neither what is dropped nor what goes out is among it.
passed_in() {
	veth 0
	a_list
	bloom load bad list
	bloom attach edge0 --mode "$1"
	watching seen -j watch --passed
	echo 198.51.100.77 >mine
	python3 - <<-'EOF'
		import socket
		out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		out.bind(('edge0', 0x800))
		out.send(bytes.fromhex('020000000002020000000001' '0800' '4500001c000000004011' '0000' 'c633644d' 'c0000206'
		                       '0009' '0009' '0008' '0000'))
	EOF
	send 0 -b banned -c clean
	wait_until "what has passed" has_passed seen
	kill -INT $watcher
	end_of $watcher || fail "watch ended with $?"
	is "$(jq -r 'select(.destination_port==9)|[.interface,.verdict,.list,.stage,.protocol]|@json' seen | sort -u)" \
		'["edge0","passed",null,null,"udp"]' "what is said of them"
	! grep -e 198.51.100.77 -e 192.0.2.7 -e 203.0.113 -e 2001:db8::7 seen || fail "that has not passed"
}

passed_lines() {
	filtering bad
	watching seen watch --passed
	send 0 -b banned -c clean
	wait_until "what has passed" grep -q '\[2001:db8::6\]:9' seen
	kill -INT $watcher
	end_of $watcher
	grep -qE '^[0-9:.]+ edge0 +- +passed +192\.0\.2\.6:9 > 198\.51\.100\.1:9 udp 66$' seen || fail "$(cat seen)"
	watching /dev/null capture --passed -w file.pcapng --count 1
	send 0 -c clean
	end_of $watcher || fail "capture ended with $?"
	grep -aq passed file.pcapng || fail "no comment"
}

# An interface that is filtered from now on is seen from now on; who is killed leaves no socket, and never left a program.
passed_elsewhere() {
	local before

	filtering_two
	printf '%s\n' 192.0.2.6 2001:db8::6 203.0.112.255 >clean
	before=$(bloom -j show; jq -c .generation out)
	watching seen -j watch --passed
	bloom attach edge0
	wait_until "a socket for each" packet_sockets 2
	send 0 -c clean
	send 1 -c clean
	wait_until "what has passed" has_passed seen
	is "$(jq -r 'select(.destination_port==9).interface' seen | sort -u | paste -sd' ')" "edge0 edge1" "where it passed"
	bloom detach edge0
	wait_until "one socket" packet_sockets 1
	is "$(bloom -j show; jq -c .generation out)" "$before" "what is in force"
	kill -KILL $watcher
	end_of $watcher
	packet_sockets 0 || fail "$(cat /proc/net/packet)"
}

# One that went away and came back with its number is another one to the kernel's sockets, however fast that was.
passed_again() {
	local away

	filtering bad
	unshare --net sleep infinity &
	away=$!
	wait_until "another namespace" other_net $away
	watching seen -v -j watch --passed
	send 0 -c clean
	wait_until "what has passed" has_passed seen
	ip link set edge0 netns $away
	nsenter -t $away -n ip link set edge0 netns $$
	ip link set edge0 up
	wait_until "what passes now" sees_more seen "$(wc -l <seen)"
	kill -INT $watcher
	end_of $watcher || fail "watch ended with $?"
	kill $away
}

other_net() {
	[ ! "/proc/$1/ns/net" -ef /proc/self/ns/net ]
}

sees_more() {
	send 0 -c clean
	[ "$(wc -l <"$1")" -gt "$2" ]
}

# The outer tag, which the stack has taken off, stands in what is seen.
passed_tagged() {
	filtering bad
	watching seen -j watch --passed
	send 0 -e vlan -c clean
	wait_until "what has passed" grep -qs '"source":"192.0.2.6"' seen
	kill -INT $watcher
	end_of $watcher || fail "watch ended with $?"
	is "$(jq -r 'select(.source=="192.0.2.6").bytes' seen | sort -u)" 70 "its length"
}

packet_sockets() {
	[ "$(tail -n +2 /proc/net/packet | wc -l)" = "$1" ]
}

# A flood does not buy more than so many a second, but for the queue of a moment in which nobody read.
passed_bounded() {
	local begin seconds

	filtering bad
	begin=$(date +%s%N)
	watching seen -j watch --passed
	kill -STOP $watcher
	send 0 -n 20000 -b banned -c clean
	kill -CONT $watcher
	kill -INT $watcher
	end_of $watcher || fail "watch ended with $?"
	seconds=$((($(date +%s%N) - begin) / 1000000000 + 1))
	[ "$(wc -l <seen)" -gt 100 ] || fail "$(wc -l <seen) samples"
	[ "$(wc -l <seen)" -le $((4000 + 2000 * seconds)) ] || fail "$(wc -l <seen) samples in $seconds s"
}

passed_refusals() {
	need setpriv
	refused "nothing is loaded" watch --passed
	filtering bad
	expect 2 setpriv --bounding-set -net_raw --inh-caps -net_raw "$XDP_BLOOM" watch --passed
	one_line "what passes is seen by a packet socket, and that takes CAP_NET_RAW"
}

run_cases text json_lines "ended_by 80x24 Ctrl-C" "ended_by 200x50 Ctrl-C" "ended_by 80x24 TERM" "ended_by 200x50 TERM" \
	"left_alone 80x24" "left_alone 200x50" captured captured_for_tshark captured_to_a_pipe no_terminal live disk_full \
	killed ended_with_samples bounded nothing_old one_reader refusals \
	"passed_in native" "passed_in skb" passed_lines passed_elsewhere passed_again passed_tagged passed_bounded passed_refusals
