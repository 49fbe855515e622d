#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How much lists and images overlap, against an independent count; and images made and united without a kernel.
set -u
. "$(dirname "$0")/lib.sh"
sandbox "$@"

# count A B: what compare must say of two list files, by Python's own sets of addresses: [a, b, both] for each family.
count() {
	python3 - "$@" <<'PYTHON'
import ipaddress, json, sys
def ranges(path, version):
    nets = [ipaddress.ip_network(line.strip(), strict=False) for line in open(path) if line.strip()]
    nets = ipaddress.collapse_addresses([n for n in nets if n.version == version])
    return [(int(n[0]), int(n[-1]) + 1) for n in nets]
def total(r): return sum(b - a for a, b in r)
def both(r, s):
    points = sorted([(a, 1) for a, b in r + s] + [(b, -1) for a, b in r + s])
    depth = n = last = 0
    for at, step in points:
        if depth == 2: n += at - last
        depth, last = depth + step, at
    return n
print(json.dumps([[str(total(ranges(sys.argv[1], v))), str(total(ranges(sys.argv[2], v))),
    str(both(ranges(sys.argv[1], v), ranges(sys.argv[2], v)))] for v in (4, 6)], separators=(",", ":")))
PYTHON
}

lists() {
	judge list 3000 200 100 >all
	awk 'NR % 3' all >one
	awk 'NR % 4' all >two
}

counts_files_and_lists() {
	local wanted of='[[.ipv4.a,.ipv4.b,.ipv4.both],[.ipv6.a,.ipv6.b,.ipv6.both]]'

	lists
	wanted=$(count one two)
	is "$(get "$of" compare one two)" "$wanted" "the overlap of two files"
	is "$(get '.ipv4|(.a|tonumber)-(.both|tonumber)-(.only_a|tonumber)' compare ./one ./two)" 0 "what is left of A"
	bloom load one one --bogons=keep --force
	bloom load second two --bogons=keep --force
	rm one
	is "$(get "$of" compare one second)" "$wanted" "the overlap of two loaded lists"
	is "$(get "$of" compare one ./two)" "$wanted" "the overlap of a list and a file"
	is "$(get '[.ipv4.jaccard,.ipv6.jaccard]' compare one one)" '[1,1]' "the overlap with itself"
	bloom compare one two
	grep -q '^IPv4: A .* Jaccard' out || fail "does not say it in words: $(cat out)"
	echo 45.0.0.1 >third
	is "$(get '.ipv6.jaccard' compare third third)" null "the overlap of nothing"
	refused "neither a loaded list nor a file" compare one nowhere
	refused "No such file" compare one ./nowhere
	refused "two lists" compare one
}

# Within six standard errors: once in a billion runs it is not.
near() {
	python3 -c 'import sys; e, error, truth = map(float, sys.argv[1:]); sys.exit(not abs(e - truth) <= 6 * error)' "$1" "$2" "$3" ||
		fail "$4: $1 +- $2, but it is $3"
}

estimates_by_bits() {
	local answer key

	judge list 60000 0 0 >all
	head -n 40000 all >one
	tail -n 30000 all >two
	bloom image make first one --exact=off --headroom 100
	bloom image make second two --like first
	answer=$(get '.' compare ./first ./second)
	is "$(jq -c '[.ipv4,.ipv6.both]' <<<"$answer")" '[null,"0"]' "what is not known"
	# Bogons were left out.
	bloom image make exact_first one
	bloom image make exact_second two
	for key in a b both; do
		near "$(jq ".filter.$key.keys" <<<"$answer")" "$(jq ".filter.$key.error" <<<"$answer")" \
			"$(get ".ipv4.$key" compare ./exact_first ./exact_second)" "keys in $key"
	done
	bloom image make other two --exact=off
	refused "cannot be compared" compare ./first ./other
}

unites_images() {
	lists
	bloom image make base all --headroom 100
	bloom image make first one --like base
	bloom image make second two --like base
	bloom image union all.image first second
	is "$(get '[.ipv4.both==.ipv4.a,.ipv6.both==.ipv6.a,.ipv6.unit]' compare ./first ./all.image)" '[true,true,"keys"]' \
		"whether all of the first is in the union"
	is "$(get '[.ipv4.both==.ipv4.a,.ipv6.both==.ipv6.a]' compare ./second ./all.image)" '[true,true]' \
		"whether all of the second is in the union"
	bloom load --image all.image
	is "$(get '[.[].name]' lists)" '["one","two"]' "the lists of the union"
	judge sample points 300 one two
	get '.[].verdict' test - <points/all >answers
	paste points/all answers >told
	# What load leaves out, images leave out.
	grep -v -E '^(0|10|127|100|169|172|192|22[4-9]|23[0-9]|255)\.|^(::|f[c-f])' points/banned | sort >banned
	awk '$2 == "drop" { print $1 }' told | sort >dropped
	is "$(comm -23 banned dropped | wc -l)" 0 "banned addresses that pass"
	is "$(comm -13 <(sort points/banned) dropped | wc -l)" 0 "others that are dropped"
	bloom image make third two
	refused "differ in shape or seeds" image union fourth first third
	[ ! -e fourth ] || fail "it was refused, and written"
	refused "image: show FILE" image frobnicate
	bloom image show all.image
	is "$(get '.lists' image show all.image)" 2 "the number of lists"
}

needs_no_rights() {
	lists
	chmod 755 "$WORK" .
	chmod 644 one two
	setpriv --reuid=65534 --clear-groups "$XDP_BLOOM" --version >/dev/null 2>&1 || skip "nobody cannot run $XDP_BLOOM"
	expect 0 setpriv --reuid=65534 --clear-groups "$XDP_BLOOM" -j compare one two
	is "$(jq -c '[[.ipv4.a,.ipv4.b,.ipv4.both],[.ipv6.a,.ipv6.b,.ipv6.both]]' out)" "$(count one two)" "the overlap"
}

run_cases counts_files_and_lists estimates_by_bits unites_images needs_no_rights
