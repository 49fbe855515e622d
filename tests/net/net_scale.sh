#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Hosts, and prefixes for each twenty of them: the edges of each prefix, and a sample of the hosts, judged by real packets and
# by the test verb, against a model that has nothing in common with the command. make scale-test has a million.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
sandbox "$@"
# Of a million, some 700,000 addresses are asked about at once: a quarter of a minute of a processor that others want, too.
patience=$((6 * patience))

hosts=${XDP_BLOOM_SCALE:-200000}

# One interface in each mode.
scale() {
	local n

	judge list "$hosts" $((hosts / 25)) $((hosts / 100)) >random
	judge sample of_random $((hosts / 10)) random
	printf '# %d banned and %d clean addresses\n' "$(wc -l <of_random/banned)" "$(wc -l <of_random/clean)"
	veth 0 1
	bloom attach edge0 --mode native
	bloom attach edge1 --mode skb
	bloom load random random --bogons=keep --force # this machine may need one of them
	for n in 0 1; do
		send "$n" -b of_random/banned -c of_random/clean -n 2
		printf '# %s\n' "$(cat sent)"
	done
	is "$(get '[.packets[]]' stats)" "[$((2 * $(sent .clean.sent))),$((2 * $(sent .banned.sent))),0]" \
		"passed, dropped, unparsed"
	expect 1 "$XDP_BLOOM" -j test - <of_random/all
	judge answers of_random random <out >wrong || fail "$(cat wrong)"
	expect 0 "$XDP_BLOOM" -j test - <of_random/banned
}

run_cases scale
