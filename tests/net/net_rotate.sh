#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rotations under continuous traffic: no banned packet passes meanwhile, no clean one is dropped, every one is counted.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# A thousand, and ten million packets: make counts.
rotations=${XDP_BLOOM_ROTATIONS:-200}

# rotates MODE0 MODE1: one interface in each mode.
rotates() {
	local before start n passed dropped rows
	local -a modes=("$@")

	judge list 2000 200 200 >random
	judge sample of_random 2000 random
	split -n l/2 random half.
	veth 0 1
	bloom load one half.aa --bogons=keep
	bloom load two half.ab --bogons=keep
	for n in 0 1; do
		bloom attach "edge$n" --mode "${modes[n]}"
		flow "$n" -b of_random/banned -c of_random/clean
	done
	before=$(get .generation show)
	start=${EPOCHREALTIME/./}
	for ((n = 0; n < rotations; n++)); do
		bloom rotate
	done
	printf '# %d rotations, %d ms each\n' "$rotations" $(((${EPOCHREALTIME/./} - start) / rotations / 1000))
	passed=0 dropped=0 rows=
	for n in 0 1; do
		stop_flow "$n"
		printf '# edge%d: %s\n' "$n" "$(cat sent)"
		[ "$(sent .banned.sent)" -gt "$rotations" ] || fail "too little traffic through edge$n"
		passed=$((passed + $(sent .clean.sent))) dropped=$((dropped + $(sent .banned.sent)))
		rows+="[\"edge$n\",$(sent .clean.sent),$(sent .banned.sent)],"
	done
	# Not one is counted twice or lost, on two CPUs, whichever generation it went through.
	is "$(get '[.packets[]]' stats)" "[$passed,$dropped,0]" "what was counted"
	is "$(get '[.lists[].packets]|add' stats)" "$dropped" "the sum of the lists"
	is "$(get '[.interfaces[]|[.name,.packets.passed,.packets.dropped]]' stats)" "[${rows}[null,0,0]]" "what each interface counted"
	is "$(get .generation show)" $((before + rotations)) "the generation"
}

# frames NUMBER OUT IN: without any address; no more on their way at a time than the wire and the socket have room for. A
# frame may take a page of it.
frames() {
	python3 - "$@" <<'PYTHON'
import socket, sys

count, out, back = int(sys.argv[1]), *(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in range(2))
out.bind((sys.argv[2], 0))
back.bind((sys.argv[3], 0x88B5))
back.settimeout(60)
for left in range(count, 0, -32):
    for send in (True, False):
        for _ in range(min(left, 32)):
            out.send(b"\2\0\0\0\0\1" * 2 + b"\x88\xb5" + b"x" * 46) if send else back.recv(100)
PYTHON
}

packets=${XDP_BLOOM_PACKETS:-400000}

# So many in all, of two lists, of none and of no address, through two interfaces from two CPUs while it rotates, a
# hundred times if there is time (make counts): every one is counted once, and on the right account.
counts() {
	local n rotated=0 total=0 passed=0 dropped=0 odd=$((packets / 100)) sources each got start
	local -a pid

	seq -f '192.0.2.%.0f' 0 99 >one
	seq -f '203.0.113.%.0f' 0 99 | sed 'p;s/^/2001:db8::/;s/[0-9]*\.0\.113\.//' >two
	cat one two >banned
	seq -f '198.51.100.%.0f' 0 99 | sed 'p;s/^/2001:db9::/;s/[0-9]*\.51\.100\.//' >clean
	sources=$(cat banned clean | wc -l)
	each=$((((packets - odd) / 2 + sources - 1) / sources))
	veth 0 1
	bloom load one one
	bloom load two two
	bloom attach edge0 edge1
	start=${EPOCHREALTIME/./}
	for n in 0 1; do
		"$TRAFFIC" -n $each -b banned -c clean "wire$n" "edge$n" >"sent$n" 2>"err$n" &
		pid[n]=$!
	done
	frames $odd wire0 edge0 2>err2 &
	pid[2]=$!
	while ((rotated < 100)) && kill -0 "${pid[0]}" "${pid[1]}" 2>/dev/null; do
		bloom rotate
		rotated=$((rotated + 1))
	done
	for n in 0 1 2; do
		wait "${pid[n]}" || fail "traffic: $(cat "err$n")"
	done
	start=$(((${EPOCHREALTIME/./} - start) / 1000))
	for n in 0 1; do
		passed=$((passed + $(jq .clean.sent "sent$n"))) dropped=$((dropped + $(jq .banned.sent "sent$n")))
	done
	total=$((passed + dropped + odd))
	got=$(get '[.packets|.passed,.dropped,.unparsed]' stats)
	printf '# %d packets in %d ms, %d rotations meanwhile: [passed,dropped,unparsed] is %s of %d; %s\n' \
		$total $start "$rotated" "$got" "$(jq add <<<"$got")" "$(get '[.lists[]|{(.name):.packets}]|add' stats)"
	[ $total -ge $((packets * 99 / 100)) ] || fail "only $total were sent"
	[ $rotated = 100 ] || [ "$packets" -lt 10000000 ] || fail "the traffic ended after $rotated rotations"
	is "$got" "[$passed,$dropped,$odd]" "what was counted"
	is "$(get '[.lists[]|.name,.packets]' stats)" '["one",'$((dropped / 3))',"two",'$((dropped * 2 / 3))']' "the lists' packets"
	is "$(get '[.interfaces[].packets|add]|add' stats)" $total "the sum over the interfaces"
}

# Who looks while it rotates finds the one generation or the other: never none.
looked_at() {
	local asked looker

	need strace
	filtering mine
	for asked in show "test 192.0.2.7" metrics; do
		# shellcheck disable=SC2086 # a verb and its arguments
		stopped_under calls -D -e trace=getdents64 -e inject=getdents64:signal=STOP:when=1 \
			-P "$XDP_BLOOM_BPFFS/generation" "$XDP_BLOOM" $asked >seen 2>&1
		looker=$!
		bloom rotate
		kill -CONT "$looker"
		wait "$looker"
		[[ $? = [01] ]] || fail "'$asked' beside a rotation: $(cat seen)"
		! grep -E 'nothing is loaded|^xdp_bloom_generation 0' seen || fail "'$asked' beside a rotation saw none"
	done
}

run_cases "rotates native skb" counts looked_at
