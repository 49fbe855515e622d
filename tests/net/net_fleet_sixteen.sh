#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Sixteen members, each with a state, a filter and an interface of its own, and a real Redis: a ban that is made on one drops
# packets on all of them, and how soon (fleet_sixteen.py). No part of make test, as it looks how long something takes: make
# fleet-test.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
tests=$(realpath "$(dirname "$0")")
sandbox "$@"
need_redis

one_bans_all_drop() {
	local members=${XDP_BLOOM_MEMBERS:-16}

	ip link set lo up
	# shellcheck disable=SC2046 # a number each
	veth $(seq 0 $((members - 1)))
	rm -rf /sys/fs/bpf/xdp-bloom-edge-*
	WORK=$WORK XDP_BLOOM_MEMBERS=$members python3 "$tests/fleet_sixteen.py" "${XDP_BLOOM_BANS:-1000}" 2>out || fail "$(cat out)"
}

run_cases one_bans_all_drop
