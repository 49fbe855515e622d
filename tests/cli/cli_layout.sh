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

# state_row NAME [VALUE]: a number that the state keeps, "" where there is none; or this one from now on.
state_row() {
	python3 - "$XDP_BLOOM_STATE/state.db" "$@" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    if len(sys.argv) > 3:
        db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (sys.argv[2], float(sys.argv[3])))
    else:
        print(*(row[0] for row in db.execute("SELECT value FROM setting WHERE name = ?", (sys.argv[2],))))
END
}

# sizes: what plan and show say of the filter in force, which agree.
sizes() {
	is "$(get '.plans[] | select(.chosen) | .memory' plan)" "$(get .memory show)" "memory, planned and in force"
	is "$(get .sized plan)" "$(get .sized show)" "why, planned and in force"
	get '[.sized.measured, (.filter.bits_per_key * 10 | round)] | map(tostring) | join(" ")' show
}

by_cost() {
	local kib small

	write_list
	bloom load few hosts
	is "$(state_row "lines of")" "" "what is known of lines, with few hosts"
	awk 'BEGIN { for (i = 0; i < 150000; i++) printf "46.%d.%d.%d\n", i * 7 / 65536, i * 7 / 256 % 256, i * 7 % 256 }' >many
	bloom load many many
	[ -n "$(state_row "lines of")" ] || fail "nothing is known of lines, with many hosts"
	is "$(get '.fpr_auto' tune)" true "whether the rate is open"

	# A machine that is made up, with 256 KiB that are fast. It is not measured again, and a smaller filter is faster there.
	for kib in 256 512 1024 2048 4096 8192; do
		state_row "line $kib" $((kib > 256 ? 60 : 5))
	done
	bloom rotate
	is "$(state_row "line 512")" 60.0 "a line out of 512 KiB"
	small=$(sizes)
	[[ ${small% *} = true && ${small#* } -lt 160 ]] || fail "the filter: $small"
	bloom rotate
	is "$(sizes)" "$small" "the filter, rotated"
	bloom test 45.0.0.0 46.0.0.7
	expect 1 "$XDP_BLOOM" test 46.0.0.8

	bloom tune --fpr 0.0003
	is "$(get '.fpr_auto,.fpr' tune)" $'false\n0.0003' "what tune says"
	is "$(get .sized show) $(get '.fpr.filter > 0.00015 and .fpr.filter <= 0.0003' show)" "null true" "the filter for a rate"
	bloom tune --fpr auto
	is "$(sizes)" "$small" "the filter, sized by time again"

	# Where the limit takes another layout, time has not decided; and the next rotation begins where this one did.
	bloom tune --memory $(($(get .memory.total show) - 1000))
	is "$(get '.filter.layout, .sized' show)" $'classic\nnull' "the filter within a limit"
	bloom rotate
	is "$(get '.filter.layout, .sized' show)" $'classic\nnull' "the filter within a limit, rotated"
	bloom tune --memory 0
	is "$(sizes)" "$small" "the filter without a limit"

	bloom tune --fpr 0.0003
	state_row "filter bits" 16
	is "$(get .bits_per_key tune --fpr auto)" "$(get .bits_per_key tune)" "the size that tune says it has made"
	bloom tune --exact off --force
	is "$(get '.sized, (.fpr.asked * 1e6 | round)' show)" $'null\n909' "the filter without a roster"
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

run_cases every_layout_answers by_rate_and_memory by_cost refusals
