"""Ranges of functions and their derivatives against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from integraph.certify.loops import interval_kernels as kernels

FUNCTIONS = {
    kernels.EXP: (mpmath.exp, 0.0, (-3, 3)),
    kernels.LN: (mpmath.log, 0.0, (0.2, 3)),
    kernels.POWER: (lambda x: x ** mpmath.mpf(-1.5), -1.5, (0.2, 3)),
    kernels.RECIPROCAL: (lambda x: 1 / x, 0.0, (-3, -0.2)),
    kernels.SIN: (mpmath.sin, 0.0, (-6, 6)),
    kernels.COS: (mpmath.cos, 0.0, (-6, 6)),
    kernels.TAN: (mpmath.tan, 0.0, (-1.3, 1.3)),
    kernels.TANH: (mpmath.tanh, 0.0, (-3, 3)),
    kernels.ATAN: (mpmath.atan, 0.0, (-3, 3)),
    kernels.ERF: (mpmath.erf, 0.0, (-3, 3)),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_derivatives(function: int, order: int) -> None:
    f, exponent, ends = FUNCTIONS[function]
    rng = np.random.default_rng(order)
    for _ in range(4):
        low, high = np.sort(rng.uniform(*ends, 2))
        assert kernels.defined(function, low, high)
        least, most = kernels.derivative(function, exponent, order, low, high)
        values = [float(mpmath.taylor(f, x, order)[order]) for x in np.linspace(low, high, 9)]
        assert least <= min(values) + 1e-12 * abs(least)
        assert max(values) <= most + 1e-12 * abs(most)
        assert most - least <= 12 * (max(values) - min(values)) + 0.5


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (kernels.LN, -1.0, 1.0),
        (kernels.POWER, 0.0, 1.0),
        (kernels.RECIPROCAL, -1.0, 1.0),
        (kernels.TAN, 1.0, 2.0),
        (kernels.EXP, 0.0, 1e3),
        (kernels.SIN, 0.0, np.inf),
        (kernels.TANH, np.nan, 1.0),
    ],
)
def test_undefined(function: int, low: float, high: float) -> None:
    assert not kernels.defined(function, low, high)
