#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What show says of the filter comes from its bits: before and after it grew, and where more was asked for than it gives.
set -u
. "$(dirname "$0")/lib.sh"
sandbox "$@"

# within GOT WANTED SHARE WHAT
within() {
	python3 -c 'import sys; got, wanted, share = map(float, sys.argv[1:]); sys.exit(abs(got - wanted) > share * wanted)' \
		"$1" "$2" "$3" || fail "$4 is $1, not about $2"
}

random_hosts() {
	judge "list" "$1" 0 0 >hosts
}

tells_fill_and_rate() {
	local bits

	is "$(get '[.filter.fill,.fpr.filter,.fpr.passed]' show)" '[0,0,false]' "the filter where nothing is loaded"
	random_hosts 100000
	bloom tune --headroom 0
	bloom load list hosts
	# A bit of a lane stays clear with (63/64)^c, and c is Poisson distributed: e^(-keys / blocks / 64) in the mean.
	bits=$(get '.filter.bits_per_key' show)
	within "$(get '.filter.fill' show)" "$(python3 -c "import math; print(1 - math.exp(-512 / $bits / 64))")" 0.01 "the fill"
	within "$(get '.fpr.filter' show)" "$(get '.fpr.asked' show)" 0.1 "the rate"
	is "$(get '.fpr.passed' show)" false "whether the rate is beyond what was asked for"
	[ ! -s err ] || fail "show warns: $(cat err)"
}

warns_when_too_full() {
	random_hosts 100000
	bloom load list hosts
	bloom show
	[ ! -s err ] || fail "show warns: $(cat err)"
	# The settings ask for more than the filter in force was built for.
	python3 -c "
import sqlite3
db = sqlite3.connect('$XDP_BLOOM_STATE/state.db')
db.execute(\"INSERT OR REPLACE INTO setting VALUES ('bits_per_key', 40)\")
db.commit()"
	bloom show
	one_line "'xdp-bloom rotate' makes it bigger"
	is "$(get '.fpr.passed' show)" true "whether the rate is beyond what was asked for"
	bloom rotate
	bloom show
	[ ! -s err ] || fail "show warns after rotate: $(cat err)"
	is "$(get '.fpr.passed' show)" false "whether the rate is beyond what was asked for"
}

run_cases tells_fill_and_rate warns_when_too_full
