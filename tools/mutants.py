#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
mutants.py [-n COUNT] [-s SEED]... [-a ROOM]... [-i NUMBER]... [-o DIRECTORY]: would the tests notice?

Changes the code at random, one small thing at a time, in two copies of the tree, and runs the tests on each mutant
until one fails: the unit tests first, then what its room names below, the quickest first. A mutant that does not
compile, or compiles to the same code, or stands in tools/mutants.equivalent, is not counted. Prints who survives, and
the score. -i tries only the mutant of that number again. Ends with 1 where less than 95 % were noticed.
"""
import argparse
import atexit
import itertools
import os
import queue
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
WORKERS = 2

# The strata, and which scripts know of each room. Everything in tests/unit is tried on all of them.
SCRIPTS = {
    'bpf': 'prog_packets prog_sets prog_exact prog_shape cli_layout net_lists net_modes net_stats net_observe',
    'base': 'cli_errors cli_docs cli_load cli_state cli_whose net_config net_privilege',
    'sets': 'cli_load cli_errors cli_compare net_lists cli_sets_peer',
    'filter': 'prog_sets prog_exact cli_layout cli_rate cli_bans net_lists cli_plan',
    'image': 'cli_image cli_compare cli_load',
    'state': 'cli_state cli_bans cli_batch cli_load cli_events cli_image cli_whose net_feeds net_service',
    'kernel': 'prog_packets prog_sets prog_shape cli_image net_attach net_shared net_stats net_modes net_conditions '
              'net_privilege net_rotate net_watch',
    'change': 'cli_bans cli_batch cli_load cli_guards cli_image cli_state cli_events net_attach net_shared net_confirm '
              'net_feeds net_conditions net_rotate net_kill',
    'observe': 'net_observe net_stats net_top net_watch net_hostile net_service cli_events',
    'service': 'net_service net_config net_feeds net_hostile cli_events cli_systemd',
    'verbs': 'cli_errors cli_docs cli_sets_peer cli_bans cli_batch cli_guards cli_load cli_state cli_image cli_compare '
             'cli_plan net_stats net_top net_watch net_config',
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
        found.append(Mutant(path, text, kind, start, end, new))

    for match in OPERATOR.finditer(code):
        for new in BESIDE[match.group()]:
            add('relation' if match.group() in RELATIONS else 'operator', match.start(), match.end(), new)
    for match in NUMBER.finditer(code):
        line = code[code.rfind('\n', 0, match.start()) + 1:match.start()]
        if re.search(r'\w [*]?\w+\[$', line):  # the size of an array
            continue
        digits = match.group()
        value = int(digits, 8 if re.fullmatch(r'0\d+', digits) else 0)
        for new in {value + 1, max(value - 1, 0), 0} - {value}:
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
        if line.startswith('\t') and match.group(1) != match.group(2):
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
    """Blocks of a file and its function, the line before, the line after, and why that changes nothing."""
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


class Copy:
    """A tree of its own, built."""

    def __init__(self, path):
        self.path, self.test, self.left = path, None, ''
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(TOP, path, ignore=shutil.ignore_patterns('build', '.git', '__pycache__'))
        if not self.make():
            sys.exit(f'cannot be built: {self.log()}')
        self.object, self.program = self.objects(), self.programs()

    def log(self):
        return os.path.join(self.path, 'build.log')

    # Without -g, so that the same code is the same file.
    def make(self):
        command = ['make', '-s', '-C', self.path, 'CFLAGS=-O2', 'WERROR=-Werror', 'tests']
        with open(self.log(), 'w') as log:
            return not subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                      env=clean_environment()).returncode

    def end(self):
        if self.test and self.test.poll() is None:
            self.test.kill()
        shutil.rmtree(self.left, ignore_errors=True)

    def objects(self):
        found = {'bpf': code_of(f'{self.path}/build/xdp_bloom.bpf.o')}
        for folder, _, names in os.walk(f'{self.path}/build/user'):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith('.o') and not uses_skeleton(path):
                    with open(path, 'rb') as file:
                        found[path] = file.read()
        return found

    def programs(self):
        found = {}
        folder = f'{self.path}/build/tests'
        for name in os.listdir(folder):
            if re.fullmatch(r'unit_\w+', name):
                with open(f'{folder}/{name}', 'rb') as file:
                    found[name] = hash(file.read())
        return found

    def write(self, path, text):
        with open(os.path.join(self.path, path), 'w') as file:
            file.write(text)

    def commands(self, room, only_changed):
        """The tests that may notice, by name."""
        now = self.programs() if only_changed else None
        found = {}
        for name in sorted(self.program):
            if not only_changed or now[name] != self.program[name]:
                found[name] = f'{self.path}/build/tests/{name}'
        for name in SCRIPTS[room].split():
            scripts = [f'{self.path}/tests/{folder}/{name}.sh' for folder in ('cli', 'net', 'prog')]
            places = [f'{self.path}/build/tests/{name}'] + scripts
            found[name] = next((place for place in places if os.path.exists(place)), None)
            if not found[name]:
                sys.exit(f'tools/mutants.py: there is no test {name}')
        return found

    def try_test(self, command, seconds):
        """What failed; None where nothing did."""
        self.left = tempfile.mkdtemp(prefix='mutant.')  # no long name: there will be sockets in it
        os.chmod(self.left, 0o755)
        env = dict(clean_environment(), TMPDIR=self.left, XDP_BLOOM=f'{self.path}/build/xdp-bloom',
                   TRAFFIC=f'{self.path}/build/tests/traffic')
        # Processes and pins of its own, so that nothing is left of what is killed.
        apart = ['unshare', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', 'sh', '-c',
                 'mount -t bpf bpf /sys/fs/bpf; "$0"; exit $?', command]
        self.test = test = subprocess.Popen(apart, cwd=self.path, env=env, stdin=subprocess.DEVNULL, text=True,
                                            errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        hung = threading.Timer(seconds, test.kill)
        hung.start()
        failed, said = None, ''
        for line in test.stdout:
            said = line.strip() if line.startswith('#') else said
            if line.startswith(('not ok', 'Bail out')):
                failed = f'{line.strip()} ({said})'
                test.kill()
                break
        test.stdout.close()
        status = test.wait()
        if not hung.is_alive() and not failed:
            failed = f'did not end in {seconds:.0f} s'
        hung.cancel()
        self.end()
        return failed or (None if status in (0, 4) else f'ended with {status}')


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(('MAKE', 'MFLAGS', 'XDP_BLOOM'))}


def uses_skeleton(path):
    with open(path[:-1] + 'd') as file:
        return 'skel.h' in file.read()

# --- Running ---------------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, copies, rooms, known):
        self.copies, self.rooms, self.known = copies, rooms, known
        self.lock = threading.Lock()
        self.seconds = {}

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

    def as_it_is(self):
        """All tests pass, and this long they take."""
        names = queue.SimpleQueue()
        for name in dict.fromkeys(name for room in self.rooms for name in self.copies[0].commands(room, False)):
            names.put(name)

        def work(copy):
            commands = {name: command for room in self.rooms for name, command in copy.commands(room, False).items()}
            while not names.empty():
                name = names.get()
                begun = time.monotonic()
                failed = copy.try_test(commands[name], 600)
                if failed:
                    print(f'Of the code as it is, {name} fails, and is left out: {failed}', flush=True)
                else:
                    self.seconds[name] = time.monotonic() - begun
        self.everywhere(work)

    def judge(self, copy, mutant):
        """'not compiled', 'the same', None: survived; or who noticed."""
        copy.write(mutant.path, mutant.mutated())
        try:
            if not copy.make():
                return 'not compiled'
            if copy.objects() == copy.object:
                return 'the same'
            room = mutant.path.split('/')[-2]
            commands = copy.commands(room, True)
            for name in sorted((n for n in commands if n in self.seconds),
                               key=lambda n: (not n.startswith('unit_'), self.seconds[n])):
                failed = copy.try_test(commands[name], 30 + 5 * self.seconds[name])
                if failed:
                    return f'{name}: {failed}'
            return None
        finally:
            copy.write(mutant.path, mutant.text)
            copy.make()

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
                result = 'equivalent' if mutant.key() in self.known else self.judge(copy, mutant)
                with self.lock:
                    if result is None:
                        survivors.append((number, mutant))
                    elif result in ('not compiled', 'the same', 'equivalent'):
                        skipped.append(result)
                    else:
                        noticed.append(mutant)
                    print(f'{number:4} {time.monotonic() - begun:4.0f} s  {mutant.path}:{mutant.line()} {mutant.kind}: '
                          f'{result or "SURVIVES"}', flush=True)
        self.everywhere(work)
        return sorted(survivors, key=lambda each: each[0]), noticed, skipped


def percent(noticed, survivors):
    return 100 * noticed / max(noticed + survivors, 1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.strip().replace('%', '%%'))
    parser.add_argument('-n', type=int, default=120)
    parser.add_argument('-s', type=int, action='append')
    parser.add_argument('-a', action='append', choices=SCRIPTS)
    parser.add_argument('-i', type=int, action='append')
    parser.add_argument('-o', default=os.path.join(TOP, 'build/mutants'))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    rooms = rooms_of(options.a or SCRIPTS)
    known = equivalents()
    there = {mutant.key() for kinds in rooms.values() for mutants in kinds.values() for mutant in mutants}
    for path, function, before, _ in [] if options.a else sorted(known - there):
        print(f'{EQUIVALENT}: no such line any more: {path} {function}: {before}')
    copies = []
    atexit.register(lambda: [copy.end() for copy in copies])
    for number in range(WORKERS):
        copies.append(Copy(os.path.join(os.path.realpath(options.o), str(number))))
    run = Run(copies, rooms, known)
    run.as_it_is()
    print(f'{len(run.seconds)} tests, {sum(run.seconds.values()):.0f} s', flush=True)

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
