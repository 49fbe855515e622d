# SPDX-License-Identifier: GPL-2.0-only
"""A real Redis or Valkey for tests of a fleet, and what speaks to xdp-bloom-fleet as the command does."""
import os
import select
import signal
import socket
import subprocess
import time

PREFIX = 'xdp-bloom:'


class Refused(Exception):
    """What the server answers instead."""


class Talk:
    """A connection of the test's own: talk('SET', 'key', 'value')."""

    def __init__(self, port, user=None, password=None):
        self.socket = socket.create_connection(('127.0.0.1', port), 5)
        self.socket.settimeout(20)
        self.file = self.socket.makefile('rb')
        if user:
            self('AUTH', user, password)

    def send(self, *words):
        data = b'*%d\r\n' % len(words)
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            data += b'$%d\r\n%s\r\n' % (len(word), word)
        self.socket.sendall(data)

    def answer(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError('closed')
        kind, rest = line[:1], line[1:-2]
        if kind == b'-':
            raise Refused(rest.decode())
        if kind == b':':
            return int(rest)
        if kind == b'+':
            return rest.decode()
        n = int(rest)
        if n < 0:
            return None
        if kind == b'$':
            return self.file.read(n + 2)[:-2].decode(errors='replace')
        found = []
        for _ in range(n):
            try:
                found.append(self.answer())
            except Refused as refused:
                found.append(refused)
        return found

    def __call__(self, *words):
        self.send(*words)
        return self.answer()

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    """A server in a directory of its own, with whatever settings."""

    def __init__(self, directory, port=6379, *settings, address='127.0.0.1'):
        self.directory, self.port = os.path.abspath(directory), port
        self.settings, self.address = list(settings), address
        self.process = None
        os.makedirs(directory, exist_ok=True)
        self.start()

    def start(self, *more, wait=True):
        self.process = subprocess.Popen(
            ['redis-server', '--dir', self.directory, '--port', str(self.port), '--bind', self.address, '--daemonize', 'no',
             '--unixsocket', os.path.join(self.directory, 's'), '--unixsocketperm', '777', '--save', '',
             *self.settings, *more], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while wait:
            try:
                self.talk()('PING')
                return
            except (OSError, Refused, ConnectionError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def talk(self, *user):
        return Talk(self.port, *user)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()


class Wire:
    """xdp-bloom-fleet, spoken to as the command does it."""

    def __init__(self, program, url, name, **request):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.process = subprocess.Popen([program], stdin=theirs)
        theirs.close()
        self.socket, self.name = ours, name
        text = f'url {url}\nname {name}\n' + ''.join(f'{k} {v}\n' for k, v in request.items() if v) + '\n'
        ours.sendall(text.encode())
        self.buffer, self.lines, self.all = b'', [], []
        self.batch = 0

    def say(self, *lines):
        self.socket.sendall(''.join(line.replace(' ', '\t') + '\n' for line in lines).encode())

    def raw(self, data):
        self.socket.sendall(data)

    def read(self, seconds):
        if not select.select([self.socket], [], [], max(seconds, 0))[0]:
            return False
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError('xdp-bloom-fleet has ended')
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b'\n')
        lines = [line.decode().split('\t') for line in lines]
        self.lines += lines
        self.all += lines
        return True

    def wait(self, *begins, seconds=20, what=None):
        """The next line that begins so; those before it are gone."""
        deadline = time.monotonic() + seconds
        while True:
            while self.lines:
                line = self.lines.pop(0)
                if line[:len(begins)] == list(begins) and (what is None or what(line)):
                    return line
            if not self.read(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError(f'{self.name}: no {" ".join(begins)}; the last was {self.all[-8:]}')

    def until(self, *begins, seconds=20):
        """All lines up to and with that."""
        deadline, found = time.monotonic() + seconds, []
        while True:
            while self.lines:
                found.append(self.lines.pop(0))
                if found[-1][:len(begins)] == list(begins):
                    return found
            if not self.read(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError(f'{self.name}: no {" ".join(begins)}; there was {found[-8:]}')

    def up(self, epoch='-', n=0):
        self.say(f'own {epoch} {n}')
        return self.wait('own-is')

    def places(self, lines):
        """The epoch and the number that the server has of it, as these say, the last at the end."""
        return [line[-2:] for line in lines if line[0] in ('own-is', 'said')]

    def taken(self, batch):
        """False: the line was cut before that, as a busy machine does it, and is there again."""
        answers = ['said', str(batch)], ['unsaid', str(batch)]
        line = self.wait(what=lambda line: line[:2] in answers)
        if line[0] == 'said':
            return True
        assert line[2] in ('down', 'lost'), f'{self.name}: {line}'
        before, after = self.places(self.all[:self.all.index(line)])[-1], self.wait('own-is')[1:]
        # Of what was on its way only the answer may have been lost.
        return before[0] == after[0] and int(before[1]) < int(after[1])

    def again(self, lines, end):
        """Until they are taken, as the command does it."""
        while True:
            self.batch += 1
            self.raw(''.join('\t'.join(line) + '\n' for line in [*lines, (end, str(self.batch))]).encode())
            if self.taken(self.batch):
                return

    def whole(self, epoch, *changes):
        self.again([('all', epoch), *(change.split(' ') for change in changes)], 'all-end')

    def says(self, *changes):
        self.again(changes, 'batch')

    def memory(self):
        """The most that it ever had, in KiB."""
        with open(f'/proc/{self.process.pid}/status') as status:
            return int(next(line for line in status if line.startswith('VmHWM')).split()[1])

    def end(self):
        self.socket.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
