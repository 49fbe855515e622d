#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Bans that end by themselves: ends.py BANS SECONDS [dates]

So many bans, each for 1 to SECONDS seconds; the seed is XDP_BLOOM_SEED. Then no process has a part in it: packets from
each are sent through wire0 until all must have ended, and looked for on edge0. Each is dropped before its end, and
passes a second after. With `dates` commands come by meanwhile for which the date is a day ahead, and then a day behind.
"""
import os
import random
import socket
import sqlite3
import struct
import subprocess
import sys
import time

from checksum import checksum
from confirm import BLOOM, CLOCK, WORK

WINDOW = 64
CLEAN = "198.51.100.1"


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def bloom(*args, ahead=None, data=None):
    env = dict(os.environ)
    if ahead is not None:
        with open(os.path.join(WORK, "ahead"), "w") as file:
            file.write("%d\n" % ahead)
        env.update(LD_PRELOAD=CLOCK, CLOCK_AHEAD=os.path.join(WORK, "ahead"))
    done = subprocess.run([BLOOM, *args], env=env, input=data, capture_output=True, text=True)
    if done.returncode:
        sys.exit("'%s' ended with %d: %s" % (" ".join(args), done.returncode, done.stderr))
    return done.stdout


def frame(source, number):
    data = struct.pack("!HHHHQ", 1, 9, 16, 0, number)
    if ":" in source:
        ip = struct.pack("!IHBB", 6 << 28, len(data), 17, 64) + socket.inet_pton(socket.AF_INET6, source) + b"\xfc" * 16
        return b"\2" * 6 + b"\6" * 6 + b"\x86\xdd" + ip + data
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 0, 0, 64, 17, 0, socket.inet_aton(source), b"\x0a\0\0\1")
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return b"\2" * 6 + b"\6" * 6 + b"\x08\0" + ip + data


class Bans:
    def __init__(self, count, seconds, rng):
        self.prefixes = {}
        while len(self.prefixes) < count:
            kind = rng.random()
            if kind < 0.7:
                prefix = "45.%d.%d.%d" % (rng.randrange(64), rng.randrange(256), rng.randrange(256))
                self.prefixes[prefix] = prefix
            elif kind < 0.75:
                net = "46.%d.%d." % (rng.randrange(256), rng.randrange(256))
                self.prefixes[net + "0/24"] = net + str(rng.randrange(256))
            elif kind < 0.9:
                prefix = "2001:db8:%x:%x::%x" % (rng.randrange(1, 65536), rng.randrange(1, 65536), rng.randrange(1, 65536))
                self.prefixes[prefix] = prefix
            else:
                net = "2001:db9:%x:%x:" % (rng.randrange(1, 65536), rng.randrange(1, 65536))
                self.prefixes[net + ":/64"] = net + ":%x" % rng.randrange(1, 65536)
        lines = ["add %s --ttl %ds" % (prefix, rng.randint(1, seconds)) for prefix in self.prefixes]
        bloom("batch", "-", data="\n".join(lines))
        self.ends = self.read_ends()
        if len(self.ends) != count:
            sys.exit("%d bans of %d are there: the machine is too slow" % (len(self.ends), count))

    @staticmethod
    def read_ends():
        with sqlite3.connect(os.path.join(os.environ["XDP_BLOOM_STATE"], "state.db")) as db:
            rows = db.execute("SELECT family, length, first, due FROM ban WHERE expires NOT NULL").fetchall()
        ends = {}
        for family, length, first, due in rows:
            text = socket.inet_ntop(socket.AF_INET if family == 4 else socket.AF_INET6, first)
            ends[text if length == (32 if family == 4 else 128) else "%s/%d" % (text, length)] = due
        return ends


class Wire:
    def __init__(self):
        self.out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.out.bind(("wire0", 0))
        self.seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.seen.bind(("edge0", 3))
        self.seen.settimeout(20)
        # Older kernels count a page for each frame; 33: SO_RCVBUFFORCE.
        self.seen.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
        self.number = 0

    def ask(self, frames):
        """Of each (key, frame): did it pass, and between which moments was it judged?"""
        sent, passed = {}, set()
        first = self.number
        for key, source in frames:
            self.number += 1
            before = now()
            self.out.send(frame(source, self.number))
            sent[self.number] = key, before, now()
        self.number += 1
        self.out.send(frame(CLEAN, self.number))
        while True:
            got = struct.unpack("!Q", self.seen.recv(256)[-8:])[0]
            if got == self.number:
                break
            if got > first:
                passed.add(got)
        return [(key, number in passed, before, after) for number, (key, before, after) in sent.items()]


def main():
    count, seconds, dates = int(sys.argv[1]), int(sys.argv[2]), "dates" in sys.argv[3:]
    bans = Bans(count, seconds, random.Random(int(os.environ["XDP_BLOOM_SEED"])))
    wire = Wire()
    latest = max(bans.ends.values()) + 10**9
    wrong, dropped, passed, sweeps, late, did = [], set(), set(), 0, 0, 0
    keys = sorted(bans.prefixes)
    began = sweep = now()
    first = None
    # However long a sweep takes, the last begins when all must have ended.
    while sweep < latest:
        sweep = now()
        for at in range(0, count, WINDOW):
            part = keys[at:at + WINDOW]
            for key, did_pass, before, after in wire.ask([(key, bans.prefixes[key]) for key in part]):
                end = bans.ends[key]
                if did_pass and after < end:
                    wrong.append("%s passed %.3f s before its end" % (key, (end - after) / 1e9))
                if not did_pass and before > end + 10**9:
                    wrong.append("%s was dropped %.3f s after its end" % (key, (before - end) / 1e9))
                if not did_pass:
                    late = max(late, before - end)
                (passed if did_pass else dropped).add(key)
        sweeps += 1
        first = first or now()
        if dates and did < 2 and now() - began > (did + 1) * seconds * 10**9 // 4:
            # The date is a day ahead, then a day behind: what comes by sees it, and builds all of it again.
            ahead = (86400, -86400)[did]
            did += 1
            bloom("add", "192.0.2.%d" % did, ahead=ahead)
            bloom("rotate", ahead=ahead)
    if dates and did < 2:
        wrong.append("the date was set %d times" % did)
    for key in keys:
        if key not in passed:
            wrong.append("%s never passed" % key)
        if key not in dropped and bans.ends[key] > first:
            wrong.append("%s was never dropped" % key)
    print("%d bans, %d sweeps of packets: the last drop %d ms after an end" % (count, sweeps, late // 10**6 if late > 0 else 0))
    if wrong:
        sys.exit("%d are wrong: %s" % (len(wrong), "; ".join(wrong[:5])))
    listed = bloom("-j", "bans")
    for key in keys:
        if '"%s"' % key in listed:
            sys.exit("bans still shows %s" % key)


main()
