"""Functions with a removable singularity at 0, as a library differentiates them: right at 0, in every order.

Near 0 each is a power series, further out a quotient. Both are computed, and one is chosen; the quotient never divides
by a number near 0, or its derivative there, ∞ or NaN, would spoil the derivative of the choice. What is divided is the
plain function of x, which a compiler shares with others who need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Array = Any
Table = Mapping[str, Callable[..., Array]]

EXPM1C = [1.0 / math.factorial(n + 1) for n in range(17)]
LOG1PC = [2.0 / (2 * n + 1) for n in range(13)]  # of ln(1 + x)·(2 + x)/x in y², y = x/(2 + x)
ASINHC = [(-1) ** n * math.comb(2 * n, n) / 4**n / (2 * n + 1) for n in range(16)]  # in x²
TANHC = [1.0]  # in x², by the Riccati equation t' = 1 − t²
for _n in range(1, 12):
    TANHC.append(-sum(TANHC[k] * TANHC[_n - 1 - k] for k in range(_n)) / (2 * _n + 1))
GAUSSIAN_MEAN = [(-1) ** n / math.factorial(n) / (2 * n + 1) for n in range(15)]  # in x²
HALF_ROOT_PI = math.sqrt(math.pi) / 2


def smooth_functions(table: Table) -> dict[str, Callable[..., Array]]:
    """Those of `operations.SMOOTH`, by the elementwise functions of a library."""
    exp, log1p, asinh, tanh, erf, where = (table[op] for op in ("exp", "log1p", "arcsinh", "tanh", "erf", "where"))

    def chosen(x: Array, reach: float, near: Callable[[Array], Array], above: Array) -> Array:
        inside = (x < reach) & (x > -reach)
        return where(inside, near(where(inside, x, 0.0)), above / where(inside, 1.0, x))

    def expm1c(x: Array) -> Array:
        return chosen(x, 0.5, lambda y: series(EXPM1C, y), exp(x) - 1.0)

    def log1pc(x: Array) -> Array:
        return chosen(x, 0.25, _log_series, log1p(x))

    def asinhc(x: Array) -> Array:
        return chosen(x, 0.25, lambda y: series(ASINHC, y * y), asinh(x))

    def tanhc(x: Array) -> Array:
        return chosen(x, 0.25, lambda y: series(TANHC, y * y), tanh(x))

    def gaussian_mean(x: Array) -> Array:
        return chosen(x, 0.5, lambda y: series(GAUSSIAN_MEAN, y * y), HALF_ROOT_PI * erf(x))

    return {"expm1c": expm1c, "log1pc": log1pc, "asinhc": asinhc, "tanhc": tanhc, "gaussian_mean": gaussian_mean}


def _log_series(x: Array) -> Array:
    share = x / (2.0 + x)
    return series(LOG1PC, share * share) / (2.0 + x)


def series(coefficients: Sequence[float], x: Array) -> Array:
    """Horner's rule."""
    value: Array = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value
