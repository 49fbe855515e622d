#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Frames of every kind that a sender may try, sent for real to a socket that listens.

frames.py send OUT IN RESULT  every kind twice through OUT, from a clean source and from a banned one; which of them the
                              stack behind IN has delivered goes to RESULT
frames.py judge BARE RESULT   BARE is the result without a filter. Of what the stack delivers there, nothing of a banned
                              source may arrive, and everything of a clean one must, but for what the parser drops.
"""
import ctypes
import fcntl
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time

from checksum import checksum

HERE4, HERE6 = "192.0.2.1", "2001:db8:77::1"
CLEAN4, BANNED4 = "192.0.2.10", "192.0.2.66"
CLEAN6, BANNED6 = "2001:db8:77::10", "2001:db8:77::66"
PORT, DONE = 4711, 0xFFFFFFFF
GENERATED = int(os.environ.get("FRAMES_GENERATED", "150"))

IPV4, IPV6, Q, AD, PPPOE = 0x0800, 0x86DD, 0x8100, 0x88A8, 0x8864
UDP, TCP, ICMP, ICMP6 = 17, 6, 1, 58
HOP, ROUTING, FRAGMENT, OPTIONS, NO_NEXT = 0, 43, 44, 60, 59
SESSION = 1
TAGS_MAX = 4  # bpf/parse.h
IDENTITY = random.randrange(1 << 16)  # of fragments: what an earlier run has left over is not joined to this one's


class Whose:
    """One of the two sources, and the number that says when it has arrived."""

    def __init__(self, number, v4, v6, mac):
        self.number, self.mac = number, mac
        self.v4, self.v6 = socket.inet_aton(v4), socket.inet_pton(socket.AF_INET6, v6)
        self.to4, self.to6 = socket.inet_aton(HERE4), socket.inet_pton(socket.AF_INET6, HERE6)

    def mapped(self):
        return b"\0" * 10 + b"\xff\xff" + self.v4

    def pseudo(self, version, protocol, length, source=None):
        if version == 4:
            return (source or self.v4) + self.to4 + struct.pack("!BBH", 0, protocol, length)
        return (source or self.v6) + self.to6 + struct.pack("!IHBB", length, 0, 0, protocol)


# What a packet carries: each is known by its number when it is delivered, or when it is answered.


def udp(w, version, pad=0, source=None):
    data = struct.pack("!I", w.number) + b"x" * pad
    head = struct.pack("!HHHH", 5000, PORT, 8 + len(data), 0)
    total = checksum(w.pseudo(version, UDP, len(head + data), source) + head + data)
    return UDP, head[:6] + struct.pack("!H", total or 0xFFFF) + data


def tcp(w, version, pad=0, source=None):
    head = struct.pack("!HHIIBBHHH", 1024 + w.number, PORT, 7, 0, 5 << 4, 2, 1024, 0, 0)
    total = checksum(w.pseudo(version, TCP, len(head), source) + head)
    return TCP, head[:16] + struct.pack("!H", total) + head[18:]


def ping(w, version, pad=0, source=None):
    protocol = ICMP if version == 4 else ICMP6
    head = struct.pack("!BBHHH", 8 if version == 4 else 128, 0, 0, 0x4711, w.number) + b"x" * pad
    total = checksum((b"" if version == 4 else w.pseudo(6, ICMP6, len(head), source)) + head)
    return protocol, head[:2] + struct.pack("!H", total) + head[4:]


def ip4(w, what=udp, options=b"", first=None, flags=0, part=None, to=None, ttl=64, protocol=None):
    protocol, data = what(w, 4) if protocol is None else (protocol, what)
    if part:
        data = data[part[0] : part[1]]
        flags |= part[0] // 8
    begin, length, identity = first or 0x45 + len(options) // 4, 20 + len(options) + len(data), w.number ^ IDENTITY
    head = struct.pack("!BBHHHBBH", begin, 0, length, identity & 0xFFFF, flags, ttl, protocol, 0)
    head += w.v4 + (to or w.to4) + options
    return IPV4, head[:10] + struct.pack("!H", checksum(head)) + head[12:] + data


def ip6(w, what=udp, chain=(), source=None, first=0x60, part=None, more=False):
    """chain: extension headers, each (number, bytes behind the number of the next)."""
    protocol, data = what(w, 6, source=source)
    if part:
        data = data[part[0] : part[1]]
        chain = (*chain, (FRAGMENT, struct.pack("!BHI", 0, part[0] | more, w.number ^ IDENTITY)))
    numbers = [number for number, _ in chain] + [protocol]
    data = b"".join(bytes([n]) + rest for n, (_, rest) in zip(numbers[1:], chain)) + data
    return IPV6, struct.pack("!IHBB", first << 24, len(data), numbers[0], 64) + (source or w.v6) + w.to6 + data


def ether(w, packet, tags=(), to=None, pad=0):
    """tags: (type, VID), the outermost first."""
    proto, data = packet
    for kind, vid in reversed(tags):
        proto, data = kind, struct.pack("!HH", vid, proto) + data
    return (to or w.to_mac) + w.mac + struct.pack("!H", proto) + data + b"\0" * pad


def ppp(packet, first=0x11, code=0, short=False):
    proto, data = packet
    number = 0x21 if proto == IPV4 else 0x57
    data = (bytes([number]) if short else struct.pack("!H", number)) + data
    return PPPOE, struct.pack("!BBHH", first, code, SESSION, len(data)) + data


PAD = bytes([1, 4, 0, 0, 0, 0])  # an option that pads
EXTENSIONS = {
    "hop-by-hop": (HOP, b"\0" + PAD),
    "destination options": (OPTIONS, b"\0" + PAD),
    "long destination options": (OPTIONS, b"\1" + b"\1\x0c" + b"\0" * 12),
    "an atomic fragment": (FRAGMENT, b"\0" + b"\0" * 6),
    "routing, type 4, at its end": (ROUTING, bytes([2, 4, 0, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, HERE6)),
    "routing, type 2": (ROUTING, bytes([2, 2, 0, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, HERE6)),
    "routing, type 0": (ROUTING, bytes([2, 0, 0, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, HERE6)),
}
HIDDEN = set()


def one(packet, tags=(), cut=None, **rest):
    """A frame around what packet makes."""
    return lambda w: [ether(w, packet(w), tags, **rest)[:cut]]


def four(*args, **words):
    return lambda w: ip4(w, *args, **words)


def six(*args, **words):
    return lambda w: ip6(w, *args, **words)


def mapped(*args, **words):
    return lambda w: ip6(w, *args, source=w.mapped(), **words)


def in_parts(packet, cuts, tags=()):
    """A packet in fragments: of what it carries, from where to where, and whether there are more behind."""
    return lambda w: [ether(w, packet(w, part), tags) for part in cuts]


def large(w, version, source=None):
    return udp(w, version, 64, source)


def four_part(w, part):
    return ip4(w, large, part=part[:2], flags=0x2000 * part[2])


def six_part(w, part):
    return ip6(w, large, part=part[:2], more=part[2])


def mapped_part(w, part):
    return ip6(w, large, part=part[:2], more=part[2], source=w.mapped())


def tag_kinds():
    """Each with its number of tags."""
    for depth in (1, 2, 3, 4, 5, 8, 40):
        for kind, number in {"802.1Q": Q, "802.1ad": AD}.items():
            yield f"{depth} tags {kind} of VID 0, IPv4", depth, one(four(), [(number, 0)] * depth)
            yield f"{depth} tags {kind} of VID 0, IPv6", depth, one(six(), [(number, 0)] * depth)
    for depth in (3, 4, 5):
        mix = [(AD if i % 2 else Q, 0xE000 if i else 0) for i in range(depth)]
        yield f"{depth} tags of both types and with priorities", depth, one(four(), mix)
        yield f"{depth} tags of VID 0, TCP", depth, one(four(tcp), [(Q, 0)] * depth)
    for vids in ([5], [0, 5], [5, 0], [5, 6], [5, 6, 7], [5, 6, 7, 8], [5, 6, 7, 8, 9], [0, 0, 5, 6], [7], [4095]):
        yield f"802.1Q {vids}", len(vids), one(four(), [(Q, vid) for vid in vids])
    yield "802.1ad [7]", 1, one(four(), [(AD, 7)])
    yield "a tag of type 0x9100", 0, one(four(), [(0x9100, 0)])
    yield "a tag of VID 0 around one of type 0x9100", 1, one(four(), [(Q, 0), (0x9100, 0)])


def pppoe(packet, **words):
    return lambda w: ppp(packet(w), **words)


def pppoe_kinds():
    yield "PPPoE, IPv4", one(pppoe(four()))
    yield "PPPoE, IPv6", one(pppoe(six()))
    yield "PPPoE, version 0, IPv4", one(pppoe(four(), first=0))
    yield "PPPoE, version 2, IPv6", one(pppoe(six(), first=0x21))
    yield "PPPoE with a code", one(pppoe(four(), code=0x99))
    yield "PPPoE, from ::ffff:a.b.c.d", one(pppoe(mapped()))
    for depth in (1, 2, 3, 4):
        yield f"PPPoE behind {depth} tags of VID 0", one(pppoe(four()), [(Q, 0)] * depth)


def ip_kinds():
    here = socket.inet_aton(HERE4)
    options = {
        "nothing": b"\1\1\1\0",
        "a recorded route": bytes([7, 7, 4, 0, 0, 0, 0, 0]),
        "a router alert": bytes([0x94, 4, 0, 0]),
        "a timestamp": bytes([68, 8, 5, 0, 0, 0, 0, 0]),
        "a loose source route": bytes([131, 7, 4]) + here + b"\0",
        "a strict source route that is over": bytes([137, 7, 8]) + here + b"\0",
        "all forty bytes": b"\1" * 40,
        "an unknown one": bytes([0x5E, 4, 0, 0]),
        "a broken one": bytes([7, 1, 4, 0]),
    }
    for name, option in options.items():
        yield f"IPv4 with options: {name}", one(four(options=option))
    for first in (0x05, 0x15, 0x55, 0x65, 0x44, 0x40, 0x46, 0x4F):
        yield f"IPv4 that begins with {first:#x}", one(four(first=first))
    for first in (0x40, 0x00, 0x50, 0x6F, 0x70):
        yield f"IPv6 that begins with {first:#x}", one(six(first=first))
    for name, what in {"UDP": udp, "TCP": tcp, "ping": ping}.items():
        yield f"{name} by IPv4", one(four(what))
        yield f"{name} by IPv6", one(six(what))
    two = [(0, 24, True), (24, 99, False)]
    yield "IPv4 in two fragments", in_parts(four_part, two)
    yield "IPv4 in two fragments, the last first", in_parts(four_part, two[::-1])
    yield "IPv4 in two fragments, behind four tags", in_parts(four_part, two, [(Q, 0)] * 4)
    yield "IPv4 in tiny fragments", in_parts(four_part, [(at, min(at + 8, 76), at < 72) for at in range(0, 76, 8)])
    yield "IPv4 in fragments that overlap", in_parts(four_part, [(0, 32, True), (24, 99, False)])
    yield "IPv6 in two fragments", in_parts(six_part, two)
    yield "IPv6 in two fragments, the last first, behind three tags", in_parts(six_part, two[::-1], [(AD, 0)] * 3)
    options_header = EXTENSIONS["destination options"]
    for name, header in EXTENSIONS.items():
        yield f"IPv6 with {name}", one(six(chain=(header,)))
    yield "IPv6 with a chain of eight", one(six(chain=(EXTENSIONS["hop-by-hop"],) + (options_header,) * 7))
    yield "IPv6 with a chain of thirty", one(six(chain=(options_header,) * 30))
    yield "a hop limit of 1", one(four(ttl=1))
    yield "to everybody here", one(four(to=b"\xff" * 4), to=b"\xff" * 6)
    yield "to all hosts", one(four(to=socket.inet_aton("224.0.0.1")), to=bytes.fromhex("01005e000001"))
    yield "to a broadcast address of Ethernet only", one(four(), to=b"\xff" * 6)
    yield "to another Ethernet address", one(four(), to=bytes.fromhex("020000000099"))
    yield "from ::ffff:a.b.c.d", one(mapped())
    yield "from ::ffff:a.b.c.d, TCP", one(mapped(tcp))
    yield "from ::ffff:a.b.c.d, behind two tags", one(mapped(), [(Q, 0)] * 2)
    yield "from ::ffff:a.b.c.d, behind four tags", one(mapped(), [(AD, 0)] * 4)
    yield "from ::ffff:a.b.c.d, with a chain", one(mapped(chain=(options_header,) * 3))
    yield "from ::ffff:a.b.c.d, in fragments", in_parts(mapped_part, two)


def behind(head, packet):
    """The packet behind other bytes, without the type that it would have."""
    return lambda w: head + packet(w)[1]


def other_kinds():
    """What no socket of IP gets, unless somebody has set up what unwraps it."""
    llc, snap = b"\x06\x06\x03", b"\xaa\xaa\x03\0\0\0"
    for name, bytes_of in {
        "LLC": behind(llc, four()),
        "SNAP": behind(snap + b"\x08\0", four()),
        "SNAP of IPv6": behind(snap + b"\x86\xdd", six()),
    }.items():
        yield f"802.3 with {name}", lambda w, b=bytes_of: [ether(w, (len(b(w)), b(w)))]
        yield f"802.3 with {name}, behind a tag", lambda w, b=bytes_of: [ether(w, (len(b(w)), b(w)), [(Q, 0)])]
    types = {
        "MPLS": (0x8847, behind(bytes([0, 0x06, 0x41, 64]), four())),
        "MPLS, explicit null": (0x8847, behind(bytes([0, 0, 0x01, 64]), four())),
        "MPLS, IPv6 explicit null": (0x8847, behind(bytes([0, 0, 0x21, 64]), six())),
        "PPPoE discovery": (0x8863, lambda w: ppp(ip4(w))[1]),
        "IPv4 by the type of IPv6": (IPV6, behind(b"", four())),
        "IPv6 by the type of IPv4": (IPV4, behind(b"", six())),
        "IPv4 by the type of ARP": (0x0806, behind(b"", four())),
        "HSR": (0x892F, behind(b"\0\x40\0\1\x08\0", four())),
        "a MACsec tag": (0x88E5, behind(b"\0\0\0\0\0\1\x08\0", four())),
        "batman-adv": (0x4305, behind(b"\x40\x0f\x40", four())),
    }
    for name, (proto, data) in types.items():
        yield name, lambda w, p=proto, d=data: [ether(w, (p, d(w)))]
    gre = behind(struct.pack("!HH", 0, IPV4), four())
    for name, protocol, inner in (("IPIP", 4, behind(b"", four())), ("SIT", 41, behind(b"", six())), ("GRE", 47, gre)):
        yield f"{name} without a tunnel", lambda w, p=protocol, i=inner: [ether(w, ip4(w, i(w), protocol=p))]
    for length in (14, 15, 18, 30, 33, 34, 41, 45):
        yield f"IPv4 cut to {length} bytes", one(four(), cut=length)
    for length in (21, 40, 53, 54, 61):
        yield f"IPv6 cut to {length} bytes", one(six(), cut=length)
    yield "four tags, cut in the last", one(four(), [(Q, 0)] * 4, cut=28)
    yield "padded behind its end", one(four(), pad=40)
    yield "padded, behind three tags", one(six(), [(Q, 0)] * 3, pad=40)


def made_up(rng):
    """Any of these, one in the other."""
    family = rng.choice([4, 6, "mapped"])
    depth = rng.choice([0, 1, 2, 3, 4, 4, 5, 6, 12])
    tags = [(rng.choice([Q, AD]), rng.choice([0, 0, 0, 0xE000, 5])) for _ in range(depth)]
    session = rng.random() < 0.2
    what = rng.choice([udp, udp, udp, tcp, ping])
    chain = tuple(rng.choice(list(EXTENSIONS.values())) for _ in range(rng.choice([0, 0, 1, 2, 5])))
    options = rng.choice([b"", b"", b"\1" * 4, b"\1" * 40])
    first = rng.choice([0x11, 0x11, 0, 0xFF])
    size = rng.choice([None, None, None, rng.randrange(14, 90)])
    named = [f"{kind:#x} {vid:#x}" for kind, vid in tags], [number for number, _ in chain], first * session
    name = f"{family}, {what.__name__}, {len(options)} bytes of options, tags, chain, PPPoE {named}, cut to {size}"

    def frames(w):
        if family == 4:
            packet = ip4(w, what, options)
        else:
            packet = ip6(w, what, chain, source=w.mapped() if family == "mapped" else None)
        return [ether(w, ppp(packet, first) if session else packet, tags)[:size]]

    return name, is_hidden(len(tags), size), frames


def is_hidden(tags, size=None):
    """The parser sees that there are too many where the type behind the last that it reads is there."""
    return tags > TAGS_MAX and (size is None or size >= 14 + 4 * TAGS_MAX)


def kinds():
    for name, depth, frames in tag_kinds():
        if is_hidden(depth):
            HIDDEN.add(name)
        yield name, frames
    for make in (pppoe_kinds, ip_kinds, other_kinds):
        yield from make()
    for name, family in (("IPv4", four), ("IPv6", six)):
        name = f"PPPoE, {name} in one byte"
        HIDDEN.add(name)
        yield name, one(pppoe(family(), short=True))
    rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
    for i in range(GENERATED):
        name, hidden, frames = made_up(rng)
        name = f"#{i}: {name}"
        if hidden:
            HIDDEN.add(name)
        yield name, frames


# --- The stack -------------------------------------------------------------------------------------------------------


def run(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def told(*command):
    return subprocess.run(command, capture_output=True, check=False).stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def mac_of(name):
    with open(f"/sys/class/net/{name}/address") as file:
        return bytes.fromhex(file.read().strip().replace(":", ""))


def session(inside, peer):
    """A PPPoE session, as pppd would have it in the kernel; its descriptors keep it."""
    attach, channel_of, new_unit, connect, mode = 0x40047438, 0x80047437, 0xC004743E, 0x4004743A, 0x4008744B
    libc = ctypes.CDLL(None, use_errno=True)
    sock = libc.socket(24, socket.SOCK_STREAM, 0)
    address = struct.pack("=HIH6s16s", 24, 0, socket.htons(SESSION), peer, inside.encode())
    if sock < 0 or libc.connect(sock, address, len(address)):
        return None
    number = struct.pack("i", 0)
    channel = os.open("/dev/ppp", os.O_RDWR)
    fcntl.ioctl(channel, attach, fcntl.ioctl(sock, channel_of, number))
    unit = os.open("/dev/ppp", os.O_RDWR)
    number = fcntl.ioctl(unit, new_unit, struct.pack("i", -1))
    fcntl.ioctl(channel, connect, number)
    for protocol in (0x21, 0x57):
        fcntl.ioctl(unit, mode, struct.pack("Ii", protocol, 0))
    return sock, channel, unit, f"ppp{struct.unpack('i', number)[0]}"


def set_up(out, inside):
    """Addresses, neighbours, and as much of what unwraps frames as this kernel has."""
    for name in ("all", "default", inside):
        write(f"/proc/sys/net/ipv4/conf/{name}/rp_filter", "0")
    write(f"/proc/sys/net/ipv6/conf/{inside}/accept_dad", "0")
    write(f"/proc/sys/net/ipv6/conf/{inside}/disable_ipv6", "0")
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", HERE4 + "/24", "dev", inside)
    run("ip", "addr", "add", HERE6 + "/64", "dev", inside, "nodad")
    # The kernel takes it into use by and by.
    while told("ip", "-6", "addr", "show", "dev", inside, "tentative"):
        time.sleep(0.01)
    peer = ":".join(f"{byte:02x}" for byte in mac_of(out))
    for source in (CLEAN4, BANNED4, CLEAN6, BANNED6):
        run("ip", "neigh", "replace", source, "lladdr", peer, "dev", inside, "nud", "permanent")
    has, below = [], inside
    for vid in (5, 6, 7, 8, 9):
        if not run("ip", "link", "add", "link", below, "name", f"tag{vid}", "type", "vlan", "id", str(vid)):
            break
        below = f"tag{vid}"
        has.append(below)
    if run("ip", "link", "add", "link", inside, "name", "service7", "type", "vlan", "protocol", "802.1ad", "id", "7"):
        has.append("service7")
    try:
        held = session(inside, mac_of(out))
    except OSError:
        held = None
    if held:
        has.append(held[3])
    for name in has:
        run("ip", "link", "set", name, "up")
    return has, held


def answered(frame):
    """Which number this is an answer to, if it is one: a SYN-ACK or an echo."""
    frame += b"\0" * 64
    proto, at = struct.unpack_from("!H", frame, 12)[0], 14
    if proto == IPV4:
        protocol, at = frame[at + 9], at + 4 * (frame[at] & 15)
    elif proto == IPV6:
        protocol, at = frame[at + 6], at + 40
    else:
        return None
    if protocol == TCP and frame[at + 13] & 0x12 == 0x12:
        return struct.unpack_from("!H", frame, at + 2)[0] - 1024
    if protocol in (ICMP, ICMP6) and frame[at] in (0, 129):
        return struct.unpack_from("!H", frame, at + 6)[0]
    return None


def send(out, inside, result):
    has, held = set_up(out, inside)
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind((out, 0))
    wire.setblocking(False)
    listening = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    accepting = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    for sock in (listening, accepting):
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", PORT))
    accepting.listen(1024)
    listening.setblocking(False)
    arrived, names = set(), []

    def drain():
        while True:
            try:
                data = listening.recv(4096)
                if len(data) >= 4:
                    arrived.add(struct.unpack_from("!I", data)[0])
                continue
            except BlockingIOError:
                pass
            try:
                frame = wire.recv(4096)
            except BlockingIOError:
                return
            number = answered(frame)
            if number is not None:
                arrived.add(number)

    def put(whose, frames):
        for frame in frames(whose):
            while True:
                try:
                    wire.send(frame)
                    break
                except BlockingIOError:
                    drain()
                except OSError:
                    break  # too short for this kernel to send
        drain()

    def whose(number, v4, v6):
        w = Whose(number, v4, v6, mac_of(out))
        w.to_mac = mac_of(inside)
        return w

    for index, (name, frames) in enumerate(kinds()):
        names.append(name)
        put(whose(2 * index, CLEAN4, CLEAN6), frames)
        put(whose(2 * index + 1, BANNED4, BANNED6), frames)
    # Behind all of them: what has not arrived when this one has will not.
    deadline = time.monotonic() + 20
    while DONE not in arrived and time.monotonic() < deadline:
        put(whose(DONE, CLEAN4, CLEAN6), lambda w: [ether(w, ip4(w))])
        time.sleep(0.01)
    drain()
    if DONE not in arrived:
        sys.exit("even a plain packet from a clean source does not arrive")
    with open(result, "w") as file:
        json.dump({"has": has, "frames": [[name, 2 * i in arrived, 2 * i + 1 in arrived, name in HIDDEN]
                                          for i, name in enumerate(names)]}, file)
    if held:
        run("ip", "link", "del", held[3])


def judge(bare, result):
    with open(bare) as one, open(result) as other:
        bare, result = json.load(one), json.load(other)
    wrong, counts = [], {"kinds": 0, "generated": 0, "delivered": 0, "hidden and delivered": 0}
    for (name, stack, stack_banned, hidden), (same, clean, banned, _) in zip(bare["frames"], result["frames"]):
        assert name == same
        counts["generated" if name[0] == "#" else "kinds"] += 1
        counts["delivered"] += stack
        counts["hidden and delivered"] += stack and hidden
        if stack != stack_banned:
            wrong.append(f"{name}: without a filter it depends on the source")
        if banned:
            wrong.append(f"{name}: a banned source is delivered")
        if clean != (stack and not hidden):
            wrong.append(f"{name}: a clean source is {'' if clean else 'not '}delivered")
    print(f"# {counts}; this kernel unwraps, when it is set up: {' '.join(bare['has']) or 'nothing'}")
    if os.environ.get("FRAMES_TABLE"):
        for name, stack, _, hidden in bare["frames"]:
            print(f"# {name}: {'' if stack else 'not '}delivered{', if the parser did not drop it' if hidden else ''}")
    if counts["kinds"] < 60 or counts["delivered"] < 60:
        wrong.append("too few kinds, or too few that are delivered")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    {"send": send, "judge": judge}[sys.argv[1]](*sys.argv[2:])
