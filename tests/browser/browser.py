#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
browser.py [--width N] [--dark] [--picture FILE] URL [EXPRESSION...]: opens the page in a headless Chromium and
waits until each expression is true there, in turn; one that begins with "$ " is a command that is run in between, with a shell.

Ends with 1, and says why, where one never is, where the page writes to the console, where it asks anything else than where it
comes from, or where it is wider than the window. Speaks the DevTools protocol through a pipe.
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

PATIENCE = 60


class Browser:
    def __init__(self, home):
        there, ours = os.pipe(), os.pipe()

        def descriptors():
            # Free 3 and 4 first: one of the pipes may be there.
            read, write = os.dup(there[0]), os.dup(ours[1])
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium") or "google-chrome", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--no-first-run",
             "--user-data-dir=" + home, "--remote-debugging-pipe", "about:blank"],
            env=dict(os.environ, TMPDIR=home), preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there[0])
        os.close(ours[1])
        self.into, self.out = os.fdopen(there[1], "wb", 0), os.fdopen(ours[0], "rb", 0)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []

    def message(self):
        while b"\0" not in self.buffer:
            more = self.out.read(65536)
            if not more:
                sys.exit("the browser has gone")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def __call__(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        self.into.write(json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit("%s: %s" % (method, message["error"]["message"]))
                return message["result"]
            self.events.append(message)

    def close(self):
        """With its own processes, whose files go with its directory."""
        self.session = None
        try:
            self("Browser.close")
            self.process.wait(10)
        except (OSError, SystemExit, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def evaluate(self, expression):
        result = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            return "(throws: %s)" % result["exceptionDetails"].get("exception", {}).get("description", "?").splitlines()[0]
        return result["result"].get("value")


def faults(events, origin):
    """What it said, and what it asked for elsewhere."""
    for event in events:
        method, p = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            yield "console: %s" % [a.get("value", a.get("description")) for a in p["args"]]
        elif method == "Runtime.exceptionThrown":
            yield "exception: %s" % p["exceptionDetails"].get("exception", {}).get("description")
        elif method == "Log.entryAdded":
            yield "log: %s %s" % (p["entry"]["text"], p["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent" and p["request"]["url"] != "data:,":
            url = urllib.parse.urlsplit(p["request"]["url"])
            if (url.scheme, url.netloc) != origin:
                yield "request: %s" % p["request"]["url"]


def run(browser, asked):
    origin = urllib.parse.urlsplit(asked.url)[:2]
    target = browser("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in "Page", "Runtime", "Log", "Network":
        browser(domain + ".enable")
    browser("Emulation.setDeviceMetricsOverride", width=asked.width, height=900, deviceScaleFactor=asked.scale,
            mobile=asked.width < 600)
    browser("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if asked.dark else "light"}])
    browser.events.clear()
    browser("Page.navigate", url=asked.url)
    for expression in asked.expressions:
        if expression.startswith("$ "):
            subprocess.run(expression[2:], shell=True, check=True)
            continue
        end = time.monotonic() + PATIENCE
        while (value := browser.evaluate(expression)) is not True:
            if time.monotonic() > end:
                yield "never true: %s, but %r" % (expression, value)
                yield "the page says: %r" % browser.evaluate("document.body.innerText")
                return
            time.sleep(0.05)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    if wide > asked.width:
        yield "%d pixels wide in a window of %d: %s" % (wide, asked.width, browser.evaluate(
            "[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
            ".map(e => e.tagName + '#' + e.id + '.' + e.className).join(' ')"))
    if asked.picture:
        high = browser.evaluate("document.documentElement.scrollHeight")
        browser("Emulation.setDeviceMetricsOverride", width=asked.width, height=high, deviceScaleFactor=asked.scale,
                mobile=asked.width < 600)
        browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        with open(asked.picture, "wb") as file:
            file.write(base64.b64decode(browser("Page.captureScreenshot", format="png")["data"]))
    allowed = asked.allow
    yield from (fault for fault in faults(browser.events, origin) if not allowed or allowed not in fault)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--picture")
    parser.add_argument("--allow", help="what the console may say")
    parser.add_argument("url")
    parser.add_argument("expressions", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(home)
        try:
            found = list(run(browser, asked))
        finally:
            browser.close()
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
