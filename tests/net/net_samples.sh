#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What report says of sources against what was sent: lists of very different rates, in bursts, in random mixes.
# XDP_BLOOM_MIXES: so many.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2119 # ready and stop have arguments of their own
. "$(dirname "$0")/../support/lib.sh"
samples=$(realpath "$(dirname "$0")/samples.py")
sandbox "$@"
# shellcheck source=../support/service.sh
. "$here/service.sh"

report_has() {
	[ "$(get "$1" report --last hour)" = true ]
}

lists() {
	local n

	veth 0
	for n in 0 1 2 3 4 5; do
		echo "198.$((18 + n)).0.0/16" >"list$n"
		bloom load "list$n" "list$n" --bogons=keep
	done
	bloom attach edge0
	echo 192.0.2.1 >clean
	: >conf
}

# one_mix SEED: a history of its own, and three bursts in different seconds. What it takes part in is in `judged`.
one_mix() {
	local burst sent=0

	python3 "$samples" mix "$1"
	rm -f "$XDP_BLOOM_STATE/history"
	ready
	for burst in bursts/*; do
		[ ! -s "$burst" ] || send 0 -b "$burst" -c clean
		sent=$((sent + $(wc -l <"$burst")))
		wait_until "$sent packets in the report" report_has ".dropped.packets==$sent"
	done
	bloom -j report --last hour --top 128
	mv out report
	stop
	stop_jobs # who heard the service
	exec {notes}<&- {log}<&-
	python3 "$samples" judge report >>judged 2>err || fail "seed $1: $(cat err)"
}

# A share is further from the truth than is said three times in a thousand; twenty are far from chance.
random_mixes() {
	local n most=${XDP_BLOOM_MIXES:-3}

	lists
	for ((n = 0; n < most; n++)); do
		one_mix $((XDP_BLOOM_SEED + n))
	done
	echo "# $most mixes: $(awk '{ n += $1; far += $2; s += $3; p += $4 }
		END { printf "%d shares, %d of them further off than said; %d samples of %d packets", n, far, s, p; exit far > 1 + n / 50 }' judged)" ||
		fail "too many shares are further off than said"
}

run_cases random_mixes
