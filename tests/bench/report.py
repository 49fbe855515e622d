#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""From RESULT lines to a JSON file, to what was to be shown and whether it was, and to the page that keeps it.

Usage: report.py machine | collect LINES JSON SECONDS | record JSON PAGE SVG
"""
import datetime
import json
import os
import platform
import subprocess
import sys

import growth
from common import table

BUSY = .5  # with the machine to itself it was 0.2, with a load of 8 beside 0.7; what a row itself spreads, 3 to 5 %, says nothing
BEGIN, END = '<!-- recorded by make bench-record -->', '<!-- end of the record -->'


def machine():
    with open('/proc/cpuinfo', encoding='ascii') as info:
        model = next((line.split(': ', 1)[1].strip() for line in info if line.startswith('model name')),
                     platform.machine())
    commit = subprocess.run(['git', '-C', os.path.dirname(__file__) or '.', 'describe', '--always', '--dirty'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    return {'machine': model, 'cpus': os.cpu_count(), 'kernel': platform.release(), 'commit': commit or 'unknown'}


def value(text):
    try:
        return float(text) if '.' in text else int(text)
    except ValueError:
        return text


def middle(rows):
    """Of a lookup in several rounds the one in the middle, with the least and the most of their medians."""
    rows.sort(key=lambda row: row['ns'])
    if 'q1' not in rows[0] or len(rows) < 2:
        return rows
    return [dict(rows[len(rows) // 2], least=rows[0]['ns'], most=rows[-1]['ns'], rounds=len(rows))]


def read_lines(path):
    groups = {}
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            if line.startswith('RESULT '):
                row = {k: value(v) for k, v in (pair.split('=', 1) for pair in line.split()[1:])}
                groups.setdefault((row['scenario'], row['subject'], row['entries'], 'q1' in row or len(groups)), []).append(row)
    return [row for rows in groups.values() for row in middle(rows)]


class Claims:
    """What the project says of itself, each with the rows that it rests on."""

    def __init__(self, rows):
        self.rows = rows
        self.table = []

    def get(self, scenario, subject, entries, field='ns', **more):
        for row in self.rows:
            if (row['scenario'], row['subject']) == (scenario, subject) and self.about(row['entries'], entries) and \
                    all(row.get(key) == wanted for key, wanted in more.items()):
                return row.get(field)
        return None

    @staticmethod
    def about(entries, wanted):
        """Random lists repeat a few of their lines, which is not seen everywhere; and some subjects have no list at all."""
        return not entries or .99 * wanted <= entries <= wanted

    def claim(self, what, over, under, wanted, least):
        """over / under is at least, or at most, what is wanted."""
        if not over or not under or under <= 0:
            self.table.append([what, self.words(wanted, least), 'not measured', ''])
            return
        measured = over / under
        self.table.append([what, self.words(wanted, least), f'{measured:.3g}',
                           'yes' if (measured >= wanted if least else measured <= wanted) else 'NO'])

    @staticmethod
    def words(wanted, least):
        return f'{"at least" if least else "at most"} {wanted:g}'

    def all(self):
        million = 1000000

        def look(subject, traffic='pass', entries=million):
            return self.get(f'ipv4-hosts-{traffic}', subject, entries)

        ours = look('xdp-bloom')
        for beside, what in ('', ''), ('-neighbours', ', neighbours'):
            for path in 'pass', 'drop':
                self.claim(f'both addresses over the source alone, {path} path, times{what}', look('by-both', path + beside),
                           look('by-source', path + beside), 1.9, False)
        for beside, what, wanted in (('', '', (12, 40, 350, 6)), ('-neighbours', ', neighbours', (7, 16, 80, 3))):
            kept, dropped = look('xdp-bloom', 'pass' + beside), look('xdp-bloom', 'drop' + beside)
            self.claim(f'pass path over the one-line floor, times{what}', kept, look('floor', 'pass' + beside), 1.2, False)
            for subject, times in zip(('bloom-map', 'hash-map', 'lpm-trie'), wanted):
                self.claim(f'pass path, times faster than {subject}{what}', look(subject, 'pass' + beside), kept, times, True)
            self.claim(f'drop path, exact, times faster than a hash map\'s hit{what}', look('hash-map', 'drop' + beside),
                       dropped, wanted[3], True)
            self.claim(f'drop path, exact, over the Bloom map alone, times{what}', dropped,
                       look('bloom-map', 'drop' + beside), 1, False)
        for beside, what, kept, dropped in ('', '', 1.04, 8), ('-neighbours', ', neighbours', 1.12, 6):
            self.claim(f'whole program over parse and count, real packets, times{what}',
                       self.get('packets-pass' + beside, 'xdp-bloom', million, 'total', cpus=1),
                       self.get('packets-pass' + beside, 'parse-count', million, 'total', cpus=1), kept, False)
            for subject in 'nft-ingress', 'ipset':
                self.claim(f'drop of real packets, times less than {subject}{what}',
                           self.get('packets-drop' + beside, subject, million, cpus=1),
                           self.get('packets-drop' + beside, 'xdp-bloom', million, cpus=1), dropped, True)
        self.claim("the program's own time of a dropped real packet, the kernel's clock with it, ns",
                   self.get('program-samples', 'xdp-bloom', million), 1, 130, False)
        more = self.get('packets-reading', 'samples-read', million, 'percent', cpus=1)
        self.claim('time of a dropped packet, samples read, over that without a reader', more and 1 + more / 100, 1, 1.02, False)
        for subject, wanted in ('ipset', 25), ('nft', 30):
            self.claim(f'text to enforced, times faster than {subject}', self.get('load', subject, million),
                       self.get('load', 'xdp-bloom', million), wanted, True)
        kilobytes = self.get('load', 'xdp-bloom', million, 'kernel_kb')
        self.claim('kernel memory, exact, with labels, MB', kilobytes and kilobytes * 1.024, 1000, 6, False)
        self.claim('kernel memory, exact, over ipset\'s', kilobytes,
                   self.get('load', 'ipset', million, 'kernel_kb'), .5, False)
        for what, scenario, wanted in (('slowest of 1,000 bans, a command each', 'edit-add-single', 10),
                                       ('slowest batch of 100,000 bans', 'edit-batch-100000', 1000)):
            self.claim(f'{what}, ms', self.get(scenario, 'xdp-bloom', million, 'max'), 1e6, wanted, False)
        self.claim('add, with the service, over ipset, times', self.get('edit-add', 'with-service', million),
                   self.get('edit-add', 'ipset', million), 1.2, False)
        for what, scenario in ('1,000 bans in one command', 'edit-add-1000'), ('batch of 100,000', 'edit-batch-100000'):
            self.claim(f'{what}, with the service, over nft, times', self.get(scenario, 'with-service', million),
                       self.get(scenario, 'nft', million), 1, False)
        self.claim('100 M entries, seconds to load', self.get('growth-pass', 'xdp-bloom', 100 * million, 'seconds'), 1, 15,
                   False)
        self.claim('10 M entries, pass path over the one-line floor, times', look('xdp-bloom', entries=10 * million),
                   look('floor', entries=10 * million), 1.5, False)
        self.claim('10 M entries, pass path, ns', look('xdp-bloom', entries=10 * million), 1, 12, False)
        self.claim('typical IPv6 list (10,000 prefixes, mixed), pass path, times IPv4\'s',
                   self.get('ipv6-mix-pass', 'xdp-bloom', 10000), ours, 2, False)
        self.rates()
        for subject, what in ('port', 'a scope with a port'), ('port-to-on', 'one with a destination and an interface, too'):
            self.claim(f'{what}, ns more a dropped packet', self.get('scope-dropped', subject, 100000, 'more'), 1, 10, False)
        return self.table

    def rates(self):
        """What it costs a packet that its source's rate is watched, where nobody is above a limit."""
        for sources, what in (1 << 10, '1,024'), (1 << 20, '1 M'), (1 << 32, '4 G'):
            self.claim(f'detector, {what} sources, ns', self.get('rates', 'detector', sources), 1, 15, False)
        self.claim('detector over an LRU hash, 1 M sources', self.get('rates', 'detector', 1 << 20),
                   self.get('rates', 'lru-hash', 1 << 20), .1, False)
        for sources in 1000, 1 << 18:
            ours = self.get('packets-rates', 'detect-on', sources)
            self.claim(f'detector, real packets of {sources:,} sources, ns more', ours, 1, 40, False)
            for subject, what in ('nft-set', "nft's dynamic set"), ('hashlimit', 'hashlimit'):
                self.claim(f'detector over {what}, real packets of {sources:,} sources', ours,
                           self.get('packets-rates', subject, sources), .2, False)


def collect(lines, path, seconds):
    rows = read_lines(lines)
    claims = Claims(rows).all()
    print('\n--- what it was to show (1 M random IPv4 hosts unless said otherwise)')
    table(['what', 'wanted', 'measured', ''], claims)
    document = dict(machine(), date=datetime.date.today().isoformat(), seconds=int(seconds), results=rows,
                    claims=[dict(zip(('what', 'wanted', 'measured', 'reached'), row)) for row in claims])
    replace(path, json.dumps(document, indent=1))
    replace(os.path.splitext(path)[0] + '-growth.svg', growth.picture(rows))
    print(f'\n{seconds} s; all of it is in {path}')


def markdown(head, rows):
    lines = [head, ['---'] + ['---:'] * (len(head) - 1)] + rows
    return ''.join('| ' + ' | '.join(str(cell) for cell in line) + ' |\n' for line in lines)


def page(document):
    """The record: claims first, then every row, a table a scenario and size."""
    rows = document['results']
    text = (f"{document['machine']}, {document['cpus']} CPUs, Linux {document['kernel']}; commit {document['commit']}, "
            f"{document['date']}.\n\n### What it was to show\n\n")
    text += markdown(['', 'wanted', 'measured', 'reached'], [list(c.values()) for c in document['claims']])
    groups = {}
    for row in rows:
        groups.setdefault((row['scenario'], row.get('cpus', 0)), []).append(row)
    for (scenario, cpus), group in groups.items():
        text += f"\n### {scenario}{f', {cpus} CPU' if cpus else ''}\n\n"
        extra = [key for key in ('q1', 'q3', 'least', 'most', 'more', 'total', 'max', 'rss_kb', 'kernel_kb', 'bytes_a_key', 'seconds', 'pps', 'first_ms', 'before',
                              'through') if any(key in r for r in group)]
        text += markdown(['subject', 'entries', 'ns', 'p99', 'ratio'] + extra,
                         [[r['subject'], f"{r['entries']:,}", f"{r['ns']:,}", f"{r['p99']:,}" if 'p99' in r else '', r.get('ratio') or ''] +
                          [r.get(key, '') for key in extra] for r in group])
    return text


def business(rows):
    """What one random line costs, over what it costs beside a program that walks through memory. 0: not measured."""
    alone, beside = (Claims(rows).get(f'ipv4-hosts-pass{more}', 'floor', 1000000) for more in ('', '-neighbours'))
    return max(alone, 0) / beside if alone and beside and beside > 0 else 0


def replace(path, text):
    """All of it or nothing."""
    with open(path + '.tmp', 'w', encoding='utf-8') as out:
        out.write(text)
    os.replace(path + '.tmp', path)


def record(path, where, svg):
    with open(path, encoding='utf-8') as source:
        document = json.load(source)
    if business(document['results']) > BUSY:
        print(f"not recorded: the machine is too busy. One random line costs {business(document['results']):.2f} times what it "
              f'costs beside a program that takes the caches; {BUSY} is the most', file=sys.stderr)
        sys.exit(2)
    with open(where, encoding='utf-8') as old:
        before, _, rest = old.read().partition(BEGIN)
    after = rest.partition(END)[2]
    replace(where, f'{before}{BEGIN}\n{page(document)}{END}{after}')
    replace(svg, growth.picture(document['results']))


if __name__ == '__main__':
    if sys.argv[1:] == ['machine']:
        about = machine()
        print(f"{about['machine']}, {about['cpus']} CPUs; Linux {about['kernel']}; commit {about['commit']}")
    elif sys.argv[1:2] == ['collect'] and len(sys.argv) == 5:
        collect(*sys.argv[2:])
    elif sys.argv[1:2] == ['record'] and len(sys.argv) == 5:
        record(*sys.argv[2:])
    else:
        sys.exit(__doc__)
