"""Polynomials of atoms: sums of coefficients count their rounding, and names are written out until nothing is left."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import (
    most_by_row,
    of_atoms,
    polynomials,
    product,
    scaled,
    sums,
    times,
    total,
)
from integraph.numbers.intervals import Interval


def test_sums_count_their_rounding() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, 1e9):
        x = rng.standard_normal(40) * size + rng.standard_normal(40)
        first = np.array([0, 1, 7, 20])
        values, lost = sums(x, first)
        for n, part in enumerate(np.split(x, first[1:])):
            exact = sum(map(Fraction, part.tolist()), Fraction(0))
            assert abs(exact - Fraction(float(values[n]))) <= Fraction(float(lost[n]))
    assert sums(np.array([0.5, 0.25, -3.0]), np.array([0]))[1][0] == 0


def test_sums_of_very_many_numbers_are_rounded_up() -> None:
    """Half an ulp of 1 is lost in each of 20,000 sums, which is more than a fixed slack covers."""
    x = np.append(1.0, np.full(20_000, 2.0**-53))
    exact = 1 + Fraction(20_000, 2**53)
    assert Fraction(float(most_by_row(np.zeros(len(x), np.int64), x, 1)[0])) >= exact
    p = polynomials(1, np.zeros(len(x), np.int64), (np.zeros(len(x), np.int64),), x)
    atoms = Atoms()
    assert Fraction(float(atoms.bound(p)[0])) >= exact
    assert Fraction(float(atoms.range(p).high[0])) >= exact


def test_products_count_their_rounding() -> None:
    rng = np.random.default_rng(0)
    a, b, nothing = rng.standard_normal(50), rng.standard_normal(50), np.zeros(50)
    value, lost = product(a, nothing, b, nothing)
    for n in range(50):
        away = abs(Fraction(float(a[n])) * Fraction(float(b[n])) - Fraction(float(value[n])))
        assert away <= Fraction(float(lost[n])) < away + Fraction(1, 2**60)


def test_names_are_written_out() -> None:
    """(x + y)² − x² − 2xy − y² is 0, and (x + y)² − x² is not."""
    atoms = Atoms()
    x, y = atoms.base(Interval(np.array([-1.0, -1.0]), np.array([1.0, 2.0])))
    (both,) = atoms.name(polynomials(1, np.zeros(2, np.int64), (np.array([x, y]),), np.ones(2)))
    square = times(of_atoms(np.array([both])), np.array([both]))
    zeros = np.zeros(3, np.int64)
    expanded = polynomials(1, zeros, (np.array([x, x, y]), np.array([x, y, y])), np.array([1.0, 2.0, 1.0]))
    bound, small = atoms.vanishing(total(square, scaled(expanded, -1.0)), np.ones(1))
    assert small[0]
    assert bound[0] == 0
    bound, small = atoms.vanishing(
        total(square, scaled(times(of_atoms(np.array([x])), np.array([x])), -1.0)), np.ones(1)
    )
    assert not small[0]
    assert bound[0] >= 8.0


def test_what_has_a_name_is_recognised() -> None:
    atoms = Atoms()
    x = atoms.base(Interval(-np.ones(3), np.ones(3)))
    rows = np.zeros(3, np.int64)
    (name,) = atoms.name(polynomials(1, rows, (x,), np.array([0.1, 0.2, 0.3])))
    atom, off = atoms.resolve(polynomials(1, rows, (x,), np.array([0.1, 0.2, 0.3 + 1e-15])))
    assert atom[0] == name
    assert 0 < off[0] < 2e-15
    other, _ = atoms.resolve(polynomials(1, rows, (x,), np.array([0.1, 0.2, 0.31])))
    assert other[0] != name
