#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fleet_servers.py CASE: xdp-bloom-fleet at servers of all kinds: by TLS, by a socket of the machine, beside a replica."""
import os
import signal
import subprocess
import sys
import time

from fleet_server import PREFIX, Server, Wire
from fleet_wire import EPOCH, PORT, bans, is_, open_wires, settle, wire

TLS = 6390


def until(what, wanted):
    deadline = time.monotonic() + 20
    while not wanted():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def openssl(*words, days_ago=0):
    with open('ahead', 'w') as file:
        file.write(str(-86400 * days_ago))
    made = subprocess.run(['openssl', *words], capture_output=True, text=True, check=False, env={
        **os.environ, **({'LD_PRELOAD': os.environ['CLOCK'], 'CLOCK_AHEAD': os.path.abspath('ahead')} if days_ago else {})})
    assert made.returncode == 0, made.stderr


def authority(name):
    openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', name + '.key', '-out', name + '.pem', '-days', '30',
            '-subj', '/CN=' + name)


def certificate(name, names, by='ca', days_ago=0):
    """As redis-server's settings; one of days ago was good for a day."""
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', name + '.key', '-out', name + '.csr', '-subj', '/CN=' + name)
    with open('extensions', 'w') as file:
        file.write('subjectAltName=' + names)
    openssl('x509', '-req', '-in', name + '.csr', '-CA', by + '.pem', '-CAkey', by + '.key', '-CAcreateserial', '-out', name + '.pem',
            '-days', '1', '-extfile', 'extensions', days_ago=days_ago)
    here = os.path.abspath(name)
    return ['--tls-cert-file', here + '.pem', '--tls-key-file', here + '.key', '--tls-ca-cert-file', os.path.abspath(by + '.pem'),
            '--tls-auth-clients', 'no']


def down(url, **request):
    member = wire('x', url, **request)
    member.say('own - 0')
    return member.wait('down')[1]


def says_and_hears(server, url, **request):
    """Two members by that way, and a ban between them."""
    server.talk()('SADD', PREFIX + 'members', 'a', 'b')
    a, b = (wire(name, url, **request) for name in 'ab')
    a.up()
    a.whole(EPOCH[0], '+ 192.0.2.1 60000 one')
    b.up()
    b.say('any 1000')
    b.wait('snapshot-end', 'a', 'complete')
    a.says(['+', '192.0.2.2', '60000', 'two'])
    is_(settle(b, 'a', EPOCH[0], 2), {'192.0.2.1': 'one', '192.0.2.2': 'two'}, 'what is heard')
    return a, b


def tls():
    authority('ca')
    authority('other')
    ca = os.path.abspath('ca.pem')
    right = certificate('right', 'IP:127.0.0.1,DNS:localhost')
    server = Server('right', PORT, '--tls-port', str(TLS), *right)
    a, b = says_and_hears(server, f'rediss://127.0.0.1:{TLS}', ca=ca)
    # More than a record holds at once, both ways.
    a.says(*[['+', f'198.51.{i >> 8}.{i & 255}', '60000', 'x' * 100] for i in range(2000)])
    is_(len(settle(b, 'a', EPOCH[0], 2002)), 2002, 'bans')
    name = wire('c', f'rediss://localhost:{TLS}', ca=ca)
    is_(name.up(), ['own-is', '-', '0'], 'by name')
    # In the middle of it the server ends, and comes again.
    server.kill()
    a.wait('down')
    server.start()
    a.wait('own-is')
    a.whole(EPOCH[1], '+ 192.0.2.3 60000 three')
    server.talk()('SADD', PREFIX + 'members', 'a', 'b')
    b.wait('snapshot-end', 'a', 'complete', EPOCH[1])
    why = down(f'rediss://127.0.0.1:{TLS}', ca=os.path.abspath('other.pem'))
    assert 'TLS' in why and ('issuer' in why or 'not trusted' in why), why
    why = down(f'rediss://127.0.0.1:{TLS}')
    assert 'TLS' in why and ('issuer' in why or 'not trusted' in why), why
    why = down(f'rediss://127.0.0.1:{PORT}', ca=ca)
    assert 'TLS' in why, why
    why = down(f'redis://127.0.0.1:{TLS}')
    assert why, 'without TLS'
    for name, names, days, fault in ('wrong', 'IP:127.0.0.2,DNS:redis.example', 0, 'name'), ('old', 'IP:127.0.0.1', 3, 'expired'):
        server.kill()
        server.settings = ['--tls-port', str(TLS), *certificate(name, names, days_ago=days)]
        server.start()
        why = down(f'rediss://127.0.0.1:{TLS}', ca=ca)
        assert 'TLS' in why and fault in why, why
        print(f'# {name}: {why}')
    none = wire('x', f'rediss://127.0.0.1:{TLS}', ca='/nowhere.pem')
    assert 'certificate' in none.wait('failed')[1], none.all


def unix():
    server = Server('r', PORT)
    says_and_hears(server, 'unix://' + os.path.join(server.directory, 's'))
    assert down('unix:///nowhere/s'), 'no socket'


def beside(*settings):
    """A server, its replica, and members that say here and read there."""
    master = Server('master', PORT)
    replica = Server('replica', PORT + 1, '--replicaof', '127.0.0.1', str(PORT), '--appendonly', 'yes', '--appendfsync', 'always',
                     *settings)
    until('the replica has no link', lambda: 'master_link_status:up' in replica.talk()('INFO', 'replication'))
    a, b = says_and_hears_beside(master)
    return master, replica, a, b


def says_and_hears_beside(master):
    return says_and_hears(master, f'redis://127.0.0.1:{PORT}', read=f'redis://127.0.0.1:{PORT + 1}')


def nothing_ends(member, since):
    ended = [line for line in member.all[since:] if line[0] in ('-', 'gone') or line[:2] == ['snapshot-end', 'complete']]
    assert not ended, ended


def replica():
    """It lags behind; then it has lost its master, and then gets it again."""
    master, copy, a, b = beside('--replica-serve-stale-data', 'no')
    since = len(b.all)
    copy.process.send_signal(signal.SIGSTOP)
    for i in range(20):
        a.says(['+', f'198.51.100.{i}', '60000', 'late'])
    copy.process.send_signal(signal.SIGCONT)
    is_(len(settle(b, 'a', EPOCH[0], 22)), 22, 'after it was late')
    assert not [line for line in b.all[since:] if line[0] == 'gap'], 'late is no gap'
    # With no master it refuses to answer.
    master.process.send_signal(signal.SIGSTOP)
    copy.talk()('CONFIG', 'SET', 'repl-timeout', 2)
    until('it has its link still', lambda: 'master_link_status:down' in copy.talk()('INFO', 'replication'))
    b.wait('down')
    master.process.send_signal(signal.SIGCONT)
    b.wait('up', seconds=60)
    nothing_ends(b, since)
    # Their lines are cut as well, where nobody has noticed it yet.
    master.talk()('CLIENT', 'KILL', 'TYPE', 'normal')
    a.says(['+', '192.0.2.9', '60000', 'nine'])
    is_(len(settle(b, 'a', EPOCH[0], 23)), 23, 'then')


def loading():
    """A server that reads its data answers, but not what was asked."""
    server = Server('r', PORT, '--appendonly', 'yes', '--appendfsync', 'always')
    a, b = says_and_hears(server, f'redis://127.0.0.1:{PORT}')
    a.says(*[['+', f'198.51.{i >> 8}.{i & 255}', '60000', 'x'] for i in range(2000)])
    is_(len(settle(b, 'a', EPOCH[0], 2002)), 2002, 'bans')
    since = len(b.all)
    server.kill()
    b.wait('down')
    # So many us for each of them, and it looks whether somebody asks.
    server.start('--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024', wait=False)
    b.wait('up', seconds=60)
    is_(a.wait('own-is', seconds=60)[1:], [EPOCH[0], '2002'], 'nothing was lost')
    nothing_ends(b, since)
    a.says(['+', '192.0.2.9', '60000', 'nine'])
    is_(len(settle(b, 'a', EPOCH[0], 2003)), 2003, 'then')


def promoted():
    """The replica takes over, with less than the server had: what it lacks is said again, and nothing ends."""
    master, copy, a, b = beside()
    # To say something where only is read.
    member = wire('c', f'redis://127.0.0.1:{PORT + 1}')
    member.say('own - 0')
    assert 'READONLY' in member.wait('down')[1], member.all
    until('the replica has all', lambda: copy.talk()('XLEN', PREFIX + 'a:log') == 2)
    copy.process.send_signal(signal.SIGSTOP)
    a.says(['+', '192.0.2.3', '600000', 'three'])
    master.kill()
    a.wait('down')
    since = len(b.all)
    copy.process.send_signal(signal.SIGCONT)
    copy.talk()('REPLICAOF', 'NO', 'ONE')
    member.wait('up')
    # It has the other's address from now on, as a name or an address that moves does it.
    copy.process.terminate()
    copy.process.wait()
    copy.port, copy.settings = PORT, ['--appendonly', 'yes', '--appendfsync', 'always']
    copy.start()
    second = Server('second', PORT + 1, '--replicaof', '127.0.0.1', str(PORT))
    until('the new one has no link', lambda: 'master_link_status:up' in second.talk()('INFO', 'replication'))
    place = a.wait('own-is')
    assert place[1] == EPOCH[0] and int(place[2]) <= 3, place
    a.whole(EPOCH[1], '+ 192.0.2.1 600000 one', '+ 192.0.2.2 600000 two', '+ 192.0.2.3 600000 three')
    b.wait('snapshot-end', 'a', 'complete', EPOCH[1])
    assert not [line for line in b.all[since:] if line[0] in ('-', 'gone')], b.all[since:]
    is_(bans([line for line in b.all if line[1:2] == ['a']]), {'192.0.2.1': 'one', '192.0.2.2': 'two', '192.0.2.3': 'three'},
        'in the end')


def tries(url, **request):
    """What a hole in a library could do, where it looks an address up."""
    member = Wire(os.environ['PRELOADED'], url, 'x', **request)
    open_wires.append(member)
    member.say('own - 0')
    until('it did not come to its end', lambda: member.read(0.1) and
          any(line[0].startswith('denied another program') for line in member.all))
    return [line[0] for line in member.all if line[0].startswith(('denied ', 'done '))]


def confined():
    server = Server('r', PORT)
    # Kernels without Landlock let it read what everybody may; a server's socket is one of this machine.
    may = {'done read a file of others'}
    for more, url, request in (set(), f'redis://127.0.0.1:{PORT}', {}), \
            ({'done a socket of this machine'}, 'unix://' + os.path.join(server.directory, 's'), {'read': f'redis://127.0.0.1:{PORT}'}):
        told = tries(url, **request)
        is_(len(told), 20, f'what it tried: {told}')
        is_({line for line in told if line.startswith('done')} - may, more, 'what it could do')
    assert not os.path.exists('/tmp/xdp-bloom-escaped'), 'it made a file'


CASES = {f.__name__: f for f in (tls, unix, replica, loading, promoted, confined)}


def main():
    try:
        CASES[sys.argv[1]]()
    finally:
        for member in open_wires:
            member.process.kill()


if __name__ == '__main__':
    main()
