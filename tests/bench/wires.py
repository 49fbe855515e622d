# SPDX-License-Identifier: GPL-2.0-only
"""Real packets into veths: each subject has a network namespace for its end of a pair, so that all of them stand ready at
once and can take turns. Behind every filter, last in PREROUTING, a rule counts what is left and drops it: the check, and
the place where kept packets end. The generator's cost is that of a frame into a program that drops everything at once.
Sender and softirq thread share a CPU by its ticks: a round must be much longer, or time is taken by what both of them ran.
"""
import gzip
import json
import os
import subprocess

from common import run

BPFFS = '/sys/fs/bpf'
SOURCES = 1 << 18  # as many as packets.h has
TRIES = 3  # of a round


class Subject:
    """One filter on edge-NAME, in namespace NAME; frames come out of wire-NAME, in ours."""
    entries = None
    few = False  # the first of the addresses, not all
    sink = 'ip', 'sink', 'end'  # where what is kept is counted
    offload = True  # without an XDP program the receiving end takes frames only with GRO

    def __init__(self, name):
        self.name, self.edge, self.wire = name, 'e-' + name[:12], 'w-' + name[:12]
        self.ns = {}
        self.right = False

    def inside(self, *command, **more):
        """In the subject's network, but our mounts: 'ip netns exec' would hide the bpffs."""
        return run('nsenter', f'--net=/run/netns/{self.name}', *command, **more)

    def wires(self):
        run('ip', 'netns', 'add', self.name)
        queues = ('numtxqueues', str(os.cpu_count()), 'numrxqueues', str(os.cpu_count()))
        run('ip', 'link', 'add', self.wire, *queues, 'type', 'veth', 'peer', 'name', self.edge, *queues, 'address',
            '02:00:00:00:00:01', 'netns', self.name)
        run('ip', 'link', 'set', self.wire, 'up')
        self.inside('sh', '-c', f'echo 1 >/proc/sys/net/ipv6/conf/{self.edge}/disable_ipv6')
        self.inside('ip', 'link', 'set', self.edge, 'up')
        self.inside('ethtool', '-K', self.edge, 'gro', 'on' if self.offload else 'off')
        self.inside('nft', 'add table ip sink; add chain ip sink end { type filter hook prerouting priority 300; };'
                    'add rule ip sink end counter drop')

    def kept(self):
        answer = json.loads(self.inside('nft', '-j', 'list', 'chain', *self.sink))
        return next(e['counter']['packets'] for rule in answer['nftables'] if 'rule' in rule
                    for e in rule['rule']['expr'] if 'counter' in e)

    def iptables(self, *rule):
        for tool in 'iptables-legacy', 'iptables':
            try:
                return self.inside(tool, '-t', 'raw', '-A', 'PREROUTING', *rule, '-j', 'DROP')
            except (RuntimeError, FileNotFoundError) as why:
                reason = why
        raise reason

    def up(self, hosts):
        pass

    def drops(self):
        return True


class Pinned(Subject):
    """One of our own small programs."""
    offload = False

    def __init__(self, name, program, keeps):
        super().__init__(name)
        self.program, self.keeps = program, keeps

    def up(self, hosts):
        self.inside('ip', 'link', 'set', self.edge, 'xdpdrv', 'pinned', f'{BPFFS}/bench/{self.program}')

    def drops(self):
        return not self.keeps


def charges_tasks():
    """Whether softirqs count as the time of the task that they interrupt. Then what else the machine does is left out."""
    for path, opener in ('/proc/config.gz', gzip.open), (f'/boot/config-{os.uname().release}', open):
        try:
            with opener(path, 'rt', encoding='ascii') as config:
                return 'CONFIG_IRQ_TIME_ACCOUNTING=y\n' not in config
        except OSError:
            pass
    return False


def send_frames(programs, subject, path, cpus, frames, *more):
    """Nanoseconds of a frame, how many there were, and how many were kept."""
    before = subject.kept()
    ns, sent = run(f'{programs}/packets', *(['-t'] if charges_tasks() else []), '-c', str(cpus), '-n', str(frames),
                   *more, subject.wire, path).split()
    return float(ns), int(sent), subject.kept() - before


def load_programs(programs):
    """The two of packets.bpf.c to compare with, pinned in bench."""
    run('bpftool', 'prog', 'loadall', f'{programs}/packets.bpf.o', f'{BPFFS}/bench')


def end(subjects):
    for subject in subjects:
        if getattr(subject, 'reader', None):
            subject.reader.terminate()
            subject.reader.wait()
        subprocess.run(['ip', 'netns', 'del', subject.name], stderr=subprocess.DEVNULL, check=False)
