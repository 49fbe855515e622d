#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sends a banned frame every millisecond, and says at its end how many came through, and the longest time in ms for which
they did: a pause of 50 ms ends it.
"""
import select, signal, socket, struct, sys, time

out, back = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, kind) for kind in (0, socket.htons(0x0800)))
out.bind(("wire0", 0))
back.bind(("edge0", 0x0800))
ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, socket.inet_aton("192.0.2.7"), b"\x0a\0\0\1")
frame = (b"\2\0\0\0\0\1" * 2 + b"\x08\0" + ip).ljust(60, b"x")
going, through, since, last, longest = True, 0, 0, 0, 0


def end(*_):
    global going
    going = False


signal.signal(signal.SIGTERM, end)
print("flowing", flush=True)
while going:
    out.send(frame)
    until = time.monotonic() + 0.001
    while select.select([back], [], [], max(0, until - time.monotonic()))[0]:
        got, where = back.recvfrom(100)
        if where[2] == 4 or got[26:30] != frame[26:30]:  # on its way out, or a clean one
            continue
        through, now = through + 1, time.monotonic()
        since = since if now - last < 0.05 else now
        last, longest = now, max(longest, now - since)
print(through, int(1000 * longest))
