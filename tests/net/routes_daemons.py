#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""routes_daemons.py bird|frr ROUTES SECONDS RATE: a real daemon, its session, and 'follow routes' behind it.

ROUTES of both families from the session's begin until all of them are dropped; RATE routes changed a second, for so many
seconds; then the daemon reads its configuration again, is ended, and is killed. At rest the list is what was announced.
In a network namespace of its own (net_routes_daemons.sh), with a bpffs.
"""
import ipaddress
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from bgp import Speaker

which, ROUTES, SECONDS, RATE = sys.argv[1], *(int(word) for word in sys.argv[2:5])
seed = int(os.environ['XDP_BLOOM_SEED'])
rng = random.Random(seed)
bloom = os.environ['XDP_BLOOM']
at = os.getcwd()
OURS, THEIRS, NUMBER, COMMUNITY = '192.0.2.1', '192.0.2.2', 65000, (65000, 911)
PATIENCE = 120


def die(text):
    sys.exit(f'# {which}, seed {seed}: {text}')


def say(text):
    print(f'# {which}: {text}', flush=True)


def write(name, text):
    with open(name, 'w', encoding='ascii') as file:
        file.write(text)


# --- Daemons, as docs/recipes.md has them ---

def recipe(name):
    """The block of docs/recipes.md that follows the line 'NAME:', without its indent."""
    with open(os.path.join(os.path.dirname(__file__), '../../docs/recipes.md'), encoding='utf8') as file:
        lines = file.read().split(f'\n{name}:\n\n', 1)[1].split('\n')
    block = []
    for line in lines:
        if line and not line.startswith('    '):
            break
        block.append(line[4:])
    return '\n'.join(block) + '\n'


class Bird:
    def __init__(self):
        write('bird.conf', recipe('/etc/bird/bird.conf') + f'log "{at}/daemon.log" all;\n')

    def start(self):
        self.process = subprocess.Popen(['bird', '-f', '-c', f'{at}/bird.conf', '-s', f'{at}/bird.ctl', '-P', f'{at}/bird.pid'])

    def reload(self):
        subprocess.run(['birdc', '-s', f'{at}/bird.ctl', 'configure'], check=True, stdout=subprocess.DEVNULL)

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait()


class Frr:
    def __init__(self):
        os.chmod(at, 0o711)
        os.mkdir('frr')
        write('frr/frr.conf', recipe('/etc/frr/frr.conf'))
        subprocess.run(['chown', '-R', 'frr:frrvty', 'frr'], check=True)

    def start(self):
        self.all = []
        for name in ('zebra', 'staticd', 'bgpd'):
            command = [f'/usr/lib/frr/{name}', '-f', f'{at}/frr/frr.conf', '-i', f'{at}/frr/{name}.pid', '-z', f'{at}/frr/zserv.api',
                       '--vty_socket', f'{at}/frr', '--log', f'file:{at}/frr/daemon.log', '-A', '127.0.0.1']
            self.all.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=open('daemon.err', 'ab')))
            end = time.monotonic() + 30
            while not os.path.exists('frr/zserv.api') and time.monotonic() < end:
                time.sleep(0.05)

    def reload(self):
        subprocess.run(['vtysh', '--vty_socket', f'{at}/frr', '-c', 'clear bgp * soft in'], check=True, stdout=subprocess.DEVNULL)

    def end(self, how):
        for process in reversed(self.all):
            process.send_signal(how)
            process.wait()
        if os.path.exists('frr/zserv.api'):
            os.remove('frr/zserv.api')


# --- What is in force ---

class Follower:
    def __init__(self):
        self.heard = threading.Condition()
        self.routes, self.took, self.when, self.gaps, self.said = 0, 0.0, 0.0, 0, []
        self.longest = self.behind = 0.0
        self.process = subprocess.Popen([bloom, 'follow', 'routes', '--table', '666', '--verbose'], stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stderr:
            with self.heard:
                if ' routes; ' in line:
                    words = line.split()
                    self.routes, self.took, self.when = int(words[4]), float(words[6]) / 1e3, time.monotonic()
                    self.behind = float(words[8]) / 1e3
                    self.longest = max(self.longest, self.took)
                elif 'read whole again' in line:
                    self.gaps += 1
                elif ': generation' not in line:
                    self.said.append(line.strip())
                self.heard.notify_all()

    def until(self, what, condition):
        with self.heard:
            if not self.heard.wait_for(condition, PATIENCE):
                die(f'{what}: {self.routes} routes; {self.said[-3:]}')

    def cpu(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='ascii') as file:
            words = file.read().rsplit(')', 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


def dropped(prefixes):
    done = subprocess.run([bloom, '-j', '-S', 'nowhere', 'test', '-'], text=True, stdout=subprocess.PIPE,
                          input='\n'.join(str(p.network_address) for p in prefixes), stderr=subprocess.DEVNULL)
    return [a['verdict'] == 'drop' for a in json.loads(done.stdout or '[]')]


def kernel_has(p):
    """By a rule that looks the table up."""
    done = subprocess.run(['ip', 'route', 'get', str(p.network_address)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return 'Invalid argument' in done.stderr or 'blackhole' in done.stdout + done.stderr


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            die(f'{what}: not within {PATIENCE} s; {follower.said[-3:]}, {follower.routes} routes')
        time.sleep(0.05)


def agrees(there, when):
    """All that was announced is dropped, and the list has as many addresses: so it has no others."""
    def held():
        done = subprocess.run([bloom, '-j', 'lists'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return sum(int(one['addresses']) for one in json.loads(done.stdout or '[]') if one['name'] == 'routes-666')
    end = time.monotonic() + PATIENCE
    while held() != len(there):
        if time.monotonic() > end:
            die(f'{when}: {held()} addresses are banned, {len(there)} were announced')
        time.sleep(0.2)
    agreed = time.monotonic()
    all_of_them = sorted(there, key=str)
    for i in range(0, len(all_of_them), 100000):
        some = all_of_them[i:i + 100000]
        bad = [str(p) for p, is_dropped in zip(some, dropped(some)) if not is_dropped]
        if bad:
            die(f'{when}: {len(bad)} of {len(some)} pass, {bad[:3]}')
    return agreed


def hosts(n):
    found = set()
    while len(found) < n:
        if rng.random() < 0.9:
            found.add(ipaddress.ip_network((rng.randrange(24 << 24, 99 << 24), 32)))
        else:
            found.add(ipaddress.ip_network((0x2a00 << 112 | rng.randrange(1 << 20) << 76 | rng.randrange(1 << 16), 128)))
    return list(found)


def families(prefixes):
    return [some for some in ([p for p in prefixes if p.version == 4], [p for p in prefixes if p.version == 6]) if some]


def announce(prefixes):
    for some in families(prefixes):
        speaker.announce(some)


def withdraw(prefixes):
    for some in families(prefixes):
        speaker.withdraw(some)


follower = Follower()
daemon = {'bird': Bird, 'frr': Frr}[which]()
daemon.start()
everything = hosts(ROUTES)
began = time.monotonic()
speaker = Speaker(THEIRS, OURS, NUMBER, COMMUNITY)
up = time.monotonic()
announce(everything)
last = [some[-1] for some in families(everything)]
until('the kernel has all', lambda: all(kernel_has(p) for p in last))
installed = time.monotonic()
follower.until('all are in force', lambda: follower.routes >= ROUTES)
say(f'{ROUTES} routes: in the kernel {installed - up:.1f} s after the session was up, enforced {follower.when - up:.1f} s after it: '
    f'{follower.behind:.1f} s behind the last notice; CPU {follower.cpu():.1f} s')
agrees(everything, 'at first')

# --- Changes ---

there, away = list(everything), []
rng.shuffle(there)
cpu, gaps = follower.cpu(), follower.gaps
follower.longest = 0
began = time.monotonic()
for second in range(SECONDS * 10):
    go = there[:RATE // 20]
    come = away[:RATE // 20 - 10] + hosts(10) if len(away) > RATE else hosts(RATE // 20)
    there, away = there[len(go):] + come, away[RATE // 20 - 10:] + go if len(away) > RATE else away + go
    withdraw(go)
    announce(come)
    if speaker.ended:
        die(f'the session ended: {speaker.ended}')
    left = began + (second + 1) / 10 - time.monotonic()
    if left > 0:
        time.sleep(left)
took = time.monotonic() - began
expected = set(there)
agreed = agrees(expected, 'after changes')
if SECONDS:
    say(f'{2 * (RATE // 20) * SECONDS * 10 / took:.0f} changes a second for {took:.0f} s, agreed {agreed - began - took:.1f} s later; '
        f'{(follower.cpu() - cpu) / took * 100:.0f} % of a CPU, a change took {follower.longest:.2f} s at most, {follower.gaps - gaps} gaps')

# --- The daemon goes and comes ---

some = rng.sample(there, min(len(there), 1000))


def all_dropped(when):
    if not all(dropped(some)):
        die(f'{when}: {dropped(some).count(False)} of {len(some)} pass; {follower.routes} routes, {follower.said[-3:]}')


daemon.reload()
all_dropped('it has read its configuration again')
for how in (signal.SIGTERM, signal.SIGKILL):
    daemon.end(how)
    for _ in range(10):
        all_dropped(f'after signal {how}')
        time.sleep(0.3)
    daemon.start()
    speaker = Speaker(THEIRS, OURS, NUMBER, COMMUNITY)
    all_dropped(f'after signal {how}, and another start')
    announce(there)
    all_dropped('they come again')
    until('the kernel has all again', lambda: all(kernel_has(p) for p in [some[-1] for some in families(there)]))
    agrees(expected, f'after signal {how}')
    say(f'signal {int(how)}: nothing passed meanwhile; {[line for line in follower.said if "lost" in line or "again" in line][-2:]}')
speaker.close()
daemon.end(signal.SIGTERM)
follower.process.terminate()
if follower.process.wait():
    die(f'SIGTERM: {follower.said[-3:]}')
