"""The rows of a set of states: polynomials of the start, symbols that all rows share, and a radius for each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from integraph.certify.loops.flow_kernels import Table, row_ranges
from integraph.certify.loops.range_kernels import polynomial_ranges
from integraph.certify.loops.row_kernels import WORTH
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import chebyshev
from integraph.numbers.models.models import Models, Space, of_cells
from integraph.numbers.models.monomials import Monomials, monomials
from integraph.numbers.multi_index import rank
from integraph.numbers.roundoff import UP, U

SYMBOLS = 800  # at most; then the smaller half is folded into the radii
DEGREES = ((3, (4, 6)), (6, (3, 4, 5)), (16, (2, 3)))  # for so many sides of positive width; beyond, 1


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """`values` (n, M + E + 1): [p | g | r] of each row, over monomials of degree ≤ k in d variables."""

    monomials: Monomials
    values: Floats

    @property
    def symbols(self) -> int:
        return int(self.values.shape[1]) - self.monomials.count - 1

    @property
    def table(self) -> Table:
        return kernel_table(self.monomials.d, self.monomials.k)

    def with_values(self, values: Floats) -> ModelRows:
        return ModelRows(self.monomials, values)

    def ranges(self) -> Floats:
        """Ends of all rows, (n, 2)."""
        return row_ranges(self.values, self.table)

    def models(self) -> Models:
        """The rows as models of one cell."""
        m, ends = self.monomials.count, self.ranges()
        space = Space(self.monomials, 1, count(self.symbols), WORTH)
        known = Interval(ends[:, :1], ends[:, 1:])
        p, g = self.values[:, None, :m], self.values[:, None, m:-1]
        return Models(space, p, g, np.arange(self.symbols), self.values[:, -1:], known)

    def polynomial_radii(self) -> Floats:
        """How far each polynomial may be from its constant."""
        return np.asarray(np.abs(self.values[:, 1 : self.monomials.count]).sum(1))

    def errors(self) -> Floats:
        """How far each row may be from its polynomial, without rounding."""
        return np.asarray(np.abs(self.values[:, self.monomials.count :]).sum(1))

    def tight_ranges(self) -> Floats:
        """The ranges, those of polynomials by bisection."""
        m, table = self.monomials.count, self.monomials
        ends = polynomial_ranges(
            self.values[:, :m].copy(), table.exponents, lowered(table.d, table.k), table.squares, table.kinds
        )
        off = np.abs(self.values[:, m:]).sum(1, keepdims=True) * UP * (-1.0, 1.0)
        ends = ends + off
        ends += (4 * U * np.abs(ends) + TINY) * (-1.0, 1.0)
        plain = self.ranges()
        return np.stack([np.maximum(ends[:, 0], plain[:, 0]), np.minimum(ends[:, 1], plain[:, 1])], 1)

    def influence(self) -> Floats:
        """How much of the polynomials is due to each of their variables."""
        p = np.abs(self.values[:, 1 : self.monomials.count])
        share: Floats = (p / (p.sum(1, keepdims=True) + 1e-300)).sum(0) @ self.monomials.exponents[1:]
        return share

    def fresh(self) -> ModelRows:
        """The same rows with every radius as a symbol, the smallest symbols folded where there are too many."""
        rows = self.folded()
        values, n = rows.values, len(rows.values)
        wide = np.flatnonzero(values[:, -1] > 0)
        out = np.zeros((n, values.shape[1] + len(wide)))
        out[:, : values.shape[1] - 1] = values[:, :-1]
        out[wide, values.shape[1] - 1 + np.arange(len(wide))] = values[wide, -1]
        return self.with_values(out)

    def folded(self) -> ModelRows:
        """The rows with at most `SYMBOLS` symbols."""
        if self.symbols <= SYMBOLS:
            return self
        m = self.monomials.count
        g = self.values[:, m:-1]
        weights = (np.abs(g) / (np.abs(g).sum(1, keepdims=True) + 1e-300)).sum(0)
        order = np.argsort(weights)
        kept, gone = np.sort(order[-SYMBOLS // 2 :]), order[: -SYMBOLS // 2]
        r = (self.values[:, -1] + np.abs(g[:, gone]).sum(1) * UP) * UP
        return self.with_values(np.concatenate([self.values[:, :m], g[:, kept], r[:, None]], 1))

    def joined(self, other: ModelRows) -> ModelRows:
        """These rows, then those of `other`, over the same symbols."""
        return self.with_values(np.concatenate([self.values, other.values]))

    def of_models(self, rows: Models) -> ModelRows:
        """ModelRows from models that were computed from these: symbols of their own become part of the radius."""
        g = np.zeros((len(rows), self.symbols))
        old = rows.names < self.symbols
        g[:, rows.names[old]] = rows.g[:, 0, old]
        r = (rows.r[:, 0] + np.abs(rows.g[:, 0, ~old]).sum(1) * UP) * UP
        return self.with_values(np.concatenate([rows.p[:, 0], g, r[:, None]], 1))


def degrees(sides: int) -> tuple[int, ...]:
    """The degrees of polynomials that are worth a try for so many sides of positive width, the usual one first."""
    return next((several for most, several in DEGREES if sides <= most), (1,)) if sides else (1,)


def of_box(low: Floats, high: Floats, degree: int | None = None) -> ModelRows:
    """The identity on a box."""
    x = of_cells(low[None], high[None], degrees(int((high > low).sum()))[0] if degree is None else degree)
    return ModelRows(x.space.monomials, np.concatenate([x.p[:, 0], x.r], 1))


@lru_cache(maxsize=64)
def kernel_table(d: int, k: int) -> Table:
    """What kernels need of the monomials."""
    table = monomials(d, k)
    pairs = np.stack([table.first, table.second, table.product])
    return d, table.degrees, pairs, table.squares, table.kinds, chebyshev(k)


@lru_cache(maxsize=64)
def lowered(d: int, k: int) -> Indices:
    """(d, M): the place of each monomial divided by ξ_n, where it has that variable."""
    exponents = monomials(d, k).exponents
    places = np.zeros((d, len(exponents)), np.int64)
    for n in range(d if k > 1 else 0):
        places[n] = rank(np.maximum(exponents - np.eye(d, dtype=np.int64)[n], 0))
    return places
