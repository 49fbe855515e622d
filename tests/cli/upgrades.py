#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""upgrades.py ROUNDS STATE.sql...: recorded states, damaged or not, are opened, changed and recovered by the command, and
the sound ones by an older one (OTHER), too, where there is one, back and forth. Each opens what it is given and loses nothing of it, or refuses
it in one line and changes nothing. What is asked is SQLite itself: which lists and bans the file has before and after.

In a sandbox of its own: cli_upgrades.sh."""

import collections
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

NEWER = os.environ["XDP_BLOOM"]
OLDER = os.environ.get("OTHER")
SEED = int(os.environ["XDP_BLOOM_SEED"])
VALUES = [None, -1, 0, 1, 7, 256, 2**31, 2**63 - 1, -2**63, 1.5, 9e999, "", "text", "a b", "drop before", "../../etc",
          "\x1b[2J", "\u202etxt", b"", b"\0\xff", b"\n\v\f\r"]
LIST = "name, kind, label, prefixes, addresses, source, loaded, format"
COUNTED = ("generation", "edits", "bans", "bans of", "boot", "headroom", "pins", "slot", "slot boot", "network", "ports came",
           "restored early", "restored early until")


class Wrong(Exception):
    """What the round has found."""


def rows(db, query):
    """None: something of it is damaged."""
    try:
        return set(db.execute(query).fetchall())
    except sqlite3.DatabaseError:
        return None


def of_file(path):
    """What the file has, by SQLite alone, table by table; None: not even which there are can be read."""
    try:
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        db.text_factory = bytes
        tables = {row[0].decode() for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        has = {table: rows(db, 'SELECT * FROM "%s"' % table) for table in tables}
        has["version"] = rows(db, "PRAGMA user_version")
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    lists, chunks = rows(db, "SELECT name, id, %s FROM list" % LIST), rows(db, "SELECT list, family, part, data FROM chunk")
    has["list"] = has["chunk"] = None
    if lists is not None and chunks is not None:
        has["list"] = {row[0]: (row[2:], {chunk[1:] for chunk in chunks if chunk[0] == row[1]}) for row in lists}
    has["ban"] = rows(db, "SELECT family, length, first, added, expires, reason FROM ban")
    return has


class Round:
    """One state and what becomes of it."""

    def __init__(self, number, recorded, place):
        self.rng = random.Random(SEED * 1000003 + number)
        self.home = os.path.join(place, "state")
        self.file = os.path.join(self.home, "state.db")
        self.pins = "/sys/fs/bpf/upgrades-%s" % os.path.basename(place)
        self.extra = os.path.join(place, "extra")
        self.log = []
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.pins, ignore_errors=True)
        os.makedirs(self.home, 0o700)
        self.from_version, text = self.rng.choice(recorded)
        self.log.append(self.from_version)
        db = sqlite3.connect(self.file)
        db.executescript(text)
        self.later(db)
        if self.rng.random() < 0.8 and "CREATE TABLE scope" in text:  # with scopes, loading takes half a second
            db.executescript("DELETE FROM scope; DELETE FROM chunk WHERE list = (SELECT id FROM list WHERE name = 'scoped');"
                             "DELETE FROM accepted WHERE list = (SELECT id FROM list WHERE name = 'scoped');"
                             "DELETE FROM source WHERE list = (SELECT id FROM list WHERE name = 'scoped');"
                             "DELETE FROM list WHERE name = 'scoped'")
        self.damaged = self.damage(db)
        db.commit()
        db.close()
        os.chmod(self.file, 0o600)
        self.torn = self.damage_file()
        self.damaged |= self.torn
        with open(self.extra, "w") as out:
            out.write("198.51.%d.0/24\n" % self.rng.randrange(256))

    @staticmethod
    def later(db):
        """As if it had been made now."""
        columns = [row[1] for row in db.execute("PRAGMA table_info(ban)")]
        shift = int(time.time()) - db.execute("SELECT max(added) FROM ban").fetchone()[0]
        db.execute("UPDATE ban SET added = added + ?1, expires = expires + ?1"
                   + (", due = due + ?1 * 1000000000" if "due" in columns else ""), (shift,))

    # --- Damage ---

    def damage(self, db):
        before = len(self.log)
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 2, 3))):
            way = self.rng.choice((self.field,) * 6 + (self.row, self.number, self.number, self.table, self.more))
            try:
                way(db)
            except (sqlite3.Error, OverflowError, IndexError):
                pass  # not possible
        return len(self.log) > before

    def some_table(self, db):
        tables = sorted(row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        return self.rng.choice(tables + ["list", "chunk", "ban", "setting"])

    def field(self, db):
        table = self.some_table(db)
        columns = [row[1] for row in db.execute('PRAGMA table_info("%s")' % table)]
        column = self.rng.choice(columns)
        values = [row[0] for row in db.execute('SELECT "%s" FROM "%s"' % (column, table))]
        old = self.rng.choice(values) if values else None
        value = self.rng.choice(VALUES + values)
        if isinstance(old, bytes) and old and self.rng.random() < 0.7:
            at = self.rng.randrange(len(old))
            value = old[:at] + bytes([old[at] ^ 1 << self.rng.randrange(8)]) + old[at + 1:]
        # A sum that fits it, or nothing of what is behind it would be read.
        more = ", sum = NULL" if column == "data" and "sum" in columns and self.rng.random() < 0.5 else ""
        done = db.execute('UPDATE "%s" SET "%s" = ?%s WHERE "%s" IS ?' % (table, column, more, column), (value, old))
        if done.rowcount > 0 and value != old:
            self.log.append("%s.%s = %r for %r" % (table, column, value, old))

    def row(self, db):
        table = self.some_table(db)
        first = db.execute('PRAGMA table_info("%s")' % table).fetchall()[0][1]
        values = [row[0] for row in db.execute('SELECT "%s" FROM "%s"' % (first, table))]
        if values:
            value = self.rng.choice(values)
            db.execute('DELETE FROM "%s" WHERE "%s" IS ?' % (table, first), (value,))
            self.log.append("no row %r of %s" % (value, table))

    def number(self, db):
        name = self.rng.choice(("user_version",) * 4 + ("application_id",))
        number = self.rng.choice((0, 1, 2, 3, 4, 6, 7, 8, 13, 14, 100, -1, 2**31 - 1))
        db.execute("PRAGMA %s = %d" % (name, number))
        self.log.append("%s = %d" % (name, number))

    def table(self, db):
        kind, name = self.rng.choice([row for row in db.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'index') AND sql NOT NULL")])
        db.execute('DROP %s "%s"' % (kind, name))
        self.log.append("no %s %s" % (kind, name))

    def more(self, db):
        """What a version to come may bring."""
        if self.rng.random() < 0.7:
            db.executescript("CREATE TABLE later (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO later VALUES (1, 'one')")
            self.log.append("a table more")
        else:
            table = self.some_table(db)
            db.execute('ALTER TABLE "%s" ADD COLUMN later INTEGER' % table)
            self.log.append("a column more in " + table)

    def damage_file(self):
        if self.rng.random() > 0.2:
            return False
        size = os.path.getsize(self.file)
        with open(self.file, "r+b") as file:
            if self.rng.random() < 0.5:
                at = self.rng.choice((0, 1, 99, 100, self.rng.randrange(size), self.rng.randrange(size // 4096) * 4096))
                file.truncate(at)
                self.log.append("cut off at %d" % at)
            else:
                for _ in range(self.rng.randrange(1, 4)):
                    at = self.rng.randrange(100 if self.rng.random() < 0.2 else size)
                    file.seek(at)
                    file.write(self.rng.randbytes(self.rng.choice((1, 40, 5000))))
                    self.log.append("other bytes at %d" % at)
        return True

    # --- What is done with it ---

    def run(self, command, *words):
        self.log.append(" ".join((os.path.basename(os.path.dirname(os.path.dirname(command))),) + words))
        environment = dict(os.environ, XDP_BLOOM_STATE=self.home, XDP_BLOOM_BPFFS=self.pins)
        done = subprocess.run([command, "-q", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=300)
        self.log.append("-> %d %s" % (done.returncode, done.stderr.decode(errors="replace").strip()))
        if done.returncode not in (0, 1, 2):
            raise Wrong("it ended with %d" % done.returncode)
        if done.returncode == 2 and (done.stderr.count(b"\n") != 1 or not done.stderr.startswith(b"xdp-bloom: ")):
            raise Wrong("it does not say in one line why")
        return done

    def looks(self, command):
        was, before = self.bytes(), of_file(self.file)
        done = self.run(command, "-j", "lists")
        if not done.returncode and before and before["list"] is not None:
            shown = {entry["name"] for entry in json.loads(done.stdout)}
            kept = {name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in before["list"]}
            kept = {name for name in kept if not name.endswith(" before")}
            if len(shown) != len(kept) or (not self.damaged and shown != kept):
                raise Wrong("it shows the lists %s, and there are %s" % (sorted(shown), sorted(kept)))
        done = self.run(command, "-j", "bans")
        if not done.returncode and before and before["ban"] is not None:
            kept = len(self.lasting(before["ban"]))
            shown = len(json.loads(done.stdout))
            if shown < kept:
                raise Wrong("it shows %d bans of %d" % (shown, kept))
        self.same(was, before, of_file(self.file), "a look")

    @staticmethod
    def lasting(bans):
        soon = time.time() + 60
        return {ban[:3] for ban in bans if not isinstance(ban[4], int) or ban[4] > soon}

    def bytes(self):
        """What SQLite makes of damage differs from one time to the next: the same bytes are the same."""
        files = {}
        for name in os.listdir(self.home):
            with open(os.path.join(self.home, name), "rb") as file:
                files[name] = hashlib.sha256(file.read()).digest()
        return files

    def same(self, was, before, after, what):
        if before and before != after and self.bytes() != was:
            raise Wrong("%s changed the file: %s" % (what, self.differ(before, after)))

    @staticmethod
    def differ(before, after):
        return "now it cannot be read" if not after else {
            key: (before[key], after.get(key)) for key in before if before[key] != after.get(key)}

    def changes(self, command):
        host = "198.51.100.%d" % self.rng.randrange(256)
        # What the kernel loads anew for each list takes longer than all else: a setting of the detector, mostly, is the state's alone.
        words = ["detect", "limit", "udp", "%d/s" % self.rng.randrange(1, 9999)]
        if command == OLDER or self.rng.random() < (0.5 if OLDER and not self.damaged else 0.3):
            words = self.rng.choice((["add", host], ["add", host, "--ttl", "1h"], ["allow", host], ["tune", "--headroom", "7"],
                                     ["load", "extra", self.extra], ["load", "--shadow", "more", self.extra]))
            words += [] if words[0] in ("tune", "allow") else ["--force"]
        was, before = self.bytes(), of_file(self.file)
        done = self.run(command, *words)
        after = of_file(self.file)
        if done.returncode:
            self.same(was, before, after, "what was refused")
            return
        if not before or not after:
            raise Wrong("it changed a file that cannot be read")
        for name, kept in (before["list"] or {}).items():
            if name not in (b"(allow)", b"extra", b"more") and after["list"].get(name) != kept and not name.endswith(b" before"):
                raise Wrong("list %r is another now, or lost" % name)
        lost = self.lasting(before["ban"] or ()) - self.lasting(after["ban"] or ())
        if lost:
            raise Wrong("it has lost the bans %r" % lost)
        for name, value in (before["setting"] or set()) - (after["setting"] or set()):
            if name.decode(errors="replace") not in COUNTED and not name.startswith((b"limit_udp", b"detect")):
                raise Wrong("setting %r is no longer %r" % (name, value))
        for table in before.keys() - after.keys():
            raise Wrong("it has lost the table %s" % table)
        if not self.torn and before.get("later") != after.get("later"):
            raise Wrong("it has lost what a later version keeps")

    def recovers(self):
        was, before = self.bytes(), of_file(self.file)
        done = self.run(NEWER, "-j", "state", "recover")
        if done.returncode == 2:
            self.same(was, before, of_file(self.file), "what was refused")
            return
        told, after = json.loads(done.stdout), of_file(self.file)
        if not after:
            raise Wrong("what it has recovered cannot be read")
        if done.returncode != (0 if told["whole"] and not told["lost"] else 1):
            raise Wrong("it ended with %d and says %s" % (done.returncode, told))
        if not done.returncode and before and (before["list"] or {}).keys() != after["list"].keys():
            raise Wrong("it says that all is there: %s, not %s" % (list(after["list"]), list(before["list"] or {})))
        if self.run(NEWER, "state", "check").returncode:
            raise Wrong("what it has recovered is not sound")
        self.looks(NEWER)

    def go(self):
        opened = 0
        # What an older version makes of damage is its own affair.
        older = OLDER if not self.damaged else None
        for _ in range(self.rng.randrange(2, 7 if older else 5)):
            command = older if older and self.rng.random() < 0.5 else NEWER
            if self.rng.random() < 0.4:
                self.looks(command)
            else:
                self.changes(command)
            opened = sum(line.startswith("-> 0") for line in self.log)
            if not self.damaged and any(line.startswith("-> 2") for line in self.log):
                raise Wrong("a sound state is refused")
        if any(line.startswith("-> 2") for line in self.log) and self.rng.random() < 0.5:
            self.recovers()
        return opened > 0


def main():
    recorded = []
    for path in sys.argv[2:]:
        with open(path) as file:
            recorded.append((os.path.basename(path)[:-len(".sql")], file.read()))
    todo, lock, said = iter(range(int(sys.argv[1]))), threading.Lock(), collections.Counter()
    wrong = []

    def lane(place):
        os.makedirs(place)
        while True:
            with lock:
                number = next(todo, None)
            if number is None or len(wrong) > 20:
                break
            a_round = Round(number, recorded, place)
            try:
                said["opened" if a_round.go() else "refused"] += 1
                said["damaged" if a_round.damaged else "sound"] += 1
            except Exception as error:  # pylint: disable=broad-except
                with lock:
                    wrong.append("round %d: %s\n    %s" % (number, error, "\n    ".join(a_round.log)))
        shutil.rmtree(place)
        shutil.rmtree("/sys/fs/bpf/upgrades-%s" % os.path.basename(place), ignore_errors=True)

    lanes = [threading.Thread(target=lane, args=(os.path.abspath("lane%d" % n),))
             for n in range(int(os.environ.get("XDP_BLOOM_LANES", "1")))]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    print("# %s" % dict(said))
    for text in wrong:
        print("# " + text.replace("\n", "\n# "))
    if said["opened"] == 0 or said["sound"] == 0 or said["damaged"] == 0:
        sys.exit("nothing was tried")
    # What a lane fails at outside a round ends that lane.
    if not wrong and said["opened"] + said["refused"] != int(sys.argv[1]):
        sys.exit("%d rounds of %s" % (said["opened"] + said["refused"], sys.argv[1]))
    sys.exit(1 if wrong else 0)


main()
