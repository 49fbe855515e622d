#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How soon the first packet above a limit is dropped: first.py ATTACKS RATE BURST

So many attacks, each from a source that was never seen, as fast as they can be sent through wire0. Their packets are
numbered; the first number that does not come out of edge0 is the first drop. bpf/detect.h has the bounds: none of the
first BURST is dropped, and none passes beyond RATE * t + 2 * BURST and what comes in a tick of the clock, where t is
the time from the first packet until just behind the one that was dropped. So on a slow machine it is that much later.
"""
import math
import os
import socket
import struct
import sys
import time

from checksum import checksum

ATTACKS, RATE, BURST = (int(word) for word in sys.argv[1:])
TICK = time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
WINDOW = 60  # a veth queues 256
CLOSER = 0xC6120000  # 198.18.0.0/16: the last packet of a window is from another one each time
ETHERNET = bytes.fromhex("020000000002020000000001") + b"\x08\x00"


def frame(source, number):
    payload = struct.pack("!QI", number, source)
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, source, 0xC6336401)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return ETHERNET + ip + struct.pack("!HHHH", 9, 9, 8 + len(payload), 0) + payload


def listener():
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(("edge0", 3))
    sock.settimeout(20)
    return sock


# Frames of an interface keep their order only on one CPU.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("wire0", 0))
back = listener()
closed = 0


def window(source, first, seen):
    """Sends so many; returns when each was sent. What came is in `seen`."""
    global closed
    closed += 1
    frames = [frame(source, number) for number in range(first, first + WINDOW)]
    last = frame(CLOSER + closed % 65536, closed)
    sent = []
    for one in frames:
        out.send(one)
        sent.append(time.monotonic())
    out.send(last)
    while True:
        got = back.recv(256)
        if len(got) < 54 or got[23] != 17:
            continue
        number, of = struct.unpack("!QI", got[42:54])
        if of == source:
            seen.add(number)
        elif of == CLOSER + closed % 65536 and number == closed:
            return sent


def attack(source):
    """The number of the first packet that was dropped, counted from 1, and t."""
    seen, times, began = set(), [], time.monotonic()
    while True:
        times += window(source, len(times) + 1, seen)
        for number in range(1, len(times) + 1):
            if number not in seen:
                return number, times[number - 1] - began
        # It was sent too slowly to be above the limit, for so long.
        if len(times) > 100000:
            sys.exit("no packet was dropped of %d in %.1f s" % (len(times), time.monotonic() - began))


worst = latest = most = 0
least = math.inf
for n in range(ATTACKS):
    source = 0x0A000000 + n
    first, t = attack(source)
    # As many pass: the next one is dropped at the latest.
    bound = math.floor(RATE * (t + TICK) + 2 * BURST) + 1
    if first <= BURST:
        sys.exit("attack %d: packet %d was dropped, and %d are allowed at once" % (n, first, BURST))
    if first > bound:
        sys.exit("attack %d: packet %d was the first to be dropped, after %.6f s; the bound is %d" % (n, first, t, bound))
    worst = max(worst, first - 2 * BURST - RATE * t)
    least, most, latest = min(least, first), max(most, first), max(latest, t)
print("%d attacks, %d/s with a burst of %d and a tick of %.0f ms: the first drop was packet %d to %d, at most %.2f ms"
      % (ATTACKS, RATE, BURST, TICK * 1000, least, most, latest * 1000))
print("at worst %+.2f packets from rate * t + 2 * burst; a tick is worth %.2f more, and the one that is dropped 1"
      % (worst, RATE * TICK))
