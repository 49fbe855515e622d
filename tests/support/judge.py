#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An independent judge of what is banned: it reads the lists itself. The seed is XDP_BLOOM_SEED.

judge.py list HOSTS PREFIXES4 PREFIXES6   prints a random list
judge.py sample DIR SAMPLES LIST...       addresses worth a test, sorted into DIR/banned and DIR/clean: of SAMPLES hosts and
                                          as many prefixes the first and the last address, the one before, the one after and
                                          one within; and SAMPLES from everywhere. DIR/all holds both, mixed.
judge.py answers DIR LIST... <JSON        what `test -j` said of DIR/all: verdict, and a prefix that explains it
"""
import bisect, functools, ipaddress, json, os, random, socket, sys

BITS = {4: 32, 6: 128}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
rng = random.Random(int(os.environ["XDP_BLOOM_SEED"]))


def text(version, value):
    return socket.inet_ntop(FAMILY[version], value.to_bytes(BITS[version] // 8, "big"))


def number(word):
    version = 6 if ":" in word else 4
    return version, int.from_bytes(socket.inet_pton(FAMILY[version], word), "big")


@functools.lru_cache(None)
def prefix(word):
    net = ipaddress.ip_network(word, strict=False)
    return net.version, int(net[0]), int(net[-1])


def parse(line):
    if "#" in line or ";" in line:
        line = line.split("#")[0].split(";")[0]
    words = line.split()
    if not words:
        return None
    if "/" in words[0]:
        return prefix(words[0])
    version, value = number(words[0])
    return version, value, value


class Model:
    def __init__(self, paths):
        self.lines = []
        for path in paths:
            with open(path) as file:
                self.lines += filter(None, map(parse, file))
        self.first, self.last = {4: [], 6: []}, {4: [], 6: []}
        for version in BITS:
            firsts, lasts = self.first[version], self.last[version]
            # Each family by itself: pairs whose first numbers differ are sorted five times as fast.
            for first, last in sorted(line[1:] for line in self.lines if line[0] == version):
                if lasts and first <= lasts[-1] + 1:
                    lasts[-1] = max(lasts[-1], last)
                else:
                    firsts.append(first)
                    lasts.append(last)

    def banned(self, version, first, last=None):
        at = bisect.bisect_right(self.first[version], first) - 1
        return at >= 0 and (first if last is None else last) <= self.last[version][at]


def random_list(hosts, prefixes4, prefixes6):
    for value in rng.sample(range(1 << 32), hosts):
        print(text(4, value))
    edges4 = ["0.0.0.0/31", "255.255.255.248/29"]
    edges6 = ["::/127", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126"]
    short4 = [12, 14] + [16] * 10 + [17, 18, 19] * 10
    short6 = [20, 24, 28] + [29, 32] * 20
    for version, count, edges, short, usual in (
        (4, prefixes4, edges4, short4, range(20, 32)),
        (6, prefixes6, edges6, short6, (36, 40, 44, 48, 48, 48, 56, 56, 64, 64, 64, 80, 112, 127, 128)),
    ):
        lengths = (short[: count // 20] + [rng.choice(usual) for _ in range(count)])[: max(0, count - len(edges))]
        for length in lengths:
            value = rng.getrandbits(length) << BITS[version] - length
            if version == 6 and length > 3:
                value = value & (1 << 125) - 1 | 1 << 125
            print("%s/%d" % (text(version, value), length))
        for edge in edges[:count]:
            print(edge)


def sample(directory, samples, paths):
    model = Model(paths)
    hosts = [line for line in model.lines if line[1] == line[2]]
    prefixes = [line for line in model.lines if line[1] < line[2]]
    points = set()
    for lines in hosts, prefixes:
        for version, first, last in rng.sample(lines, min(samples, len(lines))):
            points |= {(version, p) for p in (first - 1, first, rng.randint(first, last), last, last + 1)}
    for version in {line[0] for line in model.lines} or {4, 6}:
        points |= {(version, rng.getrandbits(BITS[version])) for _ in range(samples)}
    points = [(version, p) for version, p in points if 0 <= p < 1 << BITS[version]]
    rng.shuffle(points)
    os.makedirs(directory, exist_ok=True)
    with open(directory + "/banned", "w") as banned, open(directory + "/clean", "w") as clean, open(
        directory + "/all", "w"
    ) as both:
        for version, p in points:
            line = text(version, p) + "\n"
            (banned if model.banned(version, p) else clean).write(line)
            both.write(line)


def answers(directory, paths):
    model = Model(paths)
    names = {os.path.basename(path) for path in paths}
    with open(directory + "/all") as file:
        asked = [number(line.strip()) for line in file]
    told = json.load(sys.stdin)
    wrong = []
    for (version, value), answer in zip(asked, told):
        drop = answer["verdict"] == "drop"
        right = number(answer["address"]) == (version, value)
        right &= answer["verdict"] == ("drop" if model.banned(version, value) else "pass")
        if drop and right:
            of, first, last = prefix(answer["prefix"])
            right = of == version and first <= value <= last and model.banned(of, first, last)
            right &= answer["list"] in names
        if not right:
            wrong.append(json.dumps(answer))
    if wrong or len(asked) != len(told):
        print("%d asked, %d answers, %d wrong:" % (len(asked), len(told), len(wrong)), *wrong[:5], sep="\n")
        sys.exit(1)


verb, *args = sys.argv[1:]
if verb == "list":
    random_list(*map(int, args))
elif verb == "sample":
    sample(args[0], int(args[1]), args[2:])
else:
    answers(args[0], args[1:])
