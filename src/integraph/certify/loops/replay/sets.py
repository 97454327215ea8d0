"""A set of states and inputs: x_i = p_i(ξ) + Σ g_in ε_n, with symbols ε that all of them share.

Inside one map the errors e_i = Σ g_in ε_n of its arguments are the symbols; afterwards they are replaced by what they
are, and every radius, with all rounding of balls, becomes a fresh symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat

from integraph.certify.loops.replay.polynomials import Polynomial, identity
from integraph.certify.loops.replay.rows import Row
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import ZERO, Balls

SYMBOLS = 800  # at most; then the smaller half becomes part of the radii


@dataclass(frozen=True, eq=False)
class StateSet:
    k: int
    p: list[Polynomial]
    g: list[Balls]

    @cached_property
    def errors(self) -> Balls:
        """At least |e_i|."""
        return [sum((abs(ball) for ball in line), ZERO).upper() for line in self.g]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows, with their errors as symbols."""
        n = len(self.p)
        return [
            Row(self.k, p, [self.errors[i] if i == j else ZERO for j in range(n)], ZERO) for i, p in enumerate(self.p)
        ]

    @cached_property
    def own_rows(self) -> list[Row]:
        """The rows with the symbols themselves, for maps that all rows enter at once."""
        return [Row(self.k, p, line, ZERO) for p, line in zip(self.p, self.g, strict=True)]

    def joined(self, rows: Sequence[Row]) -> StateSet:
        """This set, with rows that were computed from `own_rows`."""
        g = self.g + [row.g for row in rows]
        return swept(self.k, self.p + [row.p for row in rows], g, [ZERO] * len(self.p) + [row.r for row in rows])

    def symbols_of(self, rows: Sequence[Row]) -> list[Balls]:
        """The coefficients of the set's own symbols in rows whose symbols are its errors."""
        n, count = len(self.p), len(self.g[0])
        if not count:
            return [[] for _ in rows]
        shares = [ZERO if e.is_zero() else row.g[j] / e for row in rows for j, e in enumerate(self.errors)]
        entries = (arb_mat(len(rows), n, shares) * arb_mat(n, count, [x for line in self.g for x in line])).entries()
        return [entries[i * count : (i + 1) * count] for i in range(len(rows))]

    def image(self, rows: Sequence[Row], kept: Sequence[int] = ()) -> StateSet:
        """The set of rows that were computed from this one, then those of its own rows that are `kept`."""
        g = self.symbols_of(rows) + [self.g[n] for n in kept]
        p = [row.p for row in rows] + [self.p[n] for n in kept]
        return swept(self.k, p, g, [row.r for row in rows] + [ZERO] * len(kept))


def swept(k: int, p: list[Polynomial], g: list[Balls], r: Balls) -> StateSet:
    """The set with exact coefficients: radii become symbols, the smallest symbols radii where there are too many."""
    lost = []
    for poly, line, radius in zip(p, g, r, strict=True):
        total = radius
        for ball in (*poly.values(), *line):
            total += ball.rad()
        lost.append(total)
    p = [{monomial: ball.mid() for monomial, ball in poly.items()} for poly in p]
    g = [[ball.mid() for ball in line] for line in g]
    if g and len(g[0]) > SYMBOLS:
        g, lost = _folded(g, lost)
    own = [n for n, radius in enumerate(lost) if not radius.is_zero()]  # NaN stays
    g = [line + [lost[n].upper() if n == m else ZERO for m in own] for n, line in enumerate(g)]
    return StateSet(k, p, g)


def _folded(g: list[Balls], lost: Balls) -> tuple[list[Balls], Balls]:
    sizes = [[abs(float(x)) for x in line] for line in g]
    totals = [sum(line) or 1.0 for line in sizes]
    weights = [sum(line[n] / total for line, total in zip(sizes, totals, strict=True)) for n in range(len(g[0]))]
    order = sorted(range(len(weights)), key=lambda n: -weights[n])
    kept, gone = sorted(order[: SYMBOLS // 2]), order[SYMBOLS // 2 :]
    lost = [radius + sum((abs(line[n]) for n in gone), ZERO) for line, radius in zip(g, lost, strict=True)]
    return [[line[n] for n in kept] for line in g], lost


def of_box(box: Box, k: int) -> StateSet:
    """The identity on a box of starts, with polynomials of degree k."""
    sides = [(arb(low), arb(high)) for low, high in zip(box.low, box.high, strict=True)]
    wide = [n for n, (low, high) in enumerate(sides) if low < high]
    p = [identity(*side, wide.index(n) if n in wide else None) for n, side in enumerate(sides)]
    return swept(k, p, [[] for _ in p], [ZERO] * len(p))
