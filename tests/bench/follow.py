#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""follow -: bans a second that are acknowledged, from nothing and beside as many as there are already.

Usage: follow.py [--entries N,...] [--lines N], as root, in a network and mount namespace of its own (run.sh makes them).
"""
import argparse
import os
import random
import resource
import subprocess
import threading
import time

from common import bloom, complain, median, result, run, table, workplace

options = argparse.ArgumentParser()
options.add_argument('--entries', default='0,1000000')
options.add_argument('--lines', type=int, default=200000)
options.add_argument('--rounds', type=int, default=3)
opt = options.parse_args()
work = workplace('follow')
rng = random.Random(1)


def address():
    return '%d.%d.%d.%d' % (rng.choice((45, 77, 91, 103, 142, 185, 193, 201)), *(rng.randrange(256) for _ in range(3)))


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def follow(lines):
    """Seconds, seconds of processor, and acknowledgements."""
    text = ''.join(f'+{address()} 1h bench\n' for _ in range(lines)).encode()
    used, began = processor(), time.monotonic()
    with subprocess.Popen([bloom, 'follow', '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def write():
            process.stdin.write(text)
            process.stdin.close()
        writer = threading.Thread(target=write)
        writer.start()
        told = process.stdout.read().split(b'\n')
        writer.join()
    if process.returncode or told[-2] != b'ok %d' % lines:
        complain(f'follow: ended with {process.returncode}, and {told[-2:]}')
    last = text.split(b'\n')[-2].split()[0][1:].decode()
    run(bloom, '-q', 'test', last)
    return time.monotonic() - began, processor() - used, len(told) - 1


rows = []
for entries in (int(n) for n in opt.entries.split(',')):
    subprocess.run([bloom, '-q', 'flush'], check=False, stderr=subprocess.DEVNULL)
    if entries:
        run(bloom, '-q', 'add', '-', '--ttl', '1d', input='\n'.join(address() for _ in range(entries)))
    rounds = [follow(opt.lines) for _ in range(opt.rounds)]
    seconds = [r[0] for r in rounds]
    rate = opt.lines / median(seconds)
    cost = median([r[1] for r in rounds]) / opt.lines * 1e6
    result('follow', 'xdp-bloom', entries, median(seconds) / opt.lines * 1e9, max(seconds) / opt.lines * 1e9, 1,
           rate=rate, slowest=opt.lines / max(seconds), processor_us=cost, transactions=rounds[0][2])
    rows.append([entries, f'{rate:.0f}', f'{opt.lines / max(seconds):.0f}', f'{cost:.1f}', rounds[0][2]])
table(['bans there', 'bans/s', 'slowest', 'us of processor', 'transactions'], rows)
os.chdir('/')
