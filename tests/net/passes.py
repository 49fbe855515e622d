#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Packets that a banned address is in, but perhaps not where a filter looks for it: the lines of docs/what-passes.md.

passes.py OUT IN NAME...  sends such a frame through OUT, with a clean one behind it; prints those names of which the
                          frame arrives at IN
"""
import socket
import struct
import sys

BANNED4, CLEAN4, OTHER4 = "192.0.2.7", "192.0.2.6", "198.51.100.1"
BANNED6, CLEAN6, OTHER6 = "2001:db8::7", "2001:db8::6", "2001:db8::1"
ARP, IPV4, IPV6, ETHERNET, MPLS, VLAN = 0x0806, 0x0800, 0x86DD, 0x6558, 0x8847, 0x8100
IPIP, UDP, SIX, ROUTING, FRAGMENT, GRE, ESP, AH, ICMP6, NO_NEXT = 4, 17, 41, 43, 44, 47, 50, 51, 58, 59
WITHIN = socket.inet_aton(BANNED4)


def a4(text):
    return socket.inet_aton(text)


def a6(text):
    return text if isinstance(text, bytes) else socket.inet_pton(socket.AF_INET6, text)


def udp(port=9, data=b""):
    return UDP, struct.pack("!HHHH", 4711, port, 8 + len(data), 0) + data


def ip4(source, carries, to=OTHER4, options=b"", part=0):
    protocol, data = carries
    first = 0x45 + len(options) // 4
    return IPV4, struct.pack("!BBHHHBBH", first, 0, 20 + len(options + data), 1, part, 64, protocol, 0) + a4(source) + a4(to) + options + data


def ip6(source, carries, to=OTHER6):
    protocol, data = carries
    return IPV6, struct.pack("!IHBB", 6 << 28, len(data), protocol, 64) + a6(source) + a6(to) + data


def within(packet):
    return {IPV4: IPIP, IPV6: SIX}[packet[0]], packet[1]


def routed(packet, kind=4):
    """Behind a routing header of which no segment is left."""
    protocol, data = within(packet)
    return ROUTING, struct.pack("!BBBBI", protocol, 2, kind, 0, 0) + a6(OTHER6) + data


def gre(packet):
    return GRE, struct.pack("!HH", 0, packet[0]) + packet[1]


def tagged(packet, times=1):
    for _ in range(times):
        packet = VLAN, struct.pack("!HH", 0, packet[0]) + packet[1]
    return packet


def ether(packet):
    return b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + struct.pack("!H", packet[0]) + packet[1]


BAD4, BAD6 = ip4(BANNED4, udp()), ip6(BANNED6, udp())
FRAMES = {
    "ARP": (ARP, struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + b"\x02\0\0\0\0\x01" + WITHIN + bytes(6) + a4(OTHER4)),
    "NDP": ip6(BANNED6, (ICMP6, struct.pack("!BBHI", 135, 0, 0, 0) + a6(OTHER6)), "ff02::1:ff00:1"),
    "802.3 with LLC and SNAP": (3 + 5 + len(BAD4[1]), b"\xaa\xaa\x03" + struct.pack("!3xH", IPV4) + BAD4[1]),
    "MPLS": (MPLS, struct.pack("!I", 16 << 12 | 1 << 8 | 64) + BAD4[1]),
    "a fragment": ip4(BANNED4, (UDP, bytes(16)), part=2),
    "AH": ip4(BANNED4, (AH, struct.pack("!BBHII", UDP, 1, 0, 1, 1) + udp()[1])),
    "IP in IP": ip4(CLEAN4, within(BAD4)),
    "IPv4 in IPv6": ip6(CLEAN6, within(BAD4)),
    "6in4": ip4(CLEAN4, within(BAD6)),
    "IPv6 in IPv6": ip6(CLEAN6, within(BAD6)),
    "GRE": ip4(CLEAN4, gre(BAD6)),
    "GRE with Ethernet": ip4(CLEAN4, gre((ETHERNET, ether(BAD4)))),
    "GRE, tagged within": ip4(CLEAN4, gre(tagged(BAD4))),
    "GRE with Ethernet, tagged within": ip4(CLEAN4, gre((ETHERNET, ether(tagged(BAD6, 4))))),
    "GRE, tagged five times within": ip4(CLEAN4, gre(tagged(BAD4, 5))),
    "IP in IP, cut within the inner header": ip4(CLEAN4, (IPIP, BAD4[1][:8]), part=0x2000),
    "two tunnels, one within the other": ip4(CLEAN4, within(ip4(CLEAN4, within(BAD4)))),
    "IPv4 behind a routing header": ip6(CLEAN6, routed(BAD4)),
    "IPv6 behind a routing header": ip6(CLEAN6, routed(BAD6, 3)),
    "a routing header within the other": ip6(CLEAN6, routed(ip6(CLEAN6, routed(BAD4)))),
    "VXLAN": ip4(CLEAN4, udp(4789, struct.pack("!II", 8 << 24, 7 << 8) + ether(BAD4))),
    "ESP": ip4(CLEAN4, (ESP, struct.pack("!II", 1, 1) + BAD4[1])),
    "IPv4-mapped": ip6(bytes(10) + b"\xff\xff" + WITHIN, udp()),
    "6to4": ip6(b"\x20\x02" + WITHIN + bytes(9) + b"\x01", udp()),
    "Teredo": ip6(b"\x20\x01" + bytes(10) + bytes(byte ^ 255 for byte in WITHIN), udp()),
    "NAT64": ip6(b"\0\x64\xff\x9b" + bytes(8) + WITHIN, udp()),
    "NAT64 by a prefix of your own": ip6(a6("2a00:64::")[:12] + WITHIN, udp()),
    "ISATAP": ip6(a6("2a00::")[:8] + b"\0\0\x5e\xfe" + WITHIN, udp()),
    "IPv4-compatible": ip6(bytes(12) + WITHIN, udp()),
    "a banned destination": ip4(CLEAN4, udp(), to=BANNED4),
    "a banned destination behind a source route": ip4(CLEAN4, udp(), options=b"\x83\x07\x04" + WITHIN + b"\0"),
    "a banned destination behind a routing header": ip6(CLEAN6, (ROUTING, struct.pack("!BBBBI", NO_NEXT, 2, 2, 1, 0) + a6(BANNED6))),
}


def arrives(out, inside, name, number):
    """The clean frame behind it says when there is nothing more to wait for."""
    end = ether(ip4(CLEAN4, udp(9, b"end" + struct.pack("!I", number))))
    frame = ether(FRAMES[name])
    frame += bytes(max(0, 60 - len(frame)))
    for data in frame, end:
        out.send(data)
    came = False
    while True:
        data = inside.recv(2048)
        if data == end:
            return came
        came = came or data == frame


def main():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out, socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as inside:
        out.bind((sys.argv[1], 0))
        inside.bind((sys.argv[2], 3))
        inside.settimeout(20)
        for number, name in enumerate(sys.argv[3:]):
            if arrives(out, inside, name, number):
                print(name)


main()
