# SPDX-License-Identifier: GPL-2.0-only
"""
source_routes.py 4|6 MAC IN OUT FIRST LAST: a packet to FIRST that has to go on to LAST, with a source route, goes into IN; what
comes out of OUT within a second is printed, by its destination. With "-" for IN it is sent by this machine's own stack.

source_routes.py within MAC IN SOURCE TO: packets of SOURCE to TO, which this machine has, go into IN, each kind behind another kind of
routing header of which no segment is left; which of them come to a socket is printed.
"""
import ipaddress
import socket
import struct
import sys

from checksum import checksum

MARK = b"source route"


def udp():
    return struct.pack("!HHHH", 9, 9, 8 + len(MARK), 0) + MARK


def loose(last):
    """An option of IPv4 (LSRR) with one address, filled up to eight bytes."""
    return bytes([131, 7, 4]) + ipaddress.ip_address(last).packed + b"\0"


def segments(last, first):
    """A routing header of type 4 in front of UDP: the last segment comes first in it."""
    listed = ipaddress.ip_address(last).packed + ipaddress.ip_address(first).packed
    return bytes([17, len(listed) // 8, 4, 1, 1, 0, 0, 0]) + listed


def frame(family, mac, first, last):
    to = bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000001")
    if family == "6":
        routed = segments(last, first) + udp()
        return (to + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(routed), 43, 64) + ipaddress.ip_address("fd01::2").packed +
                ipaddress.ip_address(first).packed + routed)
    head = struct.pack("!BBHHHBBH", 0x47, 0, 28 + len(udp()), 1, 0, 64, 17, 0)
    head += ipaddress.ip_address("10.1.0.2").packed + ipaddress.ip_address(first).packed + loose(last)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return to + b"\x08\x00" + head + udp()


HOST = ipaddress.ip_address("2001:db8:77::1").packed
SENDER = ipaddress.ip_address("2001:db8:77::2").packed


def outer(following, data):
    return struct.pack("!IHBB", 6 << 28, len(data), following, 64) + SENDER + HOST + data


def used_up(following, kind, data):
    return bytes([following, 2, kind, 0, 0, 0, 0, 0]) + HOST + data


def taken_out(mac, into, source, to):
    def packet(word):
        head = struct.pack("!BBHHHBBH", 0x45, 0, 28 + len(word), 1, 0, 64, 17, 0)
        head += ipaddress.ip_address(source).packed + ipaddress.ip_address(to).packed
        return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + struct.pack("!HHHH", 9, 4711, 8 + len(word), 0) + word

    kinds = [
        outer(43, used_up(4, 4, packet(b"once"))),
        outer(0, bytes([43, 0, 1, 4, 0, 0, 0, 0]) + used_up(4, 4, packet(b"hop"))),
        outer(43, used_up(41, 4, outer(43, used_up(4, 4, packet(b"twice"))))),
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard, socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        heard.bind((to, 4711))
        heard.settimeout(1)
        wire.bind((into, 0))
        for data in kinds:
            wire.send(bytes.fromhex(mac.replace(":", "")) + bytes.fromhex("020000000001") + b"\x86\xdd" + data)
        came = []
        try:
            while True:
                came.append(heard.recv(100).decode())
        except socket.timeout:
            print(" ".join(came) or "nothing")


def main():
    if sys.argv[1] == "within":
        taken_out(*sys.argv[2:])
        return
    family, mac, into, out, first, last = sys.argv[1:]
    heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    heard.bind((out, 3))
    heard.settimeout(1)
    if into != "-":
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind((into, 0))
            wire.send(frame(family, mac, first, last))
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, loose(first))
            own.sendto(MARK, (last, 9))
    try:
        while True:
            data, where = heard.recvfrom(2000)
            if MARK in data and where[2] != socket.PACKET_OUTGOING:
                at = (24, 40) if data[12:14] == b"\x86\xdd" else (16, 20)
                print(ipaddress.ip_address(data[14 + at[0]:14 + at[1]]))
                return
    except socket.timeout:
        print("nothing")


main()
