#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Real packets into a veth: what one costs, with one filter after the other on the receiving end (wires.py).

Usage: packets.py [--quick] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes them).
"""
import argparse
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile

from common import bloom, complain, median, quantile, result, run, table
from wires import BPFFS, Pinned, SOURCES, Subject, TRIES, end, load_programs, send_frames

FEW = 10000  # what xdp-filter is made for
BESIDE = '-neighbours'  # of a traffic: while memory is walked through, by another CPU, and by this one between probes
BESIDE_ROUNDS, BESIDE_FRAMES = 5, 100000

options = argparse.ArgumentParser()
options.add_argument('--quick', action='store_true')
options.add_argument('--entries', type=int, default=1000000)
options.add_argument('--rounds', type=int, default=11)
options.add_argument('--frames', type=int, default=500000)
options.add_argument('--only', default='')
options.add_argument('programs')
opt = options.parse_args()
if opt.quick:
    opt.rounds, opt.frames, opt.entries = 3, 100000, min(opt.entries, 100000)
if sys.byteorder != 'little':
    sys.exit('packets.py: written for little-endian machines')
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


class Bloom(Subject):
    def __init__(self, name, mode, samples=None, read=False, few=False, match='source'):
        super().__init__(name)
        self.few = few
        self.mode, self.offload, self.samples, self.read, self.match = mode, mode == 'skb', samples, read, match
        self.reader = None

    def command(self, *args):
        return self.inside(bloom, '-q', '-S', f'{work.name}/{self.name}', '-B', f'{BPFFS}/{self.name}', *args)

    def up(self, hosts):
        self.entries = FEW if self.few else len(hosts)
        self.command('load', '--bogons=keep', 'bench', 'few' if self.few else 'hosts')
        if self.samples is not None:
            self.command('tune', '--samples', str(self.samples))
        self.command('attach', self.edge, '--mode', self.mode, '--match', self.match)
        if self.read:
            self.read_samples(True)

    def read_samples(self, wanted):
        """The namespace stays as long as a process is in it: main() ends the reader."""
        if self.reader:
            self.reader.terminate()
            self.reader.wait()
            self.reader = None
        if not wanted:
            return
        path = f'{self.name}.samples'
        with open(path, 'wb') as out:
            self.reader = subprocess.Popen(
                ['nsenter', f'--net=/run/netns/{self.name}', bloom, '-q', '-S', f'{work.name}/{self.name}', '-B',
                 f'{BPFFS}/{self.name}', 'watch', '-j'], stdout=out)
        while self.right and not os.path.getsize(path) and self.reader.poll() is None:
            send(self, 'drop', 1, 1000)


class Nft(Subject):
    def __init__(self, name, chain):
        super().__init__(name)
        self.chain = chain

    def up(self, hosts):
        self.entries = len(hosts)
        family = 'netdev' if 'ingress' in self.chain else 'ip'
        with open('nft', 'w') as out:
            out.write(f'''table {family} bench {{
                set banned {{
                    type ipv4_addr
                    elements = {{ {", ".join(hosts)} }}
                }}
                chain filter {{
                    type filter hook {self.chain.format(self.edge)};
                    ip saddr @banned drop
                }}
            }}''')
        self.inside('nft', '-f', 'nft')


class Ipset(Subject):
    def up(self, hosts):
        self.entries = len(hosts)
        with open('ipset', 'w') as out:
            out.write(f'create bench hash:ip maxelem {2 * len(hosts)} hashsize {len(hosts) // 2}\n')
            out.writelines(f'add bench {host}\n' for host in hosts)
        self.inside('ipset', 'restore', '-file', 'ipset')
        self.iptables('-m', 'set', '--match-set', 'bench', 'src')


class XdpFilter(Subject):
    """One command an address: the first goes through it, to see what it writes; the others into the map it pinned."""
    few = True
    offload = False

    def up(self, hosts):
        self.entries = FEW
        self.inside('xdp-filter', 'load', self.edge, '-m', 'native', '-f', 'ipv4')
        self.inside('xdp-filter', 'ip', hosts[0], '-m', 'src')
        pin = f'{BPFFS}/xdp-filter/filter_ipv4'
        first = json.loads(run('bpftool', '-j', 'map', 'dump', 'pinned', pin))[0]
        value = first['values'][0]['value']  # of one CPU; bpftool writes it for all
        with open('batch', 'w') as out:
            for host in hosts[1:FEW]:
                key = ' '.join(map(str, socket.inet_aton(host)))
                out.write(f"map update pinned {pin} key {key} value {' '.join(str(int(b, 16)) for b in value)}\n")
        run('bpftool', 'batch', 'file', 'batch')


subjects = [
    Pinned('generator', 'drop_all', keeps=False),
    Pinned('parse-count', 'parse_count', keeps=True),
    Bloom('xdp-bloom', 'native'),
    # By default dropped packets are sampled, 100 a second and CPU; but only while they are read.
    Bloom('samples-read', 'native', 100, read=True),
    Bloom('samples-off', 'native', 0),
    Bloom('xdp-bloom-skb', 'skb'),
    Bloom('both-matched', 'native', match='both'),
    Bloom('xdp-bloom-few', 'native', few=True),
    XdpFilter('xdp-filter'),
    Nft('nft-ingress', 'ingress device {} priority 0'),
    Nft('nft-prerouting', 'prerouting priority -300'),
    Ipset('ipset'),
]


def make_sources(hosts):
    """What is sent, by traffic; the few have a file of their own. Clean ones from 1.0.0.0 to 223.255.255.255."""
    numbers = [struct.unpack('>I', socket.inet_aton(host))[0] for host in hosts]
    listed = set(numbers)
    clean = (random.randrange(1 << 24, 224 << 24) for _ in range(1 << 19))
    sources = {'pass': [address for address in clean if address not in listed][:SOURCES],
               'drop': random.choices(numbers, k=SOURCES), 'drop-few': random.choices(numbers[:FEW], k=SOURCES)}
    for name, addresses in sources.items():
        with open(name, 'wb') as out:
            out.write(struct.pack(f'>{len(addresses)}I', *addresses))


def send(subject, traffic, cpus, frames):
    """Nanoseconds of a frame; and whether just those were kept that should be."""
    beside, path = traffic.endswith(BESIDE), traffic.removesuffix(BESIDE)
    wanted = 0 if subject.name == 'generator' or path == 'drop' and subject.drops() else None
    if path == 'drop' and subject.few:
        path = 'drop-few'
    ns, sent, kept = send_frames(opt.programs, subject, path, cpus, frames, *(['-w'] if beside else []))
    wanted = sent if wanted is None else wanted
    return ns, kept == wanted, f'{kept} of {sent} frames kept, not {wanted}'


def send_right(subject, traffic, cpus, frames):
    """A veth's ring that runs over loses frames before the filter: then again. A wrong verdict is wrong every time."""
    for _ in range(TRIES):
        ns, right, why = send(subject, traffic, cpus, frames)
        if right:
            return ns
    raise RuntimeError(f'{traffic}: {why}')


def check(subject, hosts):
    try:
        subject.wires()
        subject.up(hosts)
        for traffic in 'pass', 'drop':
            send_right(subject, traffic, 1, SOURCES)
        subject.right = True
    except (RuntimeError, OSError, StopIteration, KeyError, IndexError) as why:
        complain(f'packets: {subject.name}: {why}: not printed')


def report(traffic, cpus):
    mine = [s for s in subjects if s.right and (traffic.startswith('pass') or s is subjects[0] or s.drops())]
    base = median(subjects[0].ns[traffic, cpus])
    ours = next((median(s.ns[traffic, cpus]) - base for s in mine if s.name == 'xdp-bloom'), 0)
    rows = []
    for s in mine:
        ns = s.ns[traffic, cpus]
        net = median(ns) - base
        first = s is subjects[0]
        rows.append([s.name, s.entries or '', f'{median(ns):.1f}', f'{quantile(ns, .25):.1f} to {quantile(ns, .75):.1f}',
                     '' if first else f'{net:.1f}', f'{net / ours:.2f}' if ours > 0 and not first else ''])
        result(f'packets-{traffic}', s.name, s.entries or 0, median(ns) if first else net,
               quantile(ns, .99) - (0 if first else base), net / ours if ours > 0 and not first else 0, total=median(ns),
               cpus=cpus, rounds=len(ns))
    print(f'\nreal packets, {traffic}, {cpus} CPU{"s" if cpus > 1 else ""}: ns a packet and CPU; net is less the generator')
    table(['subject', 'entries', 'total', 'middle half', 'net', 'ratio'], rows)


STATS = '/proc/sys/kernel/bpf_stats_enabled'


def program_time(subject):
    """What the kernel counted of the program on its interface: nanoseconds and runs."""
    number = json.loads(subject.inside('ip', '-j', 'link', 'show', subject.edge))[0]['xdp']['prog']['id']
    told = json.loads(run('bpftool', '-j', 'prog', 'show', 'id', str(number)))
    return told.get('run_time_ns', 0), told.get('run_cnt', 0)


def report_program():
    """The program alone, by the kernel's own clock: what else the machine does is hardly in it."""
    mine = [s for s in subjects if s.right and s.name in ('generator', 'xdp-bloom', 'samples-read', 'samples-off')]
    if len(mine) < 4:
        return
    times = {s.name: [] for s in mine}
    with open(STATS, encoding='ascii') as was:
        before = was.read()
    with open(STATS, 'w', encoding='ascii') as switch:
        switch.write('1')
    try:
        for _ in range(opt.rounds):
            for s in mine:
                ns, runs = program_time(s)
                send(s, 'drop', 1, opt.frames)
                later, more = program_time(s)
                times[s.name].append((later - ns) / (more - runs))
    finally:
        with open(STATS, 'w', encoding='ascii') as switch:
            switch.write(before)
    off = median(times['samples-off'])
    print('\nevery packet dropped: ns of the program alone, its clock with it, which is nearly all of what drops all')
    rows = []
    for name, ns in times.items():
        percent = 100 * (median(ns) / off - 1)
        rows.append([name, f'{median(ns):.1f}', f'{quantile(ns, .25):.1f} to {quantile(ns, .75):.1f}', f'{percent:+.2f} %'])
        result('program-samples', name, mine[-1].entries, median(ns), quantile(ns, .99), median(ns) / off, percent=percent,
               cpus=1, rounds=len(ns))
    table(['subject', 'median', 'middle half', 'against off'], rows)


def report_reading(cpus):
    """The same filter, in the same memory, now read and now not: what else differs between two filters is left out."""
    s = next((s for s in subjects if s.right and s.name == 'samples-read'), None)
    if not s or opt.quick:
        return
    ratios = []
    for _ in range(opt.rounds):
        took = {}
        for wanted in False, True:
            s.read_samples(wanted)
            took[wanted] = send_right(s, 'drop', cpus, opt.frames)
        ratios.append(took[True] / took[False])
    percent = 100 * (median(ratios) - 1)
    result('packets-reading', s.name, s.entries, median(ratios) * median(s.ns['drop', cpus]), quantile(ratios, .99),
           median(ratios), percent=percent, cpus=cpus, rounds=len(ratios))
    print(f'\nreading the samples, every packet dropped, {cpus} CPU{"s" if cpus > 1 else ""}: {percent:+.2f} %, middle half '
          f'{100 * (quantile(ratios, .25) - 1):+.2f} to {100 * (quantile(ratios, .75) - 1):+.2f} %')


def report_samples(cpus):
    """Of each round the ratio of two neighbours, so that what else the machine does is in both."""
    told = {s.name: s.ns['drop', cpus] for s in subjects if s.right}
    rows = []
    for name, what in ('xdp-bloom', 'on, nobody reads'), ('samples-read', 'on and read'):
        if name in told and 'samples-off' in told:
            ratios = [a / b for a, b in zip(told[name], told['samples-off'])]
            rows.append([what, f'{100 * (median(ratios) - 1):+.2f} %',
                         f'{100 * (quantile(ratios, .25) - 1):+.2f} to {100 * (quantile(ratios, .75) - 1):+.2f} %'])
            result('packets-samples', name, subjects[2].entries, median(told[name]), quantile(told[name], .99), median(ratios),
                   percent=100 * (median(ratios) - 1), cpus=cpus, rounds=len(ratios))
    if rows:
        print(f'\nsamples, every packet dropped, {cpus} CPU{"s" if cpus > 1 else ""}: time of a packet, against samples off')
        table(['samples', 'median', 'middle half'], rows)


def main():
    hosts = run(f'{opt.programs}/lookup', '--list', '--scenario', 'ipv4-hosts', '--entries', str(opt.entries)).split()
    hosts = list(dict.fromkeys(hosts))
    with open('hosts', 'w') as out:
        out.writelines(host + '\n' for host in hosts)
    with open('few', 'w') as out:
        out.writelines(host + '\n' for host in hosts[:FEW])
    random.seed(1)
    make_sources(hosts)
    load_programs(opt.programs)
    for subject in subjects:
        if not opt.only or subject is subjects[0] or subject.name in opt.only.split(','):
            check(subject, hosts)
    if not subjects[0].right:
        return 1
    works = [1, 2] if os.cpu_count() > 1 and not opt.quick else [1]
    turns = [(traffic, cpus) for traffic in ('drop', 'pass') for cpus in works]
    if os.cpu_count() > 1 and not opt.quick:
        turns += [(traffic + BESIDE, 1) for traffic in ('drop', 'pass')]
    for i in range(opt.rounds):
        for turn in turns:
            beside = turn[0].endswith(BESIDE)
            for subject in subjects:
                if not subject.right or beside and i >= BESIDE_ROUNDS:
                    continue
                try:
                    subject.ns.setdefault(turn, []).append(send_right(subject, *turn, BESIDE_FRAMES if beside else opt.frames))
                except RuntimeError as why:
                    subject.right = False
                    complain(f'packets: {subject.name}: {why}: not printed')
    for turn in turns:
        report(*turn)
    for cpus in works:
        report_samples(cpus)
        report_reading(cpus)
    report_program()
    return 0


try:
    status = main()
finally:
    end(subjects)
sys.exit(status)
