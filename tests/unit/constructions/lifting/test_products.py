"""Pairs with a given product, against all pairs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from integraph.constructions.lifting.polynomials import ONE, Monomial, times
from integraph.constructions.lifting.products import Products


def random_monomials(count: int) -> list[Monomial]:
    generator = np.random.default_rng(5)
    choices = [-1, 0, 0, 1, 2, Fraction(1, 2)]
    drawn = generator.integers(0, len(choices), (count, 4))
    return list(dict.fromkeys(tuple((n, choices[e]) for n, e in enumerate(row) if choices[e]) for row in drawn))


def test_the_first_pair_of_all() -> None:
    variables = [ONE, *(m for m in random_monomials(40) if m)]
    products = Products(variables)
    first: dict[Monomial, tuple[Monomial, Monomial]] = {}
    for a, b in itertools.combinations_with_replacement(variables, 2):
        first.setdefault(times(a, b), (a, b))
    for product, pair in first.items():
        assert products.pair(product) == pair or product == ONE
    assert products.pair(((9, 1),)) is None


def test_the_last_is_taken_back() -> None:
    products = Products([ONE])
    products.add(((0, 1),))
    assert products.pair(((0, 2),)) == (((0, 1),), ((0, 1),))
    products.remove_last()
    assert products.pair(((0, 2),)) is None
