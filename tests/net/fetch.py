#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
fetch.py serve DIRECTORY: servers that do to a fetcher what servers have done, and a name server; prints "ready". Keys and
certificates are in the directory, and the heads of all requests become its file "heads"; what is in its directory
"files" is served, too.
fetch.py ask PROGRAM BODY LINE...: what xdp-bloom-fetch answers to a request of these lines, and what it cost: "rss" in
KiB. With HEADER_FILE in the environment, that file goes with it: with a line "key ...", the signature of the body.
"""
import base64
import os
import resource
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

ADDRESS, NAMES, PRIVATE, OWN, THIRD = '9.9.9.2', '9.9.9.3', '10.9.9.2', '9.9.9.1', '9.9.9.4'
LIST = b'203.0.113.0/24\n198.51.100.7\n'
CHUNK = b'198.51.100.7\n' * 5000


def head(status='200 OK', *lines, length=None):
    lines = list(lines) + ([f'Content-Length: {length}'] if length is not None else [])
    return '\r\n'.join([f'HTTP/1.1 {status}', *lines, 'Connection: close', '', '']).encode()


def whole(body, *lines):
    return head('200 OK', *lines, length=len(body)) + body


def to(place, *lines):
    return head('302 Found', f'Location: {place}', *lines, length=0)


SECURE = 'https://feeds.example'
LONG = 'X-Filler: ' + 'x' * 60000
ANSWERS = {
    '/list': whole(LIST, 'ETag: "one"', 'Last-Modified: Mon, 02 Nov 2026 03:04:05 GMT', 'Date: Tue, 03 Nov 2026 03:04:05 GMT',
                   'Content-Type: text/plain'),
    '/html': whole(b'<html>Please log in</html>', 'Content-Type: text/html; charset=utf-8'),
    '/json': whole(b'{"error": "quota"}', 'Content-Type: application/json'),
    '/empty': whole(b''),
    '/page': whole(b'\n <!DOCTYPE html>\n198.51.100.7\n', 'Content-Type: text/plain'),
    '/typed': whole(LIST, 'Content-Type: text/HTML; charset=utf-8'),
    '/list.json': whole(b'["198.51.100.7"]', 'Content-Type: application/json'),
    '/block.txt': whole(b'# DShield.org Recommended Block List\nStart\tEnd\tNetblock\tAttacks\tName\tCountry\temail\n'
                        b'203.0.113.0\t203.0.113.255\t24\t1200\tA\tUS\ta@example.com\n'
                        b'46.1.2.0\t46.1.2.255\t24\t99\tB\t\tb@example.com\n'),
    '/blank': whole(b' \r\n\t\n'),
    '/remarks': whole(b'# nothing today\n'),
    '/captcha': whole(b'\xef\xbb\xbf<html>198.51.100.7</html>'),
    '/bom': whole(b'\xef\xbb\xbf203.0.113.0/24\r\n198.51.100.7\r\n'),
    '/itself': whole(LIST + b'9.9.9.0/24\n'),
    '/everything': whole(LIST + b'0.0.0.0/0\n'),
    '/shrunk': whole(b'198.51.100.7\n'),
    '/grown': whole(b'203.0.112.0/20\n198.0.0.0/9\n'),
    '/gateway': whole(LIST + b'9.9.9.254\n'),
    '/utf16': whole(LIST.decode().encode('utf-16')),
    '/binary': whole(bytes(range(256)) * 4),
    '/nul-inside': whole(LIST[:20] + b'\0' + LIST[20:]),
    '/latin1': whole(b'\xe4\xf6\xfc 203.0.113.0/24\n'),
    '/loop-for-good': head('301 Moved Permanently', f'Location: {SECURE}/loop-for-good', length=0),
    '/sends-on': to('https://third.example/bans-who-sends'),
    '/bans-who-sends': whole(LIST + b'9.9.9.2\n'),
    '/words': whole(b'Too many requests from your address.\n'),
    '/cut': head(length=100000) + LIST,
    '/cut-open': head() + LIST,
    '/chunks': head('200 OK', 'Transfer-Encoding: chunked') + b'1c\r\n' + LIST + b'\r\n0\r\n\r\n',
    '/chunks-cut': head('200 OK', 'Transfer-Encoding: chunked') + b'ffff\r\n' + LIST,
    '/chunks-bad': head('200 OK', 'Transfer-Encoding: chunked') + b'zz\r\n' + LIST + b'\r\n0\r\n\r\n',
    '/nothing': b'',
    '/no-http': b'SSH-2.0-OpenSSH_9.2p1\r\n',
    '/http09': LIST,
    '/304': head('304 Not Modified', 'ETag: "one"'),
    '/partial': head('206 Partial Content', 'Content-Range: bytes 0-27/100', length=len(LIST)) + LIST,
    '/error': head('500 Internal Server Error', length=6) + b'broken',
    '/denied': head('403 Forbidden', length=4) + b'no!\n',
    '/later': head('429 Too Many Requests', 'Retry-After: 3600', length=4) + b'slow',
    '/later-date': head('503 Service Unavailable', 'Retry-After: Fri, 31 Dec 2100 23:59:59 GMT', length=0),
    '/loop': to(SECURE + '/loop'),
    # Each header may be so long, not all of them together.
    '/five': to('/four', LONG), '/four': to('/three', LONG), '/three': to('/two', LONG), '/two': to('/one', LONG),
    '/one': to('/list', LONG),
    '/six': to('/five'),
    '/nowhere': head('302 Found', length=0),
    '/to-file': to('file:///etc/passwd'),
    '/to-http': to('http://feeds.example/list'),
    '/to-gopher': to('gopher://feeds.example/x'),
    '/to-loopback': to('https://127.0.0.1/list'),
    '/to-loopback6': to('https://[::1]/list'),
    '/to-mapped': to('https://[::ffff:10.9.9.2]/list'),
    '/to-number': to('https://2130706433/list'),
    '/to-zero': to('https://0.0.0.0/list'),
    '/to-private': to('https://private.example/list'),
    '/to-turned': to('https://turns.example:8440/list'),
    '/to-user': to('https://a:b@feeds.example/list'),
    '/to-other': to('https://other.example/list'),
    '/announces': head(length=10 << 30) + LIST,
    '/negative': head('200 OK', 'Content-Length: -5') + LIST,
    '/nul': head('200 OK', 'ETag: "a\0b"', length=len(LIST)) + LIST,
    '/long-tag': whole(LIST, 'ETag: "' + 'x' * 3000 + '"'),
    '/escapes': whole(LIST, 'ETag: "\x1b[31m\x07"', 'Content-Type: text/\x1b]0;x'),
    '/cookie': head('302 Found', 'Set-Cookie: id=1', 'Location: /list', length=0),
    '/gzip-said': whole(b'\x1f\x8b not gzip at all', 'Content-Encoding: gzip'),
}


def endless(conn, piece, pause=0.0, most=None):
    sent = 0
    while most is None or sent < most:
        conn.sendall(piece)
        sent += len(piece)
        time.sleep(pause)


# What is no fixed answer.
def slow(conn):
    conn.sendall(head(length=1000000))
    endless(conn, b'1', 0.2)


def stands_still(conn):
    conn.sendall(head(length=1000) + LIST)
    conn.recv(1)


def slow_head(conn):
    conn.sendall(b'HTTP/1.1 200 OK\r\nX: ')
    endless(conn, b'x', 0.2)


def big(conn):
    conn.sendall(head())
    endless(conn, CHUNK)


def big_chunks(conn):
    conn.sendall(head('200 OK', 'Transfer-Encoding: chunked'))
    endless(conn, b'%x\r\n' % len(CHUNK) + CHUNK + b'\r\n')


def long_head(conn):
    conn.sendall(b'HTTP/1.1 200 OK\r\n')
    endless(conn, b'X-Filler: ' + b'x' * 990 + b'\r\n', most=1 << 20)
    conn.sendall(b'\r\n' + LIST)


def long_line(conn):
    conn.sendall(b'HTTP/1.1 200 OK\r\nX: ')
    endless(conn, b'x' * 1024, most=1 << 20)
    conn.sendall(b'\r\n\r\n' + LIST)


def hundreds(conn):
    endless(conn, b'HTTP/1.1 100 Continue\r\n\r\n', most=8 << 20)


ACTS = {'/slow': slow, '/still': stands_still, '/slow-head': slow_head, '/big': big, '/big-chunks': big_chunks,
        '/long-head': long_head, '/long-line': long_line, '/100-for-ever': hundreds, '/silent': lambda conn: conn.recv(1)}


def kept(directory, path):
    """A file, as it is now; None: there is none."""
    try:
        with open(f'{directory}/files{path}', 'rb') as file:
            return whole(file.read(), 'Content-Type: text/plain')
    except OSError:
        return None


def head_of(conn):
    """A request's head; b'': it broke off."""
    request = b''
    while b'\r\n\r\n' not in request:
        got = conn.recv(4096)
        if not got:
            return b''
        request += got
    return request


def serve_one(conn, context, heads):
    try:
        conn.settimeout(60)
        if context == 'silent':
            while conn.recv(100000):
                pass
            return
        if context == 'speaks first':
            conn.sendall(LIST)
            return
        if context:
            conn = context.wrap_socket(conn, server_side=True)
        request = head_of(conn)
        if not request:
            return
        path = request.split()[1].decode().split('?')[0]
        heads.write(request.decode() + '---\n')
        heads.flush()
        if path in ACTS:
            ACTS[path](conn)
        elif path == '/list' and b'If-None-Match: "one"' in request:
            conn.sendall(ANSWERS['/304'])
        else:
            found = ANSWERS[path] if path in ANSWERS else kept(os.path.dirname(heads.name), path)
            conn.sendall(head('404 Not Found', length=0) if found is None else found)
        if context:
            if path == '/cut-open':
                os.close(conn.detach())  # without a goodbye
                return
            conn = conn.unwrap()
    except OSError:
        pass  # who asked has gone
    finally:
        conn.close()


def listen(address, port, context, heads):
    server = socket.create_server((address, port), backlog=64)

    def accept():
        while True:
            conn, _ = server.accept()
            threading.Thread(target=serve_one, args=(conn, context, heads), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


RECORDS = {'feeds.example': [ADDRESS], 'feeds.dshield.org': [ADDRESS], 'other.example': [ADDRESS], 'private.example': [PRIVATE], 'own.example': [OWN],
           'third.example': [THIRD], 'loop.example': ['127.0.0.1'], 'turns.example': [ADDRESS, PRIVATE], 'both.example': [PRIVATE]}


def serve_names():
    """A records, each name's in turn, of no time to live. Of silent.example nothing is heard."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAMES, 53))
    asked = {}

    def answer():
        while True:
            query, client = server.recvfrom(512)
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            name, kind = '.'.join(labels).lower(), struct.unpack('!H', query[at + 1:at + 3])[0]
            if name == 'silent.example':
                continue
            records = RECORDS.get(name)
            data = b''
            if records and kind == 1:
                turn = asked.get(name, 0)
                asked[name] = turn + 1
                data = b'\xc0\x0c' + struct.pack('!HHIH', 1, 1, 0, 4) + socket.inet_aton(records[min(turn, len(records) - 1)])
            code = 0 if records else 3
            server.sendto(query[:2] + struct.pack('!HHHHH', 0x8180 | code, 1, bool(data), 0, 0) + query[12:at + 5] + data, client)
    threading.Thread(target=answer, daemon=True).start()


def shown():
    """What every user sees of the processes that run."""
    words = b''
    for process in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{process}/cmdline', 'rb') as file:
                words += file.read()
        except OSError:
            pass  # it has ended
    return words


def pass_on(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one of them has gone


def serve_proxy(port, wanted, directory):
    """A proxy: CONNECT, and whole URLs. What it was asked stands in the file "proxied"."""
    server = socket.create_server((NAMES, port), backlog=64)

    def answer(conn):
        request = head_of(conn)
        if not request:
            return
        method, where = request.split()[:2]
        with open(f'{directory}/proxied', 'ab') as file:
            file.write(method + b' ' + where + (b' seen' if b'topsecret' in shown() else b'') + b'\n')
        if wanted and b'Proxy-Authorization: Basic ' + base64.b64encode(wanted) not in request:
            conn.sendall(head('407 Proxy Authentication Required', 'Proxy-Authenticate: Basic realm="x"', length=0))
            conn.close()
            return
        host = where if method == b'CONNECT' else where.split(b'/')[2]
        name, _, number = host.decode().partition(':')
        with socket.create_connection((name, int(number or 80))) as to:
            if method == b'CONNECT':
                conn.sendall(b'HTTP/1.1 200 Connection established\r\n\r\n')
            else:
                lines = request.replace(b'http://' + host, b'', 1).split(b'\r\n')
                to.sendall(b'\r\n'.join(line for line in lines if not line.startswith(b'Proxy-')))
            threading.Thread(target=pass_on, args=(conn, to), daemon=True).start()
            pass_on(to, conn)
        conn.close()

    def accept():
        while True:
            threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def secure(directory, name, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f'{directory}/{name}.pem', f'{directory}/{name}.key')
    if version:
        context.set_ciphers('ALL:@SECLEVEL=0')
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = version
    return context


def serve(directory):
    with open(f'{directory}/heads', 'w') as heads:
        good = secure(directory, 'good')
        listen(ADDRESS, 80, None, heads)
        listen(ADDRESS, 443, good, heads)
        listen(PRIVATE, 443, good, heads)
        listen(THIRD, 443, good, heads)
        listen(PRIVATE, 8440, good, heads)
        listen(ADDRESS, 8440, good, heads)
        listen(ADDRESS, 8441, secure(directory, 'self'), heads)
        listen(ADDRESS, 8442, secure(directory, 'expired'), heads)
        listen(ADDRESS, 8443, secure(directory, 'wrong'), heads)
        listen(ADDRESS, 8444, secure(directory, 'good', ssl.TLSVersion.TLSv1), heads)
        listen(ADDRESS, 8445, secure(directory, 'good', ssl.TLSVersion.TLSv1_1), heads)
        listen(ADDRESS, 8446, 'silent', heads)
        listen(ADDRESS, 8447, 'speaks first', heads)
        serve_names()
        serve_proxy(3128, b'me:topsecret', directory)
        serve_proxy(3129, b'', directory)
        print('ready', flush=True)
        threading.Event().wait()


def ask(program, body, lines):
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(body, 'r+b' if any(line.startswith('key ') for line in lines) else 'wb') as out:
        fetcher = subprocess.Popen([program], stdin=its)
        its.close()
        files = [out.fileno()]
        if 'HEADER_FILE' in os.environ:
            files.append(os.open(os.environ['HEADER_FILE'], os.O_RDONLY))
        socket.send_fds(ours, [''.join(line + '\n' for line in lines).encode()], files)
        answer = ours.recv(65536)
        status = fetcher.wait()
    sys.stdout.buffer.write(answer)
    print('rss', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print('end', status)


if sys.argv[1] == 'serve':
    serve(sys.argv[2])
else:
    ask(sys.argv[2], sys.argv[3], sys.argv[4:])
