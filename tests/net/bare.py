#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Packets through interfaces whose packets begin with IP.

bare.py relay FAR DEVICE...          carries packets between the tun devices of these names here and in the network
                                     namespace of process FAR; says "flowing", and goes on until it is killed. TUN_TYPE: of
                                     what kind those here say that they are, by its number. TUN_KIND=tap: they are of Ethernet
bare.py judged FAR WHAT...           in that namespace sends a packet from each address, or to it where it stands behind "to/", and
                                     prints those whose packet a socket here was given. GRE_TAGS="TO TYPE/TCI...": from each, by GRE
                                     to that address, with these tags (in hexadecimal) between GRE and IP
bare.py types FAR TO FROM            in that namespace sends packets of FROM by GRE to that address, with each of its 65,536 types, and
                                     behind a tag, too; prints those whose packet a socket here was given
bare.py cut FAR DEVICE MAC KIND FROM...  in that namespace sends packets of each in a tunnel of that kind (gre, vxlan) to 10.0.0.1,
                                     in two fragments by DEVICE, the first of which ends behind the header of IP within; prints
                                     those whose packet a socket here was given
bare.py unlike FAR DEVICE MAC TYPE FRAME FROM...  in that namespace sends packets of each by a packet socket that says TYPE, in frames to
                                     MAC that say FRAME (in hexadecimal, and what stands before IP behind it); prints those whose
                                     packet a socket here was given
"""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

from checksum import checksum

PORT = 4711
ENDS = {socket.AF_INET: ("10.9.0.1", "10.9.0.2"), socket.AF_INET6: ("fd09::1", "fd09::2")}
TUNSETIFF, TUNSETLINK, IFF_TUN, IFF_TAP, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x400454CD, 1, 2, 0x1000, 0x40000000


def enter(process):
    with open(f"/proc/{process}/ns/net") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    kind = IFF_TAP if os.environ.get("TUN_KIND") == "tap" else IFF_TUN
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), kind | IFF_NO_PI))
    return fd


def relay(far, *names):
    here = [tun(name) for name in names]
    if "TUN_TYPE" in os.environ:
        for fd in here:
            fcntl.ioctl(fd, TUNSETLINK, int(os.environ["TUN_TYPE"]))
    enter(far)
    there = [tun(name) for name in names]
    other = dict(zip(here + there, there + here))
    print("flowing", flush=True)
    while True:
        for fd in select.select(list(other), [], [])[0]:
            try:
                os.write(other[fd], os.read(fd, 65536))
            except OSError:  # the other end is not up yet
                pass


def family_of(what):
    return socket.AF_INET6 if ":" in what else socket.AF_INET


def has(address):
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as s:
        try:
            s.bind((address, 0))
        except OSError:
            return False
    return True


def udp(source, to, said):
    """A packet of IP, with UDP and that in it."""
    family = family_of(source)
    length = 8 + len(said)
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, to)
    header = struct.pack(">HHHH", PORT, PORT, length, 0)
    header = header[:6] + struct.pack(">H", checksum(ends + struct.pack(">HH", 17, length) + header + said))
    if family == socket.AF_INET6:
        return struct.pack(">IHBB", 6 << 28, length, 17, 64) + ends + header + said
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, 17, 0)
    return ip[:10] + struct.pack(">H", checksum(ip + ends)) + ends + header + said


def tagged(carrier, tags, source, to, said):
    """By GRE, behind VLAN tags, which the kernel takes off there, too."""
    packet = udp(source, to, said)
    types = [kind for kind, _ in tags] + [0x86DD if family_of(source) == socket.AF_INET6 else 0x0800]
    gre = struct.pack(">HH", 0, types[0])
    for (_, tci), then in zip(tags, types[1:]):
        gre += struct.pack(">HH", tci, then)
    with socket.socket(family_of(carrier), socket.SOCK_RAW, 47) as raw:
        raw.sendto(gre + packet, (carrier, 0))


def judged(far, *all_of_it):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # so that packets do not overtake each other
    ours, theirs = (0, 1) if has(ENDS[socket.AF_INET][0]) else (1, 0)
    hears = {}
    for family in ENDS:
        hears[family] = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            hears[family].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        hears[family].bind(("", PORT))
        hears[family].settimeout(1)
    enter(far)
    says = {}
    for address in (*(ends[theirs] for ends in ENDS.values()), *(what for what in all_of_it if not what.startswith("to/"))):
        says[address] = socket.socket(family_of(address), socket.SOCK_DGRAM)
        says[address].bind((address, PORT))
    heard = set()
    for family, ends in ENDS.items():
        to, end = ends[ours], ends[theirs]
        wanted = [what for what in all_of_it if family_of(what) == family]
        if not wanted:
            continue
        for _ in range(30):  # the first ones of a tunnel may be lost until neighbours know each other
            says[end].sendto(b"begin", (to, PORT))
            try:
                hears[family].recvfrom(100)
                break
            except socket.timeout:
                pass
        for what in wanted:
            if "GRE_TAGS" in os.environ:
                carrier, *tags = os.environ["GRE_TAGS"].split()
                tagged(carrier, [tuple(int(n, 16) for n in tag.split("/")) for tag in tags], what, to, what.encode())
                continue
            says.get(what, says[end]).sendto(what.encode(), (what[3:] if what.startswith("to/") else to, PORT))
        for _ in range(30):
            says[end].sendto(b"end", (to, PORT))
            try:
                while True:
                    what = hears[family].recvfrom(100)[0]
                    if what == b"end":
                        break
                    heard.add(what.decode())
                break
            except socket.timeout:
                pass
        else:
            sys.exit(f"nothing of {end} arrives")
    for what in all_of_it:
        if what in heard:
            print(what)


def types(far, to, source):
    hears = socket.socket(family_of(source), socket.SOCK_DGRAM)
    hears.bind(("", PORT))
    enter(far)
    heard = []

    def listen(wait):
        hears.settimeout(wait)
        try:
            while True:
                said = hears.recv(100)
                if said == b"end":
                    return True
                heard.append(said.decode())
        except (BlockingIOError, socket.timeout):
            return False

    end = ENDS[family_of(source)]
    with socket.socket(family_of(to), socket.SOCK_RAW, 47) as raw, socket.socket(family_of(source), socket.SOCK_DGRAM) as last:
        last.bind((end[1], PORT))
        for tag in b"", struct.pack(">HH", 0, 0x0800 if family_of(source) == socket.AF_INET else 0x86DD):
            for kind in range(65536):
                said = (b"tagged " if tag else b"") + b"%04x" % kind
                raw.sendto(struct.pack(">HH", 0, kind) + tag + udp(source, end[0], said), (to, 0))
                if kind % 64 == 0:
                    listen(0)
        for _ in range(30):
            last.sendto(b"end", (end[0], PORT))
            if listen(1):
                print(*heard, sep="\n")
                return
    sys.exit("the end does not come")


def heard_of(hears, send, all_of_it):
    """Sends what each says, between a beginning and an end; prints those that are heard."""
    heard = set()
    for word in b"begin", b"end":
        for _ in range(30):
            send("10.9.0.2", word)
            try:
                while word not in heard:
                    heard.add(hears.recv(2000).strip())
                break
            except socket.timeout:
                pass
        else:
            sys.exit(f"{word} does not come")
        for what in all_of_it if word == b"begin" else ():
            send(what, what.encode())
    for what in all_of_it:
        if what.encode() in heard:
            print(what)


def open_apart(far):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # so that packets do not overtake each other
    hears = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    hears.bind(("", PORT))
    hears.settimeout(1)
    enter(far)
    return hears, socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def cut(far, device, mac, kind, *all_of_it):
    hears, raw = open_apart(far)
    raw.bind((device, 0))
    numbers = iter(range(1, 65536))
    # Fragments end at eighths: behind 4 + 20 bytes by GRE, and by VXLAN without Ethernet behind 8 + 8 + 20 and four of options.
    around, protocol, options = (struct.pack(">HH", 0, 0x0800), 47, b"") if kind == "gre" else (None, 17, b"\1" * 4)

    def header(source, to, carries, length, number, flags, more=b""):
        ip = struct.pack(">BBHHHBBH", 0x45 + len(more) // 4, 0, 20 + len(more) + length, number, flags, 64, carries, 0)
        ip += socket.inet_aton(source) + socket.inet_aton(to) + more
        return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]

    def send(source, said):
        said = said.ljust(1200)  # there is no room for it behind the first fragment
        inner = struct.pack(">HHHH", PORT, PORT, 8 + len(said), 0) + said
        inner = header(source, "10.9.0.1", 17, len(inner), 0, 0, options) + inner
        outer = around or struct.pack(">HHHHIBBBB", PORT, 4790, 16 + len(inner), 0, 0x0C000001, 0, 0, 7, 0)
        first, number = len(outer) + 20 + len(options), next(numbers)
        for flags, part in (0x2000, (outer + inner)[:first]), (first // 8, (outer + inner)[first:]):
            frame = bytes.fromhex(mac.replace(":", "") + "0200000000010800")
            raw.send(frame + header("10.0.0.2", "10.0.0.1", protocol, len(part), number, flags) + part)

    heard_of(hears, send, all_of_it)


def unlike(far, device, mac, kind, frame, *all_of_it):
    hears, raw = open_apart(far)

    def send(source, said):
        packet = udp(source, ENDS[family_of(source)][0], said)
        says, is_in = ("0800", "0800") if source == "10.9.0.2" else (kind, frame)
        raw.sendto(bytes.fromhex(mac.replace(":", "") + "020000000001" + is_in) + packet, (device, int(says, 16)))

    heard_of(hears, send, all_of_it)


{"relay": relay, "judged": judged, "types": types, "cut": cut, "unlike": unlike}[sys.argv[1]](*sys.argv[2:])
