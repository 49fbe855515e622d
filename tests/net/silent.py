#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# silent.py DIRECTORY FILE USER: mounts a file system of that user's there, as fusermount does where others may look into it. Its
# one file, "list", is that FILE; nothing of it is kept by the kernel, so who looks asks us, and waits as long as we are stopped.
# It prints "ready", or "refused" and why.
import ctypes
import errno
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 17, 18, 25, 26, 36, 42
DIRECT_IO = 1


def mounted(directory, user):
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other" % (fuse, user, user)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"silent", directory.encode(), b"fuse", 6, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fuse


def attributes(node, path, user):
    is_list = node != 1
    of = os.stat(path)
    times = [int(of.st_atime), int(of.st_mtime), int(of.st_ctime)]
    size = of.st_size if is_list else 0
    mode = 0o100644 if is_list else 0o40755
    return struct.pack("=6Q10I", node, size, 8, *times, 0, of.st_mtime_ns % 10**9, 0, mode, 1, user, user, 0, 4096, 0)


def answer(operation, node, body, path, user):
    if operation == INIT:
        return struct.pack("=4I2H2I2H8I", 7, 31, 4096, 0, 4, 3, 4096, 1, 0, 0, *[0] * 8)[:64]
    if operation == LOOKUP:
        if body != b"list\0":
            return -errno.ENOENT
        return struct.pack("=4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2, path, user)
    if operation == GETATTR:
        return struct.pack("=Q2I", 0, 0, 0) + attributes(node, path, user)
    if operation == OPEN:
        return struct.pack("=Q2I", 0, DIRECT_IO, 0)
    if operation == READ:
        _, at, size = struct.unpack_from("=QQI", body)
        with open(path, "rb") as file:
            return file.read()[at : at + size]
    if operation in (RELEASE, FLUSH):
        return b""
    return -errno.ENOSYS


directory, path, user = sys.argv[1], sys.argv[2], int(sys.argv[3])
try:
    fuse = mounted(directory, user)
except OSError as e:
    print("refused", e, flush=True)
    sys.exit(0)
print("ready", flush=True)
while True:
    request = os.read(fuse, 1 << 17)
    _, operation, unique, node = struct.unpack_from("=IIQQ", request)
    if operation in (FORGET, INTERRUPT, BATCH_FORGET):
        continue
    said = answer(operation, node, request[40:], path, user)
    error, said = (said, b"") if isinstance(said, int) else (0, said)
    os.write(fuse, struct.pack("=IiQ", 16 + len(said), error, unique) + said)
