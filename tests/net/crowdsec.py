#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""crowdsec.py SECONDS DECISIONS START: a real agent's decisions, added, renewed, deleted and over, and its failures.

At every look the kernel's verdicts are those of 'cscli decisions list'. START: as many at first, and how long that takes;
with 0 SECONDS nothing else.
In a network and mount namespace of its own (net_crowdsec.sh).
"""
import http.client
import http.server
import ipaddress
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

SECONDS, DECISIONS, START = (int(word) for word in sys.argv[1:4])
INTERVAL = 2
NEAR = 3  # seconds from its end nobody asks whether a decision is in force
rng = random.Random(int(os.environ['XDP_BLOOM_SEED']))
bloom = os.environ['XDP_BLOOM']
at = os.getcwd() + '/cs'
installed = os.path.dirname(os.path.dirname(shutil.which('crowdsec')))  # or only unpacked
hub = installed + '/share/crowdsec/hub'
cscli = ['cscli', '-c', f'{at}/config.yaml']
used = set()  # every address that any decision was about
until = {}  # of each the latest end


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more).stdout


def die(text):
    sys.exit(f'# {text}')


# --- The agent, and what stands before it ---

class Agent:
    def __init__(self):
        os.makedirs(f'{at}/data')
        files = {
            'config.yaml': f'''
common: {{daemonize: false, log_media: stdout, log_level: warning, working_dir: .}}
config_paths: {{config_dir: {at}/, data_dir: {at}/data/, simulation_path: {at}/simulation.yaml, hub_dir: {hub}/,
    index_path: {hub}/.index.json, notification_dir: {at}/, plugin_dir: {installed}/lib/crowdsec/plugins/}}
cscli: {{output: human}}
db_config: {{type: sqlite, db_path: {at}/data/crowdsec.db, use_wal: true}}
api:
  client: {{credentials_path: {at}/client.yaml}}
  server: {{listen_uri: "127.0.0.1:18080", profiles_path: {at}/profiles.yaml}}
prometheus: {{enabled: false}}
''',
            'profiles.yaml': 'name: ban\nfilters: [Alert.Remediation == true]\n'
                             'decisions: [{type: ban, duration: 4h}]\non_success: break\n',
            'simulation.yaml': 'simulation: off\n', 'client.yaml': ''}
        for name, text in files.items():
            with open(f'{at}/{name}', 'w', encoding='ascii') as file:
                file.write(text)
        run(*cscli, 'machines', 'add', 'test', '--password', 'test', '-f', f'{at}/client.yaml', '--force', '-u',
            'http://127.0.0.1:18080')
        self.key = run(*cscli, 'bouncers', 'add', 'test', '-o', 'raw').decode().strip()
        self.process = None

    def start(self):
        log = open('agent.log', 'ab')
        self.process = subprocess.Popen(['crowdsec', '-c', f'{at}/config.yaml', '-no-capi', '-no-cs'], stdout=log,
                                        stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                ask = http.client.HTTPConnection('127.0.0.1', 18080, timeout=5)
                ask.request('GET', '/v1/decisions', headers={'X-Api-Key': self.key})
                if ask.getresponse().status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                die('the agent does not start: ' + open('agent.log', encoding='utf8', errors='replace').read()[-500:])
            time.sleep(0.1)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Proxy(http.server.BaseHTTPRequestHandler):
    mode = 'pass'
    answers = wholes = failures = 0
    told = set()  # numbers of decisions
    late = []  # how many were not told in time
    agents = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        mode = Proxy.mode
        Proxy.agents.append(self.headers['User-Agent'])
        if mode == '504':
            self.send_error(504)
            return
        try:
            ask = http.client.HTTPConnection('127.0.0.1', 18080, timeout=60)
            ask.request('GET', self.path, headers={'X-Api-Key': self.headers['X-Api-Key'],
                                                   'User-Agent': self.headers['User-Agent']})
            answer = ask.getresponse()
            status, body = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            Proxy.failures += 1
            self.send_error(502)
            return
        whole = len(body)
        if mode == 'cut':
            body = body[:len(body) // 2]
        elif mode == 'less' and 'startup=true' in self.path and status == 200:
            # As 1.7.8 where its database fails: status 200, and what it has read by then, as a proper document.
            document = json.loads(body)
            document['new'] = (document['new'] or [])[:rng.randrange(1 + len(document['new'] or []))]
            body = json.dumps(document).encode()
            whole = len(body)
            Proxy.mode = '504'  # and fails next time
        elif mode == 'lose' and 'startup=false' in self.path and status == 200:
            document = json.loads(body)
            document = {name: rng.sample(document[name] or [], len(document[name] or []) // 2) for name in document}
            body = json.dumps(document).encode()
            whole = len(body)
        elif mode == 'pass' and status == 200:
            Proxy.told.update(d['id'] for d in json.loads(body)['new'] or [])
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(whole))
        self.end_headers()
        self.wfile.write(body)
        Proxy.answers += mode == 'pass' and status == 200
        Proxy.wholes += mode == 'pass' and status == 200 and 'startup=true' in self.path


# --- What it decides ---

def address():
    if rng.random() < 0.8:
        a = '%d.%d.%d.%d' % (rng.choice((45, 91, 185)), rng.randrange(4), rng.randrange(256), rng.randrange(256))
    else:
        a = str(ipaddress.ip_address('2a0%d:%x::%x' % (rng.randrange(6, 9), rng.randrange(1, 64), rng.randrange(1, 4096))))
    return a


def decide(some, longest, ranges=0.02):
    """Each has a time of its own; some come again, and then last longer: of several cscli lists the last made."""
    rows, there = [], set()
    for value in some:
        scope = 'ip'
        if rng.random() < ranges:
            net = ipaddress.ip_network(value + ('/28' if '.' in value else '/64'), strict=False)
            value, scope = str(net), 'range'
        if value in there:
            continue
        there.add(value)
        used.add(value)
        left = int(max(0, until.get(value, 0) - time.monotonic())) + 3
        lasts = left + rng.randrange(8, longest)
        until[value] = time.monotonic() + lasts
        rows.append({'value': value, 'scope': scope, 'duration': f'{lasts}s', 'type': 'ban',
                     'reason': 'test/' + rng.choice(('ssh', 'http'))})
    with open('import.json', 'w', encoding='ascii') as file:
        json.dump(rows, file)
    # Busy, its own database refuses it now and then.
    for left in reversed(range(10)):
        if not subprocess.run([*cscli, 'decisions', 'import', '-i', 'import.json'], check=left == 0, capture_output=True).returncode:
            break


def seconds(text):
    units = {'h': 3600, 'm': 60, 's': 1, 'ms': 1e-3, 'µs': 1e-6, 'us': 1e-6, 'ns': 1e-9}
    value = sum(float(n) * units[u] for n, u in re.findall(r'([0-9.]+)(ms|µs|us|ns|h|m|s)', text))
    return -value if text.startswith('-') else value


def listed():
    """value: the seconds that the longest of its decisions has, and their numbers."""
    alerts = json.loads(run(*cscli, 'decisions', 'list', '-o', 'json', '--all', '--limit', '0') or b'null') or []
    left, numbers = {}, {}
    for alert in alerts:
        for d in alert['decisions'] or []:
            left[d['value']] = max(left.get(d['value'], -1e9), seconds(d['duration']))
            numbers.setdefault(d['value'], set()).add(d['id'])
    return left, numbers


def verdicts():
    hosts = {value: str(ipaddress.ip_network(value).network_address) for value in used}
    told = subprocess.run([bloom, '-j', '-S', 'nowhere', 'test', '-'], input='\n'.join(hosts.values()), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    drops = {answer['address']: answer['verdict'] == 'drop' for answer in json.loads(told)}
    return {value: drops[host] for value, host in hosts.items()}


def wrong():
    before = time.monotonic()
    left, numbers = listed()
    are = verdicts()
    took = time.monotonic() - before
    # What is asked about is an address: of a range its first. It may be banned for itself, and lie in ranges.
    hosts, ranges, out = {}, {}, []
    for value, s in left.items():
        net = ipaddress.ip_network(value)
        if net.num_addresses == 1:
            hosts[net.network_address] = s
        else:
            ranges[net] = s
    lengths = {(net.version, net.prefixlen) for net in ranges}
    for value, drops in are.items():
        host = ipaddress.ip_network(value).network_address
        ends = [hosts[host]] if host in hosts else []
        around = [ipaddress.ip_network((host, length), strict=False) for version, length in lengths if version == host.version]
        ends += [ranges[net] for net in around if net in ranges]
        if any(-NEAR < s < NEAR + took for s in ends) and not any(s >= NEAR + took for s in ends):
            continue
        if drops != any(s > 0 for s in ends):
            out.append((value, drops, ends, not drops and not numbers.get(value, set()) & Proxy.told))
    return out


def look(what):
    """Once the follower has asked again. What is not right then is not right."""
    answers, end = Proxy.answers, time.monotonic() + 60
    while Proxy.answers < answers + 2 and time.monotonic() < end:
        time.sleep(0.05)
    bad = settled()
    if bad and all(untold for *_, untold in bad):
        # 1.4.6 does not say what it writes while it is asked: an answer from the start has it.
        Proxy.late.append(len(bad))
        next_wholes(2)
        bad = settled()
    if bad:
        die(f'{what}: {len(bad)} of {len(used)} are wrong: {bad[:5]}')


def settled():
    for _ in range(20):  # the last answer is being put into force
        bad = wrong()
        if not bad:
            break
        time.sleep(0.1)
    return bad


def all_stay(what, sure):
    """None of those that have long to go is let go by an error."""
    are = verdicts()
    gone = [value for value in sure if not are[value]]
    if gone:
        die(f'{what}: {len(gone)} were let go: {gone[:5]}')


def sure_of(least):
    return [value for value, left in listed()[0].items() if left > least]


def trouble(name, agent, begin, finish):
    sure = sure_of(4 * INTERVAL + 20)
    begin()
    for _ in range(int(2.5 * INTERVAL / 0.25)):
        all_stay(name, sure)
        time.sleep(0.25)
    finish()
    look(f'after {name}')
    print(f'# {name}: {len(sure)} stayed; right again', flush=True)


def set_mode(mode):
    Proxy.mode = mode


def empty():
    with sqlite3.connect(f'{at}/data/crowdsec.db', timeout=30) as db:
        db.execute('DELETE FROM decisions')


def next_wholes(n, seconds=300):
    wholes, end = Proxy.wholes, time.monotonic() + seconds
    while Proxy.wholes < wholes + n:
        if time.monotonic() > end:
            die(f'nothing is asked for from the start within {seconds} s')
        time.sleep(0.05)


def follow():
    return subprocess.Popen([bloom, '-v', 'follow', 'crowdsec', '--url', 'http://127.0.0.1:18081', '--key-file', 'key',
                             '--interval', f'{INTERVAL}s'], stderr=open('err', 'ab'))


def main():
    agent = Agent()
    agent.start()
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 18081), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open('key', 'w', encoding='ascii', opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(agent.key + '\n')
    run(bloom, 'add', '45.200.0.1', '--reason', 'mine')
    used.add('45.200.0.1')
    decide([address() for _ in range(START)], 7200)
    run(bloom, 'add', '91.0.0.1', '--reason', 'mine, too')
    began = time.monotonic()
    ask = http.client.HTTPConnection('127.0.0.1', 18080, timeout=60)
    ask.request('GET', '/v1/decisions/stream?startup=true&dedup=false', headers={'X-Api-Key': agent.key})
    print(f'# the agent alone answers with {len(ask.getresponse().read())} bytes in {time.monotonic() - began:.2f} s', flush=True)
    ask.close()
    began = time.monotonic()
    followers = [follow()]
    end = time.monotonic() + 120
    while time.monotonic() < end and b'decisions in force' not in open('err', 'rb').read():
        time.sleep(0.01)
    print(f'# {START} decisions at the start: {time.monotonic() - began:.2f} s', flush=True)
    used.discard('45.200.0.1')
    look('the start')
    line = open(f'/proc/{followers[0].pid}/cmdline', 'rb').read() + open(f'/proc/{followers[0].pid}/environ', 'rb').read()
    if agent.key.encode() in line:
        die('its key stands on the command line')
    if not SECONDS:
        followers[-1].kill()
        agent.kill()
        return
    # A range that ends, and its first address, which is banned for itself.
    decide(['45.1.84.176'], 7200, 0)
    decide(['45.1.84.176'], 7200, 1)
    look('a range and its first address')
    run(*cscli, 'decisions', 'delete', '--range', '45.1.84.176/28')
    look('a range that was deleted, and its first address')
    begin, made, looks = time.monotonic(), 0, 0

    def restart():
        followers[-1].kill()
        followers[-1].wait()
        followers.append(follow())

    troubles = [
        ('504', lambda: set_mode('504'), lambda: set_mode('pass')),
        ('an answer cut in the middle', lambda: set_mode('cut'), lambda: set_mode('pass')),
        ('an answer that has less, and is proper', lambda: (set_mode('504'), time.sleep(INTERVAL), set_mode('less')),
         lambda: set_mode('pass')),
        ('changes that are lost on the way', lambda: set_mode('lose'), lambda: (set_mode('pass'), next_wholes(1))),
        ('the agent killed', agent.kill, agent.start),
        ('the follower killed', restart, lambda: None),
    ]
    while time.monotonic() - begin < SECONDS or troubles or made < DECISIONS:
        due = int(DECISIONS * min(1, (time.monotonic() - begin + 5) / SECONDS))
        some = [address() for _ in range(due - made)]
        again = rng.sample(sorted(used), min(len(used), len(some) // 4))
        if some:
            decide(some + [value for value in again if '/' not in value], 60 if SECONDS < 120 else 240)
            made += len(some)
        for value in rng.sample(sorted(used), min(2, len(used))):
            run(*cscli, 'decisions', 'delete', '--range' if '/' in value else '--ip', value)
        look(f'after {made}')
        looks += 1
        if troubles and time.monotonic() - begin > SECONDS * (7 - len(troubles)) / 8:
            trouble(troubles[0][0], agent, *troubles[0][1:])
            troubles.pop(0)
    agent.kill()
    failures, end = Proxy.failures, time.monotonic() + 30
    while Proxy.failures == failures and time.monotonic() < end:
        time.sleep(0.05)
    empty()
    agent.start()
    next_wholes(2)
    look('its database emptied')
    decide([address() for _ in range(50)], 7200)
    look('new ones')
    empty()
    next_wholes(2)
    look('its database emptied, and nothing said')
    mine = json.loads(run(bloom, '-j', 'test', '45.200.0.1', '91.0.0.1'))
    if not all(answer['verdict'] == 'drop' for answer in mine):
        die(f'another\'s ban was taken out: {mine}')
    followers[-1].send_signal(signal.SIGTERM)
    if followers[-1].wait(30):
        die('it ended with ' + str(followers[-1].returncode) + ': ' + open('err', encoding='utf8').read()[-500:])
    if set(Proxy.agents) != {Proxy.agents[0]} or not Proxy.agents[0].startswith('xdp-bloom/'):
        die(f'it calls itself {set(Proxy.agents)}')
    agent.kill()
    print(f'# {made} decisions in {time.monotonic() - begin:.0f} s, {looks} looks, all right; {Proxy.wholes} answers from '
          f'the start of {Proxy.answers}; told only by those: {Proxy.late}')


main()
