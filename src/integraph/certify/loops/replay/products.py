"""Products of polynomials, which are most of a check: in floats, with a bound in Arb of all that floats lose.

A flat polynomial has the nearest float of every coefficient, monomials by degree, and what it misses anywhere on
[−1, 1]^d. Floats are products and sums to nearest: n of them lose at most n·2^−52 of the sum of sizes, and no more than
2^−1000 where numbers are too small for that. What is too large is infinite or NaN, and so is its bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from flint import arb

from integraph.certify.loops.replay.polynomials import Polynomial, tail, variable
from integraph.certify.problem import Unprovable
from integraph.numbers.arb.conversion import ZERO, Balls, above
from integraph.numbers.arrays import Floats, Indices

UNIT, TINY = arb(2) ** -52, arb(2) ** -1000
LARGEST = 1 << 22  # pairs of monomials in a product: more are no check but a full memory


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """All monomials up to degree k; pairs of those whose product is one of them, in its order."""

    monomials: list[int]
    place: dict[int, int]
    degrees: Indices  # where the monomials of each degree begin
    left: Indices
    right: Indices
    begins: Indices  # of the pairs of each monomial
    longest: int


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    values: Floats
    missed: arb
    norms: Balls  # at least the sizes of the values of each degree
    size: arb  # at least the size of all, what is missed included


@lru_cache(maxsize=64)
def table(d: int, k: int) -> Table:
    if comb(2 * d + k, k) > LARGEST:
        raise Unprovable(f"polynomials of degree {k} in {d} variables are too large to be multiplied")
    monomials = [
        sum(map(variable, chosen)) for n in range(k + 1) for chosen in combinations_with_replacement(range(d), n)
    ]
    place = {monomial: n for n, monomial in enumerate(monomials)}
    degrees = np.array([monomial & 255 for monomial in monomials])
    counts = np.bincount(degrees, minlength=k + 1)
    ends = np.cumsum(counts)
    left = np.repeat(np.arange(len(monomials)), ends[k - degrees])
    right = np.concatenate([np.arange(ends[k - n]) for n in degrees])
    made = np.array([place[monomials[a] + monomials[b]] for a, b in zip(left, right, strict=True)])
    order = np.argsort(made, kind="stable")
    runs = np.bincount(made)
    begins = np.concatenate([[0], np.cumsum(runs)[:-1]])
    return Table(monomials, place, ends - counts, left[order], right[order], begins, int(runs.max()))


def variables(p: Polynomial) -> int:
    """How many variables a table for it has."""
    return max(1, (max(p, default=0).bit_length() - 5) // 4)


@np.errstate(all="ignore")
def vector(balls: Balls) -> Flat:
    """Balls in floats, in their order."""
    values = np.array(list(map(float, balls)))
    total = arb(float(np.abs(values).sum()) * _up(len(values)))
    missed = (sum(balls, ZERO).rad() + _lost(1, total) + TINY).upper()
    return Flat(values, missed, [], (total + missed).upper())


def flat(p: Polynomial, d: int, k: int) -> Flat:
    t, balls = table(d, k), list(p.values())
    values = np.zeros(len(t.monomials))
    values[[t.place[monomial] for monomial in p]] = list(map(float, balls))
    missed = sum(balls, ZERO).rad()  # at least the sum of all radii
    if not all(ball.is_zero() for ball in balls):
        missed += TINY  # of numbers that are 0 as floats
    return _with_norms(values, t, missed, rounded=1)


def exact(values: Floats, d: int, k: int) -> Flat:
    """The polynomial with these coefficients."""
    return _with_norms(values, table(d, k), ZERO, rounded=0)


def moving(p: Flat) -> Flat:
    """p without its constant."""
    values = p.values.copy()
    values[0] = 0.0
    return Flat(values, p.missed, [ZERO, *p.norms[1:]], sum(p.norms[1:], p.missed).upper())


@np.errstate(all="ignore")
def _with_norms(values: Floats, t: Table, missed: arb, rounded: int) -> Flat:
    """With what is missed by so many roundings of every coefficient besides."""
    sums = list(map(arb, (np.add.reduceat(np.abs(values), t.degrees) * _up(len(values))).tolist()))
    size = sum(sums, ZERO).upper()
    missed = (missed + _lost(rounded, size)).upper()
    return Flat(values, missed, sums, (size + missed).upper())


def _up(count: int) -> float:
    """What makes a sum of so many floats ≥ 0 an upper bound."""
    return 1.0 + (count + 4) * 2.0**-52


def _lost(count: int, size: arb) -> arb:
    """What so many roundings of terms lose, the sum of whose sizes this is."""
    return size * (count * UNIT) + TINY if count and not size.is_zero() else ZERO


@np.errstate(all="ignore")
def sum_of_products(terms: Sequence[tuple[int, Flat, Flat]], d: int, k: int) -> tuple[Floats, arb]:
    """Σ w·a·b without what is above degree k, and a bound of that and of all roundings."""
    return _sum(terms, table(d, k))


def _sum(terms: Sequence[tuple[int, Flat, Flat]], t: Table) -> tuple[Floats, arb]:
    lost, size = ZERO, ZERO
    values = np.zeros(len(t.monomials))
    for weight, a, b in terms:
        values += weight * np.add.reduceat(a.values[t.left] * b.values[t.right], t.begins)
        lost += weight * (tail(a.norms, b.norms) + a.missed * b.size + b.missed * a.size)
        size += weight * a.size * b.size
    return values, (lost + _lost(t.longest + 2 * len(terms), size)).upper()


@np.errstate(all="ignore")
def composition(s: Balls, v: Flat, d: int, k: int) -> tuple[Floats, arb]:
    """Σ s_n vⁿ by Horner's rule without what is above degree k, and a bound of that and of all roundings."""
    t, (*others, first) = table(d, k), s
    values = np.zeros(len(t.monomials))
    values[0] = float(first)
    lost = (first - values[0].item()).abs_upper()
    for ball in reversed(others):
        p = _with_norms(values, t, lost, rounded=0)
        values, lost = _sum([(1, p, v)], t)
        constant = ball + float(values[0])
        values[0] = float(constant)
        lost = (lost + (constant - values[0].item()).abs_upper()).upper()
    return values, lost


@np.errstate(all="ignore")
def combined(A: Floats, polynomials: Sequence[Flat]) -> tuple[Floats, Balls]:
    """A p, a polynomial a line, and a bound for each of what it misses."""
    values = A @ np.stack([p.values for p in polynomials])
    sizes = np.abs(A)
    missed, most = ([above(x) for x in xs] for xs in zip(*((p.missed, p.size) for p in polynomials), strict=True))
    count = len(polynomials)
    bounds = (sizes @ missed * _up(count)).tolist(), (sizes @ most * _up(count)).tolist()
    return values, [
        (arb(lost) + TINY + _lost(count, arb(size) + TINY)).upper() for lost, size in zip(*bounds, strict=True)
    ]


def polynomial(values: Floats, d: int, k: int) -> Polynomial:
    """With these coefficients, but for those that are 0."""
    return {monomial: arb(x) for monomial, x in zip(table(d, k).monomials, values.tolist(), strict=True) if x}


@np.errstate(all="ignore")
def without_small(values: Floats, limit: float) -> tuple[Floats, arb]:
    """The coefficients that are at least so large, the constant among them; and the size of the others."""
    small = np.abs(values) < limit
    small[0] = False
    lost = float(np.abs(values[small]).sum()) * _up(len(values))
    return np.where(small, 0.0, values), arb(lost)
