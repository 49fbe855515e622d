#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""From a file of addresses, one a line, to an enforced set: how long, how much memory the command takes at its peak, and
how much the kernel keeps.

Usage: load.py [--entries N,...] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes them).
"""
import argparse
import os
import subprocess

from common import (bloom, complain, kernel_kilobytes, median, nft_agrees, quantile, result, run, table, timed,
                    workplace, write_ipset, write_nft)

FILTER_TRIES = 100  # commands of xdp-filter that are timed; it takes one for each address

options = argparse.ArgumentParser()
options.add_argument('--entries', default='100000,1000000,10000000')
options.add_argument('--only', default='')
options.add_argument('programs')
opt = options.parse_args()
work = workplace('load')


class Subject:
    def __init__(self, name):
        self.name = name

    def make(self, path):
        """What the command reads, from a file of addresses. Not timed."""


class Bloom(Subject):
    def load(self, entries):
        return timed(bloom, '-q', 'load', '--bogons=keep', 'bench', 'list')

    def has(self, *hosts):
        run(bloom, '-q', 'test', *hosts)

    def drop(self):
        subprocess.run([bloom, '-q', 'flush'], check=False)


class Ipset(Subject):
    def make(self, entries):
        with open('list', encoding='ascii') as hosts:
            write_ipset((host.strip() for host in hosts), entries)

    def load(self, entries):
        return timed('ipset', 'restore', '-file', 'ipset')

    def has(self, *hosts):
        for host in hosts:
            run('ipset', '-q', 'test', 'bench', host)

    def drop(self):
        subprocess.run(['ipset', '-q', 'destroy', 'bench'], check=False)


class Nft(Subject):
    def make(self, entries):
        with open('list', encoding='ascii') as hosts:
            write_nft(host.strip() for host in hosts)

    def load(self, entries):
        return timed('nft', '-f', 'nft')

    def has(self, *hosts):
        for host in hosts:
            if not nft_agrees(host, True):
                raise RuntimeError(f'{host} is missing')

    def drop(self):
        subprocess.run(['nft', 'delete', 'table', 'inet', 'bench'], stderr=subprocess.DEVNULL, check=False)


class XdpFilter(Subject):
    """Extrapolated, from one round: a command for each address, and 10,000 is the most that its maps hold."""

    def load(self, entries):
        run('ip', 'link', 'add', 'filter0', 'type', 'veth', 'peer', 'name', 'filter1')
        run('xdp-filter', 'load', 'filter0', '-m', 'skb', '-f', 'ipv4')
        with open('list', encoding='ascii') as hosts:
            some = [next(hosts).strip() for _ in range(FILTER_TRIES)]
        costs = [timed('xdp-filter', 'ip', host, '-m', 'src') for host in some]
        if some[-1] not in run('xdp-filter', 'status'):
            raise RuntimeError('xdp-filter: an address is missing')
        return median([seconds for seconds, _ in costs]) * entries, max(kilobytes for _, kilobytes in costs)

    def has(self, *hosts):
        pass

    def drop(self):
        subprocess.run(['xdp-filter', 'unload', '--all'], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(['ip', 'link', 'del', 'filter0'], stderr=subprocess.DEVNULL, check=False)


subjects = [Bloom('xdp-bloom'), Ipset('ipset'), Nft('nft'), XdpFilter('xdp-filter')]


def measure(entries, rounds):
    costs = {}
    with open('list', 'w', encoding='ascii') as out:
        made = subprocess.run([f'{opt.programs}/lookup', '--list', '--scenario', 'ipv4-hosts', '--entries', str(entries)],
                              stdout=subprocess.PIPE, check=True)
        subprocess.run(['sort', '-u'], input=made.stdout, stdout=out, check=True)
    with open('list', 'rb') as hosts:
        first = hosts.readline().decode().strip()
        hosts.seek(-20, os.SEEK_END)
        last = hosts.read().split()[-1].decode()
    ready = [s for s in subjects if not opt.only or s.name in opt.only.split(',')]
    for s in ready:
        s.make(entries)
    for i in range(rounds):
        for s in list(ready):
            if i and isinstance(s, XdpFilter):
                continue
            try:
                before = kernel_kilobytes()
                seconds, kilobytes = s.load(entries)
                kept = kernel_kilobytes() - before
                s.has(first, last)
                costs.setdefault(s, []).append((seconds, kilobytes, kept))
            except (RuntimeError, OSError) as why:
                complain(f'load: {s.name}: {entries} entries: {why}: not printed')
                ready.remove(s)
                costs.pop(s, None)
            s.drop()
    report(entries, costs)


def report(entries, costs):
    columns = {s: list(zip(*rows)) for s, rows in costs.items()}
    ours = next((median(column[0]) for s, column in columns.items() if s.name == 'xdp-bloom'), 0)
    rows = []
    for s, (seconds, kilobytes, kept) in columns.items():
        ratio = median(seconds) / ours if ours else 0
        guess = isinstance(s, XdpFilter)
        rows.append([s.name, f'{median(seconds):.3f}', f'{min(seconds):.3f} to {max(seconds):.3f}',
                     f'{max(kilobytes) / 1024:.0f}', '' if guess else f'{median(kept) / 1024:.1f}', f'{ratio:.2f}'])
        more = {'extrapolated_from': FILTER_TRIES} if guess else {'kernel_kb': int(median(kept))}
        result('load', s.name, entries, median(seconds) * 1e9, quantile(seconds, .99) * 1e9, ratio, rounds=len(seconds),
               rss_kb=max(kilobytes), **more)
    print(f'\nloading {entries} addresses from text (xdp-filter: extrapolated from {FILTER_TRIES} commands)')
    table(['subject', 'seconds', 'from, to', 'peak MiB', 'kernel MiB', 'ratio'], rows)


for count in map(int, opt.entries.split(',')):
    measure(count, 1 if count > 1000000 else 3)
