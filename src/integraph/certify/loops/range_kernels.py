"""The range of a polynomial over [−1, 1]^d by bisection, best first, compiled.

On a half ξ_n = (±1 + η_n)/2 the polynomial is expanded anew: powers of two are exact, so only sums are rounded. The
part that may hold the lowest value is halved, until a value that is taken is close to the bound.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit
from integraph.numbers.models.kernels import span_kernel
from integraph.numbers.roundoff import U

PIECES = 100  # of the cube, at most
CLOSE = 1e-4  # of the first bound's distance from a value that is taken


@cached_njit(error_model="numpy")
def _half(p: Floats, axis: int, side: float, exponents: Indices, lowered: Indices, out: Floats) -> None:
    """p with ξ_axis = (side + ξ_axis)/2: a scaling, then a shift by synthetic division."""
    top = 0
    for m in range(len(p)):
        e = exponents[m, axis]
        out[m] = p[m] / (1 << e)
        top = max(top, e)
    for first in range(top):
        for e in range(top, first, -1):
            for m in range(len(p)):
                if exponents[m, axis] == e:
                    out[lowered[axis, m]] += side * out[m]


@cached_njit(error_model="numpy")
def _corner(p: Floats, exponents: Indices, d: int) -> float:
    """The value of p where its linear part is lowest."""
    total = 0.0
    for m in range(len(p)):
        sign = 1.0
        for n in range(d):
            if exponents[m, n] % 2 and p[1 + n] > 0.0:
                sign = -sign
        total += sign * p[m]
    return total


@cached_njit(error_model="numpy")
def least_value(p: Floats, exponents: Indices, lowered: Indices, squares: Indices, kinds: Indices) -> float:
    """A number that p does not fall short of."""
    count, d = exponents.shape
    pieces, bounds = np.empty((PIECES, count)), np.empty(PIECES)
    gamma, norm = (count + 100) * U, 0.0
    for m in range(count):
        norm += abs(p[m])
        pieces[0, m] = p[m]
    bounds[0] = span_kernel(pieces[:1], d, squares, kinds, gamma)[0][0]
    taken = _corner(p, exponents, d)
    enough = CLOSE * (taken - bounds[0])
    held = 1
    while held < PIECES:
        worst = 0
        for n in range(held):
            if bounds[n] < bounds[worst]:
                worst = n
        axis, most = -1, 0.0
        for n in range(d):
            weight = 0.0
            for m in range(1 + d, count):
                weight += abs(pieces[worst, m]) * exponents[m, n]
            if weight > most:
                axis, most = n, weight
        if axis < 0 or not taken - bounds[worst] > enough:
            break
        _half(pieces[worst], axis, 1.0, exponents, lowered, pieces[held])
        upper = span_kernel(pieces[held : held + 1], d, squares, kinds, gamma)[0][0]
        stage = np.empty(count)
        _half(pieces[worst], axis, -1.0, exponents, lowered, stage)
        for m in range(count):
            pieces[worst, m] = stage[m]
        bounds[held] = upper
        bounds[worst] = span_kernel(pieces[worst : worst + 1], d, squares, kinds, gamma)[0][0]
        taken = min(taken, _corner(pieces[worst], exponents, d), _corner(pieces[held], exponents, d))
        held += 1
    least = math.inf
    for n in range(held):
        least = min(least, bounds[n])
    return least - PIECES * 64 * U * norm - TINY  # a halving rounds sums of at most 8 terms, 8 times


@cached_njit(error_model="numpy")
def polynomial_ranges(p: Floats, exponents: Indices, lowered: Indices, squares: Indices, kinds: Indices) -> Floats:
    """Ends of the ranges of polynomials (V, M)."""
    ends = np.empty((len(p), 2))
    for i in range(len(p)):
        ends[i, 0] = least_value(p[i], exponents, lowered, squares, kinds)
        ends[i, 1] = -least_value(-p[i], exponents, lowered, squares, kinds)
    return ends
