#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the operator says to the detector beside its limits, with real packets: how long it bans, whom he trusts, and which
# interface's sources are proven.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# Shown, kept, and no event where it is only shown.
ladder() {
	is "$(get .ladder detect ladder)" '[60,600,3600,86400,604800]' "the ladder by default"
	bloom detect ladder 30s,10m,1d
	is "$(get .ladder detect ladder)" '[30,600,86400]' "the ladder"
	bloom detect ladder
	is "$(cat out)" 30s,10m,1d "the ladder"
	bloom detect attacks
	is "$("$XDP_BLOOM" -j events | jq -s length)" 1 "events of what is only shown"
	refused "10s to 365d, as in 1m,10m,1h,1d,7d; not '9s'" detect ladder 9s,1m
	refused "not '366d'" detect ladder 366d
	refused "not ''" detect ladder 1m,
	refused "each step of the ladder is longer than the one before it; '1m' is not" detect ladder 1m,1m
	refused "a ladder has 8 steps at most" detect ladder 1m,2m,3m,4m,5m,6m,7m,8m,9m
	refused "its steps are one word" detect ladder 1m, 2m
	refused "--then belongs to limit" detect ladder 1m --then police
	is "$(get .ladder detect ladder)" '[30,600,86400]' "the ladder that was kept"
	# Who has none of it in force builds nothing; with a detector a new first step is a new generation.
	veth 0
	bloom attach edge0
	local before
	before=$(get .generation status)
	bloom detect ladder 40s,10m
	is "$(get .generation status)" "$before" "the generation where the detector is off"
	bloom detect on
	before=$(get .generation status)
	bloom detect ladder 40s,20m
	is "$(get .generation status)" "$before" "the generation with the first step as it was"
	bloom detect ladder 50s,20m
	is "$(get .generation status)" $((before + 1)) "the generation with another first step"
}

run_cases ladder
