"""Random rows of polynomial models, and their values at a point, in 50 digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models, Space, settled
from integraph.numbers.models.monomials import monomials

MP = mpmath.MPContext()
MP.dps = 50
CELLS = 3
SLACK = MP.mpf("1e-30")  # of the digits here: a value may be at the very end of a radius


@dataclass(frozen=True)
class Point:
    """ξ of every cell, ε of every symbol, and which part of its radius each row takes, all in [−1, 1]."""

    xi: Floats  # (cells, d)
    eps: Floats  # (symbols,)
    tau: Floats  # (rows, cells)


def random_rows(
    rng: np.random.Generator, rows: int, d: int, k: int, *, centre: float = 0.0, p: float = 1.0, g: float = 0.0,
    r: float = 0.0, symbols: int = 3,
) -> Models:  # fmt: skip
    """Rows around `centre` whose coefficients have about these sizes."""
    table = monomials(d, k)
    space = Space(table, CELLS)
    count = symbols if g else 0
    coefficients = p * rng.normal(size=(rows, CELLS, table.count)) / table.count
    coefficients[..., 0] += centre
    own = g * rng.normal(size=(rows, CELLS, count)) / max(count, 1)
    names = np.array([next(space.supply) for _ in range(count)], np.int64)
    everything = Interval(np.full((rows, CELLS), -np.inf), np.full((rows, CELLS), np.inf))
    return settled(space, coefficients, own, names, r * rng.uniform(size=(rows, CELLS)), everything)


def random_point(rng: np.random.Generator, rows: Models) -> Point:
    """Corners mostly, where bounds are attained."""
    shapes = (CELLS, rows.space.monomials.d), (64,), rows.r.shape
    draws = [rng.uniform(-1, 1, shape) for shape in shapes]
    return Point(*(np.where(rng.uniform(size=draw.shape) < 0.7, np.sign(draw), draw) for draw in draws))


def middle(rows: Models, at: Point) -> Any:
    """p(ξ) + g·ε, (rows, cells) of numbers of mpmath."""
    out = np.empty(rows.r.shape, object)
    for cell in range(rows.r.shape[1]):
        xi = [MP.mpf(float(x)) for x in at.xi[cell]]
        powers = [MP.fprod(x ** int(n) for x, n in zip(xi, e, strict=True)) for e in rows.space.monomials.exponents]
        for row in range(len(rows)):
            terms = [MP.mpf(float(c)) * power for c, power in zip(rows.p[row, cell], powers, strict=True)]
            terms += [MP.mpf(float(c)) * float(at.eps[n]) for c, n in zip(rows.g[row, cell], rows.names, strict=True)]
            out[row, cell] = MP.fsum(terms)
    return out


def values(rows: Models, at: Point) -> Any:
    """One value that the rows contain."""
    radii = np.array(
        [
            [MP.mpf(float(r)) * float(t) for r, t in zip(*pair, strict=True)]
            for pair in zip(rows.r, at.tau, strict=True)
        ],
        object,
    )
    return middle(rows, at) + radii


def outside(rows: Models, at: Point, truth: Any) -> list[tuple[int, int, float]]:
    """Where rows do not contain these values: row, cell, and by how much, relative to the radius."""
    centre, missed = middle(rows, at), []
    for place in np.ndindex(rows.r.shape):
        off, radius = abs(truth[place] - centre[place]), rows.r[place]
        inside = rows.known.low[place] <= truth[place] <= rows.known.high[place]
        if not (off <= radius * (1 + SLACK) and inside):
            missed.append((*place, float(off / radius) if radius else float("inf")))
    return missed
