#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What it costs a real packet that is kept that its source's rate is watched: the detector, nft's dynamic set, hashlimit.

Usage: rates.py [--quick] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes them). Each is
compared with the same way of a packet without it, by turns: what it adds is the median of the rounds' differences. Before
anything is timed each keeps all of many sources, and finds the one that sends too much.
"""
import argparse
import json
import os
import random
import struct
import sys
import tempfile

from common import bloom, complain, median, quantile, result, run, table
from wires import BPFFS, Pinned, SOURCES, Subject, TRIES, end, load_programs, send_frames

LIMIT = 5000  # packets a second, with a second's worth at once: what the detector begins with for UDP
CALM = {'1,000': 1000, '262,144': SOURCES}  # none of their sources comes near the limit
FLOOD = 1 << 20

options = argparse.ArgumentParser()
options.add_argument('--quick', action='store_true')
options.add_argument('--rounds', type=int, default=15)
options.add_argument('--frames', type=int, default=500000)
options.add_argument('programs')
opt = options.parse_args()
if opt.quick:
    opt.rounds, opt.frames = 5, 100000
if sys.byteorder != 'little':
    sys.exit('rates.py: written for little-endian machines')
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


class Bloom(Subject):
    """With one small list, and with the detector, which only watches: all is kept."""
    offload = False

    def __init__(self, name, on):
        super().__init__(name)
        self.on = on

    def command(self, *words):
        return self.inside(bloom, '-q', '-S', f'{work.name}/{self.name}', '-B', f'{BPFFS}/{self.name}', *words)

    def up(self, hosts):
        self.command('load', '--bogons=keep', 'bench', 'list')
        self.command('attach', self.edge, '--mode', 'native')
        if self.on:
            self.command('detect', 'on')

    def finds(self, kept, sent):
        return not self.on or json.loads(self.command('-j', 'detect'))['above'] > 0


class Nft(Subject):
    def up(self, hosts):
        self.inside('nft', f'''table ip bench {{
            set rates {{ type ipv4_addr; size 1000000; flags dynamic,timeout; timeout 10s; }}
            chain filter {{
                type filter hook prerouting priority -300
                update @rates {{ ip saddr limit rate over {LIMIT}/second burst {LIMIT} packets }} drop
            }}
        }}''')

    def finds(self, kept, sent):
        return kept < sent


class Hashlimit(Subject):
    def up(self, hosts):
        self.iptables('-m', 'hashlimit', '--hashlimit-above', f'{LIMIT}/sec', '--hashlimit-burst', str(LIMIT),
                      '--hashlimit-mode', 'srcip', '--hashlimit-name', 'bench', '--hashlimit-htable-size', str(SOURCES),
                      '--hashlimit-htable-max', '1000000')

    def finds(self, kept, sent):
        return kept < sent


class Nothing(Subject):
    def finds(self, kept, sent):
        return True


class Generator(Pinned):
    def finds(self, kept, sent):
        return kept == 0


off, on = Bloom('detect-off', False), Bloom('detect-on', True)
nothing, nft, hashlimit = Nothing('nothing'), Nft('nft-set'), Hashlimit('hashlimit')
subjects = [Generator('generator', 'drop_all', keeps=False), off, on, nothing, nft, hashlimit]
adds = [(on, off), (nft, nothing), (hashlimit, nothing)]


def make_sources():
    random.seed(1)
    files = dict(CALM, one=1)
    for name, n in files.items():
        with open(name, 'wb') as out:
            for address in random.sample(range(1 << 24, 224 << 24), n):
                out.write(struct.pack('>I', address))
    with open('list', 'w') as out:
        out.write('192.0.2.1\n')


def send(subject, name):
    """A veth's ring that runs over loses frames before the filter: then again."""
    for _ in range(TRIES):
        ns, sent, kept = send_frames(opt.programs, subject, name, 1, opt.frames)
        if kept == (0 if subject is subjects[0] else sent):
            return ns
    raise RuntimeError(f'{name}: {kept} of {sent} frames kept')


def check(subject):
    try:
        subject.wires()
        subject.up(None)
        for name in CALM:
            send(subject, name)
        _, sent, kept = send_frames(opt.programs, subject, 'one', 1, FLOOD)
        if not subject.finds(kept, sent):
            raise RuntimeError(f'one source of {sent} packets: {kept} kept')
        subject.right = True
    except (RuntimeError, OSError, StopIteration, KeyError, IndexError) as why:
        complain(f'rates: {subject.name}: {why}: not printed')


def report(name):
    rows = []
    for subject, without in adds:
        if not subject.right or not without.right:
            continue
        more = [a - b for a, b in zip(subject.ns[name], without.ns[name])]
        total = median(subject.ns[name])
        rows.append([subject.name, f'{total:.1f}', f'{median(without.ns[name]):.1f}', f'{median(more):.1f}',
                     f'{quantile(more, .25):.1f} to {quantile(more, .75):.1f}'])
        result('packets-rates', subject.name, CALM[name], median(more), quantile(more, .99), total / median(without.ns[name]),
               total=total, cpus=1, rounds=len(more))
    print(f'\nreal packets of {name} sources, all kept: ns a packet, and what is added')
    table(['subject', 'with', 'without', 'added', 'middle half'], rows)


def main():
    make_sources()
    load_programs(opt.programs)
    for subject in subjects:
        check(subject)
    for _ in range(opt.rounds):
        for name in CALM:
            for subject in subjects[1:]:
                try:
                    if subject.right:
                        subject.ns.setdefault(name, []).append(send(subject, name))
                except RuntimeError as why:
                    subject.right = False
                    complain(f'rates: {subject.name}: {why}: not printed')
    for name in CALM:
        report(name)
    return 0


try:
    status = main()
finally:
    end(subjects)
sys.exit(status)
