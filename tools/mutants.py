#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
mutants.py [-n COUNT] [-s SEED]... [-a ROOM]... [-i NUMBER]... [-b SECONDS] [-l TESTS] [-o DIRECTORY] [-j COPIES] [-u]
[-q]: would the tests notice?

Changes the code at random, one small thing at a time, in copies of the tree, and runs the tests on each mutant until
one fails. First, all tests run once on code that counts: which lines does each of them reach? That is kept until a
tenth of the code has changed, or the test has. Then only what reaches the changed line is tried: the unit tests, and
the others, the quickest and those that know the file best first, no longer than -b seconds of these others. Who
survives that meets the unit tests once more, under the address and undefined-behaviour sanitizers, and those tests in
full that are samples in make test: each call that fails once, each need by each verb, many kills (-l of them). A
mutant that does not compile, or compiles to the same code, or stands in tools/mutants.equivalent, is not counted.
Prints who survives, and the score. -i tries only the mutant of that number again. -u lists the lines that no test
reaches, and ends. -j is how many at once (4). -q is quick: each mutant meets the unit tests that reach it, and as many
others as take -b seconds (30), by what was measured before, however long ago; its score is a lower bound. Ends with 1
where less than 95 % were noticed.
"""
import argparse
import atexit
import concurrent.futures
import difflib
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
EQUIVALENT = os.path.join(TOP, 'tools/mutants.equivalent')
WORKERS = 4  # most of a test is waiting
RUNNERS = 4
LINKED = 6
LITTLE = 5  # seconds
running = set()
# For make targets of their own.
LONG = ('cli_soak', 'net_scale', 'net_fleet_faults', 'net_fleet_sixteen', 'net_routes_daemons')
# Samples of what has a make target of its own: how it is run in full, for those that survive.
FULL = {'cli_faults': {'FAULTS': 'all'}, 'cli_guards': {'GUARDS': 'all'}, 'net_kill': {'XDP_BLOOM_KILLS': '200'},
        'unit_state_rows': {'FAULTS': 'all'}}
FULL_SECONDS = 900
WORDS = ('cli_shown', 'cli_mistakes')

# The strata, and which scripts know of each room: they are tried before others as quick. What the kernel runs counts no
# lines: mutants of it are tried on all of these.
SCRIPTS = {
    'bpf': 'prog_packets prog_sets prog_exact prog_shape prog_ban prog_detect prog_police prog_replay prog_scope prog_unasked '
           'cli_layout net_lists net_modes net_stats net_observe net_detect net_police net_scope net_match',
    'base': 'cli_errors cli_docs cli_load cli_state cli_whose net_config net_privilege',
    'sets': 'cli_load cli_errors cli_compare net_lists cli_sets_peer',
    'fetch': 'net_fetch net_crowdsec net_hostile cli_confined',
    'fleet': 'cli_fleet cli_fleet_core net_fleet net_fleet_wire',
    'filter': 'prog_sets prog_exact cli_layout cli_rate cli_bans net_lists cli_plan',
    'image': 'cli_image cli_compare cli_load',
    'state': 'cli_state cli_bans cli_batch cli_load cli_events cli_image cli_whose net_feeds net_service',
    'kernel': 'prog_packets prog_sets prog_shape cli_image net_attach net_shared net_stats net_modes net_conditions '
              'net_privilege net_rotate net_watch',
    'change': 'cli_bans cli_batch cli_load cli_guards cli_guards_boot cli_guards_trials cli_image cli_state cli_events '
              'net_attach net_shared net_confirm net_feeds net_conditions net_rotate net_kill',
    'feeds': 'cli_fleet cli_fleet_core cli_crowd cli_errors net_follow net_crowdsec net_routes net_announce net_door net_fleet',
    'observe': 'net_observe net_stats net_top net_watch net_hostile net_service net_service_lists cli_events',
    'service': 'net_service net_service_lists net_config net_feeds net_hostile cli_events cli_systemd',
    'verbs': 'cli_errors cli_docs cli_sets_peer cli_bans cli_batch cli_guards cli_guards_trials cli_load cli_state '
             'cli_image cli_compare cli_plan net_stats net_top net_watch net_config',
}

# --- Mutants ---------------------------------------------------------------------------------------------------------

UNSEEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
                    re.S | re.M)
BESIDE = {  # what an operator is mistaken for
    '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'], '==': ['!='], '!=': ['=='],
    '&&': ['||'], '||': ['&&'], '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '<<': ['>>'], '>>': ['<<'], '&': ['|'],
    '|': ['&'], '|=': ['=', '&='], '&=': ['=', '|='], '+=': ['=', '-='], '-=': ['=', '+='],
}
OPERATOR = re.compile(r'(?<= )(%s)(?=[ \n])' % '|'.join(re.escape(o) for o in sorted(BESIDE, key=len, reverse=True)))
RELATIONS = {'<', '<=', '>', '>=', '==', '!=', '&&', '||'}
NUMBER = re.compile(r'(?<![\w.\]])(?:0x[0-9a-f]+|\d+)(?=(?:U?L{0,2}|u)\b)(?![.\w]*\.)')
STATEMENT = re.compile(r'^\t+(?!(?:return|break|continue|goto|case|if|else|for|while|static|const|struct)\b)'
                       r'(?:[\w>.*()\[\]-]+ [-+|&^*/]?= [^;{}]*|[\w>.-]+\([^;{}]*\)|'
                       r'(?:\+\+|--)[\w>.-]+|[\w>.-]+(?:\+\+|--));', re.M)
# A process gives back what it had when it ends; the sanitizers look for leaks.
RELEASE = re.compile(r'\t+\w*free\(')
ARGUMENTS = re.compile(r'(?<=[(\s])([&*]?[\w.>-]+), ([&*]?[\w.>-]+)(?=[,)])')
ARRAY = re.compile(r'(?:\w|^\t*(?:unsigned |struct )?\w+(?: [*]?\w+(?:\[[^\]]*\])?(?: = [^,()]+)?,)+) [*]?\w+\[$')
FUNCTION = re.compile(r'^(?!static_assert|_Static_assert)[a-z_][^\n;={}]*?(\w+)\([^;{}]*\)\n\{', re.M)


class Mutant:
    def __init__(self, path, text, kind, start, end, new):
        self.path, self.text, self.kind, self.start, self.end, self.new = path, text, kind, start, end, new

    def mutated(self):
        return self.text[:self.start] + self.new + self.text[self.end:]

    def line(self):
        return self.text.count('\n', 0, self.start) + 1

    def lines(self):
        """Before, and after."""
        first, last = self.text.rfind('\n', 0, self.start) + 1, self.text.find('\n', self.end)
        return self.text[first:last], self.text[first:self.start] + self.new + self.text[self.end:last]

    def function(self):
        begun = [match for match in FUNCTION.finditer(self.text, 0, self.start)]
        inside = begun and '\n}' not in self.text[begun[-1].end():self.start]
        return begun[-1].group(1) + '()' if inside else ''

    def key(self):
        """The same after lines have moved."""
        return self.path, self.function(), *(' '.join(line.split()) for line in self.lines())

    def is_of_kind(self, before, after):
        """Does it turn the one piece of a line into the other?"""
        first, last = self.text.rfind('\n', 0, self.start) + 1, self.text.find('\n', self.end)
        places = [(first + match.start(), first + match.end())
                  for match in re.finditer(re.escape(before), self.text[first:last])]
        return any(start <= self.start and self.end <= end and
                   self.text[start:self.start] + self.new + self.text[self.end:end] == after for start, end in places)

    def __str__(self):
        before, after = self.lines()
        return '\n'.join([f'{self.path} {self.function()}'.strip()] + ['-' + line for line in before.split('\n')] +
                         ['+' + line for line in after.split('\n')])


def matching(code, at):
    """Where the parenthesis that opens here is closed."""
    depth = 0
    for place in range(at, len(code)):
        depth += {'(': 1, ')': -1}.get(code[place], 0)
        if not depth:
            return place
    return at


def mutants_of(path):
    """(kind, start, end, instead) of everything in one file that can be changed."""
    with open(os.path.join(TOP, path)) as file:
        text = file.read()
    # Same length, same lines; of what is defined, the value can be changed.
    code = UNSEEN.sub(lambda match: re.sub(r'[^\n]', '\0', match.group()), text)
    found = []

    def add(kind, start, end, new):
        # Large pages are only faster, and so is what is fetched before it is needed.
        if re.search(r'\t(?:large_pages|__builtin_prefetch)\(', code[code.rfind('\n', 0, start) + 1:code.find('\n', end)]):
            return
        found.append(Mutant(path, text, kind, start, end, new))

    for match in OPERATOR.finditer(code):
        for new in BESIDE[match.group()]:
            add('relation' if match.group() in RELATIONS else 'operator', match.start(), match.end(), new)
    for match in NUMBER.finditer(code):
        line = code[code.rfind('\n', 0, match.start()) + 1:match.start()]
        if ARRAY.search(line):  # its size
            continue
        digits = match.group()
        value = int(digits, 8 if re.fullmatch(r'0\d+', digits) else 0)
        # More memory than is used changes nothing.
        less = re.search(r'\b(?:calloc|malloc|reallocarray)\([^;]*$', line)
        for new in {value if less else value + 1, max(value - 1, 0), 0} - {value}:
            add('constant', match.start(), match.end(), str(new))
    for match in re.finditer(r'\b(true|false)\b', code):
        add('constant', match.start(), match.end(), 'false' if match.group() == 'true' else 'true')
    for match in re.finditer(r'(?<=[ (])!(?=[\w(*])', code):
        add('relation', match.start(), match.end(), '')
    for match in STATEMENT.finditer(code):
        before = code[:match.start()].rstrip(' \t\n\0')
        if before[-1:] in ';{}:)' and not RELEASE.match(match.group()) and '\0' not in match.group()[:3]:
            indent = len(match.group()) - len(match.group().lstrip())
            add('statement', match.start() + indent, match.end(), ';')
    for match in re.finditer(r'\bif \(', code):
        end = matching(code, match.end() - 1)
        inside = text[match.end():end]
        add('check', match.end(), end, f'false && ({inside})')
        add('check', match.end(), end, f'true || ({inside})')
    for match in re.finditer(r'\breturn ([^;]+);', code):
        if match.group(1) not in ('0', 'false', 'NULL'):
            add('returned', match.start(1), match.end(1), '0')
    for match in ARGUMENTS.finditer(code):
        line = code[code.rfind('\n', 0, match.start()) + 1:match.end()]
        # Whether two are alike does not depend on which is first.
        alike = re.search(r'!\w*cmp\($', code[:match.start()][-16:]) or \
            re.search(r'cmp\($', code[:match.start()][-16:]) and re.match(r'\) [!=]= 0', code[match.end():])
        # Nor what is where on the stack, or in a struct that no other program knows.
        declared = re.fullmatch(r'\t+(?!return )(?:const )?(?:\w+ )+[\w *]*(?:, [\w *]*)*[;,]', line + code[match.end():match.end() + 1])
        if line.startswith('\t') and match.group(1) != match.group(2) and not alike and not declared:
            add('swapped', match.start(), match.end(), f'{match.group(2)}, {match.group(1)}')
    return found


def rooms_of(chosen):
    rooms = {}
    for room in chosen:
        folder = 'bpf' if room == 'bpf' else f'user/{room}'
        rooms[room] = {}
        for name in sorted(os.listdir(os.path.join(TOP, folder))):
            for mutant in mutants_of(f'{folder}/{name}') if name.endswith(('.c', '.h')) else ():
                rooms[room].setdefault(mutant.kind, []).append(mutant)
    return rooms


def drawn(seed, rooms):
    """(number, mutant), without end: the rooms in turn, each kind as likely as another, none twice."""
    rng, seen = random.Random(seed), set()
    for number in itertools.count(1):
        kinds = rooms[list(rooms)[number % len(rooms)]]
        mutant = rng.choice(kinds[rng.choice(sorted(kinds))])
        if mutant not in seen:
            seen.add(mutant)
            yield number, mutant


def equivalents():
    """Blocks of a file and its function, the line before, the line after, and why that changes nothing. Of a kind: a *,
    and the piece of a line."""
    keys = set()
    with open(EQUIVALENT) as file:
        blocks = re.sub(r'^#.*\n', '', file.read(), flags=re.M).strip().split('\n\n')
    for block in filter(None, blocks):
        lines = block.split('\n')
        path, _, function = lines[0].partition(' ')
        before = ' '.join(' '.join(line[1:] for line in lines[1:] if line.startswith('-')).split())
        after = ' '.join(' '.join(line[1:] for line in lines[1:] if line.startswith('+')).split())
        if not before or not after or lines[-1][0] in '-+':
            sys.exit(f'{EQUIVALENT}: no -, + and reason: {block}')
        keys.add((path, function, before, after))
    return keys


def is_equivalent(mutant, known):
    return mutant.key() in known or any(mutant.is_of_kind(before, after)
                                        for path, _, before, after in known if path == '*')


# --- Building --------------------------------------------------------------------------------------------------------


def code_of(path):
    """What of an object is run: BTF repeats the source's lines."""
    with open(path, 'rb') as file:
        data = file.read()
    table, count, names = struct.unpack_from('<Q', data, 40)[0], *struct.unpack_from('<HH', data, 60)
    parts = [struct.unpack_from('<IIQQQQ', data, table + 64 * i) for i in range(count)]

    def name(part):
        at = parts[names][4] + part[0]
        return data[at:data.index(b'\0', at)]

    return [data[part[4]:part[4] + part[5]] for part in parts
            if part[1] != 8 and (part[2] & 2 or name(part).startswith(b'.rel') and b'BTF' not in name(part))]


PLAIN = ['CFLAGS=-O2', 'WERROR=-Werror']  # without -g, so that the same code is the same file
COUNTS = ['CC=clang', 'CFLAGS=-O1 -include stdlib.h -mllvm -runtime-counter-relocation',
          'SANITIZE=-fprofile-instr-generate -fcoverage-mapping']
# What speaks to servers is started with no environment; where it counts, it must be told.
TOLD = ('user/base/helper.c', '"PATH=/usr/bin:/bin", NULL',
        '"PATH=/usr/bin:/bin", getenv("LLVM_PROFILE_FILE") ? getenv("LLVM_PROFILE_FILE") - 18 : NULL, NULL')
SANITIZED = ['CFLAGS=-O1', 'SANITIZE=-fsanitize=address,undefined -fno-sanitize-recover=undefined', 'SHARED=1']


class Copy:
    """A tree of its own, built."""

    def __init__(self, path, flags, like=None, of=TOP, told=None):
        self.path, self.flags = path, flags
        if like:  # built already; the dependencies name its directory
            shutil.copytree(like.path, path)
            subprocess.run(['find', path, '-name', '*.d', '-exec', 'sed', '-i', f's|{like.path}/|{path}/|g', '{}', '+'],
                           check=True)
        else:
            shutil.copytree(of, path, ignore=shutil.ignore_patterns('build', '.git', '__pycache__'))
        if told:
            with open(os.path.join(path, told[0])) as file:
                text = file.read()
            if told[1] not in text:
                sys.exit(f'{told[0]}: no such words any more: {told[1]}')
            self.write(told[0], text.replace(told[1], told[2]))
        if not self.make():
            with open(self.log()) as log:
                sys.exit(f'cannot be built: {log.read()}')
        self.object = self.objects()
        self.program = {name: self.built(name) for name in os.listdir(f'{self.path}/build/tests')
                        if re.fullmatch(r'(unit|prog)_[a-z0-9_]+', name)}

    def log(self):
        return os.path.join(self.path, 'build.log')

    def make(self, what='tests', tests=None):
        with open(self.log(), 'w') as log:
            return not subprocess.run(['make', '-s', '-C', self.path] + self.flags +
                                      ([what] if tests is None else [what, 'TESTS=' + ' '.join(tests)]), stdout=log, stderr=log,
                                      stdin=subprocess.DEVNULL, env=clean_environment()).returncode

    def objects(self):
        found = {'bpf': code_of(f'{self.path}/build/xdp_bloom.bpf.o')}
        for folder, _, names in os.walk(f'{self.path}/build/user'):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith('.o') and not uses_skeleton(path):
                    with open(path, 'rb') as file:
                        found[path] = file.read()
        return found

    def built(self, name):
        with open(f'{self.path}/build/tests/{name}', 'rb') as file:
            return hash(file.read())

    def write(self, path, text):
        with open(os.path.join(self.path, path), 'w') as file:
            file.write(text)

    def command(self, name):
        if name in self.program:
            return f'{self.path}/build/tests/{name}'
        return next(glob.iglob(f'{self.path}/tests/*/{name}.sh'))

    def run(self, name, seconds, said, **more):
        """Runs a test until it ends, said(line) is true, or the time is over. None: killed; or its status."""
        left = tempfile.mkdtemp(prefix='', dir=os.path.dirname(self.path))
        os.chmod(left, 0o755)
        env = dict(clean_environment(), TMPDIR=left, XDP_BLOOM=f'{self.path}/build/xdp-bloom',
                   TRAFFIC=f'{self.path}/build/tests/traffic', **more)
        # Processes and pins of its own, so that nothing is left of what is killed. No file is larger than 4 GiB: what a
        # mutant that does not end writes takes the machine's memory.
        apart = ['unshare', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', 'sh', '-c',
                 'ulimit -f 8388608; mount -t bpf bpf /sys/fs/bpf; "$0"; exit $?', self.command(name)]
        test = subprocess.Popen(apart, cwd=self.path, env=env, stdin=subprocess.DEVNULL, text=True, errors='replace',
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.add(test)
        hung = threading.Timer(seconds, test.kill)
        hung.start()
        try:
            enough = any(said(line) for line in test.stdout)
            late = not hung.is_alive()
        finally:
            test.kill() if test.poll() is None and (enough or late) else None
            test.stdout.close()
            status = test.wait()
            hung.cancel()
            running.discard(test)
            shutil.rmtree(left, ignore_errors=True)
        return None if late else status

    def try_test(self, test, seconds, more):
        """What failed in one case of a script, or in a program; None where nothing did."""
        name, _, case = test.partition(' ')
        failed, comment, left = [], [''], [0]

        def said(line):
            comment[0] = line.strip() if line.startswith('#') else comment[0]
            left[0] += int(line[3:]) if re.match(r'1\.\.\d+$', line) else -line.startswith('ok ')
            if line.startswith(('not ok', 'Bail out')):
                failed.append(f'{line.strip()} ({comment[0]})')
            return bool(failed)
        cases = {'XDP_BLOOM_CASES': '^%s$' % re.sub(r'[ _]', '[ _]', re.escape(case).replace('\\ ', ' '))} if case else {}
        status = self.run(name, seconds, said, **cases, **more)
        if failed:
            return failed[0]
        if status is None:
            return f'did not end in {seconds:.0f} s'
        # A process that forked, say, and ends as its child.
        return f'ended with {status}' if status not in (0, 4) else f'ended {left[0]} cases early' if left[0] > 0 else None


def is_late(failed):
    return failed.startswith('did not end')


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(('MAKE', 'MFLAGS', 'XDP_BLOOM'))}


def uses_skeleton(path):
    with open(path[:-1] + 'd') as file:
        return 'skel.h' in file.read()

# --- What reaches what -----------------------------------------------------------------------------------------------


def hash_of(*patterns):
    found = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in glob.glob(f'{TOP}/{pattern}')):
        with open(path, 'rb') as file:
            found.update(path[len(TOP):].encode() + hashlib.sha256(file.read()).digest())
    return found.hexdigest()[:16]


def beside(name):
    """The headers in a test's own folder that it includes, and those that they include."""
    found, more = set(), {f'{name}.c'}
    folder = os.path.join(TOP, 'tests', name.split('_')[0])
    while more:
        path = os.path.join(folder, more.pop())
        if os.path.exists(path):
            with open(path) as file:
                new = set(re.findall(r'^#include "(\w+\.h)"', file.read(), re.M)) - found
            found |= new
            more |= new
    return {f'tests/{name.split("_")[0]}/{header}' for header in found}


class Reached:
    """The lines that each test reaches, and how long it takes. A test is a program, or a script and one of its cases."""

    def __init__(self, keep, make_copy, quick):
        self.path, self.quick = os.path.join(keep, 'reached.json'), quick
        tree = hash_of('bpf/*', 'user/*/*', 'tests/support/*', 'tools/common.mk')
        self.text = {path: self.lines_of(path) for path in glob.glob('bpf/*.h', root_dir=TOP) +
                     glob.glob('user/*/*.[ch]', root_dir=TOP)}
        kept = {'tree': tree, 'by': {}, 'code': {}}
        if os.path.exists(self.path):
            with open(self.path) as file:
                before = json.load(file)
            kept = before if before['tree'] == tree else self.moved(before, kept, quick)
        self.by, self.code_lines = kept['by'], kept['code']
        names = [os.path.basename(path).split('.')[0] for kind in ('unit/unit_*.c', 'prog/prog_*.c', 'prog/prog_*.sh',
                 'cli/cli_*.sh', 'net/net_*.sh') for path in glob.glob(f'{TOP}/tests/{kind}')]
        hashes = {name: hash_of(f'tests/*/{name}.*', *beside(name)) for name in names if name not in LONG}
        for name in set(self.by) - set(hashes):
            del self.by[name]
        missing = [name for name, now in hashes.items() if self.by.get(name, {}).get('hash') != now]
        if missing and not (quick and self.by):
            self.measure(make_copy(), missing, hashes, tree)
        self.seconds = {test: seconds for each in self.by.values() for test, seconds in each['seconds'].items()}
        self.places = {test: {(path, line) for path, lines in places.items() for line in lines}
                       for each in self.by.values() for test, places in each['places'].items()}
        self.code = {(path, line) for path, lines in self.code_lines.items() for line in lines}
        self.known = {test: {path: len(lines) for path, lines in places.items()}
                      for each in self.by.values() for test, places in each['places'].items()}
        for name in hashes.keys() - self.by.keys() if quick else ():
            if name.startswith('unit_'):
                self.seconds[name], self.places[name], self.known[name] = 1, set(), self.included(name)

    @staticmethod
    def included(name):
        """What a unit test that was never measured is about, as far as it includes it."""
        names = [name for line in Reached.lines_of(f'tests/unit/{name}.c')
                 for name in re.findall(r'^#include "(\w+/\w+)\.[ch]"', line)]
        return {f'{room}{name}.{end}': 1 for name in names for room in ('', 'user/') for end in 'ch'}

    @staticmethod
    def lines_of(path):
        with open(os.path.join(TOP, path)) as file:
            return file.read().split('\n')

    def moved(self, before, kept, whatever):
        """What was measured before a few lines changed: a new line is reached by whoever reaches the one above it."""
        now, new, lines = {}, 0, 0
        for path, text in self.text.items():
            was = before.get('text', {}).get(path, [])
            now[path], above = {}, None
            steps = difflib.SequenceMatcher(None, was, text, autojunk=False).get_opcodes() if was != text else \
                [('equal', 0, len(was), 0, len(text))]
            for what, i1, _, j1, j2 in steps:
                for j in range(j1, j2):
                    above = i1 + j - j1 + 1 if what == 'equal' else above
                    now[path].setdefault(above, []).append(j + 1)
                    new += what != 'equal'
            lines += len(text)
        if new > lines / 10 and not whatever:
            return kept

        def at(numbers):
            return {path: sorted(number for old in olds for number in now[path].get(old, ()))
                    for path, olds in numbers.items() if path in now}
        for each in before['by'].values():
            each['places'] = {test: at(places) for test, places in each['places'].items()}
        return {'tree': kept['tree'], 'by': before['by'], 'code': at(before['code'])}

    def measure(self, copy, names, hashes, tree):
        code = {path: set(lines) for path, lines in self.code_lines.items()}
        first = ['net_rotate', 'cli_faults', 'net_service', 'cli_plan', 'net_parts', 'net_confirm', 'net_kill',
                 'net_modes', 'cli_load', 'cli_state']

        def lines(raw, programs):
            """Reached; all that can be."""
            data = raw[0] + '.data'
            subprocess.run(['llvm-profdata', 'merge', '-sparse', '-o', data] + raw, check=True,
                           stderr=subprocess.DEVNULL)
            text = subprocess.run(['llvm-cov', 'export', '--format=lcov', '-instr-profile', data, programs[0]] +
                                  [f'-object={other}' for other in programs[1:]], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            seen, there, path = {}, {}, ''
            for line in text.split('\n'):
                if line.startswith('SF:'):
                    path = os.path.relpath(os.path.realpath(os.path.join(copy.path, line[3:])), copy.path)
                elif line.startswith('DA:') and path.startswith(('user/', 'bpf/')):
                    number, count = line[3:].split(',')[:2]
                    there.setdefault(path, set()).add(int(number))
                    if int(count):
                        seen.setdefault(path, set()).add(int(number))
            return seen, there

        def add(to, what):
            for path, numbers in what.items():
                to.setdefault(path, set()).update(numbers)

        def work(name):
            folder = tempfile.mkdtemp(prefix='', dir=os.path.dirname(copy.path))
            os.chmod(folder, 0o1777)
            with open(copy.command(name), errors='replace') as file:
                whole = name in copy.program or 'run_cases ' not in file.read()
            begun, cases = [time.monotonic()], []

            def said(line):
                match = re.match(r'(?:not )?ok (\d+) (.*?)(?: # .*)?$', line.strip())
                if match and not whole:
                    cases.append((match.group(2), time.monotonic() - begun[0]))
                    begun[0] = time.monotonic()
            copy.run(name, 900, said, XDP_BLOOM_REACHED=folder, LLVM_PROFILE_FILE=f'{folder}/all-%m%c.profraw')
            taken = time.monotonic() - begun[0]
            programs = [f'{copy.path}/build/tests/{name}'] if name in copy.program else \
                [f'{copy.path}/build/xdp-bloom{more}' for more in ('', '-fetch', '-fleet')]
            outside = glob.glob(f'{folder}/all-*.profraw')
            seconds, places = {}, {}
            for number, (case, took) in list(enumerate(cases)) or [(None, ('', taken))]:
                test = f'{name} {case}' if case else name
                raw = outside + glob.glob(f'{folder}/{number}-*.profraw')
                seen, there = {}, {}
                for each in raw:  # of other programs, there is no code here
                    try:
                        one, all_of_it = lines([each], programs)
                        add(seen, one)
                        add(there, all_of_it)
                    except subprocess.CalledProcessError:
                        pass
                seconds[test] = took
                places[test] = {path: sorted(numbers) for path, numbers in seen.items()}
                with lock:
                    add(code, there)
            with lock:
                self.by[name] = {'hash': hashes[name], 'seconds': seconds, 'places': places}
                if time.monotonic() > saved[0] + 30:  # who is stopped goes on from here
                    save()
            shutil.rmtree(folder, ignore_errors=True)

        def save():
            self.code_lines = {path: sorted(numbers) for path, numbers in code.items()}
            with open(self.path + '.tmp', 'w') as file:
                json.dump({'tree': tree, 'by': self.by, 'code': self.code_lines, 'text': self.text}, file)
            os.rename(self.path + '.tmp', self.path)
            saved[0] = time.monotonic()

        lock, saved = threading.Lock(), [time.monotonic()]
        names.sort(key=lambda name: (name not in first, name.startswith('unit_')))
        with concurrent.futures.ThreadPoolExecutor(RUNNERS) as pool:
            for done in [pool.submit(work, name) for name in names]:
                done.result()
        save()

    def tests(self, mutant):
        """Those that may notice."""
        last = mutant.text.count('\n', 0, mutant.end) + 1
        span = {(mutant.path, line) for line in range(mutant.line(), last + 1)}
        room = mutant.path.split('/')[-2]
        found = set()
        if room == 'bpf':  # the kernel does not say
            found = {test for test in self.places if test.split(' ')[0] in SCRIPTS['bpf'].split()}
        if span & self.code:
            found |= {test for test, places in self.places.items() if span & places}
        elif not found:  # a table, a macro
            found = {test for test, files in self.known.items() if mutant.path in files} or set(self.places)
        else:
            found |= {test for test in self.places if test.startswith('unit_')}
        if self.quick:
            found |= {test for test, files in self.known.items() if not self.places[test] and mutant.path in files}
        # Who knows most of the file is the likeliest to notice.
        most = max((self.known[test].get(mutant.path, 0) for test in found), default=0)

        def cost(test):
            part = self.known[test].get(mutant.path, 0) / max(most, 1)
            return self.seconds[test] / max(part, 0.05) ** 2 / (4 if test.startswith(WORDS) or
                                                                test.split(' ')[0] in SCRIPTS[room].split() else 1)
        # Of the kernel's side nothing is known by lines: the programs that judge packets one by one ask it most.
        first = 'prog_' if room == 'bpf' else ''
        return sorted(found, key=lambda test: (not self.is_quick(test), not test.startswith(first), cost(test)))

    def is_quick(self, test):
        return test.startswith('unit_') and self.seconds[test] < LITTLE

    def in_full(self, mutant):
        """Those of FULL that know the file: first who reaches the line, by itself or by what fails there."""
        line = (mutant.path, mutant.line())
        found = [test for test, files in self.known.items() if test.split(' ')[0] in FULL and mutant.path in files]
        return sorted(found, key=lambda test: (line not in self.places[test], -self.known[test][mutant.path], test))

    def unreached(self):
        everything = set().union(*self.places.values())
        for path, line in sorted(self.code - everything):
            with open(os.path.join(TOP, path)) as file:
                yield f'{path}:{line}:{file.read().split(chr(10))[line - 1]}'

# --- Running ---------------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, copies, sound, rooms, known, reached, bound, full):
        self.copies, self.sound, self.rooms, self.known = copies, sound, rooms, known
        self.reached, self.bound, self.full = reached, bound, full
        self.lock, self.sanitizing = threading.Lock(), threading.Lock()
        self.sanitized = None
        self.passes = {}

    def everywhere(self, work):
        """work(copy) in each copy at once."""
        def guarded(copy):
            try:
                work(copy)
            except BaseException as error:  # or the others would go on, and the score be wrong
                print(f'mutants.py: {type(error).__name__}: {error}', flush=True)
                os.kill(os.getpid(), signal.SIGTERM)
        threads = [threading.Thread(target=guarded, args=(copy,), daemon=True) for copy in self.copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def is_sound(self, sound, test, seconds, key, more):
        """Does it pass with the code as it is, now? And in how long."""
        begun = time.monotonic()
        failed = sound.try_test(test, seconds, more)
        taken = time.monotonic() - begun
        # That the machine is busy is nothing that it stays.
        if failed and not is_late(failed) and sound.try_test(test, seconds, more):
            self.passes[key] = False
            print(f'Of the code as it is, {test} fails, and is left out: {failed}', flush=True)
        return not failed, taken

    def notices(self, copy, test, seconds, more, sound=None, kind=''):
        """How; or None."""
        key, sound = (test, kind or bool(more)), sound or self.sound
        if not self.passes.get(key, True):
            return None
        failed = copy.try_test(test, seconds, more)
        if failed and is_late(failed):
            # What does not end does not end in ten times what the code as it is takes on this machine now, either.
            passes, taken = self.is_sound(sound, test, 3 * seconds, key, more)
            if not passes:
                return None
            seconds = max(seconds, 10 * taken)
        # What fails by itself, now and then or because the machine is busy, is no notice.
        if failed and copy.try_test(test, seconds, more) and self.is_sound(sound, test, seconds, key, more)[0]:
            return f'{test}: {failed}'
        return None

    def judge(self, copy, mutant):
        """'not compiled', 'the same', None: survived; or who noticed; and what was tried."""
        copy.write(mutant.path, mutant.mutated())
        try:
            if not copy.make('all'):
                return 'not compiled', ''
            if copy.objects() == copy.object:
                return 'the same', ''
            tests, spent, met = self.reached.tests(mutant), 0, 0
            units = sum(self.reached.is_quick(test) for test in tests)
            # Linking takes longer than most of them run.
            batches = [tests[i:min(i + LINKED, units)] for i in range(0, units, LINKED)] + [tests[units:]]
            for batch in filter(None, batches):
                programs = [test for test in batch if test in copy.program]
                if not copy.make('tests', programs or ['none']):
                    return 'not compiled', ''
                for test in batch:
                    if test in programs and copy.built(test) == copy.program[test]:
                        continue
                    if spent > self.bound and not test.startswith('unit_'):
                        continue
                    took = self.reached.seconds[test]
                    spent += 0 if test.startswith('unit_') else took
                    met += 1
                    how = self.notices(copy, test, 15 + 5 * took, {})
                    if how:
                        return how, ''
            return self.judge_further(copy, mutant, f'{met} of {len(tests)} tests' if spent > self.bound else
                                      f'all {len(tests)} tests that reach it' if tests else 'no test reaches it')
        finally:
            copy.write(mutant.path, mutant.text)  # the next make compiles it again

    def judge_further(self, copy, mutant, tried):
        if self.reached.quick:
            return None, tried
        units = [test for test in self.reached.tests(mutant) if test.startswith('unit_')]
        how = self.judge_sanitized(mutant, units) if units else None
        return (how, '') if how else self.judge_in_full(copy, mutant, tried)

    def judge_sanitized(self, mutant, units):
        """Of what is read too far or left behind, the results tell nothing. One at a time: a copy is large."""
        with self.sanitizing:
            if not self.sanitized:
                trees = os.path.dirname(self.sound.path)
                sound = Copy(f'{trees}/s', SANITIZED, of=self.sound.path)  # as it was when this began
                self.sanitized = sound, Copy(f'{trees}/t', SANITIZED, like=sound)
            sound, copy = self.sanitized
            copy.write(mutant.path, mutant.mutated())
            try:
                # Sanitized, some code is warned of that is none otherwise: PLAIN has compiled it.
                if not copy.make('tests', units):
                    return None
                for test in units:
                    how = self.notices(copy, test, 15 + 20 * self.reached.seconds[test], {}, sound, 'sanitized')
                    if how:
                        return f'sanitized, {how}'
                return None
            finally:
                copy.write(mutant.path, mutant.text)

    def judge_in_full(self, copy, mutant, tried):
        met = []
        for test in self.reached.in_full(mutant):
            if len(met) == self.full:
                break
            how = self.notices(copy, test, FULL_SECONDS, FULL[test.split(' ')[0]])
            if how:
                return f'in full, {how}', ''
            if self.passes.get((test, True), True):
                met.append(test)
        return None, f'{tried}, and in full: {", ".join(met) or "none"}'

    def seed(self, seed, count, only):
        mutants, survivors, noticed, skipped = drawn(seed, self.rooms), [], [], []

        def work(copy):
            while True:
                with self.lock:
                    number, mutant = next(mutants)
                    if only and number > max(only) or not only and len(noticed) + len(survivors) >= count:
                        return
                if only and number not in only:
                    continue
                begun = time.monotonic()
                result, tried = ('equivalent', '') if is_equivalent(mutant, self.known) else self.judge(copy, mutant)
                with self.lock:
                    if result is None:
                        survivors.append((number, mutant))
                    elif result in ('not compiled', 'the same', 'equivalent'):
                        skipped.append(result)
                    else:
                        noticed.append(mutant)
                    print(f'{number:4} {time.monotonic() - begun:4.0f} s  {mutant.path}:{mutant.line()} {mutant.kind}: '
                          f'{result or f"SURVIVES {tried}"}', flush=True)
        self.everywhere(work)
        return sorted(survivors, key=lambda each: each[0]), noticed, skipped


def percent(noticed, survivors):
    return 100 * noticed / max(noticed + survivors, 1)


def clean_up():
    for test in list(running):
        test.kill()


def in_memory():
    """Again, with mounts of its own, so that copies and tests are on no disk, and nothing is left of them."""
    trees = tempfile.mkdtemp(prefix='m.', dir='/tmp')  # no long name: there will be sockets in it
    tool = subprocess.Popen(['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', sys.executable] +
                            sys.argv, env=dict(os.environ, XDP_MUTANTS_IN=trees))
    try:
        return tool.wait()
    finally:
        tool.kill()
        tool.wait()
        os.rmdir(trees)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.strip().replace('%', '%%'))
    parser.add_argument('-n', type=int, default=120)
    parser.add_argument('-s', type=int, action='append')
    parser.add_argument('-a', action='append', choices=SCRIPTS)
    parser.add_argument('-i', type=int, action='append')
    parser.add_argument('-b', type=float)
    parser.add_argument('-l', type=int, default=6)
    parser.add_argument('-u', action='store_true')
    parser.add_argument('-q', action='store_true')
    parser.add_argument('-j', type=int, default=WORKERS)
    parser.add_argument('-o', default=os.path.join(TOP, 'build/mutants'))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if 'XDP_MUTANTS_IN' not in os.environ:
        return in_memory()

    rooms = rooms_of(options.a or SCRIPTS)
    known = equivalents()
    there = {mutant.key() for kinds in rooms.values() for mutants in kinds.values() for mutant in mutants}
    for path, function, before, _ in [] if options.a else sorted(each for each in known - there if each[0] != '*'):
        print(f'{EQUIVALENT}: no such line any more: {path} {function}: {before}')
    os.makedirs(options.o, exist_ok=True)
    trees = os.environ['XDP_MUTANTS_IN']
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=755', 'mutants', trees], check=True)
    atexit.register(clean_up)
    reached = Reached(options.o, lambda: Copy(f'{trees}/counting', COUNTS, told=TOLD), options.q)
    if options.u:
        print('\n'.join(reached.unreached()))
        return 0
    sound = Copy(f'{trees}/0', PLAIN)
    copies = [Copy(f'{trees}/{number}', PLAIN, like=sound) for number in range(1, options.j + 1)]
    run = Run(copies, sound, rooms, known, reached, options.b or (30 if options.q else 300), options.l)
    print(f'{len(reached.seconds)} tests, {sum(reached.seconds.values()):.0f} s', flush=True)

    results = []
    for seed in options.s or [random.SystemRandom().randrange(1 << 31)]:
        print(f'SEED={seed}', flush=True)
        results.append((seed, *run.seed(seed, options.n, options.i)))
    for seed, survivors, noticed, skipped in results:
        for number, mutant in survivors:
            print(f'\nSurvived: SEED={seed} ONLY={number}: {mutant.path}:{mutant.line()}\n{mutant}')
    print()
    for seed, survivors, noticed, skipped in results:
        print(f'SEED={seed}: {len(noticed)} of {len(noticed) + len(survivors)} noticed, '
              f'{percent(len(noticed), len(survivors)):.1f} %; not counted: ' +
              ', '.join(f'{skipped.count(why)} {why}' for why in sorted(set(skipped))))
    return 0 if all(percent(len(noticed), len(survivors)) >= 95 for _, survivors, noticed, _ in results) else 1


sys.exit(main())
