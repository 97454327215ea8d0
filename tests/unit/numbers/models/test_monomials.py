"""Monomials and the table of their products, against products of polynomials at points."""

from __future__ import annotations

import numpy as np
import pytest

from integraph.numbers.models.monomials import monomials


@pytest.mark.parametrize(
    ("d", "k"), [(0, 0), (0, 3), (1, 0), (1, 1), (1, 4), (2, 3), (3, 2), (5, 2), (12, 2), (784, 1)]
)
def test_the_table_multiplies(d: int, k: int) -> None:
    table = monomials(d, k)
    rng = np.random.default_rng([d, k])
    x = rng.uniform(0.5, 1.5, d)
    values = np.prod(x**table.exponents, 1)
    assert np.allclose(values[table.first] * values[table.second], values[table.product], rtol=1e-12)
    degrees = table.exponents.sum(1)
    assert len(table.first) == (degrees[:, None] + degrees <= k).sum()
    assert len(np.unique(table.exponents, axis=0)) == table.count
    assert (table.exponents[1 : 1 + d] == np.eye(d)).all() or k == 0
    if k >= 2 and d:
        assert (table.exponents[table.squares] == 2 * np.eye(d)).all()
    assert (table.kinds == 0).sum() == sum(
        1 for e in table.exponents if (e % 2 == 0).all() and e.sum() > 0 and not (k >= 2 and e.sum() == 2)
    )
