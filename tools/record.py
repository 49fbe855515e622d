#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the parts of make record-kernels said, as the tables of the README, between their two marks.

Usage: record.py DIRECTORY README
"""
import os
import re
import subprocess
import sys

BEGIN, END = '<!-- recorded by make record-kernels -->', '<!-- end of the record -->'
FAIL = '**fails**'

# A column, and the cases that it sums up: the test and what its name must match.
COLUMNS = [
    ('native', [('net_attach.sh', r'two interfaces native'), ('net_modes.sh', r'filters native')]),
    ('skb', [('net_attach.sh', r'two interfaces skb'), ('net_modes.sh', r'filters skb')]),
    ('shared', [('net_shared.sh', r'shared (native|skb) ')]),
    ('IPv4', [('net_modes.sh', r'filters \w+ ipv4')]),
    ('IPv6', [('net_modes.sh', r'filters \w+ ipv6')]),
    ('frags', [('prog_packets', r'several buffers|jumbo'), ('net_attach.sh', r'jumbo')]),
    ('rotate under traffic', [('net_rotate.sh', r'rotates')]),
    ('verifier', [('prog_budget', r'^(?!.*frags)')]),
    ('a CPU goes offline', [('net_conditions.sh', r'offline')]),
]


def lines_of(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as lines:
            return lines.read().splitlines()
    except FileNotFoundError:
        return []


def table(head, rows):
    line = '| {} |'.format
    return [line(' | '.join(head)), '|' + '---|' * len(head)] + [line(' | '.join(map(str, row))) for row in rows]


def kernels(path):
    """Of each kernel its tests; of each test its own result, and its cases with name, result and reason."""
    found, cases = {}, []
    for line in lines_of(path):
        case = re.match(r' +(not ok|ok) \d+ (.*?)(?: # SKIP (.*))?$', line)
        test = re.match(r'(not ok|ok) \d+ (\S+) (\S+):', line)
        if case:
            cases.append((case[2], case[1] == 'ok', case[3]))
        elif test:
            found.setdefault(test[2], {})[test[3]] = (test[1] == 'ok', cases)
            cases = []
    return found


def cell(tests, wanted):
    reason = None
    for name, pattern in wanted:
        if name not in tests:
            return 'not run'
        whole, cases = tests[name]
        mine = [case for case in cases if re.search(pattern, case[0])]
        cut_short = not whole and all(ok for _, ok, _ in cases)
        if not mine or cut_short or not all(ok for _, ok, _ in mine):
            return FAIL
        reason = next((why for _, _, why in reversed(mine) if why), reason)
    return reason or 'pass'


def kernel_table(directory):
    rows = []
    for arch in ('amd64', 'arm64'):
        for kernel, tests in kernels(os.path.join(directory, 'kernels-' + arch)).items():
            rows.append([re.sub(r'-cloud.*', '', kernel), arch] + [cell(tests, wanted) for _, wanted in COLUMNS])
    return table(['kernel', 'arch'] + [name for name, _ in COLUMNS], rows)


def fault_table(directory):
    counted, failed = {}, set()
    for line in lines_of(os.path.join(directory, 'faults')):
        count = re.match(r'# (\w+): (\d+) of (\d+) (calls|allocations) failed: (\d+) refusals, (\d+) survived', line)
        if count:
            counted[count[1], count[4]] = [int(count[n]) for n in (2, 5, 6)]
        bad = re.match(r'not ok \d+ fails once (calls|allocations) (\w+)', line)
        if bad:
            failed.add((bad[2], bad[1]))
    rows = []
    for verb in dict.fromkeys(verb for verb, _ in list(counted) + sorted(failed)):
        row = [verb]
        for what in ('calls', 'allocations'):
            row += [FAIL] * 3 if (verb, what) in failed else counted.get((verb, what), ['not run'] * 3)
        rows.append(row)
    sums = [sum(row[n] for row in rows if isinstance(row[n], int)) for n in range(1, 7)]
    return table(['verb', 'system calls failed', 'refused', 'done', 'allocations failed', 'refused', 'done'],
                 rows + [['all'] + sums])


def compilers(directory):
    said = []
    for line in lines_of(os.path.join(directory, 'compilers')):
        result = re.match(r'(not ok|ok) \d+ (\S+) (.*)', line)
        if result:
            said.append(result[2] + ('' if result[1] == 'ok' and 'SKIP' not in result[3] else ' (%s)' % result[3]))
    return ', '.join(said)


def fuzz(directory):
    runs, faults = {}, False
    name = None
    for line in lines_of(os.path.join(directory, 'fuzz')):
        begun = re.match(r'# fuzz_(\w+)$', line)
        ran = re.match(r'stat::number_of_executed_units: (\d+)', line)
        if begun:
            name = begun[1]
            runs[name] = None
        elif ran and name:
            runs[name] = int(ran[1])
        elif re.match(r'# exit status [^0]', line) or 'ERROR' in line:
            faults = True
    said = ', '.join('{} {}'.format(name, FAIL if n is None else format(n, ',')) for name, n in sorted(runs.items()))
    return said + (': ' + FAIL if faults else '; none found anything' if runs else '')


def record(directory):
    commit = subprocess.run(['git', 'describe', '--always', '--dirty'], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    took = (lines_of(os.path.join(directory, 'seconds')) or ['?'])[0]
    return '\n'.join(
        ['One run of `make record-kernels` (%s, %s): Debian\'s kernels, emulated.' % (commit or 'unknown', took), ''] +
        kernel_table(directory) +
        ['', 'Each system call and each way to an allocation failed once; then the command was done, or was refused and had',
         'changed nothing (`detach` alone may fail behind what it did, and says so); what was banned stayed banned, and the',
         'next command worked:', ''] +
        fault_table(directory) +
        ['', 'Built, verified and held against made packets: ' + compilers(directory) + '.', '',
         'Fuzz executions: ' + fuzz(directory) + '.'])


def main():
    directory, readme = sys.argv[1:]
    with open(readme, encoding='utf-8') as page:
        before, rest = page.read().split(BEGIN)
    after = rest.split(END)[1]
    text = record(directory)
    with open(readme + '.tmp', 'w', encoding='utf-8') as page:
        page.write(before + BEGIN + '\n' + text + '\n' + END + after)
    os.replace(readme + '.tmp', readme)
    print(text)
    sys.exit(FAIL in text or 'not run' in text)


if __name__ == '__main__':
    main()
