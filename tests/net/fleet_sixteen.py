#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fleet_sixteen.py MEMBERS BANS: how long after a ban is made on one member its packets are dropped on all of them. Through
each member's interface goes a packet of the address every few ms; the first of those from which on none comes out is the
drop. Time counts from before the command is started.
"""
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

from confirm import checksum
from fleet_server import Server

MEMBERS, BANS = int(sys.argv[1]), int(sys.argv[2])
COMMAND, WORK = os.environ['XDP_BLOOM'], os.environ['WORK']
PORT, EVERY, PATIENCE = 6379, 0.004, 30
ETHERNET = bytes.fromhex('020000000002020000000001') + b'\x08\x00'
NAMES = [f'edge-{n}' for n in range(MEMBERS)]


def environment(name):
    return {**os.environ, 'XDP_BLOOM_STATE': f'{WORK}/{name}/state', 'XDP_BLOOM_BPFFS': f'/sys/fs/bpf/xdp-bloom-{name}'}


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


def joined():
    """The server, with each member's user, and the members' processes."""
    server = Server(f'{WORK}/server', PORT)
    talk, running = server.talk(), []
    for name in NAMES:
        os.makedirs(f'{WORK}/{name}')
        with open(f'{WORK}/{name}/password', 'w', opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write('secret-' + name)
        for line in on(name, 'fleet', 'acl', name).splitlines():
            talk(*line.replace('PASSWORD', 'secret-' + name).split())
        on(name, 'attach', 'edge' + name[5:])
        on(name, 'fleet', 'accept', '*')
        on(name, 'fleet', 'join', f'redis://127.0.0.1:{PORT}', '--as', name, '--password-file', f'{WORK}/{name}/password')
        running.append(subprocess.Popen([COMMAND, 'fleet', 'run'], env=environment(name)))
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


def text(source):
    return socket.inet_ntoa(struct.pack('!I', source))


def one_ban(wires, source):
    """Ms until it is dropped, for each member."""
    last, sent, process, began = [-1] * MEMBERS, [], None, 0
    while True:
        sent.append(time.monotonic())
        wires.send(source, len(sent) - 1)
        wires.drain(source, last, sent[-1] + EVERY)
        if len(sent) == 5:
            assert min(last) >= 0, f'{text(source)} does not pass everywhere before it is banned: {last}'
            began = time.monotonic()
            process = subprocess.Popen([COMMAND, 'add', text(source), '--ttl', '1h'], env=environment(random.choice(NAMES)),
                                       stdout=subprocess.DEVNULL)
        # Of the last dozen none has come, anywhere.
        if process and max(last) < len(sent) - 12:
            break
        assert not process or time.monotonic() - began < PATIENCE, f'{text(source)} passes still: {last} of {len(sent)}'
    assert process.wait() == 0, 'no ban'
    return [max(0.0, (sent[number + 1] - began) * 1000) for number in last]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def agree(expected):
    """All have as many bans in force, once nothing is on its way."""
    deadline = time.monotonic() + PATIENCE
    for name in NAMES:
        while True:
            count = len(on(name, '-j', 'bans').split('"prefix"')) - 1
            if count == expected:
                break
            assert time.monotonic() < deadline, f'{name} has {count} bans of {expected}'
            time.sleep(0.1)


def main():
    random.seed(int(os.environ['XDP_BLOOM_SEED']))
    server, talk, running = joined()
    try:
        deadline = time.monotonic() + PATIENCE
        while talk('PUBSUB', 'NUMSUB', 'xdp-bloom:bell')[1] < MEMBERS or talk('EXISTS', *[f'xdp-bloom:{n}:now' for n in NAMES]) < MEMBERS:
            assert time.monotonic() < deadline, 'not all are up'
            time.sleep(0.1)
        # Each has read the set of members by then.
        time.sleep(6)
        wires, every, worst = Wires(), [], []
        for n in range(BANS):
            took = one_ban(wires, 0x2D000001 + n)
            every += took
            worst.append(max(took))
        agree(BANS)
        print('# %d members, %d bans: on each p50 %.0f ms, p99 %.0f ms; on the last of all p50 %.0f ms, p99 %.0f ms, most %.0f ms'
              % (MEMBERS, BANS, percentile(every, 0.5), percentile(every, 0.99), percentile(worst, 0.5),
                 percentile(worst, 0.99), max(worst)))
    finally:
        for process in running:
            process.kill()
        server.kill()


main()
