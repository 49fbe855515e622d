#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Real connections through a topology.

talk.py serve PORT...           says "ready", answers whoever connects with the address that it sees, and goes on until it is killed
talk.py reach N [ADDRESS%]ADDRESS/PORT...
                                connects to all at once, from the first address where there is one; prints those that answer,
                                each with =ADDRESS that the server has seen. When N have answered it waits a little for more of them
talk.py ppp IFNAME FAR FAR-IFNAME
                                a session of PPPoE, ppp0 at both ends, between that interface here and the other one in the
                                network namespace of process FAR; says "ready", and keeps it until it is killed
"""
import ctypes
import fcntl
import os
import select
import selectors
import signal
import socket
import struct
import sys
import time

PATIENCE = 20
MORE = 0.4


def serve(*ports):
    poll = selectors.DefaultSelector()
    for port in ports:
        server = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("::", int(port)))
        server.listen(512)
        poll.register(server, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in poll.select():
            connection, peer = key.fileobj.accept()
            connection.sendall(peer[0].removeprefix("::ffff:").encode())
            connection.close()


def begin(way):
    ends, port = way.rsplit("/", 1)
    source, _, to = ends.rpartition("%")
    s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_STREAM)
    s.setblocking(False)
    if source:
        s.bind((source, 0))
    try:
        s.connect((to, int(port)))
    except BlockingIOError:
        pass
    return s


def reach(n, *ways):
    tried = {begin(way): way for way in ways}
    answered = {}
    until = time.monotonic() + (PATIENCE if int(n) else MORE)
    while tried and time.monotonic() < until:
        for s in select.select(list(tried), [], [], max(0, until - time.monotonic()))[0]:
            way = tried.pop(s)
            try:
                answered[way] = s.recv(100).decode()
            except OSError:
                continue
            if len(answered) == int(n):
                until = time.monotonic() + MORE
    for way in ways:
        if way in answered:
            print(f"{way}={answered[way]}")


AF_PPPOX, CLONE_NEWNET = 24, 0x40000000
PPPIOCGCHAN, PPPIOCATTCHAN, PPPIOCCONNECT, PPPIOCNEWUNIT, PPPIOCSNPMODE = 0x80047437, 0x40047438, 0x4004743A, 0xC004743E, 0x4008744B
PPP_IP, PPP_IPV6, NPMODE_PASS = 0x21, 0x57, 0
SESSION = 7
libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)


def enter(process):
    with open(f"/proc/{process}/ns/net") as space:
        must(libc.setns(space.fileno(), CLONE_NEWNET), "setns")


def address_of(ifname):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        return fcntl.ioctl(s, 0x8927, struct.pack("16s24x", ifname.encode()))[18:24]


def end_of(ifname, other):
    """What is to be kept open: the session's socket, its channel and its interface."""
    session = socket.socket(AF_PPPOX, socket.SOCK_STREAM)
    to = struct.pack("=HI2s6s16s", AF_PPPOX, 0, SESSION.to_bytes(2, "big"), other, ifname.encode())
    must(libc.connect(session.fileno(), to, len(to)), "connect")
    channel, unit = os.open("/dev/ppp", os.O_RDWR), os.open("/dev/ppp", os.O_RDWR)
    fcntl.ioctl(channel, PPPIOCATTCHAN, fcntl.ioctl(session, PPPIOCGCHAN, bytes(4)))
    fcntl.ioctl(channel, PPPIOCCONNECT, fcntl.ioctl(unit, PPPIOCNEWUNIT, struct.pack("i", 0)))
    for protocol in PPP_IP, PPP_IPV6:
        fcntl.ioctl(unit, PPPIOCSNPMODE, struct.pack("iI", protocol, NPMODE_PASS))
    return session, channel, unit


def ppp(here, far, there):
    ours, back = address_of(here), os.open("/proc/self/ns/net", os.O_RDONLY)
    enter(far)
    theirs = address_of(there)
    kept = [end_of(there, ours)]
    must(libc.setns(back, CLONE_NEWNET), "setns")
    kept.append(end_of(here, theirs))
    print("ready", flush=True)
    signal.pause()


globals()[sys.argv[1]](*sys.argv[2:])
