# SPDX-License-Identifier: GPL-2.0-only
"""
source_routes.py 4|6 MAC IN OUT FIRST LAST: a packet to FIRST that has to go on to LAST, with a source route, goes into IN; what
comes out of OUT within a second is printed, by its destination. With "-" for IN it is sent by this machine's own stack.
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


def main():
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
