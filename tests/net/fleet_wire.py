#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fleet_wire.py CASE: xdp-bloom-fleet and a real server, which does what servers have done."""
import os
import sys
import time

from fleet_server import PREFIX, Server, Wire

PROGRAM = os.environ['XDP_BLOOM_FLEET']
PORT = 6379
EPOCH = [f'{n:016x}' for n in range(1, 20)]
open_wires = []


def wire(name, url=f'redis://127.0.0.1:{PORT}', **request):
    open_wires.append(Wire(PROGRAM, url, name, **request))
    return open_wires[-1]


def is_(got, wanted, what):
    assert got == wanted, f'{what}: {got!r} instead of {wanted!r}'


def pair(server, *settings):
    """Two members: a, which has said nothing but that, and b, which follows."""
    server.talk()('SADD', PREFIX + 'members', 'a', 'b')
    a, b = wire('a'), wire('b')
    is_(a.up(), ['own-is', '-', '0'], 'what is there')
    a.whole(EPOCH[0])
    b.up()
    b.say('any 100000')
    b.wait('snapshot-end', 'a', 'complete')
    return a, b


def bans(lines):
    """What is in force after these lines, by prefix: the reason."""
    force, snapshot = {}, None
    for line in lines:
        if line[0] == 'snapshot':
            snapshot = {}
        elif line[0] == '+':
            (force if snapshot is None else snapshot)[line[2]] = line[4]
        elif line[0] == '-':
            force.pop(line[2], None)
        elif line[0] == 'snapshot-end':
            force = snapshot if line[2] == 'complete' else {**force, **snapshot}
            snapshot = None
    return force


def settle(member, name, epoch, n, seconds=20):
    """What is in force of that member, once all up to there has come."""
    member.wait('at', name, epoch, str(n), seconds=seconds)
    return bans([line for line in member.all if len(line) > 1 and line[1] == name])


def follows():
    server = Server('r', PORT)
    a, b = pair(server)
    a.says(['+', '192.0.2.1', '60000', 'syn flood, 41 k'], ['+', '2001:db8::/32', '0', ''])
    one, two, at = b.until('at')
    is_(one[:3] + one[4:], ['+', 'a', '192.0.2.1', 'syn flood, 41 k'], 'a ban')
    assert 55000 < int(one[3]) <= 60000, one
    is_(two, ['+', 'a', '2001:db8::/32', '0', ''], 'a ban without an end')
    is_(at[:4], ['at', 'a', EPOCH[0], '3'], 'the place')
    a.says(['-', '192.0.2.1'])
    is_(b.until('at')[0], ['-', 'a', '192.0.2.1'], 'an end')
    # Whoever comes later, or again, has the same.
    c = wire('c')
    c.up()
    c.say('any 100000')
    is_(bans(c.until('snapshot-end')), {'2001:db8::/32': ''}, 'a snapshot')
    assert c.all[-1][2] == 'complete', c.all[-1]
    d = wire('d')
    d.up()
    d.say('follow\ta\t{}\t{}\t{}\t1000'.format(*at[2:5]).replace('\t', ' '))
    is_(d.wait('-'), ['-', 'a', '192.0.2.1'], 'from where it was')
    is_([line for line in d.all if line[0] in ('gap', 'snapshot')], [], 'no snapshot is needed')
    # This machine's own word goes on where it was.
    is_(a.end(), 0, 'its end')
    a = wire('a')
    is_(a.up(EPOCH[0], 4), ['own-is', EPOCH[0], '4'], 'what is there')
    a.says(['+', '192.0.2.9', '1000', 'short'])
    is_(b.until('at')[0][2], '192.0.2.9', 'the next')
    # What has run out leaves the server.
    talk = server.talk()
    deadline = time.monotonic() + 30
    while talk('ZCARD', PREFIX + 'a:now') != 2 or talk('HLEN', PREFIX + 'a:why') != 0:
        assert time.monotonic() < deadline, talk('ZRANGE', PREFIX + 'a:now', 0, -1)
        time.sleep(0.1)


def gap():
    server = Server('r', PORT)
    a, b = pair(server)
    talk = server.talk()
    a.says(['+', '192.0.2.1', '60000', 'one'])
    b.wait('at')
    # Trimmed while nobody looks: in one step with what is said.
    talk.send('MULTI')
    talk.send('XTRIM', PREFIX + 'a:log', 'MAXLEN', 0)
    talk.send('EXEC')
    for _ in range(3):
        talk.answer()
    a.says(['+', '192.0.2.2', '60000', 'two'])
    is_(settle(b, 'a', EPOCH[0], 3), {'192.0.2.1': 'one', '192.0.2.2': 'two'}, 'nothing was missed')
    assert not [line for line in b.all if line[0] == 'gap'], 'an empty log that goes on is no gap'
    # Behind a sleeping member.
    os.kill(b.process.pid, 19)
    for i in range(50):
        a.says(['+', f'198.51.100.{i}', '60000', str(i)])
    a.says(['-', '192.0.2.1'])
    talk('XTRIM', PREFIX + 'a:log', 'MAXLEN', 10)
    os.kill(b.process.pid, 18)
    b.wait('gap', 'a')
    end = b.wait('snapshot-end', 'a')
    is_(end[2:5], ['complete', EPOCH[0], '54'], 'the snapshot')
    is_(len(bans([line for line in b.all if line[1:2] == ['a']])), 51, 'bans')
    a.says(['+', '192.0.2.3', '60000', 'three'])
    b.wait('at', 'a', EPOCH[0], '55')


def flushed():
    server = Server('r', PORT)
    a, b = pair(server)
    talk = server.talk()
    a.says(['+', '192.0.2.1', '60000', 'one'])
    b.wait('at')
    talk('FLUSHALL')
    a.wait('own-lost')
    a.batch += 1
    a.say('+ 192.0.2.2 60000 two', f'batch {a.batch}')
    is_(a.wait('unsaid'), ['unsaid', str(a.batch), 'lost'], 'before all is said again')
    a.whole(EPOCH[1], '+ 192.0.2.1 50000 one')
    is_(b.until('snapshot-end')[-1][2:5], ['complete', EPOCH[1], '1'], 'the snapshot')
    a.says(['+', '192.0.2.3', '60000', 'three'])
    is_(b.until('at')[0][2], '192.0.2.3', 'it goes on')
    # A member that is away says nothing again: what it said stays, and it is said that its keys are gone.
    a.end()
    before = len(b.all)
    talk('FLUSHALL')
    b.wait('bad', 'a')
    assert not [line for line in b.all[before:] if line[0] in ('-', 'snapshot', 'gone')], b.all[before:]


CASES = {f.__name__: f for f in (follows, gap, flushed)}


def main():
    try:
        CASES[sys.argv[1]]()
    finally:
        for member in open_wires:
            member.process.kill()


main()
