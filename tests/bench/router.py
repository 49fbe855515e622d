#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A router with NAT and 200 hosts inside, some of whose packets go to what is banned: what one costs, with one filter after the
other. All of them stand ready at once in namespaces of their own (wires.py), each with connection tracking and masquerading
towards an uplink, at whose other end packets are counted and dropped.

Usage: router.py [--quick] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes them).
"""
import argparse
import os
import random
import socket
import struct
import sys
import tempfile

from common import bloom, complain, median, quantile, result, run, table
from wires import BPFFS, SOURCES, Subject, TRIES, end, send_frames

HOSTS, SERVERS = 200, 10000  # inside; and those that they go to: as many connections are known
SHARE = 20  # one of so many packets goes to what is banned, where traffic is mixed

options = argparse.ArgumentParser()
options.add_argument('--quick', action='store_true')
options.add_argument('--entries', type=int, default=100000)
options.add_argument('--rounds', type=int, default=11)
options.add_argument('--frames', type=int, default=300000)
options.add_argument('programs')
opt = options.parse_args()
if opt.quick:
    opt.rounds, opt.frames, opt.entries = 3, 50000, min(opt.entries, 20000)
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


class Router(Subject):
    """With no filter."""
    sink = 'netdev', 'sink', 'end'

    def wires(self):
        super().wires()
        self.inside('sh', '-ec', f'''
            nft delete table ip sink
            echo 1 >/proc/sys/net/ipv4/ip_forward
            ip addr add 192.168.0.1/16 dev {self.edge}
            ip link add wan type veth peer name far
            echo 1 | tee /proc/sys/net/ipv6/conf/wan/disable_ipv6 >/proc/sys/net/ipv6/conf/far/disable_ipv6
            ip addr add 198.51.100.2/24 dev wan
            ip link set wan up
            ip link set far up
            ip neigh add 198.51.100.1 lladdr 02:00:00:00:00:09 dev wan nud permanent
            ip route add default via 198.51.100.1''')
        self.inside('nft', 'add table ip nat; add chain ip nat after { type nat hook postrouting priority srcnat; };'
                    'add rule ip nat after oifname wan masquerade;'
                    'add table netdev sink; add chain netdev sink end { type filter hook ingress device far priority 0; };'
                    'add rule netdev sink end counter drop')


class Unfiltered(Router):
    def drops(self):
        return False


class Bloom(Router):
    offload = False

    def up(self, hosts):
        self.entries = len(hosts)
        for args in (('load', '--bogons=keep', 'bench', 'banned'), ('attach', self.edge, '--match', 'destination')):
            self.inside(bloom, '-q', '-S', f'{work.name}/{self.name}', '-B', f'{BPFFS}/{self.name}', *args)


class Nft(Router):
    def __init__(self, name, chain):
        super().__init__(name)
        self.chain = chain

    def up(self, hosts):
        self.entries = len(hosts)
        with open('nft', 'w', encoding='ascii') as out:
            out.write(f'''table {'netdev' if 'ingress' in self.chain else 'ip'} bench {{
                set banned {{ type ipv4_addr; elements = {{ {", ".join(hosts)} }}; }}
                chain filter {{ type filter hook {self.chain.format(self.edge)}; ip daddr @banned drop; }}
            }}''')
        self.inside('nft', '-f', 'nft')


subjects = [
    Unfiltered('nat-alone'),
    Bloom('xdp-bloom'),
    Nft('nft-ingress', 'ingress device {} priority 0'),
    Nft('nft-raw', 'prerouting priority -300'),
    Nft('nft-forward', 'forward priority 0'),
]


def write(name, addresses):
    with open(name, 'wb') as out:
        out.write(struct.pack(f'>{len(addresses)}I', *addresses))


def make_traffic(hosts):
    """Whom each packet goes to; the sources take turns."""
    banned = [struct.unpack('>I', socket.inet_aton(host))[0] for host in hosts]
    listed = set(banned)
    clean = [a for a in (random.randrange(1 << 24, 192 << 24) for _ in range(2 * SERVERS)) if a not in listed and a >> 24 != 127][:SERVERS]
    banned = [a for a in banned if 0 < a >> 24 < 224 and a >> 24 != 127]
    write('inside', [(192 << 24) + (168 << 16) + (1 << 8) + host for host in range(HOSTS)])
    write('clean', clean)
    write('dropped', random.choices(banned, k=SERVERS))
    write('mixed', [random.choice(banned) if i % SHARE == 0 else a for i, a in enumerate(clean)])


def wanted(subject, traffic, sent):
    """How many reach the uplink's other end."""
    if traffic == 'clean' or not subject.drops():
        return sent
    return 0 if traffic == 'dropped' else sum(i % SOURCES % SERVERS % SHARE != 0 for i in range(sent))


def send_right(subject, traffic):
    """A veth's ring that runs over loses frames before the filter: then again. A wrong verdict is wrong every time."""
    for _ in range(TRIES):
        ns, sent, kept = send_frames(opt.programs, subject, traffic, 1, opt.frames, '-f', 'inside')
        if kept == wanted(subject, traffic, sent):
            return ns
    raise RuntimeError(f'{traffic}: {kept} of {sent} frames kept, not {wanted(subject, traffic, sent)}')


def report(traffic):
    mine = [s for s in subjects if s.right and (traffic == 'clean' or s.drops() or s is subjects[0])]
    ours = next((median(s.ns[traffic]) for s in mine if s.name == 'xdp-bloom'), 0)
    rows = []
    for s in mine:
        ns = s.ns[traffic]
        rows.append([s.name, s.entries or '', f'{median(ns):.0f}', f'{quantile(ns, .25):.0f} to {quantile(ns, .75):.0f}',
                     f'{median(ns) / ours:.2f}' if ours else ''])
        result(f'router-{traffic}', s.name, s.entries or 0, median(ns), quantile(ns, .99), median(ns) / ours if ours else 0,
               rounds=len(ns))
    print(f'\na router with NAT, {traffic}: ns a packet, all that becomes of it')
    table(['subject', 'entries', 'ns', 'middle half', 'ratio'], rows)


def main():
    hosts = run(f'{opt.programs}/lookup', '--list', '--scenario', 'ipv4-hosts', '--entries', str(opt.entries)).split()
    hosts = [host for host in dict.fromkeys(hosts) if not host.startswith(('192.168.', '127.'))]
    with open('banned', 'w', encoding='ascii') as out:
        out.writelines(host + '\n' for host in hosts)
    random.seed(1)
    make_traffic(hosts)
    for subject in subjects:
        try:
            subject.wires()
            subject.up(hosts)
            for traffic in 'clean', 'dropped', 'mixed':
                send_right(subject, traffic)
            subject.right = True
        except (RuntimeError, OSError, StopIteration, KeyError, IndexError) as why:
            complain(f'router: {subject.name}: {why}: not printed')
    for _ in range(opt.rounds):
        for traffic in 'clean', 'dropped', 'mixed':
            for subject in subjects:
                if subject.right:
                    subject.ns.setdefault(traffic, []).append(send_right(subject, traffic))
    for traffic in 'clean', 'dropped', 'mixed':
        report(traffic)
    return not subjects[0].right


try:
    status = main()
finally:
    end(subjects)
sys.exit(status)
