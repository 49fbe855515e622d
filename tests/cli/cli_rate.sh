#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What show says of the filter comes from its bits: before and after it grew, and where more was asked for than it gives.
set -u
. "$(dirname "$0")/../support/lib.sh"
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

# Without a roster an IPv6 address gets a wrong yes on any rung that its /32 has something of; plan and show agree on
# what that comes to.
counts_every_rung() {
	local fpr

	bloom tune --exact=off --headroom 0 --force
	# All in one /32; and each in its own, where now and then two /32s share a place in the gate.
	python3 -c "
for i in range(4000):
    for length in 40, 48, 56, 64:
        print(f'2a{i >> 8:02x}:{i & 255:02x}00:{length:02x}00::/{length}')" >list
	bloom load list list
	fpr=$(get '.fpr.filter' show)
	[ "$(get '.rungs|length' show)" -gt 1 ] || fail "one rung tells nothing: $(get .rungs show)"
	within "$(get '.fpr.verdict' show)" "$(python3 -c "print(1 - (1 - $fpr) ** $(get '.rungs|length' show))")" 1e-4 "the rate of the verdict"
	within "$(get '.fpr.verdict' show)" "$(get '.plans[]|select(.chosen)|.fpr.verdict' plan)" 0.2 "the rate against the plan's"
	python3 -c "
for i in range(4000):
    for length in 40, 48, 56, 64:
        print(f'2a{i >> 8:02x}:{i & 255:02x}{length:02x}:100::/{length}')" >list
	bloom load list list --force
	fpr=$(get '.fpr.filter' show)
	within "$(get '.fpr.verdict' show)" "$fpr" 0.1 "the rate of the verdict"
	within "$(get '.fpr.verdict' show)" "$(get '.plans[]|select(.chosen)|.fpr.verdict' plan)" 0.2 "the rate against the plan's"
	is "$(get '[.innocent.per_million_ipv4, (.innocent.per_million_ipv6 / .fpr.verdict / 1e6 - 1 | fabs < 1e-4)]' show)" '[0,true]' "who is innocent"
	is "$(get '.plans[]|select(.chosen)|.innocent.per_million_ipv4' plan)" 0 "innocent IPv4 addresses in the plan"
	bloom show
	grep -q 'NOT EXACT: 0 % of innocent IPv4 addresses' out || fail "IPv4 keys, of which there are none: $(cat out)"
	bloom tune --exact=on
	is "$(get '.fpr.verdict' show)" 0 "the rate of the verdict with the roster"
}

run_cases tells_fill_and_rate warns_when_too_full counts_every_rung
