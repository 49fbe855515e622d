#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One source floods: how soon who finds and drops it, what gets through until then and later, and what that takes.

Usage: attack.py [--rate PPS] [--seconds N] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes
them). All have the same limit, as many packets a second as LIMIT says, and a second's worth at once where they know bursts.
FastNetMon watches by AF_PACKET and has a script that bans; fail2ban reads what tcpdump writes of packets that a dynamic set of
nft finds above the limit. Both ban in a set of nft. Afterwards frames of other sources all have to come through.
"""
import argparse
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from common import bloom, complain, result, run, table
from wires import BPFFS, Subject, charges_tasks, end, load_programs, send_frames

LIMIT = 5000
LOOK = .002  # seconds between two looks
QUEUED = 256  # frames that may be on the way
WARM = 5  # seconds that a daemon has before it is tried

options = argparse.ArgumentParser()
options.add_argument('--rate', type=int, default=300000)
options.add_argument('--seconds', type=int, default=8)
options.add_argument('--only', default='')
options.add_argument('--look', action='store_true', help=argparse.SUPPRESS)
options.add_argument('programs')
opt = options.parse_args()


def look(wire):
    """In a subject's network: again and again how many frames were sent, and how many the last rule has counted."""
    nft = ctypes.CDLL('libnftables.so.1')
    nft.nft_ctx_new.restype = nft.nft_ctx_get_output_buffer.restype = ctypes.c_void_p
    context = ctypes.c_void_p(nft.nft_ctx_new(0))
    nft.nft_ctx_buffer_output(context)
    while True:
        with open(f'/sys/class/net/{wire}/statistics/tx_packets', encoding='ascii') as counter:
            sent = int(counter.read())
        nft.nft_run_cmd_from_buffer(context, b'list chain ip sink end')
        text = ctypes.string_at(nft.nft_ctx_get_output_buffer(context)).decode()
        print(time.monotonic(), sent, re.search(r'packets (\d+)', text).group(1), flush=True)
        time.sleep(LOOK)


class Tool(Subject):
    """With a set of banned sources, which it fills in its own way."""
    rates = ''
    program = process = None

    def up(self, hosts):
        self.inside('nft', f'''table ip bench {{
            set banned {{ type ipv4_addr; }}
            set rates {{ type ipv4_addr; size 1000000; flags dynamic,timeout; timeout 10s; }}
            chain filter {{
                type filter hook prerouting priority -300
                ip saddr @banned drop
                {self.rates}
            }}
        }}''')

    def start(self, *command, **more):
        with open(f'{self.name}.out', 'w') as out:
            return subprocess.Popen(['nsenter', f'--net=/run/netns/{self.name}', *command], stdout=out,
                                    stderr=subprocess.STDOUT, **more)

    def processes(self):
        return [self.process] if self.process else []

    def down(self):
        for process in self.processes():
            process.terminate()
            process.wait()

    def seconds(self):
        """Of processor time, until now, with those of their children that have ended."""
        ticks = 0
        for process in self.processes():
            with open(f'/proc/{process.pid}/stat', encoding='ascii') as stat:
                ticks += sum(map(int, stat.read().rpartition(')')[2].split()[11:15]))
        return ticks / os.sysconf('SC_CLK_TCK')


class Nft(Tool):
    """No more than its set: what is above the limit is dropped."""
    rates = f'update @rates {{ ip saddr limit rate over {LIMIT}/second burst {LIMIT} packets }} drop'


class FastNetMon(Tool):
    program = 'fastnetmon'

    def up(self, hosts):
        super().up(hosts)
        wanted = {'interfaces': self.edge, 'mirror_afpacket': 'on', 'threshold_pps': LIMIT, 'enable_api': 'off',
                  'prometheus': 'off', 'networks_list_path': f'{work.name}/networks', 'white_list_path': '/dev/null',
                  'notify_script_path': f'{work.name}/notify', 'monitor_local_ip_addresses': 'off',
                  'ban_for_bandwidth': 'off', 'enable_ban_ipv6': 'off', 'disable_usage_report': 'on'}
        with open('/etc/fastnetmon.conf', encoding='utf-8') as source, open('fastnetmon.conf', 'w') as out:
            out.writelines(line for line in source if line.split('=')[0].strip() not in wanted)
            out.writelines(f'{name} = {value}\n' for name, value in wanted.items())
        with open('networks', 'w') as out:
            out.write('203.0.113.0/24\n')
        with open('notify', 'w') as out:
            out.write('#!/bin/sh\n[ "$4" != ban ] || nft add element ip bench banned "{ $1 }"\ncat >/dev/null\n')
        os.chmod('notify', 0o755)
        self.process = self.start(self.program, '--configuration_file', f'{work.name}/fastnetmon.conf', '--log_file',
                                  f'{work.name}/fastnetmon.log', '--disable_pid_logic')
        time.sleep(WARM)


class Fail2ban(Tool):
    rates = (f'update @rates {{ ip saddr limit rate over {LIMIT}/second burst {LIMIT} packets }} limit rate 10/second '
             'log group 1')
    program, watcher = 'fail2ban-server', None

    def processes(self):
        return [p for p in (self.process, self.watcher) if p]

    def up(self, hosts):
        super().up(hosts)
        for folder in 'f2b', 'f2b/filter.d', 'f2b/action.d', 'f2b/jail.d', 'f2b/fail2ban.d':
            os.mkdir(folder)
        files = {
            'fail2ban.conf': '[Definition]\nloglevel = INFO\nlogtarget = STDOUT\nsyslogsocket = auto\ndbfile = None\n'
                             'dbpurgeage = 1d\ndbmaxmatches = 10\n[Thread]\n',
            'jail.conf': f'[flood]\nenabled = true\nfilter = flood\nlogpath = {work.name}/flood.log\nbackend = auto\n'
                         'maxretry = 1\nfindtime = 10\nbantime = 600\naction = nft\n',
            'filter.d/flood.conf': '[Definition]\nfailregex = ^ IP <HOST>\\.\\d+ > \n',
            'action.d/nft.conf': '[Definition]\nactionban = nft add element ip bench banned "{ <ip> }"\n'
                                 'actionunban = nft delete element ip bench banned "{ <ip> }"\n'}
        for name, text in files.items():
            with open(f'f2b/{name}', 'w') as out:
                out.write(text)
        with open('flood.log', 'w') as log:
            self.watcher = subprocess.Popen(
                ['nsenter', f'--net=/run/netns/{self.name}', 'tcpdump', '-tttt', '-nl', '-i', 'nflog:1'], stdout=log,
                stderr=subprocess.DEVNULL)
        self.process = self.start(self.program, '-c', f'{work.name}/f2b', '-s', f'{work.name}/f2b.sock', '-p',
                                  f'{work.name}/f2b.pid', '-xf', 'start')
        time.sleep(WARM)


class Bloom(Tool):
    """In the kernel, without a process."""

    def command(self, *words):
        return self.inside(bloom, '-q', '-S', f'{work.name}/{self.name}', '-B', f'{BPFFS}/{self.name}', *words)

    def up(self, hosts):
        with open('list', 'w') as out:
            out.write('192.0.2.1\n')
        self.offload = False
        self.command('load', '--bogons=keep', 'bench', 'list')
        self.command('attach', self.edge, '--mode', 'native')
        self.command('detect', 'limit', 'udp', 'none')
        self.command('detect', 'limit', 'packets', f'{LIMIT}/s', '--then', 'police')
        self.command('detect', 'on')


subjects = [Bloom('xdp-bloom'), Nft('nft-set'), FastNetMon('fastnetmon'), Fail2ban('fail2ban')]


def make_sources():
    others = [198 << 24 | 18 << 16 | i for i in range(1000)]
    for name, addresses in ('attacker', [203 << 24 | 113 << 8 | 7]), ('others', others):
        with open(name, 'wb') as out:
            out.write(struct.pack(f'>{len(addresses)}I', *addresses))


def first_drop(looks):
    """Seconds, and frames, from the first to where one did not come through, as far as looks tell."""
    _, sent, kept = looks[0]
    begin = next((t for t, n, _ in looks if n > sent), None)
    return next(((t - begin, k - kept) for t, n, k in looks if n - sent - (k - kept) > QUEUED), None)


def attack(subject):
    """When it first drops, and what the whole of it took."""
    frames = opt.rate * opt.seconds
    with open(f'{subject.name}.looks', 'w') as out:
        looking = subprocess.Popen(['nsenter', f'--net=/run/netns/{subject.name}', sys.executable, f'{here}/attack.py', '--look',
                                    subject.wire], stdout=out)
    try:
        while not os.path.getsize(f'{subject.name}.looks'):
            time.sleep(LOOK)
        before, used, begin = subject.kept(), subject.seconds(), time.monotonic()
        ns = run(f'{opt.programs}/packets', *(['-t'] if charges_tasks() else []), '-r', str(opt.rate), '-n', str(frames),
                 subject.wire, 'attacker').split()[0]
        took, used, kept = time.monotonic() - begin, subject.seconds() - used, subject.kept() - before
    finally:
        looking.terminate()
        looking.wait()
    with open(f'{subject.name}.looks', encoding='ascii') as lines:
        looks = [(float(t), int(n), int(k)) for t, n, k in (line.split() for line in lines if line.endswith('\n'))]
    first = first_drop(looks)
    if not first:
        raise RuntimeError(f'it let {kept} packets through, and dropped none')
    return {'first': first[0] * 1000, 'before': first[1], 'through': kept, 'percent': 100 * used / took, 'each': float(ns),
            'pps': frames / took}


def try_one(subject):
    try:
        if subject.program and not shutil.which(subject.program):
            raise RuntimeError(f'{subject.program} is not installed')
        subject.wires()
        subject.inside('ip', 'link', 'set', 'lo', 'up')
        subject.up(None)
        told = attack(subject)
        _, sent, calm = send_frames(opt.programs, subject, 'others', 1, 100000)
        if calm != sent:
            raise RuntimeError(f'of other sources {calm} of {sent} frames were kept')
        return told
    except (RuntimeError, OSError, StopIteration) as why:
        complain(f'attack: {subject.name}: {why}: not printed')
        return None
    finally:
        subject.down()


def main():
    make_sources()
    load_programs(opt.programs)
    rows = []
    for subject in subjects:
        if opt.only and subject.name not in opt.only.split(','):
            continue
        told = try_one(subject)
        if told:
            rows.append([subject.name, f"{told['pps']:,.0f}", f"{told['first']:,.0f}", f"{told['before']:,}",
                         f"{told['through']:,}", f"{told['each']:.0f}", f"{told['percent']:.1f} %"])
            result('attack', subject.name, 1, told['each'], told['each'], 0, first_ms=told['first'], before=told['before'],
                   through=told['through'], pps=told['pps'], percent=told['percent'])
    print(f'\none source, {opt.seconds} s, limit {LIMIT:,} packets a second')
    table(['subject', 'packets a second', 'first drop, ms', 'packets before', 'let through', 'ns of the kernel each', 'processes'],
          rows)
    return 0


here = os.path.dirname(os.path.realpath(__file__))
if opt.look:
    look(opt.programs)
opt.programs = os.path.realpath(opt.programs)
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
try:
    status = main()
finally:
    end(subjects)
sys.exit(status)
