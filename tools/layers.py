#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
layers.py [DIRECTORY]: are the folders of user/ what docs/design.md says they are? Data flows from left to right, and a
file includes only what stands left of its own folder. Prints every include that does not, with what is used of it, and
ends with 1 if there is one.
"""
import os
import re
import sys

ORDER = 'bpf base sets fetch fleet filter image state kernel change observe service feeds verbs'.split()
# Neighbours that do not know each other.
STRANGERS = [{'state', 'kernel'}, {'change', 'observe'}]
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
WORD = re.compile(r'\b[A-Za-z_]\w*\b')


def sources(top):
    """Every file of bpf/ and user/ by the path that others include it with: state/bans.h, bpf/abi.h."""
    found, homeless = {}, []
    for place in ('bpf', 'user'):
        for folder, _, names in os.walk(os.path.join(top, place)):
            for name in sorted(names):
                if not name.endswith(('.c', '.h')):
                    continue
                path = os.path.join(folder, name)
                known = os.path.relpath(path, top if place == 'bpf' else os.path.join(top, place))
                if known.count('/') != 1 or known.split('/')[0] not in ORDER:
                    homeless.append(os.path.relpath(path, top))
                with open(path) as file:
                    found[known] = file.read()
    return found, homeless


def included(path, text, found):
    """(line, path) of each header of ours that this file includes; one beside it may stand without its folder."""
    for match in INCLUDE.finditer(text):
        name = match.group(1)
        if name not in found:
            name = os.path.join(os.path.dirname(path), name)
        if name in found:
            yield text.count('\n', 0, match.start()) + 1, name


def used(text, header):
    """What the header declares and the file names: functions first, then types and constants."""
    def words(code):
        return set(WORD.findall(COMMENT.sub(' ', code)))

    code = COMMENT.sub(' ', header)
    functions = set(re.findall(r'\b(\w+)\s*\([^;{}]*\)\s*[;{]', code)) & words(text) - {'void', 'int', 'bool'}
    others = set(re.findall(r'\b(?:struct|enum|define)\s+(\w+)', code)) & words(text)
    names = [name + '()' for name in sorted(functions)] + sorted(others - functions)
    return ', '.join(names[:4]) or 'nothing of it'


def fault(path, name):
    """Why this file may not include that one; None where it may."""
    here, there = path.split('/')[0], name.split('/')[0]
    if here not in ORDER or there not in ORDER or here == there:
        return None
    if {here, there} in STRANGERS:
        return f'{here} and {there} do not know each other'
    if name.endswith('_internal.h') or name.endswith('/internal.h'):
        return f'internal to {there}'
    if ORDER.index(there) > ORDER.index(here):
        return f'{there} stands right of {here}'
    return None


def circles(found):
    """Every circle of headers that include each other, once."""
    graph = {path: [name for _, name in included(path, text, found) if name.endswith('.h')]
             for path, text in found.items() if path.endswith('.h')}
    done, seen = set(), []

    def walk(path, way):
        if path in way:
            circle = way[way.index(path):]
            if set(circle) not in map(set, seen):
                seen.append(circle)
            return
        if path not in done:
            for name in graph[path]:
                walk(name, way + [path])
            done.add(path)

    for path in graph:
        walk(path, [])
    return seen


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    found, homeless = sources(top)
    backward = 0
    for path, text in sorted(found.items()):
        for line, name in included(path, text, found):
            why = fault(path, name)
            if why:
                backward += 1
                print(f'{path}:{line}: includes "{name}" for {used(text, found[name])}: {why}')
    for path in homeless:
        print(f'{path}: in no folder of {" ".join(ORDER)}')
    rings = circles(found)
    for circle in rings:
        print(f'circle of headers: {" -> ".join(circle + circle[:1])}')
    folders = len({path.split('/')[0] for path in found if path.split('/')[0] in ORDER})
    print(f'{len(found)} files in {folders} folders: {backward} includes against the order, {len(rings)} circles of headers, '
          f'{len(homeless)} files without a folder')
    return 1 if backward or homeless or rings else 0


sys.exit(main())
