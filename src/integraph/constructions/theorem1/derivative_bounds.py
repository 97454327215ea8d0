"""Bounds of the derivatives of f on the unit cube of its box, sup |∂_t^α f|/α!, if there are any."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from integraph.bounds.sobolev import norm as sobolev
from integraph.constructions.theorem1.unit_cube import UnitCube
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count, factorials
from integraph.targets import Function

LADDER = {
    1: (1, 2, 4, 6, 8, 10, 12, 14, 16),
    2: (1, 2, 4, 6, 8, 10),
    3: (1, 2, 4, 6, 8),
    4: (1, 2, 4, 6),
    5: (1, 2, 4, 6),
}
FURTHER = {1: 4, 2: 3, 3: 2}  # orders beyond n that help to judge a fit of order n
TOO_LARGE = "larger than float64 holds"
WITHOUT_DERIVATIVES = "take a smaller box, or method='exact', which smooths kinks within eps"
LOOSE = 1.3  # a bound of a derivative, against what is seen: N grows only with its n-th root
LARGEST = {1: 40, 2: 24, 3: 14, 4: 10}  # the highest order a user may ask for


def ladder(d: int) -> tuple[int, ...]:
    """Orders to try, one rung after the other as long as it pays."""
    return LADDER.get(d, (1, 2, 3, 4))


def largest_order(d: int) -> int:
    return LARGEST.get(d, max(ladder(d)))


def extra_orders(d: int) -> int:
    return FURTHER.get(d, 1)


class DerivativeBounds:
    """Bounds for rising orders; `norm` is the user's bound of all derivatives in the units of the box: up to the
    order asked for, or of every order."""

    def __init__(self, function: Function, cube: UnitCube, norm: float | None) -> None:
        self.function, self.cube, self.norm = function, cube, norm
        self._found: dict[int, tuple[Floats, int, str]] = {}
        if norm is not None and not (np.isfinite(norm) and norm >= 0):
            raise UsageError("a bound of all derivatives must be finite and ≥ 0", argument="norm", value=norm)

    @property
    def anything(self) -> bool:
        """Whether there can be an error bound."""
        return self.norm is not None or self.function.expression is not None

    def upto(self, n: int) -> tuple[Floats, int, str]:
        """(M, outputs) for |α| ≤ top, the highest order ≤ n up to which all are finite (−1 if none); why not more."""
        if n not in self._found:
            self._found[n] = self._upto(n)
        return self._found[n]

    def within(self, n: int) -> Floats:
        """For |α| ≤ n, from the lowest order that was looked at and is high enough."""
        enough = [m for m, (_, top, _) in self._found.items() if top >= n]
        return self.upto(min(enough, default=n))[0][: count(self.function.inputs, n + 1)]

    def _upto(self, n: int) -> tuple[Floats, int, str]:
        d, why = self.function.inputs, ""
        if self.norm is not None:
            table = np.full((count(d, n + 1), self.function.outputs), self.norm)
        else:
            box = self.cube.outer
            bounds = sobolev.derivative_bounds(self.function, n, box.low, box.high, loose=LOOSE)
            table, why = bounds.upper, bounds.why
        with np.errstate(over="ignore", invalid="ignore"):
            unit = (self.cube.widths ** below(d, n + 1)).prod(1) / factorials(d, n + 1)
            worst = table * unit[:, None]
        top = n
        while top >= 0 and not np.isfinite(worst[: count(d, top + 1)]).all():
            top -= 1
        return worst[: count(d, top + 1)], top, why

    def orders(self, order: int | None) -> Iterator[tuple[int, Floats]]:
        """(n, bounds for |α| ≤ n and some orders further) for the order asked for, or for all n, rung by rung."""
        d = self.function.inputs
        rungs, more = (
            ladder(d) if order is None else (order,),
            extra_orders(d) if self.norm is None or order is None else 0,
        )
        done = 0 if order is None else order - 1
        for rung in rungs:
            worst, top, why = self.upto(rung + more)
            if top < rung:  # what is unknown at high orders may have stopped the search before the lower ones were good
                worst, top, why = self.upto(rung)
            for n in range(done + 1, min(rung, top) + 1):
                yield n, worst[: count(d, min(n + more, top) + 1)]
            if top < rung:
                if top < done + 1 and (done == 0 or order is not None):
                    what = f"its derivatives of order {top + 1} have" if top >= 0 else "it has"
                    way_out = f"; {WITHOUT_DERIVATIVES}" if top >= 0 else ""
                    raise SourceError(f"{self.function.name}: {what} no bound on the box: {why or TOO_LARGE}{way_out}")
                return
            done = rung
