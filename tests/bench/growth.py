#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How this project alone grows from 10 thousand to 100 million addresses: a decision, the memory, the time to build it.

Usage: growth.py PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes them).
"""
import json
import math
import os
import subprocess
import sys
import tempfile

from common import available_bytes, bloom, complain, result, run, table, timed

SIZES = [10 ** n for n in range(4, 9)]
MOST = int(os.environ.get('BENCH_GROWTH_MAX', SIZES[-1]))
ROOM = 120  # bytes an entry that the largest process here takes at its peak, and what is left for others


def measure(programs, entries):
    """Nanoseconds by traffic; bytes a key; seconds from text to enforced."""
    lookup = f'{programs}/lookup'
    flags = ['--scenario', 'ipv4-hosts', '--entries', str(entries)]
    with open('list', 'wb') as out:
        subprocess.run([lookup, '--list', *flags], stdout=out, check=True)
    seconds, _ = timed(bloom, '-q', 'load', '--bogons=keep', '--force', 'bench', 'list')
    with open('list', 'rb') as hosts:
        run(bloom, '-q', 'test', hosts.readline().decode().strip())
    shown = json.loads(run(bloom, '-j', 'show'))
    run(bloom, '-q', 'flush')
    os.unlink('list')
    said = run(lookup, *flags, '--subject', 'xdp-bloom', '--peers-max', '1', '--repeats', '31')
    rows = [dict(pair.split('=') for pair in line.split()[1:]) for line in said.splitlines() if 'RESULT' in line]
    ns = {row['scenario'].rsplit('-', 1)[1]: (float(row['ns']), float(row['p99'])) for row in rows
          if not row['scenario'].endswith('-neighbours')}
    if len(ns) != 2:
        raise RuntimeError('a check failed')
    return ns, shown['memory']['total'] / shown['keys']['ipv4'], seconds


def main(programs):
    rows = []
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        os.environ.update(XDP_BLOOM_BPFFS='/sys/fs/bpf/bench-growth', XDP_BLOOM_STATE=f'{work}/state')
        for entries in SIZES:
            if entries > MOST:
                continue
            if entries * ROOM > available_bytes():
                complain(f'growth: {entries} entries: skipped, needs {entries * ROOM >> 20} MiB free')
                continue
            try:
                ns, size, seconds = measure(programs, entries)
            except (RuntimeError, subprocess.CalledProcessError) as why:
                complain(f'growth: {entries} entries: {why}: not printed')
                continue
            for traffic, (middle, p99) in ns.items():
                result(f'growth-{traffic}', 'xdp-bloom', entries, middle, p99, 1, bytes_a_key=size, seconds=seconds)
            rows.append([entries, f"{ns['pass'][0]:.1f}", f"{ns['drop'][0]:.1f}", f'{size:.2f}', f'{seconds:.3f}'])
    table(['entries', 'pass ns', 'drop ns', 'bytes a key', 'seconds to load'], rows)
    return 0 if rows else 1


# --- The picture ------------------------------------------------------------------------------------------------------

WIDE, HIGH, LEFT, TOP = 250, 180, 46, 40
GREY = '#9ca3af'  # peers, as far as they get


def field(name):
    return lambda row: float(row[name])


def kept(row):
    return row['kernel_kb'] * 1024 / row['entries']


def took(row):
    return row['ns'] / 1e9


# A panel's lines: scenario, subject, value, name, colour.
PANELS = [('a decision, ns', [('growth-pass', 'xdp-bloom', field('ns'), 'pass', '#2563eb'),
                              ('growth-drop', 'xdp-bloom', field('ns'), 'drop', '#dc2626'),
                              ('ipv4-hosts-pass', 'bloom-map', field('ns'), 'Bloom map, pass', GREY),
                              ('ipv4-hosts-pass', 'hash-map', field('ns'), 'hash map, pass', GREY),
                              ('ipv4-hosts-pass', 'lpm-trie', field('ns'), 'trie, pass', GREY)]),
          ('kernel memory, bytes a key', [('growth-pass', 'xdp-bloom', field('bytes_a_key'), '', '#059669'),
                                          ('load', 'ipset', kept, 'ipset', GREY), ('load', 'nft', kept, 'nft', GREY)]),
          ('text to enforced, s', [('growth-pass', 'xdp-bloom', field('seconds'), '', '#7c3aed'),
                                   ('load', 'ipset', took, 'ipset', GREY), ('load', 'nft', took, 'nft', GREY)])]


def short(number):
    for size, letter in (1000000, 'M'), (1000, 'k'):
        if number >= size:
            return f'{number // size} {letter}'
    return f'{number:g}'


def panel(at, title, lines):
    """A panel of logarithmic axes, from the power of ten below the least value to that above the largest."""
    values = [y for _, _, points in lines for _, y in points if y > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)

    def place(x, y):
        return (at + LEFT + WIDE * (math.log10(x) - 4) / 4, TOP + HIGH * (high - math.log10(max(y, 10 ** low))) / (high - low))

    out = [f'<text x="{at + LEFT}" y="{TOP - 16}" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        y = place(1e4, 10 ** power)[1]
        out.append(f'<path d="M{at + LEFT} {y:.1f}h{WIDE}" class="grid"/>'
                   f'<text x="{at + LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for entries in SIZES:
        x = place(entries, 10 ** low)[0]
        out.append(f'<text x="{x:.1f}" y="{TOP + HIGH + 18}" text-anchor="middle">{short(entries)}</text>')
    for name, colour, points in lines:
        spots = [place(*point) for point in points]
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}" stroke="{colour}" '
                   'fill="none" stroke-width="2"/>')
        for (x, y), (_, y_value) in zip(spots, points if colour != GREY else []):
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
                       f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle" fill="{colour}">{y_value:.3g}</text>')
        if name and colour == GREY:
            out.append(f'<text x="{spots[-1][0]:.1f}" y="{spots[-1][1] - 5:.1f}" text-anchor="end" fill="{colour}">{name}</text>')
        elif name:
            out.append(f'<text x="{spots[0][0]:.1f}" y="{spots[0][1] + 16:.1f}" fill="{colour}">{name}</text>')
    return out


def picture(rows):
    """SVG; empty panels where nothing was measured."""
    width = len(PANELS) * (WIDE + LEFT + 24)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HIGH + 50}" '
           'font-family="sans-serif" font-size="11" fill="#333">',
           '<style>.grid{stroke:#ccc;stroke-width:1}</style>',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, (title, lines) in enumerate(PANELS):
        drawn = [(name, colour, sorted((r['entries'], value(r)) for r in rows if (r['scenario'], r['subject']) == (scenario, subject)))
                 for scenario, subject, value, name, colour in lines]
        drawn = [line for line in drawn if line[2]]
        if drawn:
            out += panel(i * (WIDE + LEFT + 24), title, drawn)
    out.append(f'<text x="{width / 2:.0f}" y="{TOP + HIGH + 40}" text-anchor="middle">random IPv4 hosts in the set</text>')
    return '\n'.join(out + ['</svg>', ''])


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
