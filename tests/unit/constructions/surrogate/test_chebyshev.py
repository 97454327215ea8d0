"""Interpolation at nested Chebyshev points, against numpy's and against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.polynomial import chebyshev as oracle

from integraph.constructions.surrogate import chebyshev


@pytest.mark.parametrize("k", range(1, 9))
def test_every_second_power_of_points_are_chebyshev_points(k: int) -> None:
    wanted = np.cos(np.pi * np.arange(2**k + 1) / 2**k)
    np.testing.assert_allclose(np.sort(chebyshev.nested_points(2**k + 1)), wanted[::-1], atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 33, 100, 513])
def test_a_polynomial_is_its_own_interpolant(n: int) -> None:
    """At any number of points, also between the good numbers."""
    c = np.random.default_rng(n).standard_normal((n, 2)) / (1.0 + np.arange(n)[:, None])
    values = oracle.chebval(chebyshev.nested_points(n), c).T
    np.testing.assert_allclose(chebyshev.interpolant(values, np.ones(n, bool)), c, atol=1e-11)


def test_a_downward_closed_set_of_degrees() -> None:
    """A polynomial with these degrees only, from its values at as many points; other values are not looked at."""
    i, j, k = np.indices((6, 4, 5))
    inside = i / 5 + j / 3 + k / 4 <= 1.0
    c = np.where(inside, np.random.default_rng(0).standard_normal(inside.shape), 0.0)
    s = [chebyshev.nested_points(n) for n in inside.shape]
    values = np.where(inside, oracle.chebgrid3d(*s, c), np.nan)[..., None]
    np.testing.assert_allclose(chebyshev.interpolant(values, inside)[..., 0], c, atol=1e-12)
    at = np.random.default_rng(1).uniform(-1, 1, (50, 3))
    np.testing.assert_allclose(
        chebyshev.evaluate(c[..., None], at)[:, 0], oracle.chebval3d(*at.T, c), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("alpha", [(0, 0), (1, 0), (2, 1), (3, 3), (9, 0)])
def test_derivatives(alpha: tuple[int, int]) -> None:
    n = (7, 6)
    c = np.random.default_rng(0).standard_normal((*n, 1))
    at = np.array([0.3, -0.7])

    def f(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
        terms = (c[i, j, 0] * mpmath.chebyt(i, x) * mpmath.chebyt(j, y) for i in range(n[0]) for j in range(n[1]))
        return mpmath.fsum(terms)

    with mpmath.workdps(40):
        wanted = float(mpmath.diff(f, tuple(map(mpmath.mpf, at)), alpha))
    found = chebyshev.evaluate(chebyshev.differentiate(c, alpha), at[None])[0, 0]
    assert found == pytest.approx(wanted, rel=1e-10, abs=1e-8)


def test_what_is_trimmed_is_small() -> None:
    c = 0.5 ** np.add.outer(np.arange(30.0), np.arange(20.0))[..., None]
    short = chebyshev.trim(c, 1e-3)
    assert short.shape[0] < 15
    assert short.shape[1] < 15
    at = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    assert 0 < np.abs(chebyshev.evaluate(c, at) - chebyshev.evaluate(short, at)).max() <= 1e-3
