#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Lists packed: how many bits an address takes, beside Golomb-Rice codes of the same gaps, the gaps in groups of seven bits
# and xz, and the text and xz; what a change of 1 % takes; and how fast a packed list is read, beside its text. Random
# hosts, hosts that cluster, and the files of XDP_BLOOM_LISTS. BENCH_HOSTS (10000000) and BENCH_ROUNDS (5) make it larger or
# smaller.
set -eu

xdp_bloom=$(realpath -m "${XDP_BLOOM:-build/xdp-bloom}")
for tool in python3 taskset; do
	command -v $tool >/dev/null || { echo "packed.sh: needs $tool; skipped" >&2; exit 4; }
done
[ -x "$xdp_bloom" ] || { echo "packed.sh: $xdp_bloom is not built; skipped" >&2; exit 4; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

taskset -c 0 python3 - "$xdp_bloom" "$work" "${BENCH_HOSTS:-10000000}" "${BENCH_ROUNDS:-5}" <<'END'
import glob, json, lzma, math, os, random, statistics, subprocess, sys, time

xdp_bloom, work, hosts, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
path = lambda name: os.path.join(work, name)

def run(*args):
    return subprocess.run([xdp_bloom, *args], check=True, stdout=subprocess.PIPE).stdout

def text(addresses):
    return '\n'.join(f'{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}' for a in addresses) + '\n'

def put(name, addresses):
    with open(path(name), 'w') as out:
        out.write(text(addresses))

def golomb_rice(gaps):
    return min(sum((gap >> k) + 1 + k for gap in gaps) for k in range(33))

def groups(gaps):
    out = bytearray()
    for gap in gaps:
        while gap > 127:
            out.append(gap & 127 | 128)
            gap >>= 7
        out.append(gap)
    return bytes(out)

def sizes(name, addresses):
    addresses = sorted(set(addresses))
    n = len(addresses)
    gaps = [addresses[0]] + [b - a - 1 for a, b in zip(addresses, addresses[1:])]
    put('list', addresses)
    run('set', 'pack', path('packed'), path('list'))
    if run('set', 'union', path('packed')) != run('set', 'union', path('list')):
        sys.exit(f'packed.sh: {name} comes back as another list')
    bits = {'packed': 8 * os.path.getsize(path('packed')), 'golomb-rice': golomb_rice(gaps),
            'groups of 7, xz': 8 * len(lzma.compress(groups(gaps), preset=9 | lzma.PRESET_EXTREME)),
            'text, xz': 8 * len(lzma.compress(text(addresses).encode(), preset=9))}
    mean = 2**32 / n
    print(f'{name}: {n} addresses, bits an address (a random list has {math.log2(math.e * mean):.2f} at the least)')
    for how, size in bits.items():
        print(f'    {how:16} {size / n:6.2f}')
        print(f'RESULT scenario=packed subject={how.replace(", ", "+").replace(" ", "-")} list={name} entries={n} '
              f'bits={size / n:.3f}')

random.seed(1)
million = random.sample(range(1 << 32), 1000000)
sizes('random', million)
clustered = set()
while len(clustered) < 300000:
    network = random.getrandbits(24) << 8
    clustered.update(network | random.getrandbits(8) for _ in range(random.randrange(1, 200)))
sizes('clustered', clustered)
for file in sorted(glob.glob(os.path.join(os.environ.get('XDP_BLOOM_LISTS', '/nonexistent'), '*.[tci]*'))):
    count = json.loads(run('set', 'count', '--json', '--skip-bad', file))
    n = int(count['ipv4']['addresses'])
    if n < 10000 or n != count['files'][0]['entries'] - count['files'][0]['duplicates']:
        continue  # not a list of hosts
    addresses = []
    for line in run('set', 'union', file, '--skip-bad', '--output', 'csv').decode().split()[1:]:
        first, last = (int.from_bytes(bytes(map(int, a.split('.'))), 'big') for a in line[2:].split('-'))
        addresses += range(first, last + 1)
    sizes(os.path.basename(file).split('.')[0], addresses)

put('old', million)
put('new', million[10000:] + random.sample(range(1 << 32), 10000))
run('set', 'delta', path('old'), path('new'), path('delta'))
print(f'1 % of a million changed: {os.path.getsize(path("delta"))} bytes')
print(f'RESULT scenario=packed-change subject=packed entries=1000000 bytes={os.path.getsize(path("delta"))}')

with open(path('text'), 'w') as out:
    for done in range(0, hosts, 100000):
        n = min(100000, hosts - done)
        numbers = random.getrandbits(32 * n).to_bytes(4 * n, 'little')
        out.write(('%d.%d.%d.%d\n' * n) % tuple(numbers))
run('set', 'pack', path('packed'), path('text'))
samples = {'packed': [], 'text': []}
count = {}
for turn in range(rounds + 1):
    for name in samples:
        begin = time.monotonic()
        count[name] = json.loads(run('set', 'count', '--json', path(name)))['ipv4']
        if turn:
            samples[name].append(time.monotonic() - begin)
if count['packed'] != count['text']:
    sys.exit(f'packed.sh: {count["packed"]} packed, {count["text"]} as text')
print(f'{hosts} hosts read, s: ' + ', '.join(f'{name} {statistics.median(s):.3f}' for name, s in samples.items()))
for name, taken in samples.items():
    print(f'RESULT scenario=packed-read subject={name} entries={hosts} wall={statistics.median(taken):.3f} '
          f'p99={max(taken):.3f} rounds={rounds}')
END
