#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""door.py send|late|harm|kill SOCKET: clients of 'follow socket' (net_door.sh).

send: standard input through it, and what is answered. late: nothing is read before all is sent. harm: some that are silent,
slow, flood and send what is refused, and one beside them. kill KILLS: eight at once, and it is killed meanwhile.
"""
import fcntl
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

what, path = sys.argv[1:3]
seed = int(os.environ.get('XDP_BLOOM_SEED', 0))
rng = random.Random(seed)
bloom = os.environ.get('XDP_BLOOM')


def die(text):
    sys.exit(f'# seed {seed}: {text}')


# Who it is: USER GROUP GROUPS...
if 'XDP_BLOOM_AS' in os.environ:
    user, group, *groups = map(int, os.environ['XDP_BLOOM_AS'].split())
    os.setgroups(groups)
    os.setgid(group)
    os.setuid(user)


def connected():
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    return client


def send():
    text = sys.stdin.buffer.read()
    try:
        client = connected()
    except OSError as error:
        sys.exit(f'# {error}')
    reader = threading.Thread(target=lambda: sys.stdout.buffer.writelines(client.makefile('rb')))
    if what == 'send':
        reader.start()
    try:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
    except OSError as error:
        sys.exit(f'# {error}')
    if what == 'late':
        # Until the other side has taken all of it, with what is to be said about it.
        while struct.unpack('i', fcntl.ioctl(client, termios.TIOCOUTQ, b'\0' * 4))[0]:
            time.sleep(0.01)
        reader.start()
    reader.join()


def dropped(addresses):
    done = subprocess.run([bloom, '-j', '-S', 'nowhere', 'test', '-'], text=True, input='\n'.join(addresses),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return {a['address'] for a in json.loads(done.stdout) if a['verdict'] == 'drop'}


class Client:
    """Sends lines, and knows up to which they are acknowledged."""

    def __init__(self):
        self.socket = connected()
        self.told, self.ended, self.heard = 0, False, threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            for line in self.socket.makefile('rb'):
                found = re.fullmatch(rb'ok (\d+)\n', line)
                with self.heard:
                    self.told = int(found[1]) if found else self.told
                    self.heard.notify_all()
        except OSError:
            pass
        with self.heard:
            self.ended = True
            self.heard.notify_all()

    def until(self, number):
        with self.heard:
            self.heard.wait_for(lambda: self.told >= number or self.ended, 60)
        return self.told >= number


# --- Who harms nobody ---

def harm():
    stop = threading.Event()

    def send_on(client, line):
        try:
            while not stop.is_set():
                client.sendall(line())
        except OSError:
            pass

    def flood():
        return b''.join(b'+46.%d.%d.%d 1h\n' % (rng.randrange(256), rng.randrange(256), rng.randrange(256)) for _ in range(1000))

    silent = [connected() for _ in range(20)]
    for client in silent[:10]:
        client.sendall(b'+45.3.3.3 1h half a li')
    harmful = [(connected(), flood), (connected(), lambda: b'+45.0.9.1 1h\n' * 1000), (connected(), lambda: b'x' * 65536),
               (connected(), lambda: b'nonsense\n' * 1000)]
    threads = [threading.Thread(target=send_on, args=one, daemon=True) for one in harmful]
    for thread in threads:
        thread.start()
    for i in range(12):
        # Some go in the middle of it.
        gone = connected()
        gone.sendall(b'+45.4.0.%d 1h\n+45.4' % i)
        gone.close()
        one = Client()
        for k in range(5):
            one.socket.sendall(b'+45.1.%d.%d 1h\n' % (i, k))
            if not one.until(k + 1):
                die(f'client {i}: line {k + 1} is not acknowledged beside them')
        one.socket.close()
    wanted = [f'45.1.{i}.{k}' for i in range(12) for k in range(5)]
    missing = set(wanted) - dropped(wanted + ['45.0.9.1', '45.3.3.3'])
    if missing or dropped(['45.0.9.1', '45.3.3.3']):
        die(f'missing: {sorted(missing)[:5]}, banned: {dropped(["45.0.9.1", "45.3.3.3"])}')
    stop.set()
    for client, _ in harmful:
        client.close()


# --- Eight at once, and it is killed ---

def start():
    process = subprocess.Popen([bloom, 'follow', 'socket'], stderr=open('door.err', 'ab'))
    end = time.monotonic() + 60
    while True:
        try:
            connected().close()
            return process
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                die('it does not begin: ' + open('door.err', encoding='utf8').read()[-300:])
            time.sleep(0.02)


def one_turn(index, sent, told):
    """Lines of addresses that are this client's alone: what others do to them is nothing."""
    mine = random.Random(seed * 1000 + rng.randrange(1 << 30))
    lines = []
    for _ in range(mine.choice((20, 500, 3000))):
        lines.append((f'45.{10 + index}.{mine.randrange(4)}.{mine.randrange(256)}', mine.random() < 0.7))
    sent.extend(lines)
    try:
        client = Client()
        for at in range(0, len(lines), 100):
            client.socket.sendall(b''.join(b'%s%s\n' % (b'+' if ban else b'-', a.encode() + (b' 1h' if ban else b''))
                                           for a, ban in lines[at:at + 100]))
        client.until(len(lines))
        told.append(client.told)
        client.socket.close()
    except OSError:
        told.append(client.told if 'client' in locals() else 0)


def killed(kills):
    sure, acknowledged = {}, 0
    for turn in range(kills):
        process = start()
        clients = []
        for index in range(8):
            sent, told = [], []
            thread = threading.Thread(target=one_turn, args=(index, sent, told))
            thread.start()
            clients.append((thread, sent, told))
        time.sleep(rng.random() * rng.choice((0.05, 0.5, 1.5)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        maybe = set()
        for thread, sent, told in clients:
            thread.join()
            acknowledged += told[0]
            for a, ban in sent[:told[0]]:
                sure[a] = ban
            maybe.update(a for a, _ in sent[told[0]:])
        for after in (False, True):
            if after:
                subprocess.run([bloom, '-q', 'add', '45.200.0.1'], check=True)
            drops = dropped(sorted(sure)) if sure else set()
            wrong = [a for a, ban in sure.items() if a not in maybe and (a in drops) != ban]
            if wrong:
                die(f'kill {turn}: {wrong[:5]}, {len(wrong)} of {len(sure)} are wrong')
        state = {b['prefix'] for b in json.loads(subprocess.run([bloom, '-j', 'bans'], stdout=subprocess.PIPE, check=True).stdout)}
        lost = [a for a, ban in sure.items() if a not in maybe and (a in state) != ban]
        if lost:
            die(f'kill {turn}: the state has lost {lost[:5]}')
        for a in maybe:
            sure[a] = a in state
    print(f'# {kills} kills, {acknowledged} lines of eight clients acknowledged')


if what in ('send', 'late'):
    send()
elif what == 'harm':
    harm()
else:
    killed(int(sys.argv[3]))
