#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Sixteen members, a real Redis, and faults of the network, of clocks, of processes and of the server: what each member does
# with packets is held against a model all the time (fleet_faults.py). No part of make test, as it takes minutes each: make
# fleet-test.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
tests=$(realpath "$(dirname "$0")")
sandbox "$@"
need_redis
CLOCK=$(realpath -m "$(dirname "$TRAFFIC")/clock.so")
export CLOCK

# fault NAME: one of fleet_faults.py's.
fault() {
	local members=${XDP_BLOOM_MEMBERS:-16}

	# Each of the others reads a million, and all of them share this machine.
	[ "$1" != floods ] || members=${XDP_BLOOM_FLOODED:-2}
	[ "$1" != clock ] || [ -e "$CLOCK" ] || skip "$CLOCK is not built on this machine"
	ip link set lo up
	# shellcheck disable=SC2046 # a number each
	veth $(seq 0 $((members - 1)))
	rm -rf /sys/fs/bpf/xdp-bloom-edge-*
	WORK=$WORK XDP_BLOOM_MEMBERS=$members python3 "$tests/fleet_faults.py" "$1" 2>out || fail "$(tail -n 20 out)"
}

run_cases 'fault cut_one' 'fault cut_half' 'fault slow' 'fault clock' 'fault kills' 'fault emptied' 'fault flushed' 'fault journaled' \
	'fault restored' 'fault full' 'fault trimmed' 'fault floods'
