#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""contract.py TOP: what docs/contract.md promises, compared with the sources, both ways: members of JSON documents, names
of metrics and events, exit statuses, and the numbers of formats. Verbs and options are the man page's: same_options."""

import collections
import glob
import os
import re
import sys

# What several verbs print, and what a file prints that is not called after its verb.
PARTS = {
    "base/log": "--log", "change/jail": "bans", "feeds/stream": "follow", "state/events": "events",
    "observe/packet_line": "watch", "observe/suspects": "detect", "observe/senders_json": "detect",
    "observe/agent_seen": "status", "observe/fleet_seen": "fleet", "observe/fleet_view": "fleet", "observe/fresh": "status",
    "observe/documents": "status", "observe/report": "report", "observe/page": "page.json", "service/attacks": "detect",
    "service/learn": "detect", "verbs/answer": "rotate", "verbs/list_bans": "bans", "verbs/list_": "lists", "verbs/one_list": "lists",
    "verbs/plan_detect": "plan", "verbs/print_plan": "plan", "verbs/print_replay": "replay", "verbs/print_status": "status",
    "verbs/print_ports": "status", "verbs/scope": "load",
}
# Keys that are not written out where they are put: all of these are names.
SPELLED = {"end": ["expires"], "what": ["ladder", "proven", "trusted"]}


def calls(text, name):
    """The arguments of each call, as they are written."""
    for found in re.finditer(r"\b%s\(" % name, text):
        args, depth, at, start, quote = [], 0, found.end(), found.end(), None
        while depth >= 0:
            letter = text[at]
            if letter == "\\":
                at += 1
            elif quote or letter in "\"'":
                quote = None if letter == quote else quote or letter
            else:
                depth += (letter in "([{") - (letter in ")]}")
                if depth < 0 or letter == "," and not depth:
                    args.append(text[start:at].strip())
                    start = at + 1
            at += 1
        yield args


def words(arg):
    """What a string says; of a key that is chosen, <what it is of>."""
    if re.fullmatch(r'(\s*"(?:[^"\\]|\\.)*")+\s*', arg):
        return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', arg))]
    return SPELLED.get(arg) or ["<%s>" % re.sub(r"_names?\[.*|->.*", "", arg)]


def members(text):
    for args in calls(text, "json_object_set_new"):
        yield from words(args[1])
    for args in calls(text, "json_pack"):
        within, key, args = [], False, args[:]
        for letter in words(args.pop(0))[0]:
            if letter in "{[":
                within.append(letter)
                key = letter == "{"
            elif letter in "}]":
                within.pop()
                key = within[-1:] == ["{"]
            elif letter.isalpha():
                value = args.pop(0) if letter != "n" else ""
                if key:
                    yield from words(value)
                key = not key and within[-1] == "{"


def json_of(top):
    parts = collections.defaultdict(set)
    for path in glob.glob(top + "/user/*/*.c"):
        with open(path) as file:
            names = set(members(file.read()))
        name = path[len(top + "/user/"):-len(".c")]
        if names:
            parts[PARTS.get(name, name.split("/")[1].split("_")[0])] |= names
    return parts


def metrics_of(top):
    names = set()
    for path in glob.glob(top + "/user/observe/metrics*.c"):
        with open(path) as file:
            text = file.read()
        names |= set(re.findall(r"TYPE xdp_bloom_([a-z_]+)", text)) | set(re.findall(r"xdp_bloom_([a-z_]+)\{", text))
        names |= set(re.findall(r'\b(?:gauge|head)\(out, "([a-z_]+)"', text))
        names |= set(re.findall(r'"((?:[a-z]+_)*(?:total|seconds|failures))"', text))
    return names


def defined(top, path, pattern):
    with open("%s/%s" % (top, path)) as file:
        return set(re.findall(pattern, file.read()))


def promised(top):
    """Sections of the page, each of its indented lines: a name and, behind it, what it has. A line that is further in goes on."""
    sections, at, name = collections.defaultdict(lambda: collections.defaultdict(set)), None, None
    with open(top + "/docs/contract.md") as page:
        for line in page:
            if line.startswith("## "):
                at = line[3:].strip()
            elif line.startswith("     "):
                sections[at][name] |= set(line.split())
            elif line.startswith("    "):
                name, *rest = line.split()
                sections[at][name] |= set(rest)
    return sections


def main():
    top, wrong = sys.argv[1], []

    def same(what, is_in_code, is_promised):
        if is_in_code - is_promised:
            wrong.append("%s: not in docs/contract.md: %s" % (what, " ".join(sorted(is_in_code - is_promised))))
        if is_promised - is_in_code:
            wrong.append("%s: promised, and not in the code: %s" % (what, " ".join(sorted(is_promised - is_in_code))))

    page, documents = promised(top), json_of(top)
    for part in sorted(documents.keys() | page["JSON"].keys()):
        same("JSON of " + part, documents.get(part, set()), page["JSON"].get(part, set()))
    same("metrics", metrics_of(top), {name[len("xdp_bloom_"):] for name in page["Metrics"]})
    same("events", defined(top, "user/state/events.c", r"\[EVENT_\w+\] = \{ \"(\w+)\""), set(page["Events"]))
    same("exit statuses", defined(top, "user/base/log.h", r"\bEXIT_[A-Z]+ = (\d)"), set(page["Exit statuses"]))
    numbers = {(name, number) for name, path, pattern in (
        ("state", "user/state/schema.c", r"#define VERSION_WRITTEN\s+(\d+)"),
        ("image", "user/image/image.h", r"#define IMAGE_VERSION\s+(\d+)"),
        ("packed", "user/sets/packed.h", r"#define PACKED_VERSION\s+\"(\d+)\""),
        ("pins", "bpf/abi.h", r"#define GENERATION_VERSION\s+(\d+)"),
        ("pins", "bpf/abi.h", r"#define GENERATION_CODES\s+(\d+)"),
        ("detector", "bpf/abi.h", r"#define DETECT_VERSION\s+(\d+)")) for number in defined(top, path, pattern)}
    same("formats", {"%s %s" % pair for pair in numbers},
         {"%s %s" % (name, number) for name, rest in page["Formats"].items() for number in rest if number.isdigit()})
    for line in wrong:
        print(line, file=sys.stderr)
    print("%d members of JSON, %d metrics" % (sum(map(len, documents.values())), len(metrics_of(top))))
    sys.exit(bool(wrong))


if os.environ.get("CONTRACT") == "print":
    import textwrap
    for part, names in sorted(json_of(sys.argv[1]).items()):
        print("\n".join(textwrap.wrap(" ".join(sorted(names)), 132, initial_indent="    %-10s " % part,
                                      subsequent_indent=" " * 15, break_on_hyphens=False)))
    for name in sorted(metrics_of(sys.argv[1])):
        print("    xdp_bloom_" + name)
else:
    main()
