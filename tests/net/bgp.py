# SPDX-License-Identifier: GPL-2.0-only
"""A BGP speaker for tests: it opens a session to a daemon, announces routes with a community, and withdraws them."""
import ipaddress
import socket
import struct
import threading
import time

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
MARKER = b'\xff' * 16
ROOM = 3800  # of prefixes in a message


class Speaker:
    def __init__(self, own, peer, number, community):
        self.own, self.number = own, number
        self.community = struct.pack('>HH', *community)
        self.lock = threading.Lock()
        end = time.monotonic() + 60
        while True:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                self.socket.bind((own, 0))
                self.socket.connect((peer, 179))
                self.open()
                break
            except OSError:
                self.socket.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        self.ended = None
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self.listen, self.keep)]
        for thread in self.threads:
            thread.start()

    def send(self, kind, body=b''):
        with self.lock:
            self.socket.sendall(MARKER + struct.pack('>HB', 19 + len(body), kind) + body)

    def read(self, n):
        data = b''
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise OSError('the session was closed')
            data += more
        return data

    def receive(self):
        header = self.read(19)
        length, kind = struct.unpack('>HB', header[16:])
        return kind, self.read(length - 19)

    def open(self):
        both = b''.join(b'\x02\x06\x01\x04' + struct.pack('>HBB', family, 0, 1) for family in (1, 2))
        self.send(OPEN, struct.pack('>BHH4sB', 4, self.number, 240, socket.inet_aton(self.own), len(both)) + both)
        confirmed = opened = False
        while not (confirmed and opened):
            kind, body = self.receive()
            if kind == NOTIFICATION:
                raise OSError(f'refused: {body[:2].hex()}')
            if kind == OPEN:
                opened = True
                self.send(KEEPALIVE)
            confirmed = confirmed or kind == KEEPALIVE

    def listen(self):
        try:
            while True:
                kind, body = self.receive()
                if kind == NOTIFICATION:
                    self.ended = f'notification {body[:2].hex()}'
        except OSError as error:
            self.ended = self.ended or str(error)

    def keep(self):
        try:
            while not self.ended:
                self.send(KEEPALIVE)
                time.sleep(20)
        except OSError:
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    @staticmethod
    def messages(prefixes):
        data = b''
        for p in prefixes:
            if len(data) > ROOM:
                yield data
                data = b''
            data += bytes((p.prefixlen,)) + p.network_address.packed[:(p.prefixlen + 7) // 8]
        if data:
            yield data

    def announce(self, prefixes):
        """All of one family."""
        origin, path, preference = b'\x40\x01\x01\x00', b'\x40\x02\x00', b'\x40\x05\x04' + struct.pack('>I', 100)
        hop = b'\x40\x03\x04' + socket.inet_aton(self.own)
        community = b'\xc0\x08\x04' + self.community
        for data in self.messages(prefixes):
            if prefixes[0].version == 4:
                attributes = origin + path + hop + preference + community
                self.send(UPDATE, struct.pack('>HH', 0, len(attributes)) + attributes + data)
            else:
                # Both, as neighbours on one link have it (RFC 2545).
                hops = ipaddress.ip_address('2001:db8::1').packed + ipaddress.ip_address('fe80::1').packed
                reach = struct.pack('>HBB', 2, 1, len(hops)) + hops + b'\0' + data
                attributes = origin + path + preference + community + b'\x90\x0e' + struct.pack('>H', len(reach)) + reach
                self.send(UPDATE, struct.pack('>HH', 0, len(attributes)) + attributes)

    def withdraw(self, prefixes):
        for data in self.messages(prefixes):
            if prefixes[0].version == 4:
                self.send(UPDATE, struct.pack('>H', len(data)) + data + b'\0\0')
            else:
                away = struct.pack('>HB', 2, 1) + data
                attributes = b'\x90\x0f' + struct.pack('>H', len(away)) + away
                self.send(UPDATE, struct.pack('>HH', 0, len(attributes)) + attributes)
