#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The layout of the filter through the real command: what tune takes, what show says, what every layout answers.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

write_list() {
	local i

	for ((i = 0; i < 3000; i++)); do
		echo "45.$((i % 250)).$((i / 9 % 256)).$((i % 256))"
	done | sort -u >hosts
	printf '%s\n' 2001:db8::/32 2001:db9:1::/48 2001:db9:2::1 >>hosts
}

# filter_is LAYOUT K: says show of the filter in force, and that it is as good as was asked for.
filter_is() {
	is "$(get '.filter.layout,.filter.k,.fpr.passed' show | paste -sd' ')" "$1 $2 false" "the filter"
}

every_layout_answers() {
	local layout

	write_list
	bloom load hosts hosts
	filter_is lanes 8
	for layout in "lanes2 0" "classic 0" "classic 1" "classic 24" "auto 0" "lanes 0"; do
		bloom tune --layout "${layout% *}" --k "${layout#* }" --fpr 0.01
		bloom test 45.0.0.0 45.1.0.1 2001:db8:ffff::1 2001:db9:1::1 2001:db9:2::1
		expect 1 "$XDP_BLOOM" test 45.0.0.1 2001:db9:2::2 8.8.8.8
	done
}

by_rate_and_memory() {
	write_list
	bloom load hosts hosts
	bloom tune --exact=off --fpr 0.001 --force
	filter_is lanes 8
	bloom tune --fpr 1e-6
	filter_is lanes2 16
	bloom tune --layout classic
	filter_is classic 20
	bloom tune --k 11
	filter_is classic 11
	is "$(get '.layout,.k' tune)" $'classic\n11' "what tune says"
	bloom tune --layout auto --k 0
	filter_is lanes2 16
	is "$(get '.layout' tune)" auto "what tune says"
}

refusals() {
	write_list
	bloom load hosts hosts
	refused "--layout is auto, lanes, lanes2 or classic, not 'bloom'" tune --layout bloom
	refused "--k" tune --k 25
	refused "--k" tune --k x
	refused "--k" tune --k 1.5
	refused "--fpr" tune --fpr 0
	filter_is lanes 8
}

run_cases every_layout_answers by_rate_and_memory refusals
