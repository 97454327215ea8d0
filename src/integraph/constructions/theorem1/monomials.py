"""The monomials X_m = (t − ½)^m of degree 2 … n − 1 by products, doubling the degree: ⌈log2(n − 1)⌉ segments.

Those of degree 1 are the registers t themselves, which hold t_j, not t_j − ½: a factor is a register and an offset,
and products of such factors are expanded. What is linear in the X_m is shifted accordingly.
"""

from __future__ import annotations

import numpy as np

from integraph.gadgets import affine, product, ramp
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.multi_index import below, count, rank
from integraph.program import Block, Index, Registers, View

CENTRE = 0.5


class MonomialRegisters:
    """`view` holds the registers of all m with 1 ≤ |m| < n, in graded order; `segments` are blocks, level by level."""

    def __init__(self, registers: Registers, t: View, n: int) -> None:
        d = t.size
        alphas = below(d, n)
        higher = len(alphas) - 1 - d if n > 1 else 0
        if higher > 0:
            registers.new("p", higher, label="products of powers of the inputs")
        self.d = d
        self.view = View(t.offset, (d + max(higher, 0),), (1,))
        self.segments: list[list[Block]] = []
        degree = 2
        while degree < n:
            top = min(2 * degree - 2, n - 1)  # from registers of degree < `degree`
            rows = np.arange(count(d, degree), count(d, top + 1))
            self.segments.append(self._level(alphas, rows, degree - 1))
            degree = top + 1

    def _level(self, alphas: Indices, rows: Indices, known: int) -> list[Block]:
        """X_m = X_a X_b for the rows m, with |a| the largest that is known, or all but one."""
        first = _share(alphas[rows], np.minimum(known, alphas[rows].sum(1) - 1))
        left, right = rank(first), rank(alphas[rows] - first)
        offsets = [np.where(place <= self.d, CENTRE, 0.0) for place in (left, right)]
        z = self.view[int(rows[0]) - 1 : int(rows[-1])]
        x, v = (Index(self.view.offset + place - 1) for place in (left, right))
        blocks = [product(z, x, v)]
        for register, offset in ((x, offsets[1]), (v, offsets[0])):
            if offset.any():
                blocks.append(affine(z, register, w=-offset))
        both = offsets[0] * offsets[1]
        return [*blocks, ramp(z, b=both)] if both.any() else blocks

    def shifted(self, a: Floats) -> Floats:
        """Coefficients (M, …) of X_m, as coefficients of what the registers hold."""
        coefficients = a.copy()
        if len(a) > 1:
            coefficients[0] -= CENTRE * a[1 : 1 + self.d].sum(0)
        return coefficients


def _share(alphas: Indices, degree: Indices) -> Indices:
    """The part of each α of the given degree that takes the first variables first."""
    before = np.cumsum(alphas, 1) - alphas
    return np.clip(degree[:, None] - before, 0, alphas)
