#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random operations through the real command against a naive model; after each, every address near an edge is asked.

soak.py OPERATIONS SECONDS: so many operations, or as long as that (0: no limit). The seed is XDP_BLOOM_SEED.
"""
import ipaddress
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time

BLOOM = os.environ["XDP_BLOOM"]
rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))
BITS = {4: 32, 6: 128}
LISTS = 6


class Prefix:
    def __init__(self, family, value, length):
        free = BITS[family] - length
        self.family, self.length = family, length
        self.first = value >> free << free
        self.last = self.first + (1 << free) - 1

    def key(self):
        return self.family, self.first, self.length

    def __contains__(self, addr):
        return addr[0] == self.family and self.first <= addr[1] <= self.last

    def __str__(self):
        cls = ipaddress.IPv4Address if self.family == 4 else ipaddress.IPv6Address
        text = str(cls(self.first))
        return text if self.length == BITS[self.family] else "%s/%d" % (text, self.length)


# A small world, so that everything meets everything: a few /24 that are full of hosts, a few /32 full of prefixes.
NETS4 = [45 << 24 | 7 << 16 | n << 8 for n in (0, 1, 2, 255)] + [45 << 24 | 200 << 16, 91 << 24]
NETS6 = [0x2A00 << 112 | n << 64 for n in (0, 1, 0xFF, 0x1_0000_0000, 0x5_0000_0000)]


def random_prefix():
    if rng.random() < 0.65:
        value = rng.choice(NETS4) | rng.getrandbits(8)
        if rng.random() < 0.1:
            value ^= rng.getrandbits(12) << 8
        return Prefix(4, value, rng.choice([32] * 12 + [31, 30, 29, 28, 26, 25, 24, 24, 24, 23, 22, 20, 16, 12, 8]))
    value = rng.choice(NETS6) | rng.getrandbits(3) | rng.getrandbits(2) << 64
    return Prefix(6, value, rng.choice([128] * 6 + [127, 126, 65, 64, 64, 64, 63, 62, 56, 48, 48, 47, 33, 32, 29, 19]))


class Model:
    def __init__(self):
        self.forget()
        self.exact = True

    def forget(self):
        self.lists = {}  # name: (kind, prefixes)
        self.bans = {}  # key: (prefix, expires or None: not before, and not after)
        self.allowed = []  # live: [(prefix, allow?)], the last one counts

    def copy(self):
        other = Model()
        other.lists, other.bans = dict(self.lists), dict(self.bans)
        other.allowed, other.exact = list(self.allowed), self.exact
        return other

    def ban(self, prefix, ends):
        """Of a ban that exists already the later end stays."""
        old = self.bans.get(prefix.key(), (prefix, (0, 0)))[1]
        self.bans[prefix.key()] = prefix, ends and old and (max(old[0], ends[0]), max(old[1], ends[1]))

    def live_allowed(self, addr):
        for prefix, allow in reversed(self.allowed):
            if addr in prefix:
                return allow
        return False

    def holders(self, addr, kind):
        return [n for n, (k, prefixes) in self.lists.items() if k == kind and any(addr in p for p in prefixes)]

    def verdicts(self, addr, since, until):
        """What it may be where what had run out by the first of two times is gone, and what had not by the second is not."""
        if self.live_allowed(addr) or self.holders(addr, "allow"):
            return {"pass"}
        ends = [(math.inf, math.inf)] if self.holders(addr, "ban") else []
        ends += [e or (math.inf, math.inf) for p, e in self.bans.values() if addr in p]
        surely = any(first > until for first, _ in ends)
        perhaps = any(last > since for _, last in ends)
        return {"drop"} if surely else {"drop", "pass"} if perhaps else {"pass"}

    def kinds(self):
        return {kind for kind, _ in self.lists.values()}

    def edges(self):
        prefixes = [p for p, _ in self.bans.values()] + [p for p, _ in self.allowed]
        for _, more in self.lists.values():
            prefixes += more
        return prefixes


class Refused(Exception):
    pass


def bloom(*args, text=None):
    done = subprocess.run([BLOOM, *args], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def concerns(line, addr):
    """Is there a prefix around that address in it?"""
    for word in line.split():
        if "/" in word or ":" in word or word.count(".") == 3:
            try:
                net = ipaddress.ip_network(word, strict=False)
            except ValueError:
                continue
            if net.version == addr[0] and int(net.network_address) <= addr[1] <= int(net.broadcast_address):
                return True
    return False


class Soak:
    def __init__(self):
        self.model = Model()
        self.log = []
        self.steps = 0
        self.asked = 0
        self.touched = []
        self.layouts = bloom("tune", "--layout=auto")[0] == 0

    def die(self, what, addr=None):
        print("# after %d operations (XDP_BLOOM_SEED=%s): %s" % (self.steps, os.environ["XDP_BLOOM_SEED"], what))
        for n, (when, line) in enumerate(self.log):
            if n >= len(self.log) - 12 or addr and concerns(line, addr):
                print("#   %d, at %.3f: %s" % (n, when, line[:2000]))
        sys.exit(1)

    def note(self, line):
        self.log.append((time.time(), line))

    def run(self, *args, text=None, may_fail=()):
        self.note(" ".join(args) + (" <<< " + " ".join(text.split()) if text else ""))
        status, _, err = bloom(*args, text=text)
        if status == 0:
            return
        # Without the roster an exception may be too wide for the filter: then whatever brings that about is refused.
        may_fail = list(may_fail) + ([] if self.model.exact else ["for --exact=off", "needs the roster"])
        if status == 2 and any(words in err for words in may_fail):
            raise Refused
        self.die("'%s' ended with %d: %s" % (" ".join(args)[:300], status, err.strip()[:500]))

    # What an operation does to the model is done to a copy, so that a refusal leaves it as it was.
    def add(self, m, prefixes, ttl=None, text=False):
        args = ["add", "--force"] + (["--ttl", "%ds" % ttl] if ttl else [])
        words = [str(p) for p in prefixes]
        before = int(time.time())
        if text:
            self.run(*args, "-", text="\n".join(words))
        else:
            self.run(*args, *words)
        # It was somewhere between, which may be long on a busy machine.
        ends = (before + ttl, int(time.time()) + ttl) if ttl else None
        for p in prefixes:
            m.ban(p, ends)
        self.touched += prefixes

    def op_add(self, m):
        self.add(m, [random_prefix() for _ in range(rng.choice([1, 1, 1, 2, 5]))])

    def op_add_ttl(self, m):
        self.add(m, [random_prefix() for _ in range(rng.choice([1, 3]))], rng.choice([1, 2, 3, 3600]))

    def op_add_many(self, m):
        base = rng.choice(NETS4) ^ rng.getrandbits(4) << 16
        prefixes = [Prefix(4, base + n * rng.choice([1, 3, 7]), 32) for n in range(rng.choice([60, 300]))]
        self.add(m, prefixes, text=True)

    def op_del(self, m):
        now = time.time()
        sure = [k for k, (_, e) in m.bans.items() if e is None or e[0] > now + 600]
        if not sure or rng.random() < 0.05:
            p = random_prefix()
            if p.key() in m.bans:
                raise Refused
            self.run("del", str(p), may_fail=["not banned", "is not among the live bans", "is part of the ban"])
            self.die("del of %s, which is not banned" % p)
        many = rng.sample(sure, min(len(sure), rng.choice([1, 1, 1, 2, 40])))
        prefixes = [m.bans[k][0] for k in many]
        self.run("del", *map(str, prefixes))
        for k in many:
            del m.bans[k]
        self.touched += prefixes

    def op_load(self, m):
        name = "list%d" % rng.randrange(LISTS)
        kind = m.lists[name][0] if name in m.lists else rng.choice(["ban", "ban", "ban", "shadow", "allow"])
        prefixes = [random_prefix() for _ in range(rng.choice([1, 5, 30]))]
        args = ["load", name, "-", "--force"] + ([] if kind == "ban" else ["--" + kind])
        self.run(*args, text="\n".join(map(str, prefixes)))
        m.lists[name] = kind, prefixes

    def op_unload(self, m):
        if not m.lists:
            raise Refused
        name = rng.choice(sorted(m.lists))
        self.run("unload", name, "--force")
        self.touched += m.lists.pop(name)[1]

    def op_turn(self, m):
        names = [n for n, (kind, _) in m.lists.items() if kind != "allow"]
        if not names:
            raise Refused
        name = rng.choice(sorted(names))
        to = "shadow" if m.lists[name][0] == "ban" else "ban"
        self.run("shadow" if to == "shadow" else "enforce", name, "--force")
        m.lists[name] = to, m.lists[name][1]

    def op_allow(self, m):
        p = random_prefix()
        self.run("allow", str(p))
        m.allowed.append((p, True))

    def op_disallow(self, m):
        live = [p for p, allow in m.allowed if allow]
        if not live:
            raise Refused
        p = rng.choice(live)
        self.run("disallow", str(p), "--force", may_fail=["is not among the live exceptions"])
        m.allowed = [(q, allow) for q, allow in m.allowed if not (allow and q.family == p.family and p.first <= q.first and q.last <= p.last)]
        if any(q.family == p.family and q.first <= p.last and p.first <= q.last for q, _ in m.allowed):
            m.allowed.append((p, False))
        self.touched.append(p)

    def op_rotate(self, m):
        self.run("rotate")

    def op_flush(self, m):
        if rng.random() < 0.8:
            raise Refused
        self.run("flush")
        m.forget()

    def op_tune(self, m):
        what = rng.choice(["exact", "exact", "labels", "headroom"] + ["layout"] * self.layouts)
        if what == "exact":
            on = not m.exact or rng.random() < 0.5
            self.run("tune", "--exact=" + ("on" if on else "off"), "--force", may_fail=[] if on else ["needs the roster", "for --exact=off"])
            m.exact = on
        elif what == "labels":
            self.run("tune", "--labels=" + rng.choice(["on", "off"]))
        elif what == "layout":
            self.run("tune", "--layout=" + rng.choice(["auto", "auto", "lanes", "lanes2", "classic"]))
        else:
            self.run("tune", "--headroom=" + rng.choice(["0", "10", "300"]))

    def op_batch(self, m):
        """Some of what bans and exceptions can do, as one change; now and then one that is refused as a whole."""
        lines = []
        for _ in range(rng.choice([2, 5, 20])):
            kind = rng.random()
            if kind < 0.5 or not m.bans:
                p = random_prefix()
                lines.append("add --force %s --reason 'in a batch'" % p)
                m.ban(p, None)
                self.touched.append(p)
            elif kind < 0.85:
                sure = [k for k, (_, e) in m.bans.items() if e is None]
                if sure:
                    key = rng.choice(sure)
                    lines.append("del %s" % m.bans[key][0])
                    self.touched.append(m.bans.pop(key)[0])
            elif m.exact:
                p = random_prefix()
                lines.append("allow %s" % p)
                m.allowed.append((p, True))
        bad = rng.random() < 0.2
        if bad:
            lines.append(rng.choice(["del 203.0.113.77", "add 1.2.3", "unload nothing-of-that-name"]))
        self.run("batch", "-", text="\n".join(lines), may_fail=["standard input:"] if bad else [])
        if bad:
            self.die("a batch with a wrong line was done")

    def op_reboot(self, m):
        """Whatever was in the kernel is gone; then restore."""
        self.note("(reboot)")
        shutil.rmtree(os.environ["XDP_BLOOM_BPFFS"], ignore_errors=True)
        self.run("restore")

    def ask(self, since):
        m = self.model
        prefixes = m.edges()
        prefixes = rng.sample(prefixes, min(len(prefixes), 120)) + self.touched[-60:]
        self.touched = []
        points = {(4, rng.getrandbits(32)), (6, rng.getrandbits(128))}
        for p in prefixes:
            top = (1 << BITS[p.family]) - 1
            for at in p.first - 1, p.first, p.last, p.last + 1, rng.randint(p.first, p.last):
                if 0 <= at <= top:
                    points.add((p.family, at))
        points = sorted(points)
        text = "\n".join(str(Prefix(f, v, BITS[f])) for f, v in points)
        status, out, err = bloom("-j", "test", "-", text=text)
        after = time.time()
        if status == 2:
            self.die("test: " + err.strip()[:600])
        self.asked += len(points)
        for addr, answer in zip(points, json.loads(out)):
            # What has run out since the last command began may be in force or not; a second on both sides.
            allowed = m.verdicts(addr, since - 1, after + 1)
            if answer["verdict"] in allowed:
                if allowed == {"drop"} and not answer["false_positive"]:
                    names = m.holders(addr, "ban") or ["live"]
                    if answer["list"] not in names:
                        self.die("%s is on the account of %s, not %s" % (answer["address"], answer["list"], names))
                continue
            if not m.exact and answer["false_positive"] and not (m.live_allowed(addr) or m.holders(addr, "allow")):
                continue
            self.die("%s: %s, should be %s" % (answer["address"], json.dumps(answer), allowed), addr)

    def step(self):
        ops = [self.op_add] * 10 + [self.op_add_ttl] * 3 + [self.op_del] * 9 + [self.op_batch] * 3 + [self.op_load] * 2
        ops += [self.op_add_many, self.op_unload, self.op_turn, self.op_allow, self.op_disallow, self.op_rotate]
        ops += [self.op_flush, self.op_tune, self.op_reboot]
        copy = self.model.copy()
        since = time.time()
        try:
            rng.choice(ops)(copy)
        except Refused:
            return
        self.model = copy
        copy.bans = {k: (p, e) for k, (p, e) in copy.bans.items() if e is None or e[1] > since - 1}
        if len(copy.bans) > 1500:
            self.run("flush")
            copy.forget()
        self.ask(since)
        self.steps += 1


def main():
    most, seconds = int(sys.argv[1]), float(sys.argv[2])
    soak = Soak()
    end = time.monotonic() + seconds
    while (not most or soak.steps < most) and (not seconds or time.monotonic() < end):
        soak.step()
    print("# %d operations, %d addresses asked" % (soak.steps, soak.asked))


main()
