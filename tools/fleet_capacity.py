#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fleet_capacity.py [--measure] [--seed N] [--quick]: what a fleet costs its engine, for docs/fleet.md

Simulates the engine as one server that does one thing after another, as Redis does: members say bans at random times,
each saying is followed by a bell to all who listen, and who hears it reads what is new, but no sooner than its pace
after it read before, and puts that into force. Prints the tables of docs/fleet.md. The costs of single commands are
those below; --measure takes them from the redis-server of this machine, over a unix socket, and uses these. --quick is
for a test: small fleets, short times. It prints its seed.
"""
import argparse
import heapq
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Redis 7.0.15 on one of two shared cores, over a unix socket: seconds of its CPU.
COSTS = {'say': 160e-6,   # MULTI, XADD, ZADD, HSET, HSET, EXEC
         'bell': 3.2e-6,  # a subscriber
         'read': 80e-6,   # XREAD of streams that were named
         'entry': 1.5e-6} # and each entry in its answer
# Bytes in the engine: an entry of the log, of the set of what is in force, of its reason; a connection that listens.
MEMORY = {'log': 85, 'now': 106, 'why': 85, 'listener': 21000, 'reader': 21000}
LOG_MOST = 100000       # entries a member
WIRE = 150              # bytes of an entry in an answer
SNAPSHOT = 55           # bytes of one in a snapshot, with its reason
APPLY, APPLY_EACH = 4e-3, 50e-6  # a batch into force: a transaction, and 20,000 bans a second
PACE = 0.05             # no sooner than that after the last read, nor than so many times what that one took:
YIELD = 5
LINK = 125e6            # bytes a second: 1 Gbit/s


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else float('inf')


class Engine:
    """One thread: what comes waits until what came before is done."""

    def __init__(self):
        self.free = self.busy = 0.0
        self.sent = 0

    def work(self, now, seconds, count=0):
        begin = max(now, self.free)
        self.free = begin + seconds
        self.busy += seconds
        self.sent += count
        return self.free


def steady(rng, members, rate, seconds, pace):
    """(share of a core, bytes/s sent, p50, p99 from said to in force)"""
    engine = Engine()
    events = []                   # (time, kind, member)
    at = 0.0
    while at < seconds:
        at += rng.expovariate(rate)
        heapq.heappush(events, (at, 0, None))
    log = []                      # when each ban was said
    seen = [0] * members          # of the log
    due = [False] * members       # a read is on its way
    next_read = [rng.random() * pace for _ in range(members)]
    took = []
    horizon = seconds * 3
    while events:
        now, kind, member = heapq.heappop(events)
        if now > horizon:
            break
        if kind == 0:
            done = engine.work(now, COSTS['say'] + COSTS['bell'] * members, 60 * members)
            heapq.heappush(events, (done, 1, now))
        elif kind == 1:           # the bell has rung; `member` is when the ban was made
            log.append(member)
            for m in range(members):
                if not due[m]:
                    due[m] = True
                    heapq.heappush(events, (max(now, next_read[m]), 2, m))
        else:
            new = len(log) - seen[member]
            done = engine.work(now, COSTS['read'] + COSTS['entry'] * new, WIRE * new)
            force = done + APPLY + APPLY_EACH * new
            if member % max(1, members // 200) == 0:
                took += [force - said for said in log[seen[member]:]]
            seen[member] = len(log)
            due[member] = False
            next_read[member] = done + max(pace, YIELD * (done - now))
    length = max(seconds, engine.free)
    late = engine.free > seconds + 1
    return engine.busy / length, engine.sent / length, percentile(took, .5), \
        float('inf') if late else percentile(took, .99)


def span(seconds):
    if seconds == float('inf'):
        return 'grows'
    if seconds < 1:
        return '%.0f ms' % (seconds * 1000)
    return '%.0f s' % seconds if seconds < 120 else '%.0f min' % (seconds / 60)


def size(count):
    for unit in 'B', 'kB', 'MB', 'GB':
        if count < 1000 or unit == 'GB':
            return '%.*f %s' % (0 if count >= 10 or unit == 'B' else 1, count, unit)
        count /= 1000
    return ''


def engine_memory(members, held, logged, readers):
    return logged * MEMORY['log'] + held * (MEMORY['now'] + MEMORY['why']) + \
        readers * (MEMORY['listener'] + MEMORY['reader'])


def table_steady(rng, rows, rate, ttl, seconds):
    print('| members | on one engine | pace | of a core | sent | memory | to in force, p50 | p99 |')
    print('|---|---|---|---|---|---|---|---|')
    for members, readers, pace in rows:
        busy, sent, half, most = steady(rng, readers, rate, seconds, pace)
        held = rate * ttl
        print('| %s | %s | %s | %.0f %% | %s/s | %s | %s | %s |' % (
            format(members, ','), format(readers, ','), span(pace), 100 * busy, size(sent),
            size(engine_memory(members, held, min(held, members * LOG_MOST), readers)), span(half), span(most)))


def flood(members, bans, entries, rate):
    """One member says `bans` at once; what does it cost whom?"""
    head = min(bans, LOG_MOST)
    own = head * MEMORY['log'] + bans * (MEMORY['now'] + MEMORY['why'])
    # A follower that was overtaken by what was trimmed takes the snapshot: no more than it may have, and one.
    each = min(bans, entries + 1) * SNAPSHOT
    print('| what | figure |')
    print('|---|---|')
    print('| the engine holds of it | %s |' % size(own))
    print('| a follower is sent, at most | %s |' % size(each))
    print('| all of %s followers at one engine | %s, %s at 1 Gbit/s |' % (
        format(members, ','), size(each * members), span(each * members / LINK)))
    print('| all of them by 20 replicas | %s each, %s |' % (size(each * members / 20),
                                                            span(each * members / 20 / LINK)))
    print('| a follower takes | %s bans, in %s; %s are refused |' % (
        format(min(bans, entries), ','), span(min(bans, entries) * APPLY_EACH), format(max(0, bans - entries), ',')))
    print('| and of what it says after that | %s a second |' % format(rate, ','))


def region(members, share, rate, hour, ttl, sites):
    """A share of the members is cut off for so long, and comes back at once."""
    lost = int(members * share)
    missed = int(rate * (1 - share) * min(hour, ttl))
    own = int(rate * share * min(hour, ttl))
    each = missed * WIRE
    reading = max(each * lost / LINK, lost * (COSTS['read'] + missed * COSTS['entry']))
    print('| what | figure |')
    print('|---|---|')
    print('| cut off | %s of %s members |' % (format(lost, ','), format(members, ',')))
    print('| each has to be told, at most | %s bans, %s |' % (format(missed, ','), size(each)))
    print('| and takes them in | %s |' % span(missed * APPLY_EACH))
    print('| what they say now | %s bans, in %s of the engine |' % (format(own, ','), span(own * COSTS['say'])))
    print('| all are told, at one engine | %s |' % span(reading))
    print('| by a replica for each of %d sites | %s |' % (sites, span(reading / sites + each / LINK)))


# --- Costs, measured -------------------------------------------------------------------------------------------------

def encode(*words):
    out = [b'*%d\r\n' % len(words)]
    for word in words:
        word = str(word).encode()
        out.append(b'$%d\r\n%s\r\n' % (len(word), word))
    return b''.join(out)


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile('rb')

    def send(self, *words):
        self.socket.sendall(encode(*words))

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b'*':
            return [self.reply() for _ in range(int(rest))] if int(rest) >= 0 else None
        if kind == b'$':
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        return int(rest) if kind == b':' else rest

    def ask(self, *words):
        self.send(*words)
        return self.reply()

    def number(self, section, *names):
        text = self.ask('INFO', section).decode()
        values = dict(line.split(':', 1) for line in text.splitlines() if ':' in line)
        return sum(float(values[name]) for name in names)

    def cpu(self):
        return self.number('cpu', 'used_cpu_sys', 'used_cpu_user')


def measured(client, path, count):
    prefix = 'xdp-bloom:edge-1:'
    start = client.cpu()
    for i in range(count):
        address = '198.51.%d.%d' % (i // 256 % 256, i % 256)
        for words in (('MULTI',),
                      ('XADD', prefix + 'log', 'MAXLEN', '~', LOG_MOST, '*', 'e', '0123456789abcdef', 'n', i, 'o', '+',
                       'p', address, 't', 86400000, 'r', 'syn flood, 41 k/s'),
                      ('ZADD', prefix + 'now', 1800000000000 + i, address),
                      ('HSET', prefix + 'why', address, 'syn flood, 41 k/s'),
                      ('HSET', prefix + 'head', 'n', i), ('EXEC',)):
            client.ask(*words)
    COSTS['say'] = (client.cpu() - start) / count
    for part in 'log', 'now', 'why':
        MEMORY[part] = client.ask('MEMORY', 'USAGE', prefix + part, 'SAMPLES', 0) / count
    entries = client.ask('XRANGE', prefix + 'log', '-', '+', 'COUNT', 101)
    for name, where in ('few', entries[-2]), ('many', entries[-101]) if len(entries) > 100 else ('many', entries[0]):
        start = client.cpu()
        for _ in range(count):
            client.ask('XREAD', 'COUNT', 100, 'STREAMS', prefix + 'log', where[0].decode())
        took = (client.cpu() - start) / count
        if name == 'few':
            COSTS['read'] = took
        else:
            COSTS['entry'] = max(0.1e-6, (took - COSTS['read']) / 99)
    listeners = [Client(path) for _ in range(200)]
    before = client.number('memory', 'used_memory')
    for one in listeners:
        one.ask('SUBSCRIBE', 'xdp-bloom:bell')
    MEMORY['listener'] = MEMORY['reader'] = max(1, client.number('memory', 'used_memory') - before) / len(listeners)
    start = client.cpu()
    for _ in range(200):
        client.ask('PUBLISH', 'xdp-bloom:bell', 'edge-1')
    COSTS['bell'] = (client.cpu() - start) / 200 / len(listeners)


def measure(count):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, 'socket')
        server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--dir', where],
                                  stdout=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if os.path.exists(path):
                    break
                time.sleep(0.05)
            measured(Client(path), path, count)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--measure', action='store_true')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--seed', type=int, default=random.SystemRandom().randrange(1 << 31))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print('seed %d' % options.seed, file=sys.stderr)
    if options.measure:
        measure(500 if options.quick else 5000)
    print('| a command | costs the engine |')
    print('|---|---|')
    print('| a ban is said | %.0f us |' % (COSTS['say'] * 1e6))
    print('| its bell, a follower | %.1f us |' % (COSTS['bell'] * 1e6))
    print('| a read, and each entry | %.0f us, %.1f us |' % (COSTS['read'] * 1e6, COSTS['entry'] * 1e6))
    print('| bytes: log, in force, reason | %.0f, %.0f, %.0f |' % (MEMORY['log'], MEMORY['now'], MEMORY['why']))
    print()
    if options.quick:
        rows, seconds = [(16, 16, PACE), (100, 100, PACE)], 2
    else:
        rows = [(16, 16, PACE), (100, 100, PACE), (500, 500, PACE), (1000, 1000, PACE), (1000, 1000, 0.25),
                (3000, 3000, 1.0), (10000, 10000, 1.0), (10000, 10000, 5.0), (10000, 500, PACE), (10000, 500, 0.25)]
        seconds = 20
    table_steady(rng, rows, 100, 86400, seconds)
    print()
    flood(10000, 1000000, 100000, 1000)
    print()
    region(10000, 1 / 3, 100, 3600, 86400, 20)


if __name__ == '__main__':
    main()
