# SPDX-License-Identifier: GPL-2.0-only
"""
Many members of a fleet on one machine, each with a state, a filter and an interface of its own, and a real server. Member
n reaches it by an address of its own, 127.0.1.n, which can be cut off.
"""
import os
import select
import socket
import struct
import subprocess
import time

from checksum import checksum
from fleet_server import Server

MEMBERS = int(os.environ.get('XDP_BLOOM_MEMBERS') or 16)
COMMAND, WORK = os.environ['XDP_BLOOM'], os.environ['WORK']
PORT = 6379
ETHERNET = bytes.fromhex('020000000002020000000001') + b'\x08\x00'
NAMES = [f'edge-{n}' for n in range(MEMBERS)]


# What only one member's processes are told.
of_one = {name: {} for name in NAMES}


def environment(name):
    return {**os.environ, 'XDP_BLOOM_STATE': f'{WORK}/{name}/state', 'XDP_BLOOM_BPFFS': f'/sys/fs/bpf/xdp-bloom-{name}', **of_one[name]}


def on(name, *words):
    return subprocess.run([COMMAND, *words], env=environment(name), check=True, text=True, capture_output=True).stdout


def frame(source, number):
    payload = struct.pack('!QI', number, source)
    ip = struct.pack('!BBHHHBBHII', 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, source, 0xC6336401)
    ip = ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:]
    return ETHERNET + ip + struct.pack('!HHHH', 9, 9, 8 + len(payload), 0) + payload


def packet_socket(interface, protocol):
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol) if protocol else 0)
    found.bind((interface, protocol))
    found.setblocking(False)
    return found


def text(source):
    return socket.inet_ntoa(struct.pack('!I', source))


def address(name):
    """Where the server is, for that member."""
    return f'127.0.1.{int(name[5:]) + 1}'


def takes_part(name):
    return subprocess.Popen([COMMAND, 'fleet', 'run'], env=environment(name))


def joined(port=PORT):
    """The server, with each member's user, and the members' processes, which reach it at that port."""
    server = Server(f'{WORK}/server', PORT, '--protected-mode', 'no', address='0.0.0.0')
    talk, running = server.talk(), []
    for name in NAMES:
        os.makedirs(f'{WORK}/{name}')
        with open(f'{WORK}/{name}/password', 'w', opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write('secret-' + name)
        for line in on(name, 'fleet', 'acl', name).splitlines():
            talk(*line.replace('PASSWORD', 'secret-' + name).split())
        on(name, 'attach', 'edge' + name[5:])
        on(name, 'fleet', 'accept', '*')
        on(name, 'fleet', 'join', f'redis://{address(name)}:{port}', '--as', name, '--password-file', f'{WORK}/{name}/password')
        running.append(takes_part(name))
    deadline = time.monotonic() + 60
    while talk('PUBSUB', 'NUMSUB', 'xdp-bloom:bell')[1] < MEMBERS or talk('EXISTS', *[f'xdp-bloom:{n}:now' for n in NAMES]) < MEMBERS:
        assert time.monotonic() < deadline, 'not all are up'
        time.sleep(0.1)
    # Each has read the set of members by then.
    time.sleep(6)
    return server, talk, running


class Wires:
    def __init__(self):
        self.out = [packet_socket('wire' + name[5:], 0) for name in NAMES]
        self.back = [packet_socket('edge' + name[5:], 3) for name in NAMES]
        self.which = {sock.fileno(): n for n, sock in enumerate(self.back)}
        self.poll = select.poll()
        for sock in self.back:
            self.poll.register(sock, select.POLLIN)

    def send(self, source, number):
        one = frame(source, number)
        for sock in self.out:
            sock.send(one)

    def drain(self, source, last, until):
        """Notes for each member which number came last, until then."""
        while True:
            left = until - time.monotonic()
            for fd, _ in self.poll.poll(max(left, 0) * 1000):
                n = self.which[fd]
                try:
                    while True:
                        got = self.back[n].recv(256)
                        if len(got) >= 54 and got[23] == 17:
                            number, of = struct.unpack('!QI', got[42:54])
                            if of == source:
                                last[n] = max(last[n], number)
                except BlockingIOError:
                    pass
            if left <= 0:
                return
