#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fleet_rate.py RATE SECONDS: all members ban at once, RATE a second in all, for so long, each by a follower of its own. How far
the last of them is behind what was said is looked at all the time, in their states; at the end all have all of it in force, and
of a sample packets are dropped on each.
"""
import os
import random
import sqlite3
import subprocess
import sys
import time

from fleet_many import COMMAND, MEMBERS, NAMES, WORK, Wires, environment, joined, on, text

RATE, SECONDS = int(sys.argv[1]), int(sys.argv[2])
EVERY, PATIENCE = 0.1, 120
FIRST = 0x2D000000


class Follower:
    """Bans of one member: all it is told at once is one batch, and acknowledged when it is in force there."""

    def __init__(self, name):
        self.process = subprocess.Popen([COMMAND, 'follow', '-'], env=environment(name), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def ban(self, sources):
        self.process.stdin.write(''.join(f'+{text(source)} 1h\n' for source in sources).encode())
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, 'a follower'


class State:
    """How many bans are kept; a look costs the member nothing."""

    def __init__(self, name):
        self.name = name
        self.db = sqlite3.connect(f'file:{WORK}/{name}/state/state.db?mode=ro', uri=True, timeout=10)

    def bans(self):
        row = self.db.execute("SELECT value FROM setting WHERE name = 'bans'").fetchone()
        return int(row[0]) if row else 0


def passes(wires, sources):
    """Which of them come out of which member."""
    came = []
    for number, source in enumerate(sources):
        last = [-1] * MEMBERS
        wires.send(source, number)
        wires.drain(source, last, time.monotonic() + 0.1)
        came += [(text(source), NAMES[n]) for n in range(MEMBERS) if last[n] >= 0]
    return came


def cpu(processes):
    """Seconds."""
    total = 0
    for process in processes:
        with open(f'/proc/{process.pid}/stat', encoding='ascii') as file:
            words = file.read().rsplit(')', 1)[1].split()
        total += int(words[11]) + int(words[12])
    return total / os.sysconf('SC_CLK_TCK')


def main():
    random.seed(int(os.environ['XDP_BLOOM_SEED']))
    server, _, running = joined()
    try:
        for name in NAMES:
            on(name, 'fleet', 'accept', '*', '--max-entries', str(2 * RATE * SECONDS), '--rate', f'{2 * RATE}/s')
        followers, states, wires = [Follower(name) for name in NAMES], [State(name) for name in NAMES], Wires()
        said, worst, behind = 0, 0, []
        began, spent = time.monotonic(), cpu(running)
        while said < RATE * SECONDS:
            due = min(RATE * SECONDS, int((time.monotonic() - began) * RATE))
            for n, follower in enumerate(followers):
                some = [FIRST + i for i in range(said, due) if i % MEMBERS == n]
                if some:
                    follower.ban(some)
            said = due
            least = min(states, key=State.bans)
            behind.append((time.monotonic() - began - least.bans() / RATE))
            worst = max(worst, behind[-1])
            time.sleep(EVERY)
        took, spent = time.monotonic() - began, cpu(running) - spent
        for follower in followers:
            follower.end()
        deadline = time.monotonic() + PATIENCE
        while min(state.bans() for state in states) < said:
            assert time.monotonic() < deadline, {state.name: state.bans() for state in states}
            time.sleep(0.05)
        agreed = time.monotonic() - began - took
        assert {state.bans() for state in states} == {said}, 'some have more'
        sample = [FIRST + random.randrange(said) for _ in range(100)]
        came = passes(wires, sample)
        assert not came, f'{len(came)} pass still: {came[:10]}'
        assert len(passes(wires, [FIRST + said])) == MEMBERS, 'what nobody bans is dropped'
        print(f'# {MEMBERS} members, {said / took:.0f} bans a second in all for {took:.0f} s: the last of them was '
              f'{sorted(behind)[len(behind) // 2]:.2f} s behind (median), {worst:.2f} s at most; all have all {said} in force '
              f'{agreed:.1f} s after the last; the members took {spent / took * 100:.0f} % of a CPU')
        most = float(os.environ.get('XDP_BLOOM_BEHIND') or 0)
        assert not most or (worst <= most and agreed <= most), f'that is more than {most} s'
    finally:
        for process in running:
            process.kill()
        server.kill()


main()
