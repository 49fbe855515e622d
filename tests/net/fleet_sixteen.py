#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fleet_sixteen.py BANS: how long after a ban is made on one member its packets are dropped on all of them. Through
each member's interface goes a packet of the address every few ms; the first of those from which on none comes out is the
drop. Time counts from before the command is started.
"""
import os
import random
import subprocess
import sys
import time

from fleet_many import COMMAND, MEMBERS, NAMES, Wires, environment, joined, on, text

BANS = int(sys.argv[1])
EVERY, PATIENCE = 0.004, 30


def one_ban(wires, source):
    """Ms until it is dropped, for each member."""
    last, sent, process, began = [-1] * MEMBERS, [], None, 0
    while True:
        sent.append(time.monotonic())
        wires.send(source, len(sent) - 1)
        wires.drain(source, last, sent[-1] + EVERY)
        if len(sent) == 5:
            assert min(last) >= 0, f'{text(source)} does not pass everywhere before it is banned: {last}'
            began = time.monotonic()
            process = subprocess.Popen([COMMAND, 'add', text(source), '--ttl', '1h'], env=environment(random.choice(NAMES)),
                                       stdout=subprocess.DEVNULL)
        # Of the last dozen none has come, anywhere.
        if process and max(last) < len(sent) - 12:
            break
        assert not process or time.monotonic() - began < PATIENCE, f'{text(source)} passes still: {last} of {len(sent)}'
    assert process.wait() == 0, 'no ban'
    return [max(0.0, (sent[number + 1] - began) * 1000) for number in last]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def agree(expected):
    """All have as many bans in force, once nothing is on its way."""
    deadline = time.monotonic() + PATIENCE
    for name in NAMES:
        while True:
            count = len(on(name, '-j', 'bans').split('"prefix"')) - 1
            if count == expected:
                break
            assert time.monotonic() < deadline, f'{name} has {count} bans of {expected}'
            time.sleep(0.1)


def main():
    random.seed(int(os.environ['XDP_BLOOM_SEED']))
    server, _, running = joined()
    try:
        wires, every, worst = Wires(), [], []
        for n in range(BANS):
            took = one_ban(wires, 0x2D000001 + n)
            every += took
            worst.append(max(took))
        agree(BANS)
        print('# %d members, %d bans: on each p50 %.0f ms, p99 %.0f ms; on the last of all p50 %.0f ms, p99 %.0f ms, most %.0f ms'
              % (MEMBERS, BANS, percentile(every, 0.5), percentile(every, 0.99), percentile(worst, 0.5),
                 percentile(worst, 0.99), max(worst)))
    finally:
        for process in running:
            process.kill()
        server.kill()


main()
