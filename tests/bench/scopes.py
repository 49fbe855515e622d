#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a scope costs: the program in force, run by the kernel on one frame again and again, without and with one.

Usage: scopes.py [--quick | --check], as root, with pins of its own (run.sh makes a place for them)
"""
import os
import re
import socket
import struct
import subprocess
import sys

from common import bloom, complain, median, quantile, result, run, table, workplace

ROUNDS, REPEAT = (21, 100000) if '--quick' in sys.argv else (101, 500000)
if '--check' in sys.argv:
    ROUNDS, REPEAT = 1, 1
ENTRIES, PORT, PASS, DROP = 100000, 22, 2, 1

# What is loaded with; nothing: all packets. The frames are of the protocol and to the port that each takes.
SUBJECTS = {
    'unscoped': (),
    'port': ('--only', f'tcp/{PORT}'),
    'port-to-on': ('--only', f'tcp/{PORT}', '--to', '198.51.100.0/24', '--on', 'lo'),
}


def frame(source, port):
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 40, 0, 0, 64, 6, 0, socket.inet_aton(source), socket.inet_aton('198.51.100.1'))
    return bytes(12) + b'\x08\x00' + ip + struct.pack('>HHLLHHHH', 1024, port, 0, 0, 0x5002, 0, 0, 0)


# Of each: what the frame is called, and what becomes of it without a scope, and with one.
FRAMES = {
    'kept': (frame('192.0.2.1', PORT), PASS, PASS),
    'dropped': (frame('45.0.0.1', PORT), DROP, DROP),
    'passed-by-scope': (frame('45.0.0.1', PORT + 1), DROP, PASS),
}


def ask(subject, name, repeat):
    """Its verdict, and the nanoseconds of one run."""
    said = subprocess.run(['bpftool', 'prog', 'run', 'pinned', subject, 'data_in', name, 'repeat', str(repeat)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    found = re.search(r'Return value: (\d+), duration(?: \(average\))?: (\d+)ns', said)
    if not found:
        raise RuntimeError(f'bpftool: {said.strip()[:200]}')
    return int(found[1]), int(found[2])


def load(work, name, options):
    """An instance of its own; the program's pin."""
    own = ('-q', '-S', f'{work}/{name}', '-B', f'/sys/fs/bpf/bench-scopes-{name}')
    os.mkdir(f'{work}/{name}')
    run(bloom, *own, 'load', '--bogons=keep', 'bench', 'hosts', *options)
    at = f'/sys/fs/bpf/bench-scopes-{name}/generation'
    return f'{at}/{os.listdir(at)[0]}/program'


def measure(pins):
    rows = {}
    for name, (packet, without, scoped) in FRAMES.items():
        with open(name, 'wb') as out:
            out.write(packet)
        for subject, pin in pins.items():
            verdict, _ = ask(pin, name, 1)
            if verdict != (scoped if SUBJECTS[subject] else without):
                complain(f'scopes: {subject}, {name}: verdict {verdict}: not printed')
                return None
            rows[name, subject] = []
    for _ in range(ROUNDS):
        for name, subject in rows:
            rows[name, subject].append(ask(pins[subject], name, REPEAT)[1])
    return rows


def main():
    with workplace('scopes') as work:
        with open('hosts', 'w', encoding='ascii') as out:
            out.writelines(f'45.{i >> 16}.{i >> 8 & 255}.{i & 255}\n' for i in range(1, ENTRIES * 3, 3))
        try:
            pins = {name: load(work, name, options) for name, options in SUBJECTS.items()}
            rows = measure(pins)
        finally:
            for name in SUBJECTS:
                subprocess.run(['rm', '-rf', f'/sys/fs/bpf/bench-scopes-{name}'], check=False)
        if not rows:
            return 1
        lines = []
        for (name, subject), ns in rows.items():
            more = median([a - b for a, b in zip(ns, rows[name, 'unscoped'])])
            result(f'scope-{name}', subject, ENTRIES, float(median(ns)), float(quantile(ns, .99)), 0., more=float(more))
            lines.append([name, subject, median(ns), more])
        print('\nthe program in force, by the kernel\'s count: ns a run; more: than without a scope, round by round')
        table(['frame', 'scope', 'ns', 'more'], lines)
    return 0


sys.exit(main())
