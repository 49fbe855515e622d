#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What leaves this network namespace.

leaves.py connects FAR ADDRESS...     prints those of these addresses, which the network namespace of process FAR has,
                                      that take a connection, and a megabyte by it
leaves.py sent DEVICE ADDRESS...      sends a datagram to each, and prints to whom one came out of this tun device
leaves.py lies FROM TO ADDRESS...     sends each of them frames, plain and tagged, out of that interface by a packet socket that says
                                      they were of another kind, and prints whom those are for that come out of the other one
"""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys
import threading

PORT = 4712
TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
ENDS, LAST = ("192.0.2.8", "2001:db8::8"), ("192.0.2.9", "2001:db8::9")
MEGABYTE = bytes(1 << 20)


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def enter(path):
    with open(path) as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def swallow(listener):
    connection, _ = listener.accept()
    got = 0
    while got < len(MEGABYTE):
        got += len(connection.recv(1 << 16))
    connection.sendall(b"all of it")


def connects(far, *addresses):
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    listeners = {}
    enter(f"/proc/{far}/ns/net")
    for address in addresses:
        listeners[address] = socket.socket(family_of(address))
        listeners[address].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listeners[address].bind((address, PORT))
        listeners[address].listen()
        threading.Thread(target=swallow, args=(listeners[address],), daemon=True).start()
    enter(f"/proc/self/fd/{home}")
    # All of them have been asked before the last one answers, which is a clean one.
    tries = {address: socket.socket(family_of(address)) for address in addresses}
    for address, one in tries.items():
        one.setblocking(False)
        one.connect_ex((address, PORT))
    select.select([], [tries[addresses[-1]]], [], 30)
    for address, one in tries.items():
        try:
            one.getpeername()
        except OSError:
            continue
        one.settimeout(30)
        one.sendall(MEGABYTE)
        if one.recv(100) == b"all of it":
            print(address)


def destination(packet):
    if packet[0] >> 4 == 6:
        return socket.inet_ntop(socket.AF_INET6, packet[24:40])
    return socket.inet_ntop(socket.AF_INET, packet[16:20])


def sent(device, *addresses):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    says = {family: socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)}

    def say(address):
        says[family_of(address)].sendto(b"here", (address, PORT))

    # What is sent until the device has noticed that somebody reads it is lost.
    for end in ENDS:
        while True:
            try:
                say(end)
            except OSError:
                pass
            if select.select([fd], [], [], 0.1)[0] and destination(os.read(fd, 65536)) == end:
                break
    for address in addresses:
        say(address)
    for end in LAST:
        say(end)
    waits = set(LAST)
    while waits:
        to = destination(os.read(fd, 65536))
        waits.discard(to)
        if to in addresses:
            print(to)


def lies(device, other, *addresses):
    hears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    hears.bind((other, 0))
    says = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    came, last = set(), b"the last of them"

    def say(text, tag, address, kind):
        six = family_of(address) == socket.AF_INET6
        to = socket.inet_pton(family_of(address), address)
        ip = (struct.pack("!IHBB", 0x60000000, len(text), 59, 64) + bytes(16) if six else
              struct.pack("!BBHHHBBH4s", 0x45, 0, 20 + len(text), 0, 0, 64, 253, 0, bytes(4))) + to
        says.sendto(bytes(6) + b"\2\0\0\0\0\2" + tag + struct.pack("!H", 0x86DD if six else 0x0800) + ip + text, (device, kind))

    for address in addresses:
        # A tag whose number looks like the version of IPv4.
        for tag in b"", struct.pack("!HH", 0x8100, 0x4005), struct.pack("!HH", 0x88A8, 0x6000):
            for kind in 0x0800, 0x86DD, 0x0806, 0x8100, 0x8864, 0x1234, 4, 0:
                try:
                    say(b"for " + address.encode(), tag, address, kind)
                except OSError:  # who is told that it was dropped
                    pass
    while last not in came:
        say(last, b"", "192.0.2.9", 0x0800)
        while select.select([hears], [], [], 0.1)[0]:
            frame = hears.recv(2000)
            came.update(text for text in (last, *(b"for " + address.encode() for address in addresses)) if frame.endswith(text))
    for address in addresses:
        if b"for " + address.encode() in came:
            print(address)


{"connects": connects, "sent": sent, "lies": lies}[sys.argv[1]](*sys.argv[2:])
