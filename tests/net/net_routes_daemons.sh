#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# follow routes behind BIRD and FRR with the configurations of docs/recipes.md, and real sessions. XDP_BLOOM_DAEMONS: how
# many routes, for how many seconds how many of them change a second (make routes-test: a million, 60, 10000).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"

# Daemon and speaker talk over lo, by an address each.
behind() {
	local family

	need_sources
	ip link set lo up
	ip addr add 192.0.2.1/24 dev lo
	ip addr add 192.0.2.2/32 dev lo
	# What a daemon that was killed left behind.
	for family in -4 -6; do
		ip $family route flush table 666 2>/dev/null
		ip $family rule add lookup 666 pref 100 2>/dev/null
	done
	# shellcheck disable=SC2086 # three words
	PYTHONPATH=$top/tests/net python3 "$top/tests/net/routes_daemons.py" "$1" ${XDP_BLOOM_DAEMONS:-2000 3 500} ||
		fail "see above; $(tail -n 5 daemon.log frr/daemon.log daemon.err 2>/dev/null)"
}

bird() {
	type -P bird >/dev/null || skip "no bird on this machine: make routes-test has it"
	behind bird
}

frr() {
	[ -x /usr/lib/frr/bgpd ] || skip "no frr on this machine: make routes-test has it"
	behind frr
}

run_cases bird frr
