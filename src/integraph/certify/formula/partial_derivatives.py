"""The partial derivatives of a formula over a box, from both sides, proved.

On a box a derivative g = f^(α) is bounded three times, and the smallest counts: by its range in ball arithmetic, by the
mean value theorem, g(c) + Σ_j ∂_j g(box) (x_j − c_j), and by Taylor's theorem with the second derivatives over the box.
All three come from one jet at the centre c and one over the box, for all α at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, prod

import numpy as np
from flint import arb

from integraph.bounds.sobolev.norm import Sobolev
from integraph.bounds.sobolev.taylor_series import taylor as float_taylor
from integraph.certify.problem import Box, Point
from integraph.certify.search.branch_and_bound import search
from integraph.certify.taylor import taylor
from integraph.clock import check_deadline
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, box, intersection, largest, precision, smallest
from integraph.numbers.arb.ranges import square
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, of_degree, rank
from integraph.targets.expression import Expression

Alpha = tuple[int, ...]
LOOKS = 1024  # points of the grid that is looked at in floats, to know where a derivative is large
CORNERS = 10  # dimensions whose corners are few enough for that


@dataclass(frozen=True, slots=True)
class Partials:
    """The problem of |f^(α)|: for each output of the formula each α in turn."""

    expression: Expression
    alphas: tuple[Alpha, ...]

    @property
    def quantities(self) -> int:
        return len(self.expression.outputs) * len(self.alphas)

    @property
    def order(self) -> int:
        return max(map(sum, self.alphas))

    def upper(self, box: Box, bits: int) -> tuple[float, ...]:
        with precision(bits):
            return self._upper(box)

    def _upper(self, whole: Box) -> tuple[float, ...]:
        x, centre = box(whole.low, whole.high), box(whole.centre, whole.centre)
        moved = [a - c for a, c in zip(x, centre, strict=True)]
        monomials = [_monomials(moved, degree) for degree in range(3)]
        over_box = taylor(self.expression, x, self.order + 2)
        at_centre = taylor(self.expression, centre, self.order + 1)
        bounds = []
        for over, at in zip(over_box, at_centre, strict=True):
            for alpha in self.alphas:
                check_deadline()
                here, line = _term(alpha, 0, at, monomials), _term(alpha, 1, at, monomials)
                mean = here + _term(alpha, 1, over, monomials)
                curved = here + line + _term(alpha, 2, over, monomials)
                bounds.append(largest(intersection(intersection(_term(alpha, 0, over, monomials), mean), curved)))
        return tuple(bounds)

    def at(self, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
        with precision(bits):
            jets = taylor(self.expression, box(point, point), self.order)
            values = [_term(alpha, 0, jet, [[ONE]]) for jet in jets for alpha in self.alphas]
            return tuple((smallest(ball), largest(ball)) for ball in values)


def _monomials(moved: Balls, degree: int) -> Balls:
    """(x − c)^β, |β| = degree ≤ 2."""
    d = len(moved)
    if degree < 2:
        return moved if degree else [ONE]
    return [square(moved[i]) if i == j else moved[i] * moved[j] for i in range(d) for j in range(i, d)]


def _term(alpha: Alpha, degree: int, jet: Balls, monomials: Sequence[Balls]) -> arb:
    """Σ f^(α+β)/β! (x − c)^β over |β| = degree, of the coefficients f^(γ)/γ! of the jet."""
    total = ZERO
    for (place, weight), monomial in zip(_shifts(alpha, degree), monomials[degree], strict=True):
        total = total + jet[place] * weight * monomial
    return total


@lru_cache(maxsize=4096)
def _shifts(alpha: Alpha, degree: int) -> tuple[tuple[int, int], ...]:
    """For each |β| = degree the place of α + β in the graded order, and (α+β)!/β!."""
    betas = of_degree(len(alpha), degree)
    places = rank(betas + np.array(alpha))
    weights = [
        prod(factorial(a + int(b)) // factorial(int(b)) for a, b in zip(alpha, beta, strict=True)) for beta in betas
    ]
    return tuple(zip(map(int, places), weights, strict=True))


def partials(
    expression: Expression,
    low: Sequence[float] | Floats,
    high: Sequence[float] | Floats,
    n: int,
    *,
    gap: float = 0.01,
    boxes: int = 20_000,
    seconds: float = 60.0,
    workers: int | None = None,
    progress: bool = True,
) -> Sobolev:
    """Bounds of sup |f^(α)| over the box for |α| ≤ n; upper ≤ (1 + gap)·lower is aimed at, within the budget."""
    d = len(expression.variables)
    whole = Box(tuple(map(float, low)), tuple(map(float, high)))
    if n < 0 or len(whole.low) != d or len(whole.high) != d:
        raise UsageError(
            f"derivatives up to order {n} from {whole.low} to {whole.high}: the order is at least 0, "
            f"and the box has as many sides as the formula variables, {d}"
        )
    alphas = below(d, n + 1)
    problem = Partials(expression, tuple(tuple(map(int, alpha)) for alpha in alphas))
    known = _large(expression, whole, n)
    result = search(
        problem, whole, gap=gap, boxes=boxes, seconds=seconds, workers=workers, progress=progress, known=known
    )
    lower, upper = (np.array(x).reshape(len(expression.outputs), -1).T for x in (result.lower, result.upper))
    why = "" if np.isfinite(upper).all() else result.why or f"nothing is known after {result.boxes} boxes"
    return Sobolev(n, np.array(whole.low), np.array(whole.high), alphas, lower, upper, why)


def _large(expression: Expression, whole: Box, n: int) -> set[Point]:
    """Points of a grid at which the derivatives are largest, in floats."""
    d = len(whole.low)
    if d > CORNERS or not np.isfinite([whole.low, whole.high]).all():
        return set()
    sides = np.linspace(whole.low, whole.high, max(2, int(LOOKS ** (1 / d) + 1e-9)))
    points = np.clip(sides[np.indices((len(sides),) * d).reshape(d, -1).T, np.arange(d)], whole.low, whole.high)
    sizes = np.nan_to_num(np.abs(float_taylor(expression, points, points, n + 1).mid), nan=0.0, posinf=0.0)
    return {tuple(map(float, points[k])) for k in np.unique(sizes.argmax(1))}
