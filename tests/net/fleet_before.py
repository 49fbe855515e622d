#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fleet_before.py PORT: a user who was bound to the server's port before it listened, and connects from there to the
ports that a client's connections take (all of the range must be few). Prints who has such a connection, and what he hears."""
import os
import select
import socket
import sys

PORT = int(sys.argv[1])
with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as file:
    FIRST, LAST = map(int, file.read().split())


def bound(port):
    is_ = socket.socket()
    is_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    is_.bind(('127.0.0.1', port))
    is_.setblocking(False)
    return is_


def half_open(to):
    """Its SYN is lost, as the queue there is full; it is not sent again for a second."""
    full = bound(to)
    full.listen(0)
    # From ports that are not of the range, so those stay free.
    fill = [bound(LAST + 100 + 10 * to % 1000 + i) for i in range(2)]
    for one in fill:
        one.connect_ex(('127.0.0.1', to))
    his = bound(PORT)
    his.connect_ex(('127.0.0.1', to))
    for one in (full, *fill):
        one.close()
    return his


while True:
    os.seteuid(65534)
    strange = [half_open(to) for to in range(FIRST, LAST + 1)]
    os.seteuid(0)
    server = bound(PORT)
    server.listen(16)
    for his in select.select(strange, [], [], 0.9)[0]:
        try:
            print('he hears', his.recv(4096), flush=True)
        except OSError:
            pass
    for one in (server, *strange):
        one.close()
