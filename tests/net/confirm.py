#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Changes with --confirm by which somebody is shut out, and whose session then breaks.

confirm.py RUNS LANES: so many changes, so many at once, each through an interface edgeN of its own; the seed is
XDP_BLOOM_SEED. A second after the deadline who was shut out must get through again, whatever has become of the process
that waits, the lock, the service, the date or the pins; and later commands must agree.
"""
import collections
import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from checksum import checksum

BLOOM = os.environ["XDP_BLOOM"]
WORK = os.environ["WORK"]
PINS = os.environ["XDP_BLOOM_BPFFS"]
CLOCK = os.path.join(os.path.dirname(os.environ["TRAFFIC"]), "clock.so")
GROUPS = "/sys/fs/cgroup"
SECONDS = 2
GRACE = 1.0
ALWAYS, VICTIM = "198.51.100.1", "203.0.113.1"

CHANGES = ("load", "add", "enforce", "disallow", "unload", "image", "attach")
BREAKS = ("group", "waiter", "lock", "service", "date", "pins", "healed", "namespace")


class Wrong(Exception):
    pass


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def frame(source, serial):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + 8, 0, 0, 64, 17, 0, socket.inet_aton(source), b"\x0a\0\0\1")
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return b"\2" * 6 + b"\6" * 6 + b"\x08\0" + ip + struct.pack("!HHHHQ", 1, 9, 16, 0, serial)


class Lane:
    """An interface, and what comes through it."""

    def __init__(self, n):
        self.edge = "edge%d" % n
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.wire.bind(("wire%d" % n, 0))
        self.seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.seen.bind((self.edge, 0x0800))
        self.serial = 0

    def passes(self, source, patience=0.05):
        self.serial += 1
        sent = frame(source, self.serial)
        self.wire.send(sent)
        end = now() + patience
        while True:
            self.seen.settimeout(max(end - now(), 0.001))
            try:
                if self.seen.recv(256) == sent:
                    return True
            except TimeoutError:
                return False


class Run:
    def __init__(self, lane, number, change, broken, rng):
        self.lane, self.change, self.broken, self.rng = lane, change, broken, rng
        self.dir = os.path.join(WORK, "run%d" % number)
        self.pins = PINS + "-%d" % number
        self.group = os.path.join(GROUPS, "xdp-bloom-test-%d-%d" % (os.getpid(), number))
        self.children, self.began = [], 0
        os.mkdir(self.dir)
        self.write("base", ALWAYS)
        self.write("more", ALWAYS, VICTIM)
        self.write("shade", VICTIM)

    def write(self, name, *lines):
        with open(os.path.join(self.dir, name), "w") as file:
            file.write("".join(line + "\n" for line in lines))

    def words(self, *args):
        return [BLOOM, "-S", os.path.join(self.dir, "state"), "-B", self.pins, *args]

    def bloom(self, *args, status=0, **how):
        done = subprocess.run(self.words(*args), cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, **how)
        if status is not None and done.returncode != status:
            raise Wrong("'%s' ended with %d: %s" % (" ".join(args), done.returncode, done.stderr.strip()))
        return done

    def prepare(self):
        change = self.change
        shut_out_before = change in ("disallow", "unload", "attach")
        lines = ["load bad %s --force" % os.path.join(self.dir, "more" if shut_out_before else "base")]
        if change == "enforce":
            lines.append("load shade %s --shadow" % os.path.join(self.dir, "shade"))
        if change == "disallow":
            lines.append("allow " + VICTIM)
        if change == "unload":
            lines.append("load fine %s --allow" % os.path.join(self.dir, "shade"))
        if change == "image":
            self.bloom("image", "make", "image", "more")
        self.write("batch", *lines)
        self.bloom("batch", "batch")
        if change != "attach":
            self.bloom("attach", self.lane.edge)

    def shut_out(self):
        return {
            "load": ("load", "bad", "more", "--force"),
            "add": ("add", VICTIM),
            "enforce": ("enforce", "shade"),
            "disallow": ("disallow", VICTIM),
            "unload": ("unload", "fine"),
            "image": ("load", "--image", "image", "--force"),
            "attach": ("attach", self.lane.edge),
        }[self.change] + ("--confirm", "%ds" % SECONDS)

    def start_service(self):
        service = subprocess.Popen(self.words("run", "-q"), cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.children.append(service)
        lock = os.path.join(self.dir, "state", "service.lock")
        end = now() + 10
        while not held(lock):
            if now() > end:
                raise Wrong("the service has not started in 10 s")
            time.sleep(0.02)
        return service

    def in_session(self):
        """Runs the change in a session that breaks; returns when it must be over."""
        how, before = {}, ()
        service = self.start_service() if self.broken in ("service", "healed") else None
        if self.broken == "group":
            os.mkdir(self.group)
            group = os.open(os.path.join(self.group, "cgroup.procs"), os.O_WRONLY)
            how = {"preexec_fn": lambda: os.write(group, b"0")}
            self.children.append(subprocess.Popen(["sleep", "60"], **how))  # the session's shell
        elif self.broken == "date":
            self.write("ahead", "0")
            how = {"env": dict(os.environ, LD_PRELOAD=CLOCK, CLOCK_AHEAD=os.path.join(self.dir, "ahead"))}
        if self.broken == "namespace":
            before = ("unshare", "--time", "--boottime", str(self.rng.choice((-3000 if now() > 4000 else 3000, 86400))), "--fork")
        words = self.words
        self.words = lambda *args: [*before, *words(*args)]
        self.began = began = now()
        try:
            self.bloom(*self.shut_out(), **how)
        finally:
            self.words = words
        due = now() + SECONDS
        if self.lane.passes(VICTIM) and now() < began + SECONDS:
            raise Wrong("who is banned gets through before the deadline")
        getattr(self, "break_" + self.broken)(service)
        return max(due, now())

    def processes(self, word):
        """Whose command line has the word in it, and names the state."""
        mine = os.path.join(self.dir, "state").encode()
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % process, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if word in words and mine in words:
                yield int(process)

    def waiters(self):
        """What waits for the deadline."""
        return list(self.processes(b"--watch"))

    def end_waiters(self):
        self.end(b"--watch")

    def end(self, word):
        for process in list(self.processes(word)):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def break_group(self, _):
        end = self.began + SECONDS
        while not self.waiters() and now() < end:
            time.sleep(0.01)
        with open(os.path.join(self.group, "cgroup.kill"), "w") as file:
            file.write("1")
        os.waitpid(self.children[0].pid, 0)  # who was in it
        if not self.waiters() and now() < end:
            raise Wrong("what waits for the deadline ended with the session")

    def break_waiter(self, _):
        self.end_waiters()

    def break_lock(self, _):
        lock = os.path.join(self.dir, "state", "lock")
        holder = subprocess.Popen([sys.executable, "-c", "import fcntl,os,signal,sys\n"
                                   "lock = open(sys.argv[1], 'r+')\nfcntl.lockf(lock, fcntl.LOCK_EX)\n"
                                   "os.kill(os.getpid(), signal.SIGSTOP)\n", lock])
        self.children.append(holder)
        os.waitpid(holder.pid, os.WUNTRACED)

    def break_service(self, service):
        self.end_waiters()
        service.send_signal(self.rng.choice((signal.SIGKILL, signal.SIGSTOP)))

    def break_date(self, _):
        self.write("ahead", str(self.rng.choice((-86400, -3600))))

    def break_namespace(self, _):
        self.end_waiters()

    def break_pins(self, _):
        self.end_waiters()
        pins = [os.path.join(at, name) for at, _, names in os.walk(self.pins) for name in names]
        for pin in self.rng.sample(pins, self.rng.randint(1, len(pins))):
            os.unlink(pin)

    def break_healed(self, service):
        """The service has time to bring back what is gone, and then ends."""
        pins = [os.path.join(at, name) for at, _, names in os.walk(self.pins) for name in names]
        for pin in self.rng.sample(pins, self.rng.randint(1, len(pins))):
            with contextlib.suppress(FileNotFoundError):  # it mends the first while others are taken
                os.unlink(pin)
        time.sleep(max(self.began + SECONDS - 0.5 - now(), 0))
        self.break_service(service)

    def mend(self):
        for child in self.children:
            child.kill()
            child.wait()
        self.end(b"run")  # what the service had begun goes on without it
        self.children = []

    def link(self):
        return subprocess.run(["ip", "-j", "link", "show", self.lane.edge], capture_output=True, text=True).stdout.strip()

    def runs_there(self):
        show = self.bloom("-j", "show", status=None)
        return self.link() + show.stdout.strip() + show.stderr.strip()

    def let_go(self):
        """The kernel takes a program off some time after the last pin of its link is gone."""
        end = now() + 10
        while '"xdp"' in self.link():
            if now() > end:
                raise Wrong("filtered still, 10 s after all of it is gone: " + self.link())
            time.sleep(0.01)

    def settled(self):
        """The next command takes the change back in the state, too."""
        done = self.bloom("confirm", status=2)
        if "nothing waits" not in done.stderr.splitlines()[-1]:
            raise Wrong("confirm says: " + done.stderr.strip())
        if not self.lane.passes(VICTIM, 1):
            raise Wrong("after the next command who was shut out is shut out again")
        if self.change != "attach" and self.lane.passes(ALWAYS):
            raise Wrong("who was banned before gets through")

    def go(self):
        try:
            self.prepare()
            due = self.in_session()
            first, late = None, 0
            # On a machine that has not let us ask in that second, who was shut out is asked later.
            while first is None and (now() < due + GRACE or late < 3):
                late += now() > due
                if self.lane.passes(VICTIM):
                    first = now()
            if first is None:
                raise Wrong("%g s after the deadline who was shut out is still shut out; asked %d times; on it runs: %s"
                            % (now() - due, late, self.runs_there()))
            self.mend()
            if self.broken not in ("pins", "healed"):
                self.settled()
            return max(first - due, 0.0)
        finally:
            self.mend()
            self.end_waiters()
            subprocess.run(self.words("detach", "--all"), capture_output=True)
            subprocess.run(["ip", "link", "set", "dev", self.lane.edge, "xdp", "off"], capture_output=True)
            shutil.rmtree(self.dir, ignore_errors=True)  # who was killed may be letting go of its files
            shutil.rmtree(self.pins, ignore_errors=True)
            if os.path.isdir(self.group):
                os.rmdir(self.group)
            self.let_go()


def held(path):
    try:
        with open(path, "r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def main():
    runs, lanes = int(sys.argv[1]), int(sys.argv[2])
    skipped = set(sys.argv[3:])
    rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
    kinds = [(change, broken) for broken in BREAKS for change in CHANGES
             if not {change, broken} & skipped]
    rng.shuffle(kinds)
    todo = collections.deque((n, *kinds[n % len(kinds)], rng.random()) for n in range(runs))
    late, wrong = collections.defaultdict(list), []

    def work(n):
        lane = Lane(n)
        while todo and len(wrong) < 10:
            try:
                number, change, broken, seed = todo.popleft()
            except IndexError:
                return
            try:
                late[broken, change].append(Run(lane, number, change, broken, random.Random(seed)).go())
            except (Wrong, OSError) as error:
                wrong.append("run %d, %s, %s: %s" % (number, change, broken, error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for broken in BREAKS:
        times = [time for kind, times in late.items() if kind[0] == broken for time in times]
        if times:
            print("%s: %d runs, the latest %d ms after the deadline" % (broken, len(times), 1000 * max(times)))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
