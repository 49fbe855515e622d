#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who attacks, and who stands beside: scenes.py serve, or scenes.py SCENE

serve: a server behind the filter, on edge0: downloads and uploads by TCP, answers by UDP.
SCENE: an attack sent out of wire0, while thirty clients with addresses there, ten of them of IPv6, download and ask. Prints as JSON what was
sent and what the clients lost; nothing is sent again by them, but what TCP sends again.
"""
import errno
import json
import os
import random
import select
import socket
import struct
import sys
import threading
import time

from checksum import checksum

SERVERS = {4: "192.0.2.1", 6: "2001:db8:1::1"}
CLIENTS4 = ["198.51.100.%d" % n for n in range(1, 21)]
CLIENTS6 = ["2001:db8:64:%x::1" % n for n in range(1, 11)]
CLIENTS = CLIENTS4 + CLIENTS6
DOWNLOAD = 1 << 17
LARGE = 1 << 24
PATIENCE = 20
random.seed(int(os.environ.get("XDP_BLOOM_SEED", "1")))


def server_of(address):
    return SERVERS[6 if ":" in address else 4]


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve():
    tcps, udps = [], []
    for server in SERVERS.values():
        tcps.append(socket.create_server((server, 80), family=family_of(server), backlog=256))
        udps.append(socket.socket(family_of(server), socket.SOCK_DGRAM))
        udps[-1].bind((server, 53))

    def talk(peer):
        with peer:
            if peer.recv(1) == b"G":
                peer.sendall(bytes(DOWNLOAD))
                return
            left = LARGE
            while left > 0:
                got = len(peer.recv(1 << 16))
                if not got:
                    return
                left -= got
            peer.sendall(b"k")

    print("ready", flush=True)
    while True:
        for sock in select.select(tcps + udps, [], [])[0]:
            if sock in udps:
                query, peer = sock.recvfrom(65536)
                sock.sendto(query[:200], peer)
            else:
                threading.Thread(target=talk, args=(sock.accept()[0],), daemon=True).start()


class Client(threading.Thread):
    """One after the other: a download, and ten questions, one of them in two fragments."""

    def __init__(self, address, going):
        super().__init__()
        self.address, self.going = address, going
        self.downloads = self.downloaded = self.asked = self.answered = 0

    def download(self):
        self.downloads += 1
        try:
            with socket.create_connection((server_of(self.address), 80), PATIENCE, (self.address, 0)) as sock:
                sock.sendall(b"G")
                left = DOWNLOAD
                while left > 0:
                    got = len(sock.recv(1 << 16))
                    if not got:
                        return
                    left -= got
            self.downloaded += 1
        except OSError:
            pass

    def ask(self):
        with socket.socket(family_of(self.address), socket.SOCK_DGRAM) as sock:
            sock.bind((self.address, 0))
            sock.settimeout(2)
            for number in range(10):
                query = struct.pack("!Q", number) * (250 if number == 5 else 4)
                self.asked += 1
                try:
                    sock.sendto(query, (server_of(self.address), 53))
                    while sock.recv(65536)[:8] != query[:8]:
                        pass
                    self.answered += 1
                except OSError:
                    pass
                time.sleep(0.1)  # ten a second: below every limit

    def run(self):
        rounds = 0
        while self.going.is_set() or rounds < 1:
            self.download()
            self.ask()
            rounds += 1


def frame(source, sport=1024, dport=9, size=64, fragment=0, protocol=17):
    """Towards an address that nobody has: the machine answers none of them."""
    kind = b"\x08\x00"
    payload = bytes(size)
    udp = struct.pack("!HHHH", sport, dport, 8 + size, 0) + payload
    if ":" in source:
        protocol = 58 if protocol == 1 else protocol
        if fragment:
            udp = struct.pack("!BBHI", protocol, 0, (fragment & 0x1fff) << 3 | fragment >> 13 & 1, random.getrandbits(32)) + udp
            protocol = 44
        ip = struct.pack("!IHBB", 6 << 28, len(udp), protocol, 64) + socket.inet_pton(10, source) + \
            socket.inet_pton(10, "2001:db8:ffff::99")
        kind = b"\x86\xdd"
    else:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), random.getrandbits(16), fragment, 64, protocol, 0) + \
            socket.inet_aton(source) + socket.inet_aton("192.0.2.99")
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return HEAD + kind + ip + udp


def segment(source, dport, flags, sport=1024):
    """Of TCP, towards the server; nobody looks at its checksum."""
    tcp = struct.pack("!HHIIBBHHH", sport, dport, 1, 1, 0x50, flags, 1024, 0, 0)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), random.getrandbits(16), 0, 64, 6, 0) + \
        socket.inet_aton(source) + socket.inet_aton(SERVERS[4])
    return HEAD + b"\x08\x00" + ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp


def attack(frames):
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind(("wire0", 0))
    for n, one in enumerate(frames):
        while True:
            try:
                out.send(one)
                break
            except OSError as why:
                if why.errno != errno.ENOBUFS:
                    raise
                time.sleep(0.001)  # the veth's queue is full
        if n % 64 == 63:
            time.sleep(0.001)  # a veth queues 256
    return len(frames)


def numbered(number):
    """Of IPv4, or an address in a /64 of its own."""
    return "10.%d.%d.%d" % (number >> 17, number >> 9 & 255, number >> 1 & 255) if number & 1 else \
        "2001:db8:%x:%x::%x" % (0x8000 + (number >> 17), number >> 1 & 0xffff, random.randrange(1, 1 << 16))


def sources(n):
    """Every other one of IPv6."""
    return ["2001:db8:66:%x::7" % i if i % 2 else "203.0.%d.%d" % (113 + i // 250, 1 + i % 250) for i in range(n)]


def one4():
    return [frame("203.0.113.7")] * 20000


def one6():
    """It has a /64 to itself, and takes another address of it each time."""
    return [frame("2001:db8:66:7::%x" % (1 + n)) for n in range(20000)]


def pings():
    return [frame(source, protocol=1) for source in sources(1000)]


def proven():
    return pings() * 40


def nat():
    """A thousand clients behind one address, a few packets each; and one source that sends as much."""
    each = [(frame("203.0.113.9", sport=2000 + n), frame("203.0.113.10")) for n in range(1000)]
    return [one for pair in each * 5 for one in pair]


def forged():
    return [frame(numbered(number), protocol=1) for number in random.sample(range(1 << 25), 40000)]


def as_clients():
    each = [frame(source) for source in CLIENTS]
    return each * 1400


def nothing():
    return []


def carpet4():
    each = [frame("203.0.113.%d" % n) for n in range(1, 251)]
    return each * 80


def carpet6():
    return [frame("2001:db8:77:%x::%x" % (random.randrange(1 << 16), n)) for n in range(20000)]


def fragments4(source="203.0.113.7"):
    return [frame(source, fragment=0x2000), frame(source, fragment=100)] * 10000


def fragments6():
    return fragments4("2001:db8:66:7::7")


def reflection():
    each = [frame(source, sport=53, dport=40000, size=1200) for source in sources(50)]
    return each * 400


def scan():
    """All ports of the server, one SYN each."""
    return [segment("203.0.113.7", 1 + n, 2) for n in range(20000)]


def unanswered():
    """Acknowledgements to its open port and resets to closed ones, of connections that there are not."""
    each = [(segment("203.0.113.7", 80, 16, 1024 + n), segment("203.0.113.7", 4000 + n, 4)) for n in range(10000)]
    return [one for pair in each for one in pair]


def honest():
    """A large upload by each family, and calls that begin: thirty sources, 300 packets each, at once."""
    for client in CLIENTS4[0], CLIENTS6[0]:
        with socket.create_connection((server_of(client), 80), PATIENCE, (client, 0)) as sock:
            sock.sendall(b"P" + bytes(LARGE))
            if sock.recv(1) != b"k":
                sys.exit("an upload did not end")
    return [frame(source, sport=5004, dport=5004, size=180) for source in CLIENTS for _ in range(300)]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    HEAD = bytes.fromhex(sys.argv[2].replace(":", "") + "020000000001")
    going = threading.Event()
    going.set()
    clients = [Client(address, going) for address in CLIENTS]
    if sys.argv[1] == "again":
        print(attack(pings() * 12))
        sys.exit()
    frames = globals()[sys.argv[1]]()
    for client in clients:
        client.start()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        attack(frames)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    took = time.monotonic() - began
    going.clear()
    for client in clients:
        client.join()
    print(json.dumps({"attack": len(frames), "seconds": took, "ok": status == 0,
                      **{what: sum(getattr(client, what) for client in clients)
                         for what in ("downloads", "downloaded", "asked", "answered")}}))
