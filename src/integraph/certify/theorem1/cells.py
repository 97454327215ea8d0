"""What Theorem 1 computes, in its normal form: Σ_k φ_k(t) P_k(t), t = scale·x + shift, with balls for coefficients.

φ_k = Π_j ψ_{k_j}(t_j) are the bumps of the stored steps, exactly, so they add up to 1. The balls of P_k = Σ_m C_km
(t − centre)^m have in them whatever else the stored controls do: for every x there are numbers in the balls with which
the sum is the output of the flow. What is said here holds for all such numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from integraph.certify.problem import Unprovable
from integraph.certify.theorem1.bumps import BallBumps
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, above
from integraph.numbers.arb.matrices import product
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import Alphas, below, count
from integraph.numbers.roundoff import UP, U

Objects = NDArray[Any]  # of balls
ORDER, TABLE = 100, 1 << 23  # of a polynomial, at most; balls in all tables
TINIEST = 5e-324
SOME = 4096  # balls between two looks at the clock
Range = tuple[int, int]  # ψ_first … ψ_{last−1} of one variable


def larger(balls: Objects) -> Floats:
    """Floats ≥ |ball|, element by element."""
    sizes = np.empty(balls.size)
    for number, ball in enumerate(balls.reshape(-1)):
        if number % SOME == 0:
            check_deadline()
        sizes[number] = above(abs(ball))
    return sizes.reshape(balls.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    scale: Balls
    shift: Balls
    bumps: tuple[BallBumps, ...]
    centre: Balls
    order: int  # |m| < order
    coefficients: Objects  # (outputs, N_1 + 1, …, N_d + 1, M)
    sizes: Floats  # (outputs, N_1 + 1, …, N_d + 1): |P_k| at most, on the box that it was read for

    @property
    def d(self) -> int:
        return len(self.bumps)

    @property
    def outputs(self) -> int:
        return len(self.coefficients)

    def cube(self, x: Balls) -> Balls:
        return [s * ball + h for s, ball, h in zip(self.scale, x, self.shift, strict=True)]

    def near(self, high: list[Floats], least: float) -> list[Range]:
        """In every variable the functions that can be `least` or more, and those between them."""
        where = [np.flatnonzero(row >= least) for row in high]
        return [(int(k[0]), int(k[-1]) + 1) if len(k) else (0, len(row)) for k, row in zip(where, high, strict=True)]

    def beyond(self, high: list[Floats], near: list[Range], other: float) -> Floats:
        """Σ φ_k (|P_k| + other) over all cells that are not near, at most; one number for each output."""
        inside = [np.zeros_like(row) for row in high]
        for kept, row, (first, last) in zip(inside, high, near, strict=True):
            kept[first:last] = row[first:last]
        total = np.zeros(self.outputs)
        for j in range(self.d):  # near in the variables before j, far in j, anywhere behind it
            part = self.sizes + other
            with np.errstate(invalid="ignore", over="ignore"):
                for i in range(self.d - 1, -1, -1):
                    part = part @ (inside[i] if i < j else high[i] - inside[i] if i == j else high[i])
                total += part
        rounded = UP * (1.0 + 4 * U * sum(map(len, high)))
        lost = TINIEST * (1 + self.sizes.size) * self.d  # to underflow
        return np.nan_to_num(rounded * total + lost, nan=np.inf, posinf=np.inf)

    def taylor(self, near: list[Range], middle: Balls, unit: Balls) -> list[arb_mat]:
        """For each output the coefficients of P_k, k near, in powers of (x − middle)/unit: (cells, M)."""
        scales = [s * u for s, u in zip(self.scale, unit, strict=True)]
        move = self._move([t - c for t, c in zip(self.cube(middle), self.centre, strict=True)], scales)
        places = tuple(slice(*ends) for ends in near)
        tables = (arb_mat(table[places].reshape(-1, table.shape[-1]).tolist()) for table in self.coefficients)
        return [product(table, move) for table in tables]

    def _move(self, y: Balls, scales: Balls) -> arb_mat:
        """Π_j C(m_j, α_j) y_j^{m_j − α_j} scale_j^{α_j}: (y + scale·s)^m in powers of s."""
        n, (rows, columns, m, alpha) = self.order, _pairs(self.d, self.order)
        values: Any = ONE
        for j, (at, scale) in enumerate(zip(y, scales, strict=True)):
            check_deadline()
            powers, units = _powers(at, n), _powers(scale, n)
            one = np.full((n, n), ZERO, object)
            for degree in range(n):
                for a in range(degree + 1):
                    one[degree, a] = comb(degree, a) * powers[degree - a] * units[a]
            values = values * one[m[:, j], alpha[:, j]]
        matrix = np.full((count(self.d, n),) * 2, ZERO, object)
        matrix[rows, columns] = values
        return arb_mat(matrix.tolist())


@lru_cache(maxsize=64)
def _pairs(d: int, n: int) -> tuple[Alphas, Alphas, Alphas, Alphas]:
    """The places of all α ≤ m with |m| < n, and these m and α."""
    alphas = below(d, n)
    rows, columns = np.nonzero((alphas[:, None] >= alphas).all(2))
    return rows, columns, alphas[rows], alphas[columns]


def _powers(x: arb, n: int) -> Balls:
    powers = [ONE]
    while len(powers) < n:
        powers.append(powers[-1] * x)
    return powers


def monomials(x: Balls, n: int) -> Balls:
    """x^α for |α| < n, in graded order."""
    powers = [np.array(_powers(ball, n), object) for ball in x]
    alphas = below(len(x), n)
    products = powers[0][alphas[:, 0]]
    for j in range(1, len(x)):
        products = products * powers[j][alphas[:, j]]
    return list(products)


def cells(
    scale: Balls, shift: Balls, bumps: tuple[BallBumps, ...], centre: Balls,
    terms: list[dict[tuple[int, ...], Objects]], box: Balls,
) -> Cells:  # fmt: skip
    """From tables {m: C_km}, one for each output, that broadcast to the cells; `box` is where |P_k| is bounded."""
    d, grid = len(bumps), tuple(b.N + 1 for b in bumps)
    order = 1 + max((sum(m) for table in terms for m in table), default=0)
    if order > ORDER or len(terms) * math.prod(grid) * count(d, order) > TABLE:
        raise Unprovable(f"polynomials of degree {order - 1:.4g} in {math.prod(grid)} cells are more than can be read")
    coefficients = np.full((len(terms), *grid, count(d, order)), ZERO, object)
    alphas = [tuple(row) for row in below(d, order).tolist()]
    for place, table in zip(coefficients, terms, strict=True):
        for number, m in enumerate(alphas):
            if m in table:
                place[..., number] = table[m]
    t = [s * x + h - c for s, x, h, c in zip(scale, box, shift, centre, strict=True)]
    reach = larger(np.array(monomials([ball.abs_upper() for ball in t], order), object))
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = UP * (larger(coefficients) @ reach)
    return Cells(scale, shift, bumps, centre, order, coefficients, np.nan_to_num(sizes, nan=np.inf, posinf=np.inf))
