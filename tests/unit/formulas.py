#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The formulas over again, in exact fractions, for unit_formulas: lines of a name, its arguments and the value."""

from fractions import Fraction
from math import comb


def classic(n, m, k):
    """Bose et al.: sum over i of C(m,i) i^k times the ways for kn hashes to meet each of i bits, i! S(kn, i)."""
    onto = (sum((-1) ** (i - j) * comb(i, j) * j ** (k * n) for j in range(i + 1)) for i in range(m + 1))
    return Fraction(sum(comb(m, i) * i**k * ways for i, ways in enumerate(onto)), m ** (k * (n + 1)))


def lanes(n, blocks):
    """The eighth power by the binomial theorem: its j-th term is the chance that j given bits are all clear."""
    q = Fraction(63, 64)
    return sum((-1) ** j * comb(8, j) * (1 - (1 - q**j) / blocks) ** n for j in range(9))


for m in (1, 2, 7, 10, 16, 33, 64, 100):
    for n in (1, 2, 5, 10, 17):
        for k in (1, 2, 3, 7, 24):
            if k * n <= 240:
                print("classic", n, m, k, float(classic(n, m, k)))
for blocks in (1, 2, 3, 64, 100):
    for keys in (0, 1, 2, 3, 20, 50):
        print("lanes", keys * blocks, blocks, 8, float(lanes(keys * blocks, blocks)))
