#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The benchmarks' own programs: the kernel takes them, and one run of each is right. Nothing is timed that matters.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
benches=$(dirname "$TRAFFIC")/bench
[ -x "$benches/lookup" ] || skip_all "the benchmarks are not built"

needs_loop() {
	need bpftool
	bpftool feature probe kernel full 2>/dev/null | grep -q 'bpf_loop$' || skip "this kernel has no bpf_loop()"
}

# rows SUBJECTS FILE: one of each, since what is wrong is not printed.
rows() {
	is "$(grep -o 'subject=[^ ]*' "$2" | sort -u | cut -d= -f2 | paste -sd' ')" "$1" "who was right"
}

lookups() {
	needs_loop
	expect 0 "$benches/lookup" --scenario "$1" --entries 10000 --repeats 1
	is "$(cat err)" "" "what was wrong"
	rows "$2" out
}

lookups4() {
	lookups ipv4-hosts "bloom+hash bloom-map by-both by-source floor hash-map lpm+hash lpm-trie map-in-map xdp-bloom"
}

lookups6() {
	lookups ipv6-mix "floor lpm-trie xdp-bloom"
}

rates() {
	needs_loop
	ip link set lo up
	expect 0 "$benches/rates" --check
	is "$(cat err)" "" "what was wrong"
}

scopes() {
	need bpftool
	XDP_BLOOM=$XDP_BLOOM expect 0 python3 "$here/../bench/scopes.py" --check
	is "$(grep -c ^RESULT out)" 9 "rows"
}

# Two that a frame is handed to, and one that sends them: a thousand, from two sources.
packets() {
	need bpftool
	veth 0
	expect 0 bpftool prog loadall "$benches/packets.bpf.o" /sys/fs/bpf/bench
	head -c 64 /dev/zero >frame
	is "$(bpftool -j prog run pinned /sys/fs/bpf/bench/drop_all data_in frame repeat 1 | jq .retval)" 1 "a drop"
	is "$(bpftool -j prog run pinned /sys/fs/bpf/bench/parse_count data_in frame repeat 1 | jq .retval)" 2 "a pass"
	expect 0 ip link set edge0 xdpdrv pinned /sys/fs/bpf/bench/drop_all
	printf '\12\0\0\1\12\0\0\2' >sources
	expect 0 "$benches/packets" -n 1000 wire0 sources
	[ "$(cat /sys/class/net/wire0/statistics/tx_packets)" -ge 1000 ] || fail "they are not sent"
}

run_cases lookups4 lookups6 rates scopes packets
