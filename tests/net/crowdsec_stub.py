#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""crowdsec_stub.py [service|user NAME]: what 'follow crowdsec' makes of the answers of an agent that is a table here; alone,
or as a line of the service's config file; or briefly, where the agent is that user's.

Nothing is waited for but questions: when the next one comes, what was answered before is in force.
"""
import http.server
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

PATIENCE = 120
KEY = ('f00dfeed' * 32)[:254]  # no longer one is taken
bloom = os.environ['XDP_BLOOM']
by_service = sys.argv[1:] == ['service']
as_user = sys.argv[2] if sys.argv[1:2] == ['user'] else None


def die(text):
    sys.exit(f'# {text}: ' + open('err', encoding='utf8').read()[-1500:])


class Agent(http.server.BaseHTTPRequestHandler):
    lock = threading.Condition()
    decisions = {}  # number: value, scope, type, seconds
    new, deleted = [], []  # since the last answer
    fault = None
    server = None
    questions = answered = 0
    posts, heads = [], []

    def log_message(self, *_):
        pass

    def do_GET(self):
        with Agent.lock:
            Agent.questions += 1
            Agent.heads.append(dict(self.headers))
            Agent.lock.notify_all()
            status, body = 200, self.document()
            sent = body
            if self.headers['X-Api-Key'] != KEY:
                status, sent = 403, b'{"message":"access forbidden"}'
            elif isinstance(Agent.fault, int):
                status, sent = Agent.fault, b'{"message":"no"}'
            elif Agent.fault == 'cut':
                sent = body[:len(body) // 2]
            elif Agent.fault == 'other':  # somebody else takes its place while it is asked
                listen(Agent.server.server_port)
                body = sent = NOBODY
            elif Agent.fault is not None:
                body = sent = Agent.fault
        self.send_response(status)
        self.send_header('Content-Length', str(len(body if status == 200 else sent)))
        self.end_headers()
        self.wfile.write(sent)

    @staticmethod
    def row(number):
        value, scope, kind, seconds = Agent.decisions.get(number) or Agent.gone[number]
        return {'id': number, 'value': value, 'scope': scope, 'type': kind, 'duration': f'{seconds}s', 'origin': 'test',
                'scenario': 'test/stub'}

    gone = {}

    def document(self):
        whole = 'startup=true' in self.path
        new = list(Agent.decisions) if whole else [n for n in Agent.new if n in Agent.decisions]
        deleted = list(Agent.gone) if whole else Agent.deleted
        if Agent.fault is None:
            Agent.new, Agent.deleted = [], []
        return json.dumps({'new': [self.row(n) for n in new] or None,
                           'deleted': [self.row(n) for n in deleted] or None}).encode()


NOBODY = b'{"new":null,"deleted":null}'


def stands(user, host, port):
    """A socket of that user's, that listens there and takes nobody in."""
    os.seteuid(user)
    try:
        other = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    finally:
        os.seteuid(0)
    if ':' in host:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    other.bind((host, port))
    other.listen()
    return other


def listen(port, user=0):
    """From now on it answers there, by a socket of that user's."""
    if Agent.server:
        Agent.server.shutdown()
        Agent.server.server_close()
    os.seteuid(user)
    Agent.server = http.server.ThreadingHTTPServer(('127.0.0.1', port), Agent)
    os.seteuid(0)
    Agent.server.daemon_threads = True
    threading.Thread(target=Agent.server.serve_forever, daemon=True).start()


def decide(number, value, seconds=3600, scope='Ip', kind='ban'):
    with Agent.lock:
        Agent.decisions[number] = (value, scope, kind, seconds)
        Agent.new.append(number)


def delete(*numbers):
    with Agent.lock:
        for number in numbers:
            Agent.gone[number] = Agent.decisions.pop(number)[:3] + (-1,)
            Agent.deleted.append(number)


def turns(n, fault=None):
    """So many questions from now are answered like that, and in force."""
    with Agent.lock:
        Agent.fault = fault
        end = Agent.questions + n + 1
        if not Agent.lock.wait_for(lambda: Agent.questions >= end, PATIENCE):
            die('it asks no more')


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def verdicts(what, **wanted):
    hosts = {name: HOSTS[name] for name in wanted}
    told = json.loads(subprocess.run([bloom, '-j', 'test', *hosts.values()], stdout=subprocess.PIPE, check=False).stdout)
    drops = {name: answer['verdict'] == 'drop' for name, answer in zip(hosts, told)}
    if drops != wanted:
        die(f'{what}: {drops}, not {wanted}')


HOSTS = {'a': '45.0.0.1', 'b': '45.0.0.2', 'net': '2001:db8:7::9', 'mine': '45.0.1.1', 'soon': '45.0.1.2', 'longer': '45.0.1.3', 'early': '45.0.1.4', 'sooner': '45.0.1.5',
         'captcha': '45.0.0.9', 'own': '45.0.2.1', 'kept': '45.0.3.1', 'later': '45.0.3.2',
         'unbanned': '45.0.3.3', 'many': '45.2.0.77', 'anybody': '46.1.2.3'}


def faults():
    stay = {'a': True, 'b': False, 'net': True}
    for fault in (504, 403, 429, 302, 'cut', b'', b'<html>Log in</html>', b'null', b'[]', b'{"message":"x"}', b'{"new":[]}',
                  b'{"new":7,"deleted":null}', b'{"new":[{"id":1}],"deleted":null}'):
        turns(1, fault)
        verdicts(f'a failure, {fault}', **stay)
    # As an agent whose database fails in the middle: too little, as a proper document; and then an error.
    for _ in range(2):
        turns(1, 500)
        with Agent.lock:
            Agent.fault, before = b'{"new":[],"deleted":[]}', Agent.questions
            Agent.lock.wait_for(lambda: Agent.questions > before, PATIENCE)
            Agent.fault = 500
        turns(1, 500)
        verdicts('an answer that lacks all', **stay)
    turns(2)
    verdicts('after the failures', **stay)


def others():
    """Another's ban stays, and what is banned twice ends with the last."""
    decide(11, HOSTS['mine'])
    decide(12, HOSTS['soon'])
    decide(13, HOSTS['longer'])
    turns(1)
    reasons = {ban['prefix']: ban['reason'] for ban in json.loads(run(bloom, '-j', 'bans'))}
    if reasons[HOSTS['mine']] or not reasons[HOSTS['soon']].startswith('crowdsec test test/stub'):
        die(f'reasons: {reasons}')
    run(bloom, 'add', HOSTS['longer'], '--ttl', '1d')
    delete(11, 12, 13)
    turns(1)
    verdicts('bans that are somebody\'s', mine=True, longer=True)
    run(bloom, 'add', HOSTS['early'], HOSTS['sooner'], '--ttl', '11m', '--reason', 'mine')
    decide(14, HOSTS['early'])
    decide(15, HOSTS['sooner'], 5)
    turns(1)
    reasons = {ban['prefix']: ban['reason'] for ban in json.loads(run(bloom, '-j', 'bans'))}
    delete(14)
    turns(1)
    with Agent.lock:
        Agent.gone[15] = Agent.decisions.pop(15)[:3] + (-1,)
    again = {ban['prefix']: ban['reason'] for ban in json.loads(run(bloom, '-j', 'bans'))}
    if (not reasons[HOSTS['early']].startswith('crowdsec ') or reasons[HOSTS['sooner']] != 'mine'
            or [again.get(HOSTS[name]) for name in ('early', 'sooner')] != ['mine', 'mine']):
        die(f'it ends early: {reasons}, then {again}')


def behind(follower):
    """A shorter ban of somebody's beside a decision is there when that is deleted, whoever follows by then."""
    def reasons():
        told = {ban['prefix']: ban['reason'] for ban in json.loads(run(bloom, '-j', 'bans'))}
        return [told.get(HOSTS[name], '').split(' ')[0] for name in ('kept', 'later', 'unbanned')]

    run(bloom, 'add', HOSTS['later'], '--ttl', '20m', '--reason', 'mine')
    for number, name in enumerate(('kept', 'later', 'unbanned'), 40):
        decide(number, HOSTS[name])
    turns(1)
    run(bloom, '-q', 'add', HOSTS['kept'], '--ttl', '10m', '--reason', 'mine')
    run(bloom, '-q', 'add', HOSTS['unbanned'], '--ttl', '10m', '--keep-longer', '--reason', 'fail2ban sshd')
    run(bloom, '-q', 'del', HOSTS['unbanned'], '--reason', 'fail2ban sshd')
    if reasons() != ['crowdsec'] * 3:
        die(f'the decisions are later: {reasons()}')
    if not by_service:
        end(follower)
        follower = follow(Agent.server.server_port)
        turns(1)
    delete(40, 41, 42)
    turns(2)
    if reasons() != ['mine', 'mine', '']:
        die(f'the decisions are deleted: {reasons()}')
    verdicts('by hand', kept=True, later=True, unbanned=False)
    run(bloom, 'del', HOSTS['kept'], HOSTS['later'])
    return follower


def needed():
    """What this machine needs is not banned, and neither is everybody, nor a network that is called an Ip; it is said once."""
    run('ip', 'address', 'add', HOSTS['own'] + '/32', 'dev', 'lo')
    decide(30, HOSTS['own'])
    decide(31, '0.0.0.0/0', scope='Range')
    decide(32, HOSTS['b'])
    turns(2)
    verdicts('what is needed', own=False, b=True, captcha=False)
    said = open('err', encoding='utf8').read()
    if said.count(f'crowdsec: {HOSTS["own"]}: ') != 1 or said.count(' is very wide') != 1:
        die('it is not said once')
    # In pieces: together they are too much.
    pieces = [f'{n}.0.0.0/8' for n in range(1, 224) if n not in (10, 100, 127, 169, 172, 192)]
    for number, piece in enumerate(pieces, 100):
        decide(number, piece, scope='Range')
    decide(33, '46.1.0.0/16')
    turns(2)
    verdicts('everybody in pieces', own=False, b=True, anybody=False)
    said = open('err', encoding='utf8').read()
    if said.count(f'crowdsec: {len(pieces)} of its decisions are left out: live bans would be of ') != 1:
        die('it is not said once, of all')
    delete(30, 31, 32, 33, *range(100, 100 + len(pieces)))
    turns(1)
    verdicts('none of them', own=False, b=False)


def many():
    """Where most of many are missing, they end with the next answer that lacks them, and not with this one."""
    for n in range(200):
        decide(1000 + n, f'45.2.0.{n}')
    turns(1)
    verdicts('many', many=True, a=True)
    with Agent.lock:
        kept, Agent.decisions = Agent.decisions, {}
    turns(1, 503)
    with Agent.lock:
        Agent.fault, before = None, Agent.questions
        Agent.lock.wait_for(lambda: Agent.questions > before, PATIENCE)
        Agent.decisions = kept
    turns(2)
    verdicts('none was missing', many=True, a=True)
    if 'decisions 202 are missing; they end if the next answer lacks them, too' not in open('err', encoding='utf8').read():
        die('it is not said how many are missing')
    delete(*range(1000, 1200))
    turns(1)
    verdicts('none of many', many=False, a=True)


def silence():
    """It is said since when it does not answer, once it did not twice, and that it does again."""
    def status():
        told = json.loads(subprocess.run([bloom, '-j', 'status'], stdout=subprocess.PIPE, check=False).stdout)
        return told['crowdsec'], [text for text in told['troubles'] if 'crowdsec' in text]

    def metric():
        lines = run(bloom, 'metrics').decode().splitlines()
        return [float(line.split()[1]) for line in lines if line.startswith('xdp_bloom_crowdsec_silent_timestamp_seconds ')]

    def events(kind):
        lines = [json.loads(line) for line in run(bloom, '-j', 'events').decode().splitlines()]
        return [line['message'] for line in lines if line['event'] == kind and 'crowdsec' in line['message']]

    answers = {'answers': True, 'url': None, 'since': None, 'why': None}
    turns(2)
    began, before = int(time.time()), len(events('fault'))
    if status() != (answers, []) or metric() != [0]:
        die(f'it answers: {status()}, {metric()}')
    turns(3, 504)
    told, troubles = status()
    since = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(metric()[0]))
    if told['answers'] or told['since'] != since or metric()[0] < began or 'status 504' not in told['why']:
        die(f'it does not answer: {told}, {metric()}')
    if len(troubles) != 1 or f'does not answer since {since}' not in troubles[0]:
        die(f'status says {troubles}')
    if len(events('fault')) != before + 1:
        die(f'events: {events("fault")}')
    turns(2)
    if status() != (answers, []) or metric() != [0] or len(events('healed')) != before + 1:
        die(f'it answers again: {status()}, {metric()}, {events("healed")}')


STRANGER = 65534
HEALTH = 9914


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            die(f'never: {what}')
        time.sleep(0.05)


def why():
    told = json.loads(subprocess.run([bloom, '-j', 'status'], stdout=subprocess.PIPE, check=False).stdout)
    return (told['crowdsec'] or {'why': ''})['why'] or ''


def health():
    with urllib.request.urlopen(f'http://127.0.0.1:{HEALTH}/healthz') as page:
        return page.read().decode()


def in_its_place():
    """Who listens in the agent's place is asked nothing, and told no key: only root, or who was named, is an agent."""
    if 'this kernel does not say who listens' in open('err', encoding='utf8').read():
        return
    port = Agent.server.server_port
    stay = {'a': True, 'b': False, 'net': True}
    # They cannot answer for it.
    others = [stands(STRANGER, '127.0.0.2', port), stands(STRANGER, '::', port)]
    turns(2)
    if why():
        die(f'it is not asked: {why()}')
    for one in others:
        one.close()
    Agent.server.shutdown()
    Agent.server.server_close()
    Agent.server = None
    until('that nobody listens is said', lambda: f'nobody listens at 127.0.0.1:{port}' in why())
    with Agent.lock:
        Agent.fault, before, heads = NOBODY, Agent.questions, len(Agent.heads)
    listen(port, STRANGER)
    until('that it is somebody else is said', lambda: f'127.0.0.1:{port} listens user {STRANGER}' in why())
    if by_service:
        until('/healthz says it', lambda: 'crowdsec: the agent does not answer' in health())
    time.sleep(1)  # five questions more, if it asked
    if Agent.questions != before or len(Agent.heads) != heads:
        die('somebody else was asked')
    verdicts('somebody else listens', **stay)
    with Agent.lock:
        Agent.fault = None
    listen(port)
    turns(2)
    if why():
        die(f'it is the agent again: {why()}')
    # Whatever is answered by whom it was not asked of, is nothing.
    turns(1)
    for _ in range(3):
        with Agent.lock:
            Agent.fault = 'other'
            before = Agent.questions
            Agent.lock.wait_for(lambda: Agent.questions > before, PATIENCE)
    turns(2)
    verdicts('it was another who answered', **stay)
    if 'somebody else listens at' not in open('err', encoding='utf8').read():
        die('it is not said that another answered')


def follow(port):
    """The process that is to be ended, and that follows."""
    line = ['follow', 'crowdsec', '--url', f'http://127.0.0.1:{port}', '--key-file', os.path.abspath('key'), '--interval', '0.2s']
    if as_user:
        line += ['--agent-user', as_user]
    if not by_service:
        return subprocess.Popen([bloom, '-v', *line], stderr=open('err', 'wb'))
    config(' '.join(line))
    return subprocess.Popen([bloom, '-v', 'run', '--config', 'conf', '--listen', f'127.0.0.1:{HEALTH}'], stderr=open('err', 'wb'), stdout=subprocess.DEVNULL)


def config(line):
    with open('conf', 'w', encoding='ascii') as file:
        file.write(line + '\n')


def reloads(service):
    """Without its line, nobody asks any more and what is banned stays; with it, it is asked again from the start."""
    with open('conf', encoding='ascii') as file:
        line = file.read().strip()
    lock = os.path.join(os.environ['XDP_BLOOM_STATE'], 'crowdsec.lock')

    def followed():
        told = json.loads(subprocess.run([bloom, '-j', 'status'], stdout=subprocess.PIPE, check=False).stdout)
        return told['crowdsec'] is not None

    if not followed() or not os.path.exists(lock):
        die('status does not say that it is followed')
    config('# nothing')
    service.send_signal(signal.SIGHUP)
    end = time.monotonic() + PATIENCE
    while followed():
        if time.monotonic() > end:
            die('it goes on without its line')
        time.sleep(0.05)
    verdicts('without its line', a=True, net=True)
    decide(20, HOSTS['b'])
    config(line)
    service.send_signal(signal.SIGHUP)
    turns(1)
    verdicts('with its line again', a=True, b=True, net=True)
    delete(20)
    turns(1)
    verdicts('as before', a=True, b=False, net=True)


def end(follower):
    follower.send_signal(signal.SIGTERM)
    if follower.wait(PATIENCE):
        die(f'it ended with {follower.returncode}')


def main():
    listen(0, pwd.getpwnam(as_user).pw_uid if as_user else 0)
    with open('key', 'w', encoding='ascii', opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(KEY + '\n')
    run(bloom, 'add', HOSTS['mine'])
    run(bloom, 'add', HOSTS['soon'], '--ttl', '100s', '--reason', 'mine')
    decide(1, HOSTS['a'])
    decide(2, '2001:db8:7::/48', scope='Range')
    decide(3, HOSTS['captcha'], kind='captcha')
    decide(4, 'FR', scope='Country')
    began = time.monotonic()
    follower = follow(Agent.server.server_port)
    turns(1)
    verdicts('the start', a=True, b=False, net=True, captcha=False)
    line = open(f'/proc/{follower.pid}/cmdline', 'rb').read() + open(f'/proc/{follower.pid}/environ', 'rb').read()
    if KEY.encode() in line:
        die('its key stands on the command line')
    decide(5, HOSTS['b'], 600)
    decide(6, HOSTS['b'], 7200)
    turns(1)
    verdicts('a new one', b=True)
    delete(6)
    turns(1)
    verdicts('one of two is over', b=True)
    delete(5)
    turns(1)
    verdicts('both are over', b=False)
    if as_user:
        return end(follower)
    follower = behind(follower)
    faults()
    silence()
    in_its_place()
    needed()
    many()
    if by_service:
        reloads(follower)
    others()
    with Agent.lock:
        Agent.decisions, Agent.gone = {}, {}
    turns(1, 503)
    verdicts('it does not answer', a=True, net=True, mine=True)
    turns(2)
    verdicts('its database is empty', a=False, net=False, mine=True)
    end(follower)
    said = open('err', encoding='utf8').read()
    for words in ('are left out: 2', 'status 504; what is banned stays', 'answers again'):
        if words not in said:
            die(f'it does not say "{words}"')
    agents = {head['User-Agent'] for head in Agent.heads}
    if len(agents) != 1 or not agents.pop().startswith('xdp-bloom/'):
        die(f'it calls itself {agents}')
    print(f'# {Agent.questions} questions in {time.monotonic() - began:.0f} s')


main()
