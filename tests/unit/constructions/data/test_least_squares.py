"""Local polynomials by least squares: against numpy's fit of one cell, and where a cell has no rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from integraph.constructions.data.coverage import coverage
from integraph.constructions.data.least_squares import LeastSquares
from integraph.constructions.data.selection import fitted_values

RNG = np.random.default_rng(0)


def test_one_cell_is_the_polynomial_of_numpy() -> None:
    t, y = RNG.random((50, 1)), RNG.normal(size=(50, 1))
    rival = Polynomial.fit(t[:, 0], y[:, 0], 4)
    coefficients = LeastSquares(t, y, 5, 0.0).coefficients(0)
    assert fitted_values(coefficients, 5, 0, t)[:, 0] == pytest.approx(rival(t[:, 0]), abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_polynomials_stay_what_they_are(ridge: float) -> None:
    """On every grid, and with any weight of the coarser one, which is right already."""
    t = RNG.random((400, 2))
    y = np.stack([t[:, 0] ** 2 * t[:, 1], 1 - t[:, 1] ** 3], 1)
    fit = LeastSquares(t, y, 4, ridge)
    for N in (0, 1, 2, 3, 6):
        assert fitted_values(fit.coefficients(N), 4, N, t) == pytest.approx(y, abs=1e-10)


def test_a_cell_without_rows_takes_the_polynomial_of_a_coarser_grid() -> None:
    t = np.concatenate([0.3 * RNG.random((200, 1)), 0.7 + 0.3 * RNG.random((200, 1))])
    fit = LeastSquares(t, np.exp(t), 4, 0.0)
    gap = np.linspace(0.35, 0.65, 50)[:, None]
    assert fitted_values(fit.coefficients(24), 4, 24, gap) == pytest.approx(np.exp(gap), abs=0.02)


def test_coverage() -> None:
    assert coverage(RNG.random((5000, 2))) == pytest.approx(1, abs=0.01)
    assert coverage(RNG.random((5000, 2)) * [0.5, 1.0]) == pytest.approx(0.5, abs=0.01)
    halves = RNG.random((5000, 1))
    assert coverage(halves[(halves[:, 0] < 0.25) | (halves[:, 0] > 0.75)]) == pytest.approx(0.5, abs=0.02)
