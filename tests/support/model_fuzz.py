"""Random rows of models at random points, and whether the result of an operation contains the true value there.

Constants, polynomials, symbols and radii are each present or not, of any size, so that every part of a bound is the
only one at times; ξ, ε and the share of a radius are corners mostly, where bounds are attained. Points have few binary
digits: monomials are exact in float64, and sums of them in mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from model_truth import EXACT

CLOSE = EXACT.mpf(2) ** -150  # relative error of functions here; sums and products are exact
ROWS = 4  # of one draw
STEPS = 16  # of ξ, ε and shares, on either side of 0
SHAPES = ((1, 1, 1), (1, 2, 1), (2, 1, 2), (2, 3, 1), (3, 2, 3), (0, 0, 2), (1, 5, 2), (2, 2, 40))  # d, k, symbols
SPREADS = (0.3, 3.0, 40.0, 140.0, 290.0)  # decimal orders of magnitude on either side of 1


@dataclass(frozen=True)
class Spot:
    """ξ (cells, d), ε by the name of a symbol (cells,), and the share of its radius each row takes (rows, cells)."""

    xi: Floats
    eps: dict[int, Floats]
    tau: Floats

    def monomials(self, exponents: Any) -> Floats:
        return np.prod(self.xi[:, None] ** exponents, 2)


Operation = Callable[[Any, np.random.Generator, int], tuple[Any, Spot, Any]]  # of an arithmetic, for so many cells


def points(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Numbers in [−1, 1] with few digits; corners mostly."""
    inner = rng.integers(-STEPS, STEPS + 1, shape) / STEPS
    return np.where(rng.uniform(size=shape) < 0.7, rng.choice([-1.0, 1.0], shape), inner)


def sizes(rng: np.random.Generator, shape: tuple[int, ...], spread: float) -> Floats:
    """Of any order of magnitude; 0 for one in two."""
    return np.where(rng.uniform(size=shape) < 0.5, 0.0, 10.0 ** rng.uniform(-spread, spread, shape))


def draw(
    arithmetic: Any, rng: np.random.Generator, rows: int, cells: int, shape: tuple[int, int, int] | None = None
) -> Any:
    """Rows, of which some are constants, some have subnormal coefficients."""
    d, k, symbols = SHAPES[rng.integers(len(SHAPES))] if shape is None else shape
    spread = SPREADS[rng.integers(len(SPREADS))]
    table = arithmetic.monomials.monomials(d, k)
    space = arithmetic.models.Space(table, cells)
    p = sizes(rng, (rows, cells, 1), spread) * rng.normal(size=(rows, cells, table.count))
    p[..., 0] = sizes(rng, (rows, cells), spread) * rng.choice([-1.0, 1.0, 0.3, 1 / 3], (rows, cells))
    p = np.where(rng.uniform(size=p.shape) < 0.01, 5e-324, p)
    g = sizes(rng, (rows, cells, 1), spread) * rng.normal(size=(rows, cells, symbols))
    r = sizes(rng, (rows, cells), spread) * rng.uniform(size=(rows, cells))
    return settled(arithmetic, space, p, g, r)


def settled(arithmetic: Any, space: Any, p: Floats, g: Floats, r: Floats) -> Any:
    names = np.array([next(space.supply) for _ in range(g.shape[2])], np.int64)
    everything = Interval(np.full(r.shape, -np.inf), np.full(r.shape, np.inf))
    return arithmetic.models.settled(space, p, g, names, r, everything)


def spot(rng: np.random.Generator, x: Any) -> Spot:
    rows, cells = x.r.shape
    eps = {int(name): points(rng, (cells,)) for name in x.names}
    return Spot(points(rng, (cells, x.space.monomials.d)), eps, points(rng, (rows, cells)))


def middle(x: Any, at: Spot) -> Any:
    """p(ξ) + g·ε over the symbols that are known, (rows, cells) of numbers of mpmath."""
    monomials = at.monomials(x.space.monomials.exponents)
    known = [n for n, name in enumerate(x.names.tolist()) if name in at.eps]
    eps = np.array([at.eps[int(x.names[n])] for n in known]).reshape(len(known), len(monomials))
    out = np.empty(x.r.shape, object)
    for row, cell in np.ndindex(x.r.shape):
        factors = np.concatenate([monomials[cell], eps[:, cell]])
        numbers = np.concatenate([x.p[row, cell], x.g[row, cell, known]])
        used = np.flatnonzero(numbers)
        out[row, cell] = EXACT.fdot(zip(numbers[used].tolist(), factors[used].tolist(), strict=True))
    return out


def values(x: Any, at: Spot) -> Any:
    """One value that the rows contain; NaN where they contain all."""
    out = middle(x, at)
    for row, cell in np.ndindex(x.r.shape):
        radius = float(x.r[row, cell])
        out[row, cell] = out[row, cell] + EXACT.mpf(radius) * float(at.tau[row, cell]) if radius < np.inf else EXACT.nan
    return out


@dataclass
class Count:
    """Values that were compared, and those outside, by how much of the radius."""

    compared: int = 0
    outside: int = 0
    worst: float = 0.0

    def add(self, result: Any, at: Spot, truth: Any) -> None:
        """Count what `result` contains, for some value of the symbols that `at` does not know."""
        for array in (result.p, result.g):
            assert np.isfinite(array).all()
        assert not np.isnan(result.r).any()
        assert (result.known.low <= result.known.high).all()
        centre = middle(result, at)
        new = [n for n, name in enumerate(result.names.tolist()) if name not in at.eps]
        for place in np.ndindex(result.r.shape):
            value = truth[place]
            if EXACT.isnan(value):
                continue
            inside = result.known.low[place] <= value <= result.known.high[place]
            self.compared += 1
            if result.r[place] < np.inf:
                room = EXACT.fsum([result.r[place], *np.abs(result.g[place][new]).tolist()])
                off = abs(value - centre[place])
                inside = inside and off <= room * (1 + CLOSE)
                self.worst = max(self.worst, float(off / room)) if room else self.worst
            self.outside += not inside
