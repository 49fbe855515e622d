#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How fast lists are read: xdp-bloom set count against iprange -C, on the same file of random hosts, on one core, one after
# the other in turn; and a table of 500,000 rows, of which it takes those of one country, against awk, and jq for JSON lines. BENCH_HOSTS (10000000) and BENCH_ROUNDS (5) make it larger or smaller.
set -eu

xdp_bloom=$(realpath -m "${XDP_BLOOM:-build/xdp-bloom}")
for tool in iprange python3 taskset; do
	command -v $tool >/dev/null || { echo "reader.sh: needs $tool; skipped" >&2; exit 4; }
done
[ -x "$xdp_bloom" ] || { echo "reader.sh: $xdp_bloom is not built; skipped" >&2; exit 4; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

taskset -c 0 python3 - "$xdp_bloom" "$work/hosts" "${BENCH_HOSTS:-10000000}" "${BENCH_ROUNDS:-5}" <<'END'
import json, os, random, shutil, statistics, sys, time

xdp_bloom, path, hosts, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
commands = {'xdp-bloom': [xdp_bloom, 'set', 'count', '--json', path], 'iprange': ['iprange', '-C', path]}

random.seed(1)
with open(path, 'w') as out:
    for done in range(0, hosts, 100000):
        n = min(100000, hosts - done)
        numbers = random.getrandbits(32 * n).to_bytes(4 * n, 'little')
        out.write(('%d.%d.%d.%d\n' * n) % tuple(numbers))

def run(command):
    read_end, write_end = os.pipe()
    begin = time.monotonic()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, write_end, 1),
                                                                         (os.POSIX_SPAWN_CLOSE, read_end)])
    os.close(write_end)
    output = os.fdopen(read_end).read()
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f'reader.sh: {command} failed')
    return output, time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss

# What is timed must first be right. The first round also warms the page cache, and does not count.
outputs = {name: run(command)[0] for name, command in commands.items()}
ours = json.loads(outputs['xdp-bloom'])['ipv4']['addresses']
theirs = outputs['iprange'].strip().split(',')[1]
if ours != theirs:
    sys.exit(f'reader.sh: xdp-bloom counts {ours} addresses, iprange {theirs}')

samples = {name: [] for name in commands}
for _ in range(rounds):
    for name, command in commands.items():
        samples[name].append(run(command)[1:])

median = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in samples.items()}
print(f'{"":12}{"wall s":>10}{"CPU s":>10}{"M lines/s":>12}{"peak MiB":>10}{"bytes/host":>12}')
for name, (wall, cpu, memory) in median.items():
    print(f'{name:12}{wall:10.3f}{cpu:10.3f}{hosts / cpu / 1e6:12.1f}{memory / 1024:10.1f}{memory * 1024 / hosts:12.1f}')
for name, rows in samples.items():
    cpu = sorted(row[1] / hosts * 1e9 for row in rows)
    ratio = median[name][1] / median['xdp-bloom'][1]
    print(f'RESULT scenario=read subject={name} entries={hosts} ns={statistics.median(cpu):.2f} p99={cpu[-1]:.2f} '
          f'ratio={ratio:.2f} rss_kb={median[name][2]:.0f} rounds={rounds}')

# Rows of a table, and who takes the same of it and prints it: awk of CSV, jq of JSON lines.
rows = 500000
def write_tables(csv, lines):
    csv.write('start_ip,end_ip,country,asn,name\n')
    for i in range(rows):
        a = f'{16 + (i >> 16)}.{i >> 8 & 255}.{i & 255}'
        last, country = random.choice((127, 255)), random.choice(('CN', 'US', 'DE', 'BR'))
        csv.write(f'{a}.0,{a}.{last},{country},AS{i % 60000},"Net, {i}"\n')
        lines.write(f'{{"start_ip": "{a}.0", "end_ip": "{a}.{last}", "country": "{country}", "asn": {i % 60000}, "name": "Net, {i}"}}\n')

with open(path + '.csv', 'w') as csv, open(path + '.json', 'w') as lines:
    write_tables(csv, lines)

def compare(name, table, peer, command):
    """What the peer prints is the same set; then both are timed in turn."""
    commands = {name: [xdp_bloom, 'set', 'count', '--json', table, '--where', 'country=CN'], peer: command}
    outputs = {each: run(command)[0] for each, command in commands.items()}
    with open(path, 'w') as out:
        out.write(outputs[peer])
    ours, theirs = json.loads(outputs[name])['ipv4'], json.loads(run([xdp_bloom, 'set', 'count', '--json', path])[0])['ipv4']
    if ours != theirs:
        sys.exit(f'reader.sh: xdp-bloom takes {ours}, {peer} {theirs}')
    samples = {each: [] for each in commands}
    for _ in range(rounds):
        for each, command in commands.items():
            samples[each].append(run(command)[1:])
    for each, taken in samples.items():
        wall, cpu, memory = [statistics.median(column) for column in zip(*taken)]
        print(f'{each:12}{wall:10.3f}{cpu:10.3f}{rows / cpu / 1e6:12.1f}{memory / 1024:10.1f}')
        print(f'RESULT scenario=rows subject={each} entries={rows} ns={cpu / rows * 1e9:.2f} wall={wall:.3f} rounds={rounds}')

compare('rows', path + '.csv', 'awk', ['awk', '-F,', '$3 == "CN" { print $1 "-" $2 }', path + '.csv'])
if shutil.which('jq'):
    compare('json-rows', path + '.json', 'jq', ['jq', '-r', 'select(.country == "CN") | .start_ip + "-" + .end_ip', path + '.json'])
END
