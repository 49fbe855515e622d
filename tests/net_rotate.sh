#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rotations under continuous traffic: no banned packet passes meanwhile, and no clean one is dropped.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"

rotations=${XDP_BLOOM_ROTATIONS:-1000}

# rotates MODE0 MODE1: one interface in each mode.
rotates() {
	local before start n
	local -a modes=("$@")

	judge list 2000 200 200 >random
	judge sample of_random 2000 random
	veth 0 1
	bloom load random random --bogons=keep
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
	for n in 0 1; do
		stop_flow "$n"
		printf '# edge%d: %s\n' "$n" "$(cat sent)"
		[ "$(sent .banned.sent)" -gt "$rotations" ] || fail "too little traffic through edge$n"
	done
	is "$(get .generation show)" $((before + rotations)) "the generation"
}

run_cases "rotates native skb"
