"""The largest |f^(α)/α!| over a box, for all |α| ≤ n at once, from both sides.

Below: values at points. Above: the box is covered by smaller ones; over one with centre m and half widths h,

    |f^(α)/α!| ≤ Σ_{|β|<q} C(α+β, α)|c_{α+β}(m)| h^β + Σ_{|β|=q} C(α+β, α)|c_{α+β}(box)| h^β,   c_γ = f^(γ)/γ!,

or the ball c_α(box) itself, whichever is less. Where the upper bound is too far above the lower, the box is halved, and
the lower one is tried at the corner to which the derivative grows. Where a formula stays unknown (a pole, a kink),
halving ends with a dead end: the upper bound is infinite there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb

import numpy as np

from integraph.bounds.sobolev.taylor_series import taylor
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import Ball, hull, quiet
from integraph.numbers.multi_index import below, count, of_degree, rank
from integraph.targets.expression import NUMBER, VARIABLE, Expression

ROUNDED = 1e-13  # more than the sums of a form can lose
Q = 2  # the order of the remainder
FEWEST = 8  # boxes, however costly they are
START = 64  # boxes at most to start with
AT_ONCE = 512  # boxes halved in one round
BOXES = 2**15  # in all, at most
BUDGET = 2**28  # products of coefficients, in all
LARGEST = 2**23  # products of two series that are still possible
HALVINGS = 45  # of a side, until what is unknown is called a dead end
FLOOR = 1e-12  # of the largest term of the Taylor series over the box: smaller derivatives need not be tight
CHEAP = (NUMBER, VARIABLE, "add", "sub", "neg", "min", "max", "abs")  # steps without a product
CORNERS = 6  # dimensions whose 2^d corners are looked at


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """lower ≤ sup |f^(α)/α!| ≤ upper, (M, outputs); `dead` is a box (low, high) over which the formula is unknown."""

    lower: Floats
    upper: Floats
    dead: tuple[Floats, Floats] | None


@lru_cache(maxsize=64)
def _shifts(d: int, n: int, degree: int) -> tuple[tuple[Indices, Indices, Floats], ...]:
    """For each |β| = degree: β, the places of α + β for all |α| < n, and C(α+β, α)."""
    alphas = below(d, n)
    pascal = np.array([[comb(i, j) for j in range(degree + 1)] for i in range(n + degree)], float)
    return tuple(
        (beta, rank(alphas + beta), pascal[alphas + beta, beta].prod(1)[:, None, None]) for beta in of_degree(d, degree)
    )


@quiet
def _above(expression: Expression, low: Floats, high: Floats, n: int) -> tuple[Floats, Ball]:
    """Upper bounds (M, B, outputs) for |α| ≤ n over boxes (B, d), and the coefficients at their centres."""
    d, centre = low.shape[1], hull(low, high)
    half = centre.rad
    at = taylor(expression, centre.mid, centre.mid, n + Q)
    over = taylor(expression, low, high, n + Q + 1).size
    size = at.size
    M = count(d, n + 1)
    form = np.zeros_like(over[:M])
    for degree in range(Q + 1):
        for beta, places, choices in _shifts(d, n + 1, degree):
            reach = np.power(half, beta).prod(1)[:, None]
            form += choices * (size if degree < Q else over)[places] * reach
    form *= 1 + ROUNDED
    plain = over[:M]
    return np.where(np.isnan(plain), np.nan, np.fmin(plain, form)), at[:M]


@quiet
def _below(at: Ball) -> Floats:
    """Lower bounds (M, outputs) from coefficients at points."""
    least: Floats = np.nan_to_num(np.abs(at.mid) - at.rad, nan=0.0, posinf=0.0, neginf=0.0).max(1)
    return np.maximum(least, 0.0) * (1 - ROUNDED)


def _boxes(expression: Expression, n: int) -> int:
    """How many boxes the budget allows, including halves."""
    d = len(expression.variables)
    products = comb(2 * d + n + Q, 2 * d)
    if products > LARGEST:
        raise UsageError(
            f"derivatives up to order {n} in {d} variables: a product of two Taylor series has {products} terms, "
            f"more than {LARGEST}; take a lower order"
        )
    numbers = {number for number, step in enumerate(expression.steps) if step.op == NUMBER}
    scaled = sum(step.op == "mul" and not numbers.isdisjoint(step.args) for step in expression.steps)
    costly = sum(step.op not in CHEAP for step in expression.steps) - scaled
    return max(FEWEST, min(BOXES, BUDGET // (products * max(costly, 1))))


class _SupremumSearch:
    """The boxes that still need halving, and what is known from those that do not."""

    def __init__(self, expression: Expression, n: int, low: Floats, high: Floats, loose: float) -> None:
        self.expression, self.n, self.low, self.high, self.loose = expression, n, low, high, loose
        self.sides = np.where(high > low, high - low, 1.0)
        self.budget = _boxes(expression, n)
        self.lows = self.highs = np.empty((0, len(low)))
        shape = (count(len(low), n + 1), len(expression.outputs))
        self.lower, self.upper = np.zeros(shape), np.zeros(shape)
        self.above = np.empty((shape[0], 0, shape[1]))
        self.dead: tuple[Floats, Floats] | None = None

    def look(self, points: Floats) -> None:
        """Improve the lower bounds by values at points; note a point at which the formula is unknown."""
        coefficients = taylor(self.expression, points, points, self.n + 1)
        self.lower = np.maximum(self.lower, _below(coefficients))
        bad = np.flatnonzero(~coefficients.finite.all((0, 2)))
        if len(bad) and self.dead is None:
            self.dead = points[bad[0]], points[bad[0]]

    def add(self, lows: Floats, highs: Floats) -> None:
        above, at = _above(self.expression, lows, highs, self.n)
        self.lower = np.maximum(self.lower, _below(at))
        self.above = np.concatenate([self.above, above], 1)
        self.lows, self.highs = np.concatenate([self.lows, lows]), np.concatenate([self.highs, highs])
        self.budget -= len(lows)

    def take(self, chosen: Indices) -> tuple[Floats, Floats]:
        """Remove these boxes and return them."""
        boxes = self.lows[chosen], self.highs[chosen]
        self.above = np.delete(self.above, chosen, 1)
        self.lows, self.highs = np.delete(self.lows, chosen, 0), np.delete(self.highs, chosen, 0)
        return boxes

    def ascend(self) -> None:
        """For each α, sample the corner of the worst box towards which |f^(α)| grows."""
        d, M = len(self.low), len(self.above)
        worst, place = np.unique(np.nan_to_num(self.above, posinf=0.0).argmax(1), return_inverse=True)
        lows, highs = self.lows[worst], self.highs[worst]
        centres = 0.5 * lows + 0.5 * highs
        sign = np.sign(taylor(self.expression, centres, centres, self.n + 2).mid)
        box, output = place.reshape(M, -1), np.arange(self.above.shape[2])
        here = sign[np.arange(M)[:, None], box, output]
        corners = np.empty((*box.shape, d))
        for i, (_, places, _) in enumerate(_shifts(d, self.n + 1, 1)):
            grows = sign[places[:, None], box, output] * here
            corners[..., i] = np.where(grows > 0, highs[box, i], lows[box, i])
        self.look(np.unique(corners.reshape(-1, d), axis=0))

    @quiet
    def settle(self) -> Indices:
        """Remove the boxes that are good enough; return the others, the most urgent first: unknown and small, or
        loose."""
        excess = self.above / self._enough()[:, None]
        excess = np.where(np.isfinite(self.above), np.where(self.above <= self._enough()[:, None], 0.0, excess), np.inf)
        unknown, excess = (~np.isfinite(self.above)).any((0, 2)), excess.max((0, 2))
        done = np.flatnonzero(excess == 0)
        self.upper = np.maximum(self.upper, self.above[:, done].max(1, initial=0.0))
        self.take(done)
        unknown, excess = np.delete(unknown, done), np.delete(excess, done)
        width = ((self.highs - self.lows) / self.sides).max(1)
        order = np.lexsort((-excess, np.where(unknown, width, np.inf)))
        if len(order) and unknown[order[0]] and (width[order[0]] < 2.0**-HALVINGS or self.budget <= 0):
            self.dead = self.dead or (self.lows[order[0]], self.highs[order[0]])
        return order[:AT_ONCE]

    def _enough(self) -> Floats:
        if np.isinf(self.loose):
            return np.full_like(self.lower, np.inf)
        powers: Floats = np.power(0.5 * self.sides, below(len(self.low), self.n + 1)).prod(1)[:, None]
        threshold: Floats = np.maximum(self.loose * self.lower, FLOOR * (self.lower * powers).max(0) / powers)
        return threshold


def cover(expression: Expression, n: int, low: Floats, high: Floats, loose: float) -> Cover:
    """Until upper ≤ loose·lower everywhere, or the budget is spent. With loose = ∞ only dead ends are looked for."""
    search = _SupremumSearch(expression, n, low, high, loose)
    if len(low) <= CORNERS:
        search.look(np.where(np.array(list(product((False, True), repeat=len(low)))), high, low))
    lows, highs = _grid(low, high)
    search.look(0.5 * lows + 0.5 * highs)
    while True:
        search.add(lows, highs)
        search.ascend()
        worst = search.settle()
        if not len(worst) or search.dead or search.budget <= 0:
            break
        lows, highs = _halved(*search.take(worst), search.sides)
    upper = np.maximum(search.upper, search.above.max(1, initial=0.0))
    return Cover(search.lower, np.where(np.isnan(upper), np.inf, upper), search.dead)


def _grid(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The box in k^d equal ones."""
    d = len(low)
    k = max(1, int(START ** (1 / d) + 1e-9))
    cuts = np.linspace(low, high, k + 1)  # ends are exact
    cell = np.indices((k,) * d).reshape(d, -1).T
    return cuts[cell, np.arange(d)], cuts[cell + 1, np.arange(d)]


def _halved(lows: Floats, highs: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Each box in two, across its longest side, measured by those of the whole."""
    every, i = np.arange(len(lows)), ((highs - lows) / sides).argmax(1)
    first_high, second_low = highs.copy(), lows.copy()
    first_high[every, i] = second_low[every, i] = 0.5 * lows[every, i] + 0.5 * highs[every, i]
    return np.concatenate([lows, second_low]), np.concatenate([first_high, highs])
