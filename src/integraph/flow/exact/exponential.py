"""e^x for numba loops: no call of libm, so that LLVM vectorises what uses it. Imported lazily, with numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two pieces: n·LN2_HIGH is exact for |n| < 2^20
LN2_LOW = 1.90821492927058770002e-10
LOWEST = -708.0  # below, 2^n is no longer a normal number; e^−708 = 3e−308


@intrinsic
def _power_of_two(_context: Any, _n: Any) -> Any:
    """2^n for an integer −1022 ≤ n ≤ 1023, by writing the exponent bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        biased = builder.add(arguments[0], ir.Constant(integer, 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(integer, 52)), ir.DoubleType())

    return types.float64(types.int64), generate


@njit(inline="always")
def remainder(r: float) -> float:
    """(e^r − 1 − r)/r² for small r, by its Taylor series."""
    q = 1 / 6227020800.0
    q = q * r + 1 / 479001600.0
    q = q * r + 1 / 39916800.0
    q = q * r + 1 / 3628800.0
    q = q * r + 1 / 362880.0
    q = q * r + 1 / 40320.0
    q = q * r + 1 / 5040.0
    q = q * r + 1 / 720.0
    q = q * r + 1 / 120.0
    q = q * r + 1 / 24.0
    q = q * r + 1 / 6.0
    return q * r + 0.5


@njit(inline="always")
def exponential(x: float) -> tuple[float, float]:
    """(e^x − 1, e^x) for x ≤ 0, both to about an ulp: x = n ln 2 + r, Taylor in |r| ≤ ln 2 / 2."""
    x = max(x, LOWEST)
    n = math.floor(x * LOG2_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = r + r * r * remainder(r)
    e = _power_of_two(np.int64(n)) * (1.0 + p)  # type: ignore[call-arg]
    return p if n == 0 else e - 1.0, e  # not 2^n·p + 2^n: 2^n·p may be subnormal, which takes four times as long
