#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""routes.py ROUNDS ROUTES: random changes of a route table, and 'follow routes' behind them.

At rest the kernel's verdicts are what 'ip route show table' says, less what is never banned. In a network namespace of
its own (net_routes.sh), with a bpffs.
"""
import ipaddress
import json
import os
import random
import signal
import subprocess
import sys
import time

ROUNDS, ROUTES = int(sys.argv[1]), int(sys.argv[2])
seed = int(os.environ['XDP_BLOOM_SEED'])
rng = random.Random(seed)
bloom = os.environ['XDP_BLOOM']
PATIENCE = 60
TABLE = '666'
keep = ipaddress.ip_network('45.0.9.1/32')  # an address of this machine


def die(text):
    sys.exit(f'# seed {seed}: {text}')


def prefix():
    if rng.random() < 0.7:
        length = rng.choice((32, 32, 32, 32, 30, 24, 22))
        base = rng.choice((45, 46, 91)) << 24 | rng.randrange(1 << 14)
        return ipaddress.ip_network((base >> (32 - length) << (32 - length), length))
    length = rng.choice((128, 128, 128, 64, 48))
    base = 0x2a00 << 112 | rng.randrange(8) << 80 | rng.randrange(4) << 64 | rng.randrange(1 << rng.choice((2, 10)))
    return ipaddress.ip_network((base >> (128 - length) << (128 - length), length))


def change(there):
    """A line of ip -batch, which may fail: a route that is there already, or is not."""
    p = rng.choice(sorted(there, key=str)) if there and rng.random() < 0.4 else prefix()
    what = rng.choice(('add', 'add', 'replace', 'del', 'append') if p.version == 4 else ('add', 'replace', 'del'))
    kind = rng.choice(('blackhole',) * 8 + ('unreachable', 'prohibit', 'unicast'))
    table = rng.choice((TABLE,) * 9 + ('667',))
    metric = rng.choice(('', '', ' metric 50'))
    by = ' dev lo' if kind == 'unicast' else ''
    proto = rng.choice(('', ' proto bird'))
    if what == 'del':
        return f'route del {p} table {table}{metric}' if rng.random() < 0.5 else f'route del {kind} {p} table {table}{metric}{proto}'
    return f'route {what} {kind} {p}{by} table {table}{metric}{proto}'


def shown():
    """What the table has now."""
    found = set()
    for family in '46':
        done = subprocess.run(['ip', '-N', '-j', '-d', f'-{family}', 'route', 'show', 'table', TABLE],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # Of a table that there never was, it writes half an answer.
        for route in [] if done.returncode else json.loads(done.stdout or '[]'):
            if route.get('type') in ('blackhole', '6') and route['dst'] != 'default':
                found.add(ipaddress.ip_network(route['dst']))
    return found


def dropped(addresses):
    done = subprocess.run([bloom, '-j', '-S', 'nowhere', 'test', '-'], text=True, stdout=subprocess.PIPE,
                          input='\n'.join(map(str, addresses)), stderr=subprocess.DEVNULL)
    answers = json.loads(done.stdout or '[]')  # before there is a filter, none
    return {ipaddress.ip_address(a['address']) for a in answers if a['verdict'] == 'drop'}


def asked(touched):
    for p in touched:
        yield p[0]
        yield p[-1]
        yield p[rng.randrange(min(p.num_addresses, 1 << 62))]
    for p in rng.sample(sorted(touched, key=str), min(len(touched), 200)):
        if int(p[-1]) + 1 < 1 << p.max_prefixlen:
            yield p[-1] + 1
        if int(p[0]):
            yield p[0] - 1


def wrong(touched):
    there = {4: {}, 6: {}}
    for p in shown():
        if p.prefixlen >= 8:
            there[p.version].setdefault(p.prefixlen, set()).add(int(p.network_address))
    some = sorted(set(asked(touched)), key=lambda a: (a.version, int(a)))
    is_dropped = dropped(some)
    bad = []
    for a in some:
        width = a.max_prefixlen
        should = any(int(a) >> (width - n) << (width - n) in firsts for n, firsts in there[a.version].items())
        should = should and not (a.version == 4 and a in keep)
        if should != (a in is_dropped):
            bad.append((str(a), 'should be dropped' if should else 'should pass'))
    return bad


def agrees(touched, when):
    end, rest = time.monotonic() + PATIENCE, 0.1
    while True:
        bad = wrong(touched)
        if not bad:
            return
        if time.monotonic() > end:
            die(f'{when}: {bad[:5]}, {len(bad)} in all')
        # To ask costs half a second of a processor, and what waits for a grace period does not need to be asked for often.
        time.sleep(rest)
        rest = min(2 * rest, 2)


def follow():
    return subprocess.Popen([bloom, 'follow', 'routes', '--table', TABLE, '--verbose', '--grace', '0'], stderr=open('follow.err', 'ab'))


follower = follow()
touched = {keep}
for turn in range(ROUNDS):
    there = shown()
    lines = [change(there) for _ in range(rng.choice((1, 10, ROUTES)))]
    for line in lines:
        for word in line.split():
            if '/' in word:
                touched.add(ipaddress.ip_network(word))
    event = rng.choice(('none', 'none', 'none', 'stopped', 'killed', 'flushed', 'guarded', 'rotated'))
    if event == 'stopped':
        follower.send_signal(signal.SIGSTOP)
    elif event == 'killed':
        follower.kill()
        follower.wait()
    elif event == 'guarded':
        lines += [f'route add blackhole {rng.choice(("default", "0.0.0.0/1", "45.0.9.1/32", "45.0.9.0/24"))} table {TABLE}']
        touched.add(ipaddress.ip_network('45.0.9.0/24'))
    with open('lines', 'w', encoding='ascii') as file:
        file.write('\n'.join(lines) + '\n')
    subprocess.run(['ip', '-batch', 'lines', '-force'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if event == 'flushed':
        for family in '46':
            subprocess.run(['ip', f'-{family}', 'route', 'flush', 'table', TABLE], stderr=subprocess.DEVNULL)
    elif event == 'stopped':
        follower.send_signal(signal.SIGCONT)
    elif event == 'killed':
        follower = follow()
    elif event == 'rotated':
        subprocess.run([bloom, '-q', 'rotate'], check=True)
    agrees(touched, f'round {turn}, {event}, {len(lines)} lines')
    if follower.poll() is not None:
        die(f'round {turn}: it has ended: ' + open('follow.err', encoding='utf8').read()[-500:])
follower.terminate()
if follower.wait():
    die('SIGTERM: ' + open('follow.err', encoding='utf8').read()[-500:])
print(f'# {len(touched)} prefixes, {ROUNDS} rounds')
