"""Rows of polynomials over atoms, as arrays of terms: (row, atoms of the monomial, coefficient, how far it may be off).

A monomial is up to four atoms, the largest number first, filled up with the atom 0, which is the constant 1. A
coefficient stands for a number that is unknown but within `off` of it: every rounding of a sum or product of
coefficients is counted there, and what is exact counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.roundoff import UP, U, product_error, sum_error

DEGREE = 4
ONE = 0  # the atom that is 1
SMALL = 1e-280  # products below it may have lost digits that their error does not show
LOST = 1e-290  # more than these
FEW = 4  # numbers that are added up one by one, to see what each sum loses


@dataclass(frozen=True, slots=True, eq=False)
class Polynomials:
    """`count` polynomials; terms in any order."""

    count: int
    row: Indices
    atoms: Indices  # (terms, DEGREE)
    weight: Floats
    off: Floats

    def __len__(self) -> int:
        return len(self.row)

    def chosen(self, keep: NDArray[np.bool_] | Indices) -> Polynomials:
        """Some of the terms."""
        return Polynomials(self.count, self.row[keep], self.atoms[keep], self.weight[keep], self.off[keep])

    def of_rows(self, rows: Indices) -> Polynomials:
        """Some of the rows, numbered anew."""
        number = np.full(self.count, -1, np.int64)
        number[rows] = np.arange(len(rows))
        part = self.chosen(number[self.row] >= 0)
        return Polynomials(len(rows), number[part.row], part.atoms, part.weight, part.off)


def by_row(row: Indices, values: Floats, count: int) -> Floats:
    """The sum of the values of each row."""
    sums: Floats = np.bincount(row, values, count).astype(np.float64)
    return sums


def most_by_row(row: Indices, values: Floats, count: int) -> Floats:
    """The same of values that are not negative, rounded up by what sums of so many numbers lose."""
    return by_row(row, values, count) * sum_margin(np.bincount(row, minlength=count))


def sum_margin(length: Indices) -> Floats:
    """By what a sum of so many numbers of one sign is to be multiplied."""
    return np.asarray(UP + 2 * U * length, np.float64)


def monomials(*factors: Indices) -> Indices:
    """(terms, DEGREE) from one array for each factor."""
    atoms = np.zeros((len(factors[0]) if factors else 0, DEGREE), np.int64)
    for place, factor in enumerate(factors):
        atoms[:, place] = factor
    return -np.sort(-atoms, 1)


def polynomials(
    count: int, row: Indices, factors: Sequence[Indices], weight: Floats, off: Floats | float = 0.0
) -> Polynomials:
    weight = np.asarray(weight, np.float64)
    return Polynomials(count, row, monomials(*factors), weight, np.broadcast_to(off, weight.shape).astype(np.float64))


def of_atoms(atoms: Indices) -> Polynomials:
    """One atom for each row."""
    number = np.arange(len(atoms))
    return polynomials(len(atoms), number, (atoms,), np.ones(len(atoms)))


def constant(values: Floats, off: Floats | float = 0.0) -> Polynomials:
    """One number for each row."""
    number = np.arange(len(values))
    return polynomials(len(values), number, (np.zeros(len(values), np.int64),), values, off)


def total(*parts: Polynomials) -> Polynomials:
    """Their sum, row by row."""
    return Polynomials(
        parts[0].count,
        np.concatenate([p.row for p in parts]),
        np.concatenate([p.atoms for p in parts]),
        np.concatenate([p.weight for p in parts]),
        np.concatenate([p.off for p in parts]),
    )


def scaled(p: Polynomials, factor: Floats | float, off: Floats | float = 0.0) -> Polynomials:
    """Each row times a number, or one number for each row."""
    by, lost = (np.broadcast_to(np.asarray(x, np.float64), (p.count,))[p.row] for x in (factor, off))
    weight, error = product(p.weight, p.off, by, lost)
    return Polynomials(p.count, p.row, p.atoms, weight, error)


def times(p: Polynomials, factor: Indices) -> Polynomials:
    """Each row times an atom; ValueError where the degree gets too large."""
    wide = np.concatenate([p.atoms, factor[p.row][:, None]], 1)
    return Polynomials(p.count, p.row, fitting(wide), p.weight, p.off)


def fitting(wide: Indices) -> Indices:
    atoms = -np.sort(-wide, 1)
    if atoms[:, DEGREE:].any():
        raise ValueError(f"a monomial has more than {DEGREE} factors")
    return atoms[:, :DEGREE]


def product(a: Floats, a_off: Floats, b: Floats, b_off: Floats) -> tuple[Floats, Floats]:
    """Coefficients that are multiplied, with the rounding of it."""
    value = a * b
    with np.errstate(all="ignore"):
        rounding = np.abs(product_error(a, b, value))
        moderate = np.isfinite(rounding) & (np.abs(value) > SMALL)
    plain = np.where((a == 0) | (b == 0) | (np.abs(a) == 1) | (np.abs(b) == 1), 0.0, U * np.abs(value) + LOST)
    off = np.where(moderate, rounding, plain) + np.abs(a) * b_off + np.abs(b) * a_off + a_off * b_off
    return value, UP * off


def canonical(p: Polynomials, marks: NDArray[np.uint64]) -> Polynomials:
    """Terms in the order of rows, those of the same monomial added up, without zeros. `marks` are random numbers, one
    for each atom, by which equal monomials are matched; whether they are equal is then looked at."""
    if not len(p):
        return p
    with np.errstate(over="ignore"):
        key = marks[p.atoms[:, 0]].copy()
        for place in range(1, DEGREE):
            key = key * np.uint64(0x9E3779B97F4A7C15) + marks[p.atoms[:, place]]
    order = np.lexsort((key, p.row))
    q = p.chosen(order)
    new = (q.row[1:] != q.row[:-1]) | (q.atoms[1:] != q.atoms[:-1]).any(1)
    first = np.flatnonzero(np.concatenate([[True], new]))
    weight, rounding = sums(q.weight, first)
    length = np.diff(first, append=len(q))
    off = UP * (sum_margin(length) * np.add.reduceat(q.off, first) + rounding)
    keep = (weight != 0) | (off != 0)
    return Polynomials(p.count, q.row[first][keep], q.atoms[first][keep], weight[keep], off[keep])


def sums(x: Floats, first: Indices) -> tuple[Floats, Floats]:
    """The sums of neighbours that begin at `first`, and how far rounding may have moved each: by what each addition
    lost where there are few, and by nothing where every partial sum fits 53 bits above the last bit of all numbers."""
    total, size = np.add.reduceat(x, first), np.add.reduceat(np.abs(x), first)
    mantissa, exponent = np.frexp(x)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    last = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + exponent - 53
    least = np.minimum.reduceat(np.where(x == 0, 2000, last), first)
    exact = np.frexp(size)[1] <= least + 53
    length = np.diff(first, append=len(x))
    rounding = np.where(exact, 0.0, sum_margin(length) * length * U * size)
    few = np.flatnonzero(length <= FEW)
    total[few], rounding[few] = x[first[few]], 0.0
    for place in range(1, FEW):
        some = few[length[few] > place]
        before, more = total[some], x[first[some] + place]
        total[some] = before + more
        rounding[some] += np.abs(sum_error(before, more, total[some]))
    return total, UP * rounding
