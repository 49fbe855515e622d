#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Small changes to a large set: one address more, one less, and all of it again with other seeds.

Usage: edits.py [--entries N] [--rounds N] PROGRAMS, as root, in a network and mount namespace of its own (run.sh makes
them). What a command takes from its start to its end counts, so that a process that does nothing is a row of its own.
"""
import argparse
import os
import subprocess
import time

from common import (bloom, complain, median, nft_agrees, nft_element, quantile, result, run, succeeds, table, timed,
                    workplace, write_ipset, write_nft)

many = 1000  # addresses, in one command, and in as many
BATCHES = 3
TRIES = 10  # until the service does what it is asked
WRITTEN = 3 * (8192 + 24)  # bytes in SQLite's log for one of them
options = argparse.ArgumentParser()
options.add_argument('--entries', type=int, default=1000000)
options.add_argument('--rounds', type=int, default=5)
options.add_argument('--singles', type=int, default=many)
options.add_argument('--batch', type=int, default=100000)
options.add_argument('programs')
opt = options.parse_args()
work = workplace('edits')
ends = []


def banned(host):
    return succeeds(bloom, '-q', 'test', host)


def set_up():
    hosts = run(f'{opt.programs}/lookup', '--list', '--scenario', 'ipv4-hosts', '--entries', str(opt.entries)).split()
    listed = set(hosts)
    with open('list', 'w', encoding='ascii') as out:
        out.writelines(host + '\n' for host in listed)
    write_ipset(listed, len(hosts))
    write_nft(listed)
    write_batches(listed)
    run(bloom, '-q', 'load', '--bogons=keep', 'bench', 'list')
    run('ipset', 'restore', '-file', 'ipset')
    run('nft', '-f', 'nft')
    fresh = (f'198.18.{i >> 8}.{i & 255}' for i in range(1 << 16))
    return [host for host in fresh if host not in listed]


def write_batches(listed):
    """Files of additions for each round and subject, and the first and last host of each."""
    hosts = (f'100.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}' for i in range(1 << 22))
    hosts = (host for host in hosts if host not in listed)
    for i in range(BATCHES):
        some = [next(hosts) for _ in range(opt.batch)]
        ends.append((some[0], some[-1]))
        for subject, line in ('xdp-bloom', 'add {}'), ('ipset', 'add bench {}'), ('nft', '{},'):
            with open(f'batch-{i}-{subject}', 'w', encoding='ascii') as out:
                if subject == 'nft':
                    out.write('add element inet bench banned {\n')
                out.writelines(line.format(host) + '\n' for host in some)
                if subject == 'nft':
                    out.write('}\n')


COMMANDS = {
    'xdp-bloom': {'add': lambda hosts: (bloom, '-q', 'add', *hosts), 'del': lambda hosts: (bloom, '-q', 'del', *hosts),
                  'batch': lambda file: (bloom, '-q', 'batch', file),
                  'agrees': lambda host, there: banned(host) == there},
    # The same commands, while the service runs.
    'with-service': {},
    'ipset': {'add': lambda hosts: ('ipset', 'add', 'bench', *hosts), 'del': lambda hosts: ('ipset', 'del', 'bench', *hosts),
              'batch': lambda file: ('ipset', 'restore', '-file', file),
              'agrees': lambda host, there: succeeds('ipset', '-q', 'test', 'bench', host) == there},
    'nft': {'add': lambda hosts: nft_element('add', *hosts), 'del': lambda hosts: nft_element('delete', *hosts),
            'batch': lambda file: ('nft', '-f', file), 'agrees': nft_agrees},
}


COMMANDS['with-service'] = COMMANDS['xdp-bloom']


class Service:
    """Runs for as long as a subject is asked that has it."""

    def __init__(self, subject):
        self.wanted = subject == 'with-service'

    def __enter__(self):
        if not self.wanted:
            return
        self.process = subprocess.Popen([bloom, '-q', 'run', '--config', '/dev/null'], stdout=subprocess.DEVNULL)
        socket = f"{os.environ['XDP_BLOOM_STATE']}/errands.sock"
        end = time.monotonic() + 60
        while not os.path.exists(socket) and time.monotonic() < end:
            time.sleep(.01)
        # The first one starts what does them; it leaves them to the command while the service itself opens the state.
        for _ in range(TRIES):
            said = subprocess.run([bloom, '-v', 'add', '198.19.255.255'], stderr=subprocess.PIPE, text=True, check=True).stderr
            run(bloom, '-q', 'del', '198.19.255.255')
            if 'run by the process of the service' in said:
                return
        raise RuntimeError(f'the service does not do it: {said.strip()[:200]}')

    def __exit__(self, *_):
        if self.wanted:
            self.process.terminate()
            self.process.wait()


def edit(times, subject, hosts, scenario):
    """Adds and deletes them again, and looks that it came about."""
    commands = COMMANDS[subject]
    for verb, after in ('add', True), ('del', False):
        seconds, _ = timed(*commands[verb](hosts))
        for host in hosts[0], hosts[-1]:
            if not commands['agrees'](host, after):
                raise RuntimeError(f'{host} is {"not " if after else "still "}there after {verb}')
        times.setdefault((scenario.format(verb), subject), []).append(seconds)


def batches(times, subject):
    """Each on top of the one before."""
    file = 'xdp-bloom' if subject == 'with-service' else subject
    if subject == 'with-service':  # on top of the same set as without
        run(bloom, '-q', 'flush')
        run(bloom, '-q', 'load', '--bogons=keep', 'bench', 'list')
    for i, hosts in enumerate(ends):
        with Service(subject):
            seconds, _ = timed(*COMMANDS[subject]['batch'](f'batch-{i}-{file}'))
        if not all(COMMANDS[subject]['agrees'](host, True) for host in hosts):
            raise RuntimeError('not all of a batch are there')
        times.setdefault((f'edit-batch-{opt.batch}', subject), []).append(seconds)


def synced(log):
    """Seconds that the disk takes for as much as an add writes, and nothing else."""
    begin = time.monotonic()
    os.write(log, bytes(WRITTEN))
    os.fdatasync(log)
    return time.monotonic() - begin


def one_by_one(hosts):
    """An address a command, one after the other: the slowest is what a caller waits for. Between them the disk alone."""
    log = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    seconds, disk = zip(*((timed(bloom, '-q', 'add', host)[0], synced(log)) for host in hosts))
    os.close(log)
    for host in hosts[0], hosts[-1]:
        if not banned(host):
            raise RuntimeError(f'{host} is not there after add')
    run(bloom, '-q', 'del', *hosts)
    return seconds, disk


def main():
    fresh = set_up()
    times = {}
    subjects = list(COMMANDS)
    for i in range(opt.rounds):
        times.setdefault(('edit-nothing', 'process'), []).append(timed(bloom, '-V')[0])
        for subject in list(subjects):
            try:
                with Service(subject):
                    edit(times, subject, [fresh[i]], 'edit-{}')
                    if subject != 'ipset':  # takes one a command
                        edit(times, subject, fresh[many:2 * many], f'edit-{{}}-{many}')
            except RuntimeError as why:
                complain(f'edits: {subject}: {why}: not printed')
                subjects.remove(subject)
                times = {key: value for key, value in times.items() if key[1] != subject}
    if 'xdp-bloom' in subjects:
        try:
            seconds, disk = one_by_one(fresh[2 * many:2 * many + opt.singles])
            times['edit-add-single', 'xdp-bloom'] = seconds
            times['edit-add-single', 'disk'] = disk
        except RuntimeError as why:
            complain(f'edits: one by one: {why}: not printed')
    for _ in range(3):
        times.setdefault(('edit-rotate', 'xdp-bloom'), []).append(timed(bloom, '-q', 'rotate')[0])
    host = run('head', '-n', '1', 'list').strip()
    if not banned(host):
        complain('edits: rotate: an address is missing: not printed')
        del times['edit-rotate', 'xdp-bloom']
    times['edit-swap', 'xdp-bloom'] = [float(ns) / 1e9 for ns in run(f'{opt.programs}/swap').split()]
    for subject in subjects:
        try:
            batches(times, subject)
        except RuntimeError as why:
            complain(f'edits: {subject}: {why}: not printed')
    report(times)


def report(times):
    rows = []
    for (scenario, subject), seconds in sorted(times.items()):
        ours = times.get((scenario, 'xdp-bloom'))
        ratio = median(seconds) / median(ours) if ours else 0
        rows.append([scenario, subject, f'{median(seconds) * 1e3:.4f}',
                     f'{quantile(seconds, .25) * 1e3:.4f} to {quantile(seconds, .75) * 1e3:.4f}',
                     f'{max(seconds) * 1e3:.4f}', f'{ratio:.2f}'])
        result(scenario, subject, opt.entries, median(seconds) * 1e9, quantile(seconds, .99) * 1e9, ratio,
               rounds=len(seconds), max=max(seconds) * 1e9)
    print(f'\nedits of a set of {opt.entries} addresses: milliseconds of a command; the swap is one system call')
    table(['edit', 'subject', 'ms', 'middle half', 'most', 'ratio'], rows)


main()
