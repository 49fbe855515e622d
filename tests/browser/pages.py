#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
pages.py PID N SECONDS: N pages are open for so long, each of which asks for /page.json at 127.0.0.1:9913 as often as that says.
Prints how many answers came, how many of them were others than the one before, and how much of a CPU the process took meanwhile,
by the kernel's count in ns, in percent.
"""
import http.client
import json
import sys
import threading
import time

process, n, span = (int(word) for word in sys.argv[1:])
failed, answered, documents = [], [], set()


def taken():
    with open("/proc/%d/schedstat" % process) as file:
        return int(file.read().split()[0])


def page(begin, end):
    every = 2
    time.sleep(max(0, begin - time.monotonic()))
    while (began := time.monotonic()) < end:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", 9913, timeout=10)
            connection.request("GET", "/page.json")
            answer = connection.getresponse()
            document = answer.read()
            connection.close()
            if answer.status != 200:
                raise http.client.HTTPException(answer.status)
            every = json.loads(document)["every"]
            answered.append(every)
            documents.add(document)
        except (OSError, http.client.HTTPException) as error:
            failed.append(error)
        time.sleep(max(0, began + every - time.monotonic()))


start = time.monotonic() + 0.5
pages = [threading.Thread(target=page, args=(start + 2 * i / n, start + span)) for i in range(n)]
for one in pages:
    one.start()
time.sleep(max(0, start - time.monotonic()))
before = taken()
time.sleep(max(0, start + span - time.monotonic()))
share = (taken() - before) / 1e7 / span
for one in pages:
    one.join()
if failed:
    sys.exit("%d of %d were not answered: %s" % (len(failed), len(failed) + len(answered), failed[0]))
if len(answered) < n * span / (2 * max(answered, default=1)):
    sys.exit("only %d answers" % len(answered))
print(len(answered), len(documents), "%.2f" % share)
