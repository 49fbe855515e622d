#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rotations under continuous traffic: no banned packet passes meanwhile, no clean one is dropped, every one is counted.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
sandbox "$@"

rotations=${XDP_BLOOM_ROTATIONS:-1000}

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

run_cases "rotates native skb"
