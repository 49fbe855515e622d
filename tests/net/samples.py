#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""samples.py mix SEED: what up to six lists drop, over three orders of magnitude, as files for traffic: bursts/0, 1, ...;
what was sent is in `mix`. samples.py judge REPORT: is what the report says of it right?"""
import json
import math
import os
import random
import sys


def shares(n):
    parts = [random.expovariate(1) for _ in range(n)]
    return [part / sum(parts) for part in parts]


def mix():
    bursts = [[] for _ in range(3)]
    lists = {}
    for i in random.sample(range(6), random.randint(2, 6)):
        packets = round(10 ** random.uniform(1, 4))
        sent = [f'198.{18 + i}.{random.randrange(256)}.{random.randrange(1, 255)}' for _ in range(random.randint(1, 4))]
        mine = random.choices(sent, shares(len(sent)), k=packets)
        if random.random() < .5:
            mine.sort()
        lists[f'list{i}'] = {source: mine.count(source) for source in set(mine)}
        ends = sorted(random.randint(0, packets) for _ in range(2))
        for burst, begin, end in zip(bursts, [0] + ends, ends + [packets]):
            burst.append(mine[begin:end])
    os.makedirs('bursts', exist_ok=True)
    for n, burst in enumerate(bursts):
        random.shuffle(burst)
        lines = [source for part in burst for source in part]
        if random.random() < .5:
            random.shuffle(lines)
        with open(f'bursts/{n}', 'w', encoding='ascii') as file:
            file.writelines(f'{line}\n' for line in lines)
    with open('mix', 'w', encoding='ascii') as file:
        json.dump(lists, file)


def judge(report):
    with open('mix', encoding='ascii') as file:
        lists = json.load(file)
    with open(report, encoding='ascii') as file:
        said = json.load(file)
    sources = {entry['name']: entry for entry in said['sources']}
    exact = {entry['name']: entry['packets'] for entry in said['lists']}
    truth = {source: n for of_list in lists.values() for source, n in of_list.items()}
    total = sum(truth.values())
    wrong, shares = [], {}
    if exact != {name: sum(of_list.values()) for name, of_list in lists.items()}:
        wrong.append(f'the counters have {exact}')
    for name, of_list in lists.items():
        mine = [sources[source] for source in of_list if source in sources]
        share, error = sum(e['share'] for e in mine), math.hypot(*(e['share_error'] for e in mine))
        shares[name] = share, error
        if not sum(e['samples'] for e in mine):
            wrong.append(f'{name} has no sample')
        if abs(share - exact.get(name, 0) / total) > error + 1e-6:
            wrong.append(f'{name} has {share:.4f} +- {error:.4f}, by the counters {exact.get(name, 0) / total:.4f}')
    far = 0
    for name, n in truth.items():
        e = sources.get(name, {'share': 0, 'share_error': 0})
        far += name in sources and abs(e['share'] - n / total) > e['share_error'] + 1e-6
    # Of two sources in the wrong order one is further off than said, and counts as that.
    for a, (share_a, error_a) in shares.items():
        for b, (share_b, error_b) in shares.items():
            if share_a - share_b > error_a + error_b + 2e-6 and exact.get(a, 0) <= exact.get(b, 0):
                wrong.append(f'{a} ({exact.get(a, 0)}) before {b} ({exact.get(b, 0)})')
    print(f'{len(sources)} {far} {said["samples"]} {total}')
    if wrong:
        sys.exit('; '.join(wrong))


if sys.argv[1] == 'mix':
    random.seed(int(sys.argv[2]))
    mix()
else:
    judge(sys.argv[2])
