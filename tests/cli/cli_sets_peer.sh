#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The set verbs against iprange for IPv4 and against Python's ipaddress for IPv6: on random small sets, and on every list
# in the folder that XDP_BLOOM_LISTS names. Needs no root.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../support/lib.sh"
need iprange python3
[ -x "$XDP_BLOOM" ] || skip_all "$XDP_BLOOM is not built"
lists=$(realpath "${XDP_BLOOM_LISTS:-/nonexistent}" 2>/dev/null)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

cat >sets.py <<'END'
import ipaddress, random, sys

# random FAMILY SEED: 10,000 pairs of small sets in a and b, each pair in a block of its own of which the ends stay free.
def make(family, seed):
    random.seed(seed)
    width, origin, block = (32, 0, 16) if family == 4 else (128, 0x20010db8 << 96, 20)
    to_text = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
    files = open('a', 'w'), open('b', 'w')
    for i in range(10000):
        for out in files:
            for _ in range(random.randrange(12)):
                bits = random.choice((0, 0, 1, 2, 3, 5, block - 2))
                at = random.randrange(1 << 8) if random.random() < .7 else random.randrange(1 << block)
                at = at >> bits << bits
                if at == 0 or at + (1 << bits) == 1 << block:
                    continue
                first = origin + (i << block) + at
                shape = random.randrange(4)
                if shape == 0:
                    last = min(first + random.randrange(1 << bits), first | (1 << block) - 2)
                    print(f'{to_text(first)}-{to_text(last)}', file=out)
                elif shape == 1 and bits == 0:
                    print(to_text(first), file=out)
                else:
                    print(f'{to_text(first)}/{width - bits}', file=out)

def read(path):
    ranges = []
    for line in open(path):
        text = line.split('#')[0].strip()
        if '-' in text:
            ends = [int(ipaddress.ip_address(end)) for end in text.split('-')]
        elif text:
            network = ipaddress.ip_network(text, strict=False)
            ends = [int(network[0]), int(network[-1])]
        else:
            continue
        ranges.append(ends)
    return ranges

# sweep OPERATION A B: walks over all the ends and counts who covers what: slow and plain.
def sweep(operation, a, b):
    events = []
    for which, path in enumerate((a, b)):
        for first, last in read(path):
            events += [(first, which, 1), (last + 1, which, -1)]
    depth, begin = [0, 0], None
    test = {'union': lambda x, y: x or y, 'merge': lambda x, y: x or y, 'intersect': lambda x, y: x and y,
            'subtract': lambda x, y: x and not y}[operation]
    events.sort(key=lambda event: event[0])
    i = 0
    while i < len(events):
        at = events[i][0]
        while i < len(events) and events[i][0] == at:
            depth[events[i][1]] += events[i][2]
            i += 1
        inside = test(depth[0] > 0, depth[1] > 0)
        if inside and begin is None:
            begin = at
        elif not inside and begin is not None:
            ends = ipaddress.IPv6Address(begin), ipaddress.IPv6Address(at - 1)
            for network in ipaddress.summarize_address_range(*ends):
                print(str(network).removesuffix('/128'))
            begin = None

if sys.argv[1] == 'random':
    make(int(sys.argv[2]), sys.argv[3])
else:
    sweep(*sys.argv[1:])
END

# peer FAMILY OPERATION A B: the fewest prefixes, in order, as the other program has them.
peer() {
	if [ "$1" = 6 ]; then
		python3 sets.py "$2" "$3" "$4"
		return
	fi
	case $2 in
	union | merge) iprange --union "$3" "$4" ;;
	intersect) iprange --intersect "$3" "$4" ;;
	subtract) iprange "$3" --except "$4" ;;
	esac 2>/dev/null
}

# same FAMILY A B: all operations on two files give what the peer gives.
same() {
	local operation

	for operation in union intersect subtract merge; do
		peer "$1" $operation "$2" "$3" >theirs
		if ! "$XDP_BLOOM" set $operation "$2" "$3" >ours 2>err; then
			sed 's/^/# /' err
			return 1
		fi
		if ! cmp -s ours theirs; then
			echo "# set $operation ${2##*/} ${3##*/} differs:"
			diff ours theirs | head -n 5 | sed 's/^/# /'
			return 1
		fi
	done
}

random_ipv4() {
	python3 sets.py random 4 "$XDP_BLOOM_SEED" && [ -s a ] && same 4 a b
}

random_ipv6() {
	python3 sets.py random 6 "$XDP_BLOOM_SEED" && [ -s a ] && same 6 a b
}

# public_lists FAMILY: each list with itself and with the next one.
public_lists() {
	local file last='' mark='^[0-9]+\.'

	[ "$1" = 4 ] || mark='^[0-9a-f]+:'
	[ -d "$lists" ] || return 4
	for file in "$lists"/*; do
		grep -v '^#' "$file" | head -n 1 | grep -qE "$mark" || continue
		same "$1" "$file" "$file" && same "$1" "$file" "${last:-$file}" || return 1
		last=$file
	done
	[ -n "$last" ] || return 4
}

cases=(random_ipv4 random_ipv6 "public_lists 4" "public_lists 6")
printf 'TAP version 13\n1..%d\n# seed: XDP_BLOOM_SEED=%d\n' ${#cases[@]} "$XDP_BLOOM_SEED"
failed=0 skipped=0
for i in "${!cases[@]}"; do
	${cases[i]}
	case $? in
	0) echo "ok $((i + 1)) ${cases[i]}" ;;
	4) echo "ok $((i + 1)) ${cases[i]} # SKIP XDP_BLOOM_LISTS names no folder with such lists" && skipped=$((skipped + 1)) ;;
	*) echo "not ok $((i + 1)) ${cases[i]}" && failed=$((failed + 1)) ;;
	esac
done
printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' $((${#cases[@]} - failed - skipped)) $failed $skipped
[ $failed = 0 ]
