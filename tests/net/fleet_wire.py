#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fleet_wire.py CASE: xdp-bloom-fleet and a real server, which does what servers have done."""
import os
import random
import shutil
import subprocess
import sys
import time

from fleet_server import PREFIX, Refused, Server, Wire

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
    lines = c.until('snapshot-end', 'a')
    is_([bans(lines), lines[-1][2]], [{'2001:db8::/32': ''}, 'complete'], 'a snapshot')
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


def killed():
    """kill -9, with a log on disk and without one: what was acknowledged comes back, or is said again."""
    for settings in (['--appendonly', 'yes', '--appendfsync', 'always'], []):
        server = Server('aof' if settings else 'none', PORT, *settings)
        a, b = pair(server)
        a.says(['+', '192.0.2.1', '60000', 'one'])
        b.wait('at')
        server.kill()
        a.wait('down')
        b.wait('down')
        a.batch += 1
        a.say('+ 192.0.2.2 60000 two', f'batch {a.batch}')
        is_(a.wait('unsaid'), ['unsaid', str(a.batch), 'down'], 'while it is down')
        server.start()
        a.wait('up')
        is_(a.wait('own-is')[1:], [EPOCH[0], '2'] if settings else ['-', '0'], 'what is there')
        b.wait('up')
        if settings:
            a.says(['+', '192.0.2.2', '60000', 'two'])
            is_(settle(b, 'a', EPOCH[0], 3), {'192.0.2.1': 'one', '192.0.2.2': 'two'}, 'what follows')
            assert not [line for line in b.all if line[0] == 'gap'], 'nothing was missed'
        else:
            a.whole(EPOCH[1], '+ 192.0.2.1 60000 one', '+ 192.0.2.2 60000 two')
            server.talk()('SADD', PREFIX + 'members', 'a', 'b')
            is_(b.until('snapshot-end')[-1][2:5], ['complete', EPOCH[1], '1'], 'the snapshot')
            is_(bans(b.all), {'192.0.2.1': 'one', '192.0.2.2': 'two'}, 'what follows')
        a.end()
        b.end()
        server.kill()


def restored():
    """A backup, and what was said since: the same as a replica that took over and had less."""
    server = Server('r', PORT)
    a, b = pair(server)
    a.says(['+', '192.0.2.1', '600000', 'one'])
    server.talk()('SAVE')
    shutil.copy('r/dump.rdb', 'backup')
    a.says(['-', '192.0.2.1'], ['+', '192.0.2.2', '600000', 'two'])
    b.wait('at', 'a', EPOCH[0], '4')
    server.kill()
    shutil.copy('backup', 'r/dump.rdb')
    server.start()
    is_(a.wait('own-is')[1:], [EPOCH[0], '2'], 'it is older')
    a.whole(EPOCH[1], '+ 192.0.2.2 600000 two')
    is_(b.until('snapshot-end')[-1][2:5], ['complete', EPOCH[1], '1'], 'the snapshot')
    is_(bans([line for line in b.all if line[1:2] == ['a']]), {'192.0.2.2': 'two'}, 'what is in force')
    # While it runs: somebody puts older keys into the place of newer ones.
    server.talk()('HSET', PREFIX + 'a:head', 'n', 0)
    a.wait('own-lost')
    a.whole(EPOCH[2], '+ 192.0.2.2 600000 two')
    # And its set goes alone, as by eviction.
    server.talk()('DEL', PREFIX + 'a:now')
    a.wait('own-lost')
    c = wire('c')
    c.up()
    c.say('any 1000')
    is_(c.wait('snapshot-end')[2], 'incomplete', 'a set that is gone')
    a.whole(EPOCH[3], '+ 192.0.2.2 600000 two')
    c.wait('snapshot-end', 'a', 'complete')
    # Keys of another type are in the way of nothing.
    talk = server.talk()
    for key in 'log', 'now', 'why', 'head':
        talk('DEL', PREFIX + 'a:' + key)
        talk('SET', PREFIX + 'a:' + key, 'x')
    a.wait('own-lost')
    a.whole(EPOCH[4], '+ 192.0.2.3 600000 three')
    c.wait('snapshot-end', 'a', 'complete', EPOCH[4])


def full():
    server = Server('r', PORT, '--maxmemory-policy', 'noeviction')
    a, b = pair(server)
    a.says(['+', '192.0.2.1', '60000', 'one'])
    b.wait('at')
    talk = server.talk()
    talk('CONFIG', 'SET', 'maxmemory', 1)
    a.batch += 1
    a.say('+ 192.0.2.2 60000 two', f'batch {a.batch}')
    line = a.wait('unsaid', str(a.batch))
    assert line[2].startswith('OOM'), line
    time.sleep(2.5)
    assert not [line for line in a.all if line[0] in ('own-lost', 'down')], a.all
    talk('CONFIG', 'SET', 'maxmemory', 0)
    a.says(['+', '192.0.2.2', '60000', 'two'])
    is_(settle(b, 'a', EPOCH[0], 3), {'192.0.2.1': 'one', '192.0.2.2': 'two'}, 'nothing was missed')
    assert not [line for line in b.all if line[0] == 'gap'], 'a refused batch has no number'
    # A replica takes nothing.
    talk('REPLICAOF', '127.0.0.1', 1)
    a.batch += 1
    a.say('+ 192.0.2.3 60000 three', f'batch {a.batch}')
    assert a.wait('unsaid', str(a.batch))[2].startswith('READONLY'), a.all[-3:]
    a.wait('down')
    talk('REPLICAOF', 'NO', 'ONE')
    is_(a.wait('own-is'), ['own-is', EPOCH[0], '3'], 'it is the master again')
    a.says(['+', '192.0.2.3', '60000', 'three'])


def half():
    """All of it, with no memory for a part, or with another saying of the same name in between: none of that is whole."""
    server = Server('r', PORT, '--maxmemory-policy', 'noeviction')
    a, b = pair(server)
    talk, new = server.talk(), PREFIX + 'a:new'
    ten = [f'+ 192.0.2.{i} 600000 ten' for i in range(1, 11)]

    def until(what):
        deadline = time.monotonic() + 20
        while not what():
            assert time.monotonic() < deadline, 'it did not come there'
            time.sleep(0.01)

    def refused(member, *lines):
        member.batch += 1
        member.say(*lines, f'all-end {member.batch}')
        return member.wait('unsaid', str(member.batch))[2]

    a.whole(EPOCH[1], *ten)
    b.wait('snapshot-end', 'a', 'complete', EPOCH[1])
    talk('CONFIG', 'SET', 'maxmemory', 1)
    a.say(f'all {EPOCH[2]}', *ten[:8])
    until(lambda: 'cmdstat_zadd' in (stats := talk('INFO', 'commandstats')) and
          int(stats.split('cmdstat_zadd:')[1].split('rejected_calls=')[1].split(',')[0]) >= 8)
    talk('CONFIG', 'SET', 'maxmemory', 0)
    why = refused(a, *ten[8:])
    assert why.startswith('OOM'), why
    other = wire('a')
    other.up(EPOCH[1], 1)
    other.say(f'all {EPOCH[3]}', *ten)
    until(lambda: talk('ZCARD', new) == 10)
    a.say(f'all {EPOCH[4]}', *ten[:8])
    until(lambda: talk('ZCARD', new) == 8)
    is_([refused(other), refused(a, *ten[8:])], ['something else was said in between'] * 2, 'two at once')
    is_([talk('HGET', PREFIX + 'a:head', 'e'), talk('ZCARD', PREFIX + 'a:now')], [EPOCH[1], 11], 'what is there')
    other.end()
    a.whole(EPOCH[5], *ten)
    is_(b.until('snapshot-end', 'a', 'complete', EPOCH[5])[-1][2], 'complete', 'the snapshot')
    is_(len(bans([line for line in b.all if line[1:2] == ['a']])), 10, 'bans in force')


def asked_for():
    """What 'fleet init' wants a server to be set to, but for its users."""
    told = subprocess.run([os.environ['XDP_BLOOM'], 'fleet', 'init'], check=True, text=True, capture_output=True).stdout
    lines = [line.split() for line in told.splitlines() if not line.startswith(('#', 'requirepass', 'aclfile'))]
    return [word for name, value in lines for word in ('--' + name, value)]


def allowed():
    """Each with its own user: what a member needs works, and whatever else it tries is refused."""
    server = Server('r', PORT, *asked_for())
    talk = server.talk()
    for name in 'a', 'b':
        told = subprocess.run([os.environ['XDP_BLOOM'], 'fleet', 'acl', name], check=True, text=True, capture_output=True).stdout
        for line in told.splitlines():
            if not line.startswith('#'):
                talk(*line.replace('PASSWORD', 'secret-' + name).split())
    talk('ACL', 'SETUSER', 'default', 'off')
    a, b = (wire(name, user=name, password='secret-' + name) for name in 'ab')
    a.up()
    a.whole(EPOCH[0], '+ 192.0.2.1 60000 one')
    b.up()
    b.say('any 1000')
    is_(bans(b.until('snapshot-end', 'a')), {'192.0.2.1': 'one'}, 'a snapshot')
    a.says(['+', '192.0.2.2', '500', 'two'], ['-', '192.0.2.1'])
    b.wait('at')
    # By the time that what has run out is taken away, everything has been asked for once.
    deadline = time.monotonic() + 30
    other = server.talk('b', 'secret-b')
    while other('ZREVRANGEBYSCORE', PREFIX + 'a:now', '+inf', '-inf') != ['#' + EPOCH[0]]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    wrong = wire('a', user='a', password='no')
    wrong.say('own - 0')
    assert 'WRONGPASS' in wrong.wait('down')[1], wrong.all
    mine, theirs = PREFIX + 'b:', PREFIX + 'a:'
    attacks = [
        ['SET', theirs + 'log', 'x'], ['DEL', theirs + 'log'], ['XADD', theirs + 'log', '*', 'e', EPOCH[0]],
        ['XTRIM', theirs + 'log', 'MAXLEN', 0], ['ZADD', theirs + 'now', 1, '192.0.2.9'], ['ZREM', theirs + 'now', '192.0.2.2'],
        ['HSET', theirs + 'head', 'n', 99], ['HDEL', theirs + 'why', '192.0.2.1'], ['RENAME', mine + 'log', theirs + 'log'],
        ['RENAME', theirs + 'log', mine + 'log'], ['SADD', PREFIX + 'members', 'z'], ['DEL', PREFIX + 'members'],
        ['XADD', PREFIX + 'log', '*', 'e', 'x'], ['XADD', 'xdp-bloom', '*', 'e', 'x'], ['HMGET', 'other', 'x'],
        ['KEYS', '*'], ['SCAN', 0], ['RANDOMKEY'], ['DBSIZE'], ['FLUSHALL'], ['FLUSHDB'], ['CONFIG', 'GET', '*'],
        ['CONFIG', 'SET', 'maxmemory', 1], ['ACL', 'LIST'], ['ACL', 'SETUSER', 'b', 'allkeys'], ['ACL', 'WHOAMI'],
        ['EVAL', 'return 1', 0], ['SCRIPT', 'LOAD', 'return 1'], ['FUNCTION', 'LIST'], ['MODULE', 'LIST'], ['DEBUG', 'SLEEP', 1],
        ['MONITOR'], ['SUBSCRIBE', 'x'], ['PSUBSCRIBE', '*'], ['PUBLISH', 'x', 'y'], ['CLIENT', 'LIST'], ['CLIENT', 'KILL', 'TYPE', 'normal'],
        ['REPLICAOF', 'NO', 'ONE'], ['SHUTDOWN'], ['SAVE'], ['BGSAVE'], ['INFO'], ['DUMP', theirs + 'log'],
        ['COPY', theirs + 'log', mine + 'log'], ['MIGRATE', '127.0.0.1', 1, theirs + 'log', 0, 1], ['SORT', mine + 'now'],
        ['SELECT', 1], ['SWAPDB', 0, 1], ['OBJECT', 'ENCODING', theirs + 'log'], ['SLOWLOG', 'GET'], ['LATENCY', 'RESET'],
        ['EXPIRE', theirs + 'log', 1], ['PERSIST', theirs + 'log'], ['MOVE', theirs + 'log', 1], ['UNLINK', theirs + 'log'],
        ['XGROUP', 'CREATE', theirs + 'log', 'g', 0], ['WATCH', theirs + 'log'], ['BLPOP', mine + 'x', 0], ['WAIT', 1, 0],
    ]
    before = [other('XREAD', 'STREAMS', theirs + 'log', 0), other('SMEMBERS', PREFIX + 'members')]
    done = []
    for attack in attacks:
        try:
            other(*attack)
            done.append(attack)
        except Refused as refused:
            assert str(refused).startswith(('NOPERM', 'ERR DEBUG command not allowed')), (attack, refused)
    is_(done, [], 'what it may')
    # In a transaction as well.
    other('MULTI')
    try:
        other('XADD', theirs + 'log', '*', 'e', 'x')
        raise AssertionError('queued')
    except Refused:
        pass
    try:
        other('EXEC')
        raise AssertionError('done')
    except Refused:
        pass
    is_([other('XREAD', 'STREAMS', theirs + 'log', 0), other('SMEMBERS', PREFIX + 'members')], before, 'what is there')
    # A text that the server could not tell to all who listen without dropping them.
    since = len(a.all), len(b.all)
    for _ in range(3):
        try:
            server.talk('b', 'secret-b')('PUBLISH', PREFIX + 'bell', 'x' * (40 << 20))
            raise AssertionError('told to all')
        except (Refused, OSError):
            pass
    a.says(['+', '192.0.2.7', '60000', 'seven'])
    b.wait('+', 'a', '192.0.2.7')
    is_([line for line in a.all[since[0]:] + b.all[since[1]:] if line[0] == 'down'], [], 'who lost the line')
    print(f'# {len(attacks)} commands are refused')


def hostile():
    """A member that writes into its own keys what it likes."""
    server = Server('r', PORT, '--proto-max-bulk-len', '512mb')
    talk = server.talk()
    talk('SADD', PREFIX + 'members', 'good', 'b', 'evil', 'x y', 'esc\033[31m', 'tab\there', 'n' * 200, '-', '')
    good, b = wire('good'), wire('b')
    good.up()
    good.whole(EPOCH[0])
    b.up()
    log, now, head, why = (PREFIX + 'evil:' + key for key in ('log', 'now', 'head', 'why'))
    talk('HSET', head, 'e', EPOCH[1], 'n', 1)
    talk('ZADD', now, 'inf', '#' + EPOCH[1], 'inf', '\033[31mred', 'inf', '192.0.2.0/99', '1e300', '192.0.2.77',
         'inf', 'y' * 100000, 'inf', '', 'inf', '192.0.2.1\n', '1', '192.0.2.78')
    talk('HSET', why, '192.0.2.77', 'a\tb\nc\033[31m' + 'z' * 5000)
    talk('XADD', log, '*', 'e', EPOCH[1], 'n', 1, 'o', '=')
    b.say('any 1000')
    names = sorted(line[1] for line in b.until('members') if line[0] == 'member')
    is_(names, ['evil', 'good'], 'names')
    lines = b.until('snapshot-end', 'evil')
    is_(lines[-1][2], 'complete', 'with garbage in it')
    is_([line[2] for line in lines if line[0] == '+'], ['192.0.2.77'], 'what is said')
    random.seed(int(os.environ.get('XDP_BLOOM_SEED', 1)))
    n, made = 1, 0
    words = ['', '+', '-', '=', '192.0.2.5', '10.0.0.0/33', '::/0', '-1', '3155760000000', '99999999999999999999', '\0', '\n+\tgood\t8.8.8.8',
             '\xff\xfe', EPOCH[1], EPOCH[1][:-1], 'x' * 3000, '1e9', ' 1', '0x10', 'a\tb']
    for _ in range(2000):
        fields = []
        for name, value in ('e', EPOCH[1]), ('n', str(n + 1)), ('o', '+'), ('p', '192.0.2.5'), ('t', '60000'), ('r', 'x'):
            lucky = random.random()
            if lucky < 0.05:
                continue
            fields += [name, random.choice(words) if lucky < 0.2 and name not in 'en' else value]
        if random.random() < 0.05:
            fields += [random.choice(words), random.choice(words)]
        if fields:
            talk('XADD', log, '*', *fields)
        if fields[:4] == ['e', EPOCH[1], 'n', str(n + 1)]:
            n += 1
        made += 1
    # Texts of megabytes, and thousands of fields.
    talk('XADD', log, '*', 'e', EPOCH[1], 'n', n + 1, 'o', '+', 'p', '192.0.2.6', 't', 1000, 'r', 'x' * (64 << 20))
    talk('XADD', log, '*', *['x'] * 200000)
    talk('XADD', log, '*', 'e', EPOCH[1], 'n', n + 2, 'o', '+', 'p', '192.0.2.7', 't', '3155760000000', 'r', 'last')
    # More than that many entries can be is not read to its end, and what is said is taken from the set.
    talk('HSET', head, 'n', n + 2)
    talk('ZADD', now, 'inf', '192.0.2.7')
    talk('PUBLISH', PREFIX + 'bell', 'evil')
    assert 'too long' in b.wait('bad', 'evil', what=lambda line: 'left alone' in line[2])[2]
    b.wait('down')
    b.wait('up')
    b.wait('+', 'evil', '192.0.2.7')
    b.wait('snapshot-end', 'evil')
    talk('DEL', why)
    talk('HSET', why, '192.0.2.77', 'x' * (64 << 20))
    b.say('again evil')
    b.wait('bad', 'evil', what=lambda line: 'left alone' in line[2])
    b.wait('down')
    b.wait('up')
    # Meanwhile the others are heard.
    good.says(['+', '198.51.100.7', '60000', 'good'])
    b.wait('at', 'good')
    talk('DEL', why)
    # A busy machine has read it more than once meanwhile, and left it alone for twice as long each time; it may be reading it now.
    alone = [line[2] for line in b.all if line[:2] == ['bad', 'evil'] and 'left alone' in line[2]]
    b.wait('snapshot-end', 'evil', seconds=20 + 3 * int(alone[-1].split()[-2]))
    is_(sum(line[:2] == ['bad', '-'] for line in b.all), 1, 'how often it says that names are none')
    # Dated ahead a ban would last longer, and a log can go no further than the last id.
    talk('XADD', log, '18446744073709551615-1', 'e', EPOCH[1], 'n', n + 3, 'o', '+', 'p', '192.0.2.8', 't', 60000)
    talk('PUBLISH', PREFIX + 'bell', 'evil')
    line = b.wait('+', 'evil', '192.0.2.8')
    assert int(line[3]) <= 60000, line
    # Of a wrong type its keys stop nobody else.
    for _ in range(3):
        talk('DEL', log)
        talk('SET', log, 'x')
        talk('PUBLISH', PREFIX + 'bell', 'evil')
        good.says(['+', '198.51.100.1', '60000', 'good'])
        b.wait('at', 'good')
        talk('DEL', log)
        talk('XADD', log, '*', 'e', EPOCH[1], 'n', 1)
        talk('PUBLISH', PREFIX + 'bell', 'evil')
        good.says(['+', '198.51.100.2', '60000', 'good'])
        b.wait('at', 'good')
    # Whoever makes gaps all the time is not read all the time.
    count, until = 0, time.monotonic() + 5
    while time.monotonic() < until:
        count += 1
        talk('HSET', head, 'e', f'{count:016x}', 'n', 1)
        talk('XADD', log, '*', 'e', f'{count:016x}', 'n', count, 'o', '=')
        for name in 'evil', 'good', 'b', 'nobody', '', 'x' * 10000:
            talk('PUBLISH', PREFIX + 'bell', name)
        time.sleep(0.01)
    b.read(0)
    taken = sum(line[:2] == ['snapshot', 'evil'] for line in b.all)
    assert taken < 15, f'{taken} snapshots'
    good.says(['+', '198.51.100.3', '60000', 'good'])
    b.wait('at', 'good')
    for line in b.all:
        assert len(line) <= 6 and not any(ord(c) < 32 for field in line for c in field), line
    for line in b.all:
        assert line[0] != '+' or line[1] != 'good' or line[4] == 'good', line
    assert b.memory() < 24 << 10, f'{b.memory()} KiB'
    print(f'# {made} random entries, {count} gaps, {taken} snapshots; {b.memory()} KiB')


def much():
    """A hundred thousand bans in a snapshot, and a command that rests: nothing grows."""
    server = Server('r', PORT)
    a, b = pair(server)
    bans_ = [f'+ 10.{i >> 16}.{i >> 8 & 255}.{i & 255} 600000 why' for i in range(100000)]
    a.batch += 1
    a.say(f'all {EPOCH[1]}')
    for i in range(0, len(bans_), 1000):
        a.say(*bans_[i:i + 1000])
    began = time.monotonic()
    a.say(f'all-end {a.batch}')
    a.wait('said', str(a.batch))
    # It rests while all of it waits: the stream holds little, and the rest stays with the server.
    time.sleep(1)
    resting = b.memory()
    lines = b.until('snapshot-end', 'a', 'complete', EPOCH[1])
    is_(sum(line[0] == '+' for line in lines), 100000, 'bans')
    print(f'# whole after {time.monotonic() - began:.2f} s; {a.memory()} and {resting} to {b.memory()} KiB')
    assert a.memory() < 24 << 10 and b.memory() < 40 << 10, 'it takes more'
    # No more than may be: what is not there then means nothing.
    c = wire('c')
    c.up()
    c.say('follow a - 0 0-0 1000')
    lines = c.until('snapshot-end')
    is_([lines[-1][2], sum(line[0] == '+' for line in lines)], ['incomplete', 1000], 'a thousand')
    # Who takes nothing into force is told no more.
    c.say('unfollow a', 'follow a {} {} {} 1000'.format(*lines[-1][3:]))
    for i in range(60):
        a.says(*[['+', f'45.{i}.{j >> 8}.{j & 255}', '600000', 'x'] for j in range(500)])
    while sum(line[0] == '+' for line in c.all) < 21000:
        assert c.read(20), c.all[-3:]
    deadline = time.monotonic() + 3
    while c.read(deadline - time.monotonic()):
        pass
    told = sum(line[0] == '+' for line in c.all) - 1000
    assert 20000 <= told < 25000, (told, [line for line in c.all if line[0] != '+'][-20:])
    places = [line for line in c.all if line[0] == 'at']
    c.say(f'took a {places[-1][4]}')
    c.wait('at', 'a', EPOCH[1], '30001')


CASES = {f.__name__: f for f in (follows, gap, flushed, killed, restored, full, half, allowed, hostile, much)}


def main():
    try:
        CASES[sys.argv[1]]()
    finally:
        for member in open_wires:
            member.process.kill()


if __name__ == '__main__':
    main()
