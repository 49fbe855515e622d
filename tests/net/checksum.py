# SPDX-License-Identifier: GPL-2.0-only
"""The checksum of IP, UDP, TCP and ICMP, for those who make packets."""
import struct


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
