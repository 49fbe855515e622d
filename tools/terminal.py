#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""terminal.py [LINES] <text >picture.svg: what a terminal showed, as a picture. Knows bold, nothing else."""
import html
import re
import sys

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
lines = sys.stdin.read().rstrip("\n").split("\n")[:limit]
plain = [re.sub(r"\033\[[0-9;]*m", "", line).expandtabs() for line in lines]
width = max(len(line) for line in plain) * 8.4 + 32
height = len(lines) * 18 + 32

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" role="img"')
print(' aria-label="a terminal">')
print('<style>text { white-space: pre }</style>')
print(f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#16181d"/>')
print('<g font-family="ui-monospace,DejaVu Sans Mono,Menlo,monospace" font-size="14" fill="#d7dae0" xml:space="preserve">')
for row, (line, text) in enumerate(zip(lines, plain)):
    colour = ' fill="#7fd18b" font-weight="bold"' if "\033[1m" in line else ""
    if re.search(r": drop\b", text):
        colour = ' fill="#ef7f78"'
    print(f'<text x="16" y="{row * 18 + 30}"{colour}>{html.escape(text)}</text>')
print("</g></svg>")
