#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fleet_faults.py FAULT: a fleet of many, and one fault, while all of them ban and take back. A packet of each address goes
through each member's interface all the time, and what becomes of it is held against a model: what is banned, and was in
force everywhere, never passes; what a member bans itself is dropped there at once; what it allows always passes; and when
the fault is over, all agree. How soon they do is printed, and must be in XDP_BLOOM_AGREE s
where that is given.
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

from fleet_many import COMMAND, MEMBERS, NAMES, PORT, Wires, address, environment, joined, of_one, on, takes_part, text
from slow_relay import Relay

EVERY, SURE, PATIENCE, LASTS = 0.25, 4, 120, 20
AGREE = float(os.environ.get('XDP_BLOOM_AGREE') or 0)
BANNED, ALLOWED, FLOOD = 0x2D000000, 0x2E000000, 0x0B000000


class Watch(threading.Thread):
    """Sends and receives; a round has one number."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wires, self.lock, self.round, self.ended = Wires(), threading.Lock(), 0, False
        self.watched = set()
        self.passed = {}      # (member, source): the last round that came through
        self.banned = {}      # (member, source): from this round on nothing may come through
        self.wrong = []
        self.missed = {(n, ALLOWED + n): 0 for n in range(MEMBERS)}
        self.sent_allowed = 0

    def run(self):
        try:
            while not self.ended:
                began = time.monotonic()
                with self.lock:
                    number, sources = self.round, list(self.watched)
                for source in sources + [ALLOWED + n for n in range(MEMBERS)]:
                    self.wires.send(source, number)
                    self.take()
                while time.monotonic() < began + EVERY:
                    self.wires.poll.poll(10)
                    self.take()
                with self.lock:
                    self.round += 1
        except Exception as fault:  # pylint: disable=broad-except
            self.wrong.append(f'the watch has ended: {fault!r}')

    def take(self):
        for n, sock in enumerate(self.wires.back):
            try:
                while True:
                    got = sock.recv(256)
                    if len(got) >= 54 and got[23] == 17:
                        number, source = struct.unpack('!QI', got[42:54])
                        self.judge(n, source, number)
            except BlockingIOError:
                pass

    def judge(self, n, source, number):
        with self.lock:
            key = n, source
            self.passed[key] = max(self.passed.get(key, -1), number)
            if key in self.banned and number >= self.banned[key]:
                self.wrong.append(f'{text(source)} has passed {NAMES[n]} in round {number}; banned there since {self.banned[key]}')
            if key in self.missed:
                self.missed[key] += 1

    def expect(self, members, source):
        """Nothing of it passes there from the next round on."""
        with self.lock:
            self.watched.add(source)
            for n in members:
                self.banned[n, source] = self.round + 1

    def release(self, source):
        with self.lock:
            for n in range(MEMBERS):
                self.banned.pop((n, source), None)

    def disagrees(self, says, since):
        """Which member is not as the model has it, by the rounds since then; None: all are."""
        with self.lock:
            if self.round < since + SURE:
                return 'it is too early'
            for source in self.watched:
                for n in range(MEMBERS):
                    last = self.passed.get((n, source), -1)
                    if source in says and last >= self.round - SURE:
                        return f'{text(source)} passes {NAMES[n]}'
                    if source not in says and last < self.round - SURE:
                        return f'{text(source)} is dropped by {NAMES[n]}, and nobody bans it'
        return None


class Fleet:
    def __init__(self):
        self.relay = Relay(PORT + 1, PORT)
        self.server, self.talk, self.running = joined(PORT + 1)
        self.watch, self.says, self.lasting, self.count = Watch(), {}, set(), 0
        self.ban_by = range(MEMBERS)
        for n, name in enumerate(NAMES):
            on(name, 'allow', text(ALLOWED + n))
        self.watch.start()

    def ban(self, lasting=False):
        """Some member bans an address of its own."""
        n, source = random.choice(self.ban_by), BANNED + self.count
        self.count += 1
        on(NAMES[n], 'add', text(source), '--ttl', '1h')
        self.says[source] = n
        self.watch.expect([n], source)
        if lasting:
            self.lasting.add(source)

    def unban(self):
        others = [source for source, n in self.says.items() if source not in self.lasting and n in self.ban_by]
        if others:
            source = random.choice(others)
            self.watch.release(source)
            on(NAMES[self.says.pop(source)], 'del', text(source))

    def attack(self):
        """One bans what another allows."""
        n = random.randrange(MEMBERS)
        on(NAMES[(n + 1) % MEMBERS], 'add', text(ALLOWED + n), '--ttl', '1h')

    def step(self):
        random.choice([self.ban, self.ban, self.ban, self.unban, self.attack])()

    def agree(self):
        """Seconds until all do, but for how long it takes to see it."""
        began, since = time.monotonic(), self.watch.round
        while True:
            why = self.watch.disagrees(self.says, since)
            if not why:
                break
            assert time.monotonic() < began + PATIENCE, f'they do not agree: {why}'
            time.sleep(EVERY / 2)
        took = time.monotonic() - began - SURE * EVERY
        for source in self.says:
            self.watch.expect(range(MEMBERS), source)
        return max(took, 0.0)

    def goes_on(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.step()

    def end(self):
        self.watch.ended = True
        self.watch.join()
        for process in self.running:
            process.kill()
        self.server.kill()


def ip(*words):
    subprocess.run(words, check=True)


def cut(fleet, n):
    """Whatever n of them say or hear is lost."""
    those = ', '.join(address(name) for name in random.sample(NAMES, n))
    ip('nft', 'add table inet cut')
    ip('nft', 'add chain inet cut out { type filter hook output priority 0; }')
    ip('nft', f'add rule inet cut out ip daddr {{ {those} }} drop')
    ip('nft', f'add rule inet cut out ip saddr {{ {those} }} drop')
    fleet.goes_on(LASTS)
    ip('nft', 'delete table inet cut')


def cut_one(fleet):
    cut(fleet, 1)


def cut_half(fleet):
    cut(fleet, MEMBERS // 2)


def slow(fleet):
    """Half a second to and fro, and one packet of twenty is lost."""
    ip('nft', 'add table inet loss')
    ip('nft', 'add chain inet loss in { type filter hook input priority 0; }')
    for end in 'dport', 'sport':
        ip('nft', f'add rule inet loss in tcp {end} {{ {PORT}, {PORT + 1} }} numgen random mod 20 0 drop')
    fleet.relay.delay = 0.25
    fleet.goes_on(2 * LASTS)
    fleet.relay.delay = 0
    ip('nft', 'delete table inet loss')


def clock(fleet):
    """One member's clock is a day ahead, another's a day behind."""
    for n, ahead in (1, 86400), (2, -86400):
        with open(f'{os.environ["WORK"]}/ahead-{n}', 'w') as file:
            file.write('0')
        of_one[NAMES[n]] = {'LD_PRELOAD': os.environ['CLOCK'], 'CLOCK_AHEAD': file.name}
        fleet.running[n].terminate()
        fleet.running[n].wait()
        fleet.running[n] = takes_part(NAMES[n])
    fleet.goes_on(LASTS / 4)
    for n, ahead in (1, 86400), (2, -86400):
        with open(f'{os.environ["WORK"]}/ahead-{n}', 'w') as file:
            file.write(str(ahead))
    fleet.goes_on(LASTS)
    # It stays wrong.


def kills(fleet):
    """200 times one of the members' processes, or what it speaks to the server with."""
    for _ in range(int(os.environ.get('XDP_BLOOM_KILLS') or 200)):
        n = random.randrange(MEMBERS)
        if random.random() < 0.5:
            fleet.running[n].kill()
            fleet.running[n].wait()
            fleet.running[n] = takes_part(NAMES[n])
        else:
            pid = fleet.running[n].pid
            with open(f'/proc/{pid}/task/{pid}/children') as file:
                for child in file.read().split():
                    try:
                        os.kill(int(child), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        fleet.step()


def begins(fleet, *settings):
    """The server does, and is told its users again, which no dump has."""
    fleet.server.start(*settings)
    talk = fleet.server.talk()
    for name in NAMES:
        for line in on(name, 'fleet', 'acl', name).splitlines():
            talk(*line.replace('PASSWORD', 'secret-' + name).split())


def emptied(fleet):
    """The server is killed again and again, and comes back with nothing."""
    for _ in range(3):
        fleet.server.kill()
        fleet.goes_on(LASTS / 8)
        begins(fleet)
        fleet.goes_on(LASTS / 8)


def flushed(fleet):
    for _ in range(3):
        fleet.server.talk()('FLUSHALL')
        fleet.goes_on(LASTS / 8)


def journaled(fleet):
    """It is killed again and again, and has a file of all that it was told."""
    talk = fleet.server.talk()
    talk('CONFIG', 'SET', 'appendonly', 'yes')
    while 'aof_rewrite_in_progress:0' not in talk('INFO', 'persistence'):
        time.sleep(0.1)
    for _ in range(3):
        fleet.goes_on(LASTS / 8)
        fleet.server.kill()
        fleet.goes_on(LASTS / 8)
        begins(fleet, '--appendonly', 'yes')
    fleet.goes_on(LASTS / 8)


def restored(fleet):
    """It is killed, and begins with what it had a while before."""
    dump = f'{fleet.server.directory}/dump.rdb'
    fleet.server.talk()('SAVE')
    shutil.copy(dump, 'backup')
    fleet.goes_on(LASTS / 2)
    fleet.server.kill()
    shutil.copy('backup', dump)
    begins(fleet)
    fleet.goes_on(LASTS / 4)


def full(fleet):
    """It has no memory for any more."""
    talk = fleet.server.talk()
    talk('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    talk('CONFIG', 'SET', 'maxmemory', 1)
    fleet.goes_on(LASTS / 2)
    talk('CONFIG', 'SET', 'maxmemory', 0)


def trimmed(fleet):
    """What speaks to the server sleeps, at a quarter of them, and what they have not read goes, but for the last word of each."""
    asleep = []
    for n in random.sample(range(MEMBERS), max(1, MEMBERS // 4)):
        pid = fleet.running[n].pid
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            asleep += map(int, file.read().split())
    for pid in asleep:
        os.kill(pid, signal.SIGSTOP)
    fleet.goes_on(LASTS / 2)
    talk = fleet.server.talk()
    for name in NAMES:
        talk('XTRIM', f'xdp-bloom:{name}:log', 'MAXLEN', 1)
    for pid in asleep:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def resident(pid):
    """KiB, of it and of what it has begun."""
    with open(f'/proc/{pid}/status') as file:
        total = int(next(line for line in file if line.startswith('VmRSS')).split()[1])
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return total + sum(resident(child) for child in file.read().split())


def floods(fleet):
    """One member bans a million, and what others allow: they take what it may have, and all else goes on."""
    many, room, most = int(os.environ.get('XDP_BLOOM_FLOOD') or 1000000), 100000, 0
    n = random.randrange(MEMBERS)
    others = [other for other in range(MEMBERS) if other != n]
    # What it bans from now on finds no room with them; and where its stream was trimmed, a snapshot that is not whole ends nothing.
    fleet.ban_by = others
    follower = subprocess.Popen([COMMAND, 'follow', '-'], env=environment(NAMES[n]), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    allowed = ''.join(f'+{text(ALLOWED + other)} 1h\n' for other in others)
    began, deadline = time.monotonic(), time.monotonic() + 900

    def tell():
        for first in range(0, many, 10000):
            lines = ''.join(f'+{text(FLOOD + i)} 1h\n' for i in range(first, min(many, first + 10000)))
            follower.stdin.write((lines + allowed).encode())
        follower.stdin.close()

    telling = threading.Thread(target=tell)
    telling.start()
    while True:
        fleet.step()
        most = max([most] + [resident(fleet.running[other].pid) for other in others])
        rows = [json.loads(on(NAMES[other], '-j', 'fleet'))['members'] for other in others]
        held = [next((row['bans'] for row in of if row['member'] == NAMES[n]), 0) for of in rows]
        if follower.poll() is not None and min(held) >= room - 2 * MEMBERS and json.loads(on(NAMES[n], '-j', 'fleet'))['server']['waiting'] == 0:
            break
        assert max(held) <= room, f'one took more: {held}'
        assert time.monotonic() < deadline, (follower.poll(), held)
    telling.join()
    assert follower.returncode == 0, 'the follower'
    print(f'# floods: {many} bans by one, told and taken in {time.monotonic() - began:.0f} s: the others have {min(held)} to {max(held)} of it; '
          f'{most // 1024} MiB at most, with what speaks to the server')


FAULTS = {f.__name__: f for f in (cut_one, cut_half, slow, clock, kills, emptied, flushed, journaled, restored, full, trimmed, floods)}


def main():
    random.seed(int(os.environ['XDP_BLOOM_SEED']))
    fault = sys.argv[1]
    fleet = Fleet()
    try:
        for _ in range(2 * MEMBERS):
            fleet.ban(lasting=True)
        for _ in range(MEMBERS):
            fleet.ban()
        before = fleet.agree()
        FAULTS[fault](fleet)
        after = fleet.agree()
        fleet.step()
        again = fleet.agree()
        assert not fleet.watch.wrong, fleet.watch.wrong[:20]
        rounds = fleet.watch.round
        few = {key: came for key, came in fleet.watch.missed.items() if came < rounds * 0.99 - SURE}
        assert not AGREE or max(before, after, again) <= AGREE, f'they agree after {before}, {after} and {again} s, not {AGREE}'
        assert not few, f'of {rounds} packets that are allowed there came {few}'
        print(f'# {fault}: {MEMBERS} members, {len(fleet.says)} bans, {rounds} rounds of each address at each member; they agree '
              f'after {before:.1f} s without it, {after:.1f} s after it, {again:.1f} s then')
    finally:
        fleet.end()


main()
