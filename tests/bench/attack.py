#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One source floods: how soon who finds and drops it, what gets through until then and later, and what that takes.

Usage: attack.py [--rate PPS] [--seconds N] [--rounds N] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes
them). All have the same limit, as many packets a second as LIMIT says, and a second's worth at once where they know bursts.
FastNetMon watches by AF_PACKET and has a script that bans. fail2ban reads what tcpdump writes of packets that a dynamic set of
nft finds above the limit, CrowdSec what ulogd writes of them, with its parser of such logs and its bouncer. All of these ban in
a set of nft. Afterwards frames of other sources all have to come through. Each round has all of them, one after the other.
"""
import argparse
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from common import bloom, complain, median, result, run, table
from wires import BPFFS, Pinned, Subject, charges_tasks, end, load_programs, send_frames

LIMIT = 5000
LOOK = .002  # seconds between two looks
QUEUED = 256  # frames that may be on the way
WARM = 5  # seconds that a daemon has before it is tried
PATIENCE = 60  # seconds, for what it says first

options = argparse.ArgumentParser()
options.add_argument('--rate', type=int, default=300000)
options.add_argument('--seconds', type=int, default=8)
options.add_argument('--rounds', type=int, default=3)
options.add_argument('--only', default='')
options.add_argument('--look', action='store_true', help=argparse.SUPPRESS)
options.add_argument('programs')
opt = options.parse_args()


def look(wire):
    """In a subject's network: again and again how many frames were sent, and how many the last rule has counted."""
    nft = ctypes.CDLL('libnftables.so.1')
    nft.nft_ctx_new.restype = nft.nft_ctx_get_output_buffer.restype = ctypes.c_void_p
    context = ctypes.c_void_p(nft.nft_ctx_new(0))
    nft.nft_ctx_buffer_output(context)
    while True:
        with open(f'/sys/class/net/{wire}/statistics/tx_packets', encoding='ascii') as counter:
            sent = int(counter.read())
        nft.nft_run_cmd_from_buffer(context, b'list chain ip sink end')
        text = ctypes.string_at(nft.nft_ctx_get_output_buffer(context)).decode()
        print(time.monotonic(), sent, re.search(r'packets (\d+)', text).group(1), flush=True)
        time.sleep(LOOK)


class Tool(Subject):
    """With a set of banned sources, which it fills in its own way."""
    rates = ''
    banned = 'type ipv4_addr;'
    programs = ()  # what has to be installed

    def __init__(self, name):
        super().__init__(name)
        self.processes = []

    def up(self, hosts):
        self.inside('nft', f'''table ip bench {{
            set banned {{ {self.banned} }}
            set rates {{ type ipv4_addr; size 1000000; flags dynamic,timeout; timeout 10s; }}
            chain filter {{
                type filter hook prerouting priority -300
                ip saddr @banned drop
                {self.rates}
            }}
        }}''')

    def start(self, *command, output='out', **more):
        with open(f'{self.name}.{output}', 'w') as out:
            self.processes.append(subprocess.Popen(['nsenter', f'--net=/run/netns/{self.name}', *command], stdout=out,
                                                   stderr=more.pop('stderr', subprocess.STDOUT), **more))

    def says(self, text, output='out'):
        """Waits until it does."""
        until = time.monotonic() + PATIENCE
        while True:
            with open(f'{self.name}.{output}', encoding='utf-8') as said:
                if text in said.read():
                    return
            if time.monotonic() > until or self.processes[-1].poll() is not None:
                raise RuntimeError(f'it never said "{text}"')
            time.sleep(LOOK)

    def down(self):
        while self.processes:
            process = self.processes.pop()
            process.terminate()
            process.wait()

    def seconds(self):
        """Of processor time, until now, with those of their children that have ended."""
        ticks = 0
        for process in self.processes:
            with open(f'/proc/{process.pid}/stat', encoding='ascii') as stat:
                ticks += sum(map(int, stat.read().rpartition(')')[2].split()[11:15]))
        return ticks / os.sysconf('SC_CLK_TCK')


class Nft(Tool):
    """No more than its set: what is above the limit is dropped."""
    rates = f'update @rates {{ ip saddr limit rate over {LIMIT}/second burst {LIMIT} packets }} drop'


class FastNetMon(Tool):
    programs = 'fastnetmon',

    def up(self, hosts):
        super().up(hosts)
        wanted = {'interfaces': self.edge, 'mirror_afpacket': 'on', 'threshold_pps': LIMIT, 'enable_api': 'off',
                  'prometheus': 'off', 'networks_list_path': f'{work.name}/networks', 'white_list_path': '/dev/null',
                  'notify_script_path': f'{work.name}/notify', 'monitor_local_ip_addresses': 'off',
                  'ban_for_bandwidth': 'off', 'enable_ban_ipv6': 'off', 'disable_usage_report': 'on'}
        with open('/etc/fastnetmon.conf', encoding='utf-8') as source, open('fastnetmon.conf', 'w') as out:
            out.writelines(line for line in source if line.split('=')[0].strip() not in wanted)
            out.writelines(f'{name} = {value}\n' for name, value in wanted.items())
        with open('networks', 'w') as out:
            out.write('203.0.113.0/24\n')
        with open('notify', 'w') as out:
            out.write('#!/bin/sh\n[ "$4" != ban ] || nft add element ip bench banned "{ $1 }"\ncat >/dev/null\n')
        os.chmod('notify', 0o755)
        self.start('fastnetmon', '--configuration_file', f'{work.name}/fastnetmon.conf', '--log_file',
                   f'{work.name}/fastnetmon.log', '--disable_pid_logic')
        time.sleep(WARM)


class Logs(Tool):
    """What is above the limit is logged, ten packets a second at the most."""
    rates = (f'update @rates {{ ip saddr limit rate over {LIMIT}/second burst {LIMIT} packets }} limit rate 10/second '
             'log prefix "kernel: " group 1')


class Fail2ban(Logs):
    programs = 'fail2ban-server', 'tcpdump'

    def up(self, hosts):
        super().up(hosts)
        folders('f2b', 'f2b/filter.d', 'f2b/action.d', 'f2b/jail.d', 'f2b/fail2ban.d')
        files = {
            'fail2ban.conf': '[Definition]\nloglevel = INFO\nlogtarget = STDOUT\nsyslogsocket = auto\ndbfile = None\n'
                             'dbpurgeage = 1d\ndbmaxmatches = 10\n[Thread]\n',
            'jail.conf': f'[flood]\nenabled = true\nfilter = flood\nlogpath = {work.name}/fail2ban.log\nbackend = auto\n'
                         'maxretry = 1\nfindtime = 10\nbantime = 600\naction = nft\n',
            'filter.d/flood.conf': '[Definition]\nfailregex = ^ IP <HOST>\\.\\d+ > \n',
            'action.d/nft.conf': '[Definition]\nactionban = nft add element ip bench banned "{ <ip> }"\n'
                                 'actionunban = nft delete element ip bench banned "{ <ip> }"\n'}
        write_files('f2b', files)
        self.start('tcpdump', '-tttt', '-nl', '-i', 'nflog:1', output='log', stderr=subprocess.DEVNULL)
        self.start('fail2ban-server', '-c', f'{work.name}/f2b', '-s', f'{work.name}/f2b.sock', '-p', f'{work.name}/f2b.pid',
                   '-xf', 'start')
        time.sleep(WARM)


class CrowdSec(Logs):
    """Its parsers of syslog and of iptables' lines, a scenario that bans at the first one, and its bouncer, asking every second."""
    programs = 'crowdsec', 'cscli', 'crowdsec-firewall-bouncer', 'ulogd'
    banned = 'type ipv4_addr; flags timeout;'
    hub = '/usr/share/crowdsec/hub'

    def up(self, hosts):
        super().up(hosts)
        self.inside('nft', 'insert rule ip sink end iifname lo accept')
        at = f'{work.name}/cs'
        folders('cs', 'cs/data', 'cs/parsers', 'cs/scenarios')
        for stage, parser in ('s00-raw', 'syslog-logs'), ('s01-parse', 'iptables-logs'), ('s02-enrich', 'dateparse-enrich'):
            folders(f'cs/parsers/{stage}')
            os.symlink(f'{self.hub}/parsers/{stage}/crowdsecurity/{parser}.yaml', f'cs/parsers/{stage}/{parser}.yaml')
        os.symlink('/etc/crowdsec/patterns', 'cs/patterns')
        files = {
            'config.yaml': f'''
common: {{daemonize: false, log_media: stdout, log_level: info, working_dir: .}}
config_paths: {{config_dir: {at}/, data_dir: {at}/data/, simulation_path: {at}/simulation.yaml, hub_dir: {self.hub}/,
    index_path: {self.hub}/.index.json, notification_dir: {at}/, plugin_dir: /usr/lib/crowdsec/plugins/}}
crowdsec_service: {{acquisition_path: {at}/acquis.yaml, parser_routines: 1}}
cscli: {{output: human}}
db_config: {{type: sqlite, db_path: {at}/data/crowdsec.db}}
api:
  client: {{credentials_path: {at}/client.yaml}}
  server: {{listen_uri: "127.0.0.1:8080", profiles_path: {at}/profiles.yaml}}
prometheus: {{enabled: false}}
''',
            'acquis.yaml': f'filenames: [{work.name}/kern.log]\nlabels: {{type: syslog}}\n',
            'profiles.yaml': 'name: ban\nfilters: [Alert.Remediation == true]\n'
                             'decisions: [{type: ban, duration: 4h}]\non_success: break\n',
            'scenarios/flood.yaml': 'type: trigger\nname: bench/flood\ndescription: above the limit\n'
                                    'filter: "evt.Meta.log_type == \'iptables_drop\'"\ngroupby: evt.Meta.source_ip\n'
                                    'labels: {service: udp, type: flood, remediation: true}\n',
            'ulogd.conf': f'''[global]
stack=log1:NFLOG,base1:BASE,ifi1:IFINDEX,ip2str1:IP2STR,print1:PRINTPKT,emu1:LOGEMU
logfile="{at}/ulogd.log"
[log1]
group=1
[emu1]
file="{work.name}/kern.log"
sync=1
''',
            'simulation.yaml': 'simulation: off\n', 'client.yaml': ''}
        write_files('cs', files)
        with open('kern.log', 'w'):
            pass
        tell = 'cscli', '-c', f'{at}/config.yaml'
        run(*tell, 'machines', 'add', 'bench', '--password', 'bench', '-f', f'{at}/client.yaml', '--force', '-u',
            'http://127.0.0.1:8080')
        key = run(*tell, 'bouncers', 'add', 'bench', '-o', 'raw').strip()
        write_files('cs', {'bouncer.yaml': f'''
mode: nftables
update_frequency: 1s
daemonize: false
pid_dir: {at}
log_mode: stdout
log_level: info
api_url: http://127.0.0.1:8080/
api_key: {key}
disable_ipv6: true
deny_action: DROP
supported_decisions_types: [ban]
blacklists_ipv4: banned
nftables:
  ipv4: {{enabled: true, set-only: true, table: bench, chain: filter}}
  ipv6: {{enabled: false}}
prometheus: {{enabled: false}}
'''})
        self.start('ulogd', '-c', f'{at}/ulogd.conf', output='ulogd')
        self.start('crowdsec', '-c', f'{at}/config.yaml', '-no-capi')
        self.says('Starting processing data')
        self.start('crowdsec-firewall-bouncer', '-c', f'{at}/bouncer.yaml', output='bouncer')
        self.says('Processing new and deleted decisions', 'bouncer')
        time.sleep(WARM)


class Bloom(Tool):
    """In the kernel, without a process."""
    offload = False

    def command(self, *words):
        return self.inside(bloom, '-q', '-S', f'{work.name}/state', '-B', f'{BPFFS}/{self.name}', *words)

    def down(self):
        try:
            self.command('detach', self.edge)
        except RuntimeError as why:
            complain(f'attack: {why}')
        shutil.rmtree(f'{BPFFS}/{self.name}', ignore_errors=True)

    def up(self, hosts):
        with open('list', 'w') as out:
            out.write('192.0.2.1\n')
        self.command('load', '--bogons=keep', 'bench', 'list')
        self.command('attach', self.edge, '--mode', 'native')
        self.command('detect', 'limit', 'udp', 'none')
        self.command('detect', 'limit', 'packets', f'{LIMIT}/s', '--then', 'police')
        self.command('detect', 'on')


class Generator(Pinned):
    """What it takes to make the frames, and have them dropped at once."""
    programs = ()

    def seconds(self):
        return 0

    def down(self):
        pass


subjects = [Generator('generator', 'drop_all', keeps=False), Tool('nothing'), Bloom('xdp-bloom'), Nft('nft-set'),
            FastNetMon('fastnetmon'), Fail2ban('fail2ban'), CrowdSec('crowdsec')]


def folders(*names):
    for name in names:
        os.makedirs(name, exist_ok=True)


def write_files(folder, files):
    for name, text in files.items():
        with open(f'{folder}/{name}', 'w', encoding='utf-8') as out:
            out.write(text)


def make_sources():
    others = [198 << 24 | 18 << 16 | i for i in range(1000)]
    for name, addresses in ('attacker', [203 << 24 | 113 << 8 | 7]), ('others', others):
        with open(name, 'wb') as out:
            out.write(struct.pack(f'>{len(addresses)}I', *addresses))


def first_drop(looks):
    """Seconds, and frames, from the first to where one did not come through, as far as looks tell."""
    _, sent, kept = looks[0]
    begin = next((t for t, n, _ in looks if n > sent), None)
    return next(((t - begin, k - kept) for t, n, k in looks if n - sent - (k - kept) > QUEUED), None)


def attack(subject):
    """When it first drops, and what the whole of it took."""
    frames = opt.rate * opt.seconds
    with open(f'{subject.name}.looks', 'w') as out:
        looking = subprocess.Popen(['nsenter', f'--net=/run/netns/{subject.name}', sys.executable, f'{here}/attack.py', '--look',
                                    subject.wire], stdout=out)
    try:
        while not os.path.getsize(f'{subject.name}.looks'):
            time.sleep(LOOK)
        before, used, begin = subject.kept(), subject.seconds(), time.monotonic()
        ns = run(f'{opt.programs}/packets', *(['-t'] if charges_tasks() else []), '-r', str(opt.rate), '-n', str(frames),
                 subject.wire, 'attacker').split()[0]
        took, used, kept = time.monotonic() - begin, subject.seconds() - used, subject.kept() - before
    finally:
        looking.terminate()
        looking.wait()
    with open(f'{subject.name}.looks', encoding='ascii') as lines:
        looks = [(float(t), int(n), int(k)) for t, n, k in (line.split() for line in lines if line.endswith('\n'))]
    first = first_drop(looks)
    if not first and subject.name != 'nothing':
        raise RuntimeError(f'it let {kept} packets through, and dropped none')
    first = first or (0, kept)
    return {'first': first[0] * 1000, 'before': first[1], 'through': kept, 'percent': 100 * used / took, 'each': float(ns),
            'pps': frames / took}


def try_one(subject):
    try:
        missing = next((p for p in subject.programs if not shutil.which(p)), None)
        if missing:
            raise RuntimeError(f'{missing} is not installed')
        subject.wires()
        subject.inside('ip', 'link', 'set', 'lo', 'up')
        subject.up(None)
        told = attack(subject)
        if subject.name != 'generator':
            _, sent, calm = send_frames(opt.programs, subject, 'others', 1, 100000)
            if calm != sent:
                raise RuntimeError(f'of other sources {calm} of {sent} frames were kept')
        return told
    except (RuntimeError, OSError, StopIteration) as why:
        complain(f'attack: {subject.name}: {why}: not printed')
        return None
    finally:
        subject.down()
        end([subject])
        for left in 'state', 'f2b', 'cs':
            shutil.rmtree(left, ignore_errors=True)


def main():
    make_sources()
    load_programs(opt.programs)
    asked = [s for s in subjects if not opt.only or s.name in ('generator', *opt.only.split(','))]
    told = {subject: [] for subject in asked}
    for turn in range(opt.rounds):
        # Who comes first is another one each time; whoever failed once is not asked again, and not printed.
        for subject in asked[turn % len(asked):] + asked[:turn % len(asked)]:
            if len(told[subject]) == turn:
                one = try_one(subject)
                told[subject] += [one] if one else []
    rows, base = [], 0
    if len(told[asked[0]]) < opt.rounds:
        complain('attack: without the cost of a frame nothing is printed')
        return 1
    for subject in asked:
        if len(told[subject]) < opt.rounds:
            continue
        said = {what: median(one[what] for one in told[subject]) for what in told[subject][0]}
        most = max(one['first'] for one in told[subject])
        if subject.name == 'generator':
            base = said['each']
            continue
        each = said['each'] - base
        kernel = each * opt.rate / 1e7
        drops = subject.name != 'nothing'
        rows.append([subject.name, f"{said['pps']:,.0f}", f"{said['first']:,.0f}" if drops else 'never',
                     f'{most:,.0f}' if drops else '', f"{said['before']:,.0f}" if drops else '', f"{said['through']:,.0f}",
                     f'{each:.0f}', f'{kernel:.1f} %', f"{said['percent']:.1f} %"])
        result('attack', subject.name, 1, each, each, 0, first_ms=said['first'], latest_ms=most, before=said['before'],
               through=said['through'], pps=said['pps'], kernel_percent=kernel, percent=said['percent'])
    print(f'\none source, {opt.seconds} s, limit {LIMIT:,} packets a second; medians of {opt.rounds} rounds; making a frame takes '
          f'{base:.0f} ns, which are taken off')
    table(['subject', 'packets a second', 'first drop, ms', 'at the latest', 'packets before', 'let through', 'ns each',
           'kernel', 'processes'], rows)
    return 0


here = os.path.dirname(os.path.realpath(__file__))
if opt.look:
    look(opt.programs)
opt.programs = os.path.realpath(opt.programs)
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
try:
    status = main()
finally:
    end(subjects)
sys.exit(status)
