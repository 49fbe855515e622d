#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Real lists, from the folder that XDP_BLOOM_LISTS names: each loaded by itself, and all of them together.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
[ -n "${XDP_BLOOM_LISTS:-}" ] || skip_all "XDP_BLOOM_LISTS names no folder of real lists"
XDP_BLOOM_LISTS=$(realpath "$XDP_BLOOM_LISTS")
export XDP_BLOOM_LISTS
sandbox "$@"

# judged LIST...: what is loaded is these.
judged() {
	judge sample of_lists 2000 "$@"
	expect 1 "$XDP_BLOOM" -j test - <of_lists/all
	judge answers of_lists "$@" <out >wrong || fail "$(cat wrong)"
	send 0 -b of_lists/banned -c of_lists/clean
}

each_by_itself() {
	local list name

	veth 0
	bloom attach edge0
	for list in "${lists[@]}"; do
		name=${list##*/}
		bloom load "$name" "$list" --bogons=keep
		judged "$list"
		bloom unload "$name"
	done
}

all_together() {
	local list

	veth 0
	bloom attach edge0
	for list in "${lists[@]}"; do
		bloom load "${list##*/}" "$list"
	done
	is "$(get length lists)" ${#lists[@]} "the number of lists"
	judged "${lists[@]}"
}

lists=()
for list in "$XDP_BLOOM_LISTS"/*; do
	case $list in
	*.md) ;;
	*) lists+=("$list") ;;
	esac
done
[ -f "${lists[0]}" ] || skip_all "no lists in $XDP_BLOOM_LISTS"
run_cases each_by_itself all_together
