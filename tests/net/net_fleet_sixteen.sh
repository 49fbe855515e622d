#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Sixteen members, each with a state, a filter and an interface of its own, and a real Redis: a ban that is made on one drops
# packets on all of them, and how soon (fleet_sixteen.py); and all ban at once, XDP_BLOOM_RATE a second for so many seconds, and keep
# in step (fleet_rate.py). No part of make test, as it looks how long something takes: make fleet-test.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
tests=$(realpath "$(dirname "$0")")
sandbox "$@"
need_redis

# of SCRIPT WORD...: one of the two.
of() {
	export XDP_BLOOM_MEMBERS=${XDP_BLOOM_MEMBERS:-16} WORK

	ip link set lo up
	# shellcheck disable=SC2046 # a number each
	veth $(seq 0 $((XDP_BLOOM_MEMBERS - 1)))
	rm -rf /sys/fs/bpf/xdp-bloom-edge-*
	python3 "$tests/$1.py" "${@:2}" 2>out || fail "$(tail -n 20 out)"
}

one_bans_all_drop() {
	of fleet_sixteen "${XDP_BLOOM_BANS:-1000}"
}

all_ban_at_once() {
	# shellcheck disable=SC2086 # two words
	of fleet_rate ${XDP_BLOOM_RATE:-2000 60}
}

run_cases one_bans_all_drop all_ban_at_once
