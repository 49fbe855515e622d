# SPDX-License-Identifier: GPL-2.0-only
"""A week of a service that keeps lists fresh, in as much time as what it does takes (tests/support/clock.c, CLOCK_JUMPS).

fresh_week.py lists|run FEEDS ENTRIES DAYS: with `lists`, writes the first version of each, and the config. With `run`,
serves them, has versions change, servers fail, and the date moved about, while the service of process SERVICE runs; then
says what became of it. Of every 50 lists one has a server that only fails, and one that wants to be left alone.
"""
import collections
import http.server
import mmap
import os
import random
import re
import signal
import struct
import sys
import threading
import time

what, feeds, entries, days = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
HOUR, DAY, PORT, HOSTS = 3600, 86400, 8180, 20
END = days * DAY
CHANGE = float(os.environ.get("XDP_BLOOM_CHANGE_DAYS", "7")) * DAY
seed = int(os.environ.get("XDP_BLOOM_SEED") or time.time())
chance = random.Random(seed)
FAILS, LATER = 7, 8  # of each 50


def name(i):
    return "list%d" % i


def text(i, version):
    first = (11 << 24) + i * 65536
    lines = []
    for k in range(entries):
        a = first + 4 * k + (2 if k % 97 == version % 97 else 0)
        lines.append("%d.%d.%d.%d" % (a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255))
    return "\n".join(lines) + "\n"


def lists():
    os.mkdir("first")
    with open("batch", "w") as batch, open("conf", "w") as conf:
        print("run --rotate-every 0", file=conf)
        for i in range(feeds):
            with open("first/" + name(i), "w") as file:
                file.write(text(i, 0))
            print("load", name(i), os.path.abspath("first/" + name(i)), file=batch)
            print("load %s http://127.0.0.%d:%d/%d --every 1h --insecure --lan" % (name(i), 1 + i % HOSTS, PORT, i),
                  file=conf)


class Week:
    def __init__(self, service):
        self.service = service
        self.file = open("jumps", "r+b")
        self.jumps = mmap.mmap(self.file.fileno(), 8)
        self.began = None
        self.lock = threading.Lock()
        self.requests = [[] for _ in range(feeds)]
        self.sent = [set() for _ in range(feeds)]
        self.asking = collections.Counter()
        self.most = 0
        self.rss = []
        self.faults = []
        self.moved = 0
        self.over = threading.Event()

    def now(self):
        ns = struct.unpack("q", self.jumps[:8])[0]
        at = time.monotonic() + ns / 1e9
        if self.began is None:
            self.began = at
        return at - self.began

    def memory(self):
        with open("/proc/%d/status" % self.service) as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def version(self, i, now):
        return int((now + i * CHANGE / feeds) / CHANGE)

    def come(self, i, host):
        with self.lock:
            now = self.now()
            self.requests[i].append(now)
            self.asking[host] += 1
            self.most = max(self.most, self.asking[host])
            while now > len(self.rss) * HOUR:
                self.rss.append(self.memory())
            if now > (self.moved + 1) * 6 * HOUR:
                self.moved += 1
                with open("ahead.new", "w") as file:
                    print(chance.randint(-400, 400) * DAY, file=file)
                os.rename("ahead.new", "ahead")
            if now > END:
                self.over.set()
            return now

    def go(self, host):
        with self.lock:
            self.asking[host] -= 1


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


class Lists(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        i = int(self.path[1:])
        host = self.headers["Host"]
        now = week.come(i, host)
        try:
            self.send(i, week.version(i, now))
        finally:
            week.go(host)

    def send(self, i, version):
        tag = '"%d-%d"' % (i, version)
        status, body, more = 200, b"", {"ETag": tag}
        if i % 50 == FAILS:
            status, body, more = 500, b"down\n", {}
        elif i % 50 == LATER:
            status, body, more = 429, b"", {"Retry-After": "21600"}
        elif self.headers.get("If-None-Match") == tag:
            status = 304
        else:
            body = text(i, version).encode()
            week.sent[i].add(version)
        self.send_response_only(status)
        for key, value in more.items():
            self.send_header(key, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def broken():
    """How often a connection broke, by list: then it is asked again after half the interval."""
    count = collections.Counter()
    with open("log", errors="replace") as log:
        for line in log:
            found = re.search(r":%d/(\d+)" % PORT, line)
            if found and "nothing was loaded" in line and not re.search("status [45]", line):
                count[int(found[1])] += 1
    return count


def end_service():
    """While what it asks for is still answered: else its last connections would break."""
    os.kill(week.service, signal.SIGTERM)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with open("/proc/%d/stat" % week.service) as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.05)
    week.faults.append("the service does not end")


def judge():
    hours = END / HOUR
    shortest, fewest, total = 1e9, 1e9, 0
    breaks = broken()
    for i, times in enumerate(week.requests):
        times = [t for t in times if t <= END]
        gaps = [b - a for a, b in zip(times, times[1:])]
        total += len(times)
        if i % 50 == FAILS:
            # Half an hour, an hour, ... a day.
            if len(times) > 9 + days:
                week.faults.append("%s, which only fails, was asked %d times" % (name(i), len(times)))
            continue
        if i % 50 == LATER:
            if gaps and min(gaps) < 6 * HOUR - 5:
                week.faults.append("%s wants 6 h, and had %d s" % (name(i), min(gaps)))
            continue
        if breaks[i]:
            gaps = sorted(gaps)[2 * breaks[i]:]
        shortest, fewest = min([shortest] + gaps), min(fewest, len(times))
        if gaps and min(gaps) < HOUR - 65:
            week.faults.append("%s was asked again after %d s" % (name(i), min(gaps)))
        # When the date is moved it may be its turn an interval later.
        if not hours - 2 - week.moved <= len(times) <= hours + 2 + breaks[i]:
            week.faults.append("%s was asked %d times in %d hours" % (name(i), len(times), hours))
    if week.most > 1:
        week.faults.append("%d requests at a time of a host" % week.most)
    rss = week.rss[min(12, len(week.rss) // 2):]
    if max(rss) > 1.05 * min(rss):
        week.faults.append("its memory went from %d to %d KiB" % (min(rss), max(rss)))
    if sum(breaks.values()) > 1 + total / 5000:
        week.faults.append("%d connections broke" % sum(breaks.values()))
    changes = sum(len(sent - {0}) for sent in week.sent)
    print("%d lists of %d entries, %.1f days: %d requests, of a list at least %d, no sooner than after %d s; the date was "
          "moved %d times; memory %d to %d KiB; seed %d" % (feeds, entries, days, total, fewest, shortest, week.moved,
                                                           min(rss), max(rss), seed))
    with open("changes", "w") as file:
        print(changes, file=file)
    for fault in week.faults[:10]:
        print(fault)
    sys.exit(bool(week.faults))


if what == "lists":
    lists()
else:
    server = Server(("0.0.0.0", PORT), Lists)
    print("ready", flush=True)
    week = Week(int(sys.stdin.readline()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if not week.over.wait(int(os.environ.get("XDP_BLOOM_PATIENCE", "3600"))):
        week.faults.append("it did not come to its end")
    end_service()
    judge()
