#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# stalls.py DIRECTORY USER...: a process of each user whose environment nobody can read to its end. One of its threads waits
# for a page of a file while it holds its memory, and another one waits to change that: whoever comes next waits behind it.
# The files are in a file system of ours, mounted at the directory, that never says what is in them; root is needed only here,
# as users have fusermount. It prints "ready", or "refused" and why.
import contextlib
import ctypes
import mmap
import os
import signal
import struct
import sys
import threading
import time

INIT, LOOKUP, FORGET, GETATTR, OPEN, READ, INTERRUPT, BATCH_FORGET = 26, 1, 2, 3, 14, 15, 36, 42
libc = ctypes.CDLL(None, use_errno=True)


def mounted(directory):
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse
    if libc.mount(b"stalls", directory.encode(), b"fuse", 6, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fuse


def attributes(node):
    mode = 0o40755 if node == 1 else 0o100644
    return struct.pack("=6Q10I", node, mmap.PAGESIZE, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_all(fuse, asked):
    """Each user has a file, and whoever reads it waits."""
    while True:
        request = os.read(fuse, 1 << 17)
        length, operation, unique, node = struct.unpack_from("=IIQQ", request)
        error, body = 0, b""
        if operation == READ:
            os.write(asked[node], b".")
        if operation in (READ, FORGET, INTERRUPT, BATCH_FORGET):
            continue
        if operation == INIT:
            body = struct.pack("=4I2H2I2H8I", 7, 31, 4096, 0, 4, 3, 4096, 1, 0, 0, *[0] * 8)[:64]
        elif operation == LOOKUP:
            node = int(request[40:].rstrip(b"\0"))
            body = struct.pack("=4Q2I", node, 0, 0, 0, 0, 0) + attributes(node)
        elif operation == GETATTR:
            body = struct.pack("=Q2I", 0, 0, 0) + attributes(node)
        elif operation == OPEN:
            body = struct.pack("=Q2I", 0, 0, 0)
        else:
            error = -38  # there is no such operation
        os.write(fuse, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


def waits(process):
    with open("/proc/%d/stat" % process) as file:
        return file.read().rpartition(")")[2].split()[0] == "D"


def read_one(memory, at):
    with contextlib.suppress(OSError):  # at the end, when nobody answers any more
        os.pread(memory, 1, at)


def stall(path, user, asked):
    os.setgid(user)
    os.setuid(user)
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its memory is its own
    with open(path, "rb") as file:
        page = mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    threading.Thread(target=read_one, args=(memory, at), daemon=True).start()
    os.read(asked, 1)
    mmap.mmap(-1, 1 << 20)


directory, users = sys.argv[1], [int(user) for user in sys.argv[2:]]
try:
    fuse = mounted(directory)
except OSError as e:
    print("refused", e, flush=True)
    sys.exit(0)
asked, processes = {}, []
for user in users:
    reads, asked[user] = os.pipe()
    processes.append(os.fork())
    if not processes[-1]:
        os.close(fuse)
        stall("%s/%d" % (directory, user), user, reads)
        sys.exit(1)
threading.Thread(target=answer_all, args=(fuse, asked), daemon=True).start()
while not all(waits(process) for process in processes):
    time.sleep(0.01)
print("ready", flush=True)
signal.pause()
