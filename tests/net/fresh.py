# SPDX-License-Identifier: GPL-2.0-only
"""A server of lists for net_fresh.sh: files of a directory, over http, and what each request was.

fresh.py DIRECTORY PORT [ADDRESS]: a file PATH is sent with its tag and time; PATH.status, if it is there, has the status and
header lines that are sent instead. Each request is a line in DIRECTORY.log: time, path, what was asked for.
"""
import email.utils
import hashlib
import http.server
import os
import sys
import threading

root, port = sys.argv[1], int(sys.argv[2])
lock = threading.Lock()
asking, most = 0, 0


class Lists(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self):
        asked = self.headers.get("If-None-Match", "-")
        with lock, open(root + ".log", "a") as log:
            print(self.path, asked, self.headers.get("User-Agent"), asking, file=log)

    def answer(self, status, body=b"", **headers):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        global asking
        with lock:
            asking += 1
        self.note()
        self.send()
        with lock:
            asking -= 1

    def send(self):
        path = root + self.path.split("?")[0]
        if os.path.exists(path + ".status"):
            first, *more = open(path + ".status").read().split("\n")
            self.answer(int(first), b"something is wrong\n", **dict(line.split(": ") for line in more if line))
            return
        if not os.path.exists(path):
            self.answer(404)
            return
        with open(path, "rb") as file:
            body = file.read()
        tag = '"%s"' % hashlib.sha256(body).hexdigest()[:16]
        modified = email.utils.formatdate(os.stat(path).st_mtime, usegmt=True)
        if self.headers.get("If-None-Match") == tag:
            self.answer(304, ETag=tag)
        else:
            self.answer(200, body, ETag=tag, Last_Modified=modified)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


server = Server((sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1", port), Lists)
print("ready", flush=True)
server.serve_forever()
