#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Stands in the place of xdp-bloom-fleet, beside a copy of the command: a server in one process, which says what the test
writes into the pipe `todo` and keeps in `heard` what the command says. `server` has the epoch and the number of what it
has of this machine; `sent` has what of `todo` it has said. Where there is a file `mute`, it does not answer; `refuse`: it takes
nothing that is said.
"""
import os
import select
import sys

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))


def path(name):
    return os.path.join(HERE, name)


def send(line):
    os.write(0, line.encode('utf-8', 'surrogateescape') + b'\n')


def server():
    try:
        with open(path('server')) as file:
            return file.read().split()
    except FileNotFoundError:
        return ['-', '0']


def keep(epoch, n):
    with open(path('server.new'), 'w') as file:
        file.write('%s %d' % (epoch, n))
    os.rename(path('server.new'), path('server'))


class Stub:
    def __init__(self):
        self.heard = open(path('heard'), 'a', buffering=1)
        self.asked = False
        self.epoch, self.lines = None, 0

    def said(self, number):
        epoch, n = server()
        n = int(n)
        if self.epoch:
            epoch, n = self.epoch, 0
        if os.path.exists(path('mute')):
            return
        if os.path.exists(path('refuse')):
            send('unsaid\t%s\tOOM command not allowed' % number)
        else:
            keep(epoch, n + self.lines)
            send('said\t%s\t%s\t%d' % (number, epoch, n + self.lines))
        self.epoch, self.lines = None, 0

    def take(self, line):
        print(line, file=self.heard)
        words = line.split('\t')
        if not self.asked:
            if not line:
                self.asked = True
                if not os.path.exists(path('mute')):
                    send('up\tstub 1\t45.8.8.8\t')
                    send('clock\t-1500\t3')
                    send('own-is\t%s\t%s' % tuple(server()))
        elif words[0] in '+-':
            self.lines += 1
        elif words[0] == 'all':
            self.epoch, self.lines = words[1], 0
        elif words[0] in ('batch', 'all-end'):
            self.said(words[1])


def main():
    stub, rest = Stub(), b''
    todo = os.open(path('todo'), os.O_RDWR)
    with open(path('pid'), 'w') as file:
        file.write(str(os.getpid()))
    while True:
        ready = select.select([0, todo], [], [])[0]
        if 0 in ready:
            got = os.read(0, 65536)
            if not got:
                return
            *lines, rest = (rest + got).split(b'\n')
            for line in lines:
                stub.take(line.decode('utf-8', 'surrogateescape'))
        if todo in ready:
            got = os.read(todo, 4096)
            os.write(0, got)
            with open(path('sent'), 'ab') as file:
                file.write(got)


main()
