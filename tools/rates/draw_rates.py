#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws the pictures of docs/bloom.md from what measure_rates measured: draw_rates.py MEASUREMENTS DIRECTORY

Lines are what the formulas foresee, dots what questions found, with the interval that holds the truth in 95 of 100
cases; a hollow dot is the rate by the filter's own bits, where fewer than MANY of the questions were answered wrongly.
"""

import math
import os
import sys
from collections import namedtuple

MANY = 20
Z = 1.96
WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 86, 100, 46, 60

Row = namedtuple("Row", "x foreseen bits asked yes")
Picture = namedtuple("Picture", "title x_says low high decades step what")

STYLE = {  # told apart without colour, too
    "lanes": ("#0072b2", ""),
    "lanes2": ("#d55e00", "7 4"),
    "classic": ("#007a5a", "2 3"),
}
PICTURES = {
    "bits": Picture("Wrong yeses over bits a key", "bits a key", 6, 40, 8, 4, "%g"),
    "k": Picture("Classic, 12 bits a key: wrong yeses over k", "k, bits that a key sets", 1, 24, 3, 1, "%g"),
    "load": Picture("16 bits a key: wrong yeses as the filter fills", "keys, of those it was sized for", 20, 200, 8, 20, "%g %%"),
}


def read(path):
    curves = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            picture, curve, *numbers = line.split()
            curves.setdefault(picture, {}).setdefault(curve, []).append(Row(*map(float, numbers)))
    return curves


def interval(row):
    """Wilson's: right for few yeses, too."""
    share, z2 = row.yes / row.asked, Z * Z / row.asked
    middle = (share + z2 / 2) / (1 + z2)
    half = Z * math.sqrt(share * (1 - share) / row.asked + z2 / row.asked / 4) / (1 + z2)
    return middle - half, middle + half


def rate_text(decade):
    return "100 %" if decade == 0 else f"{100 / 10**decade:.{max(0, decade - 2)}f} %"


class Canvas:
    def __init__(self, picture):
        self.p, self.parts = picture, []

    def x(self, value):
        return LEFT + (value - self.p.low) / (self.p.high - self.p.low) * (WIDTH - LEFT - RIGHT)

    def y(self, rate):
        return TOP + -math.log10(rate) / self.p.decades * (HEIGHT - TOP - BOTTOM)

    def inside(self, rate):
        return 10.0**-self.p.decades <= rate <= 1

    def add(self, text):
        self.parts.append("  " + text)

    def text(self, x, y, words, anchor="middle", extra=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{words}</text>')

    def line(self, x1, y1, x2, y2, colour, extra=""):
        self.add(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}"{extra}/>')


def draw_axes(c):
    p = c.p
    for decade in range(p.decades + 1):
        y = c.y(10.0**-decade)
        c.line(LEFT, y, WIDTH - RIGHT, y, "#ddd")
        c.text(LEFT - 8, y + 4, rate_text(decade), "end")
    value = p.low
    while value <= p.high:
        c.line(c.x(value), HEIGHT - BOTTOM, c.x(value), HEIGHT - BOTTOM + 5, "#555")
        c.text(c.x(value), HEIGHT - BOTTOM + 20, p.what % value)
        value += p.step
    c.line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#555")
    c.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, p.x_says)
    c.text(LEFT, 24, p.title, "start", ' font-size="16" font-weight="bold"')


def draw_curve(c, name, rows):
    colour, dash = STYLE[name]
    seen = [row for row in rows if c.inside(row.foreseen)]
    points = "L".join(f"{c.x(row.x):.1f} {c.y(row.foreseen):.1f}" for row in seen)
    c.add(f'<path d="M{points}" stroke="{colour}" fill="none" stroke-width="1.5" stroke-dasharray="{dash}"/>')
    for row in rows:
        by_questions = row.yes >= MANY
        rate = row.yes / row.asked if by_questions else row.bits
        if not c.inside(rate):
            continue
        if by_questions:
            low, high = interval(row)
            c.line(c.x(row.x), c.y(max(low, 10.0**-c.p.decades)), c.x(row.x), c.y(high), colour)
        c.add(
            f'<circle cx="{c.x(row.x):.1f}" cy="{c.y(rate):.1f}" r="3.2" stroke="{colour}"'
            f' fill="{colour if by_questions else "#fff"}"/>'
        )
    return c.y(seen[-1].foreseen), name, colour


def draw_names(c, ends):
    """At the ends of the curves, apart from each other."""
    last = 0
    for y, name, colour in sorted(ends):
        last = max(y + 4, last + 16)
        c.text(WIDTH - RIGHT + 10, last, name, "start", f' fill="{colour}" font-weight="bold"')


def draw(picture, curves):
    c = Canvas(picture)
    draw_axes(c)
    draw_names(c, [draw_curve(c, name, rows) for name, rows in curves.items()])
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' font-family="sans-serif" font-size="12" fill="#222" role="img" aria-label="{picture.title}">\n'
        f'  <rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n'
    )
    return head + "\n".join(c.parts) + "\n</svg>\n"


def main():
    source, directory = sys.argv[1:]
    for name, curves in read(source).items():
        with open(os.path.join(directory, f"rates-{name}.svg"), "w", encoding="ascii") as out:
            out.write(draw(PICTURES[name], curves))


main()
