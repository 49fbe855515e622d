#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How much lists and images overlap, against an independent count; and images made and united without a kernel.
set -u
. "$(dirname "$0")/../support/lib.sh"
no_kernel='estimates_by_bits|needs_no_rights'
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
	refused "two lists" compare - -
	echo 45.0.0.1 | expect 0 "$XDP_BLOOM" -j compare - third
	is "$(jq -c "$(numbers '[.a, .ipv4.both, .ipv4.jaccard]')" out)" '["-","1",1]' "the overlap with standard input"
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

# Of a list's keys, how many an image bans whole: in words of both lists, prefix by prefix.
looks_up_in_images() {
	python3 - "$XDP_BLOOM_SEED" <<'PYTHON'
import ipaddress, json, random, sys
random.seed(int(sys.argv[1]))
def net(length):
    number = 0x2a << 120 | random.randrange(256) << 88 | random.randrange(256) << 80 | random.randrange(8) << 72 | random.randrange(4) << 64
    return ipaddress.ip_network((number >> 128 - length << 128 - length, length))
def draw(n): return list(ipaddress.collapse_addresses({net(random.choice((40, 48, 48, 56, 64)) if i else 40) for i in range(n)}))
image = draw(400)
listed = draw(300) + random.sample(image, 40)
listed += [ipaddress.ip_network((int(n[0]), 96)) for n in random.sample(image, 20)]
listed = list(ipaddress.collapse_addresses(listed))
# Only the beginning of some.
image += [ipaddress.ip_network((int(n[0]), 64)) for n in listed if n.prefixlen == 48][:20]
image = list(ipaddress.collapse_addresses(image))
open("image.txt", "w").write("\n".join(map(str, image)) + "\n45.0.0.1\n")
open("list.txt", "w").write("\n".join(map(str, listed)) + "\n45.0.0.1\n")
PYTHON
	bloom image make image image.txt
	bloom load image ./image.txt
	get '.rungs' show >rungs
	python3 - >wanted <<'PYTHON'
import ipaddress, json
def read(path): return [ipaddress.ip_network(l.strip()) for l in open(path) if ":" in l]
rungs, image, n = sorted(json.load(open("rungs"))), read("image.txt"), [0, 0]
for prefix in read("list.txt"):
    fit = [r for r in rungs if r >= prefix.prefixlen]
    around = any(prefix.subnet_of(i) for i in image)
    if not fit or around:
        pieces = 2 ** (fit[0] - prefix.prefixlen) if fit else 1
        n = [n[0] + pieces, n[1] + around * pieces]
        continue
    inside = [i for i in image if i.subnet_of(prefix)]
    n[0] += 2 ** (fit[0] - prefix.prefixlen)
    n[1] += sum(2 ** (fit[0] - i.prefixlen) for i in inside if i.prefixlen <= fit[0])
print(json.dumps(["keys", *map(str, n), str(n[0] - n[1]), None, None], separators=(",", ":")))
PYTHON
	is "$(get '.ipv6 | [.unit, .a, .both, .only_a, .only_b, .jaccard]' compare list.txt ./image)" "$(cat wanted)" \
		"how much of the list is in the image"
	is "$(get '.ipv6 | [.unit, .b, .both, .only_b, .only_a, .jaccard]' compare ./image list.txt)" "$(cat wanted)" "the same"
	bloom compare ./image list.txt
	grep -q '^IPv6: of [0-9]* keys of B, A bans [1-9][0-9]* whole ([0-9.]* %)$' out || fail "does not say it in words: $(cat out)"
	is "$(get '.ipv6 | [.both == .a, .only_a]' compare image.txt ./image)" '[true,"0"]' "whether a list is in its own image"
	echo 45.0.0.1 >four
	bloom image make four.image four
	is "$(get '.ipv6 | [.unit, .a != "0", .b, .both]' compare ./image four.image)" '["keys",true,"0","0"]' "nothing in common"
	# Neither words nor numbers where nothing is known.
	echo 2000::/3 >wide
	is "$(get '.ipv6' compare wide ./image)" null "what is too much to look up"
	bloom load --shadow more list.txt --force
	bloom save shadows
	is "$(get '.ipv6' compare list.txt ./shadows)" null "what a shadow may hide"
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
	cp one live.txt
	refused "live bans go by the name 'live'" image make fourth live.txt
	bloom image show all.image
	is "$(get '.lists' image show all.image)" 2 "the number of lists"
}

needs_no_rights() {
	lists
	need setpriv
	chmod 755 "$WORK"
	chmod 644 one two
	install -m 755 "$XDP_BLOOM" command
	expect 0 without_rights ./command -j compare one two
	is "$(jq -c '[[.ipv4.a,.ipv4.b,.ipv4.both],[.ipv6.a,.ipv6.b,.ipv6.both]]' out)" "$(count one two)" "the overlap"
}

run_cases counts_files_and_lists estimates_by_bits looks_up_in_images unites_images needs_no_rights
