#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""drop_lines.py OBJECT: takes out of a BPF object, in place and in either byte order, which line of the source each instruction comes
from, and those lines: it is what the verifier shows when it refuses a program, and most of the object's size. Types stay."""
import struct
import sys


def main(path):
    with open(path, "rb") as file:
        elf = bytearray(file.read())
    order = "<" if elf[5] == 1 else ">"

    def numbers(form, at):
        return struct.unpack_from(order + form, elf, at)

    (headers,) = numbers("Q", 0x28)
    size, count, names = numbers("HHH", 0x3A)
    sections = {}
    (names,) = numbers("Q", headers + names * size + 0x18)
    for at in range(headers, headers + count * size, size):
        start = names + numbers("I", at)[0]
        sections[elf[start : elf.index(0, start)].decode()] = at
    (btf,) = numbers("Q", sections[".BTF"] + 0x18)
    (ext,) = numbers("Q", sections[".BTF.ext"] + 0x18)
    strings = btf + numbers("I", btf + 4)[0] + numbers("I", btf + 16)[0]
    begins, function, functions, line, lines, core, cores = numbers("IIIIIII", ext + 4) if numbers("I", ext + 4)[0] >= 32 else (
        numbers("IIIII", ext + 4) + (0, 0)
    )
    body = ext + begins
    (record,) = numbers("I", body + line)
    at = body + line + 4
    while at < body + line + lines:
        n = numbers("I", at + 4)[0]
        at += 8
        for _ in range(n):
            for offset in numbers("II", at + 4):
                start = strings + offset
                end = elf.index(0, start)
                elf[start:end] = bytes(end - start)
            at += record
    rest = bytes(elf[body + function : body + function + functions]) + bytes(elf[body + core : body + core + cores])
    elf[body : body + len(rest)] = rest
    struct.pack_into(order + "IIII", elf, ext + 8, 0, functions, functions, 0)
    if begins >= 32:
        struct.pack_into(order + "II", elf, ext + 24, functions, cores)
    # The section keeps its place in the file, and is shorter.
    end = body + len(rest)
    old = ext + numbers("Q", sections[".BTF.ext"] + 0x20)[0]
    elf[end:old] = bytes(old - end)
    struct.pack_into(order + "Q", elf, sections[".BTF.ext"] + 0x20, end - ext)
    with open(path, "wb") as file:
        file.write(elf)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
