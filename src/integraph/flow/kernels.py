"""The loops that numpy cannot do in one pass: Lemma 1's flow and the logistic flow from any start, vectorised by LLVM.

Imported lazily (numba costs half a second); compiled once and cached on disk. `gadgets/tanh.py` and
`gadgets/leaky_relu.py` have the formulas and are the reference; here everything is multiplied by |v| as well, so that
one division is left, except at |v| ≈ 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from integraph.flow.jit import cached_njit

LARGEST = np.finfo(np.float64).max
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two pieces: n·LN2_HIGH is exact for |n| < 2^20
LN2_LOW = 1.90821492927058770002e-10
LOWEST = -708.0  # below, 2^n is no longer a normal number; e^−708 = 3e−308
FLOOR = 1e-290  # what is left of u near an unstable rest is noise below this
TINY = 1e-140  # |v| below which tanh v = v to all digits and squares of v would underflow


@intrinsic
def _power_of_two(_context: Any, _n: Any) -> Any:
    """2^n for an integer −1022 ≤ n ≤ 1023, by writing the exponent bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        biased = builder.add(arguments[0], ir.Constant(integer, 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(integer, 52)), ir.DoubleType())

    return types.float64(types.int64), generate


@njit(inline="always")
def _exponential(x: float) -> tuple[float, float]:
    """(e^x − 1, e^x) for x ≤ 0, both to about an ulp: x = n ln 2 + r, Taylor in |r| ≤ ln 2 / 2."""
    x = max(x, LOWEST)
    n = math.floor(x * LOG2_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
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
    q = q * r + 0.5
    p = r + r * r * q
    e = _power_of_two(np.int64(n)) * (1.0 + p)  # type: ignore[call-arg]
    return p if n == 0 else e - 1.0, e  # not 2^n·p + 2^n: 2^n·p may be subnormal, which takes four times as long


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def tanh_flow(alpha: NDArray[np.float64], lam: NDArray[np.float64], x: NDArray[np.float64], t: float) -> bool:
    """Advance α' = x − αλ, λ' = x² − λ² by t > 0 in place in every lane; True if all live on."""
    failed = 0
    for lane in range(x.size):
        a, l = alpha[lane], lam[lane]
        v = t * x[lane]
        size = abs(v)
        fall, e = _exponential(-size)
        c = -0.5 * fall * (size + t * l)
        rise = c * (1.0 + e)
        size_e = size * e
        tiny = size < TINY
        u = 1.0 + t * l if tiny else e * size_e + rise
        alpha_u = a + v + 0.5 * (t * l) * v if tiny else a * size_e + math.copysign(-fall, v) * (size_e + c)
        lam_u = l if tiny else l * e * size_e
        driven = 0.0 if tiny else rise
        inverse = 1.0 / u
        alpha[lane] = alpha_u * inverse
        lam[lane] = lam_u * inverse + (driven * inverse) * abs(x[lane])
        failed |= not (u > FLOOR)
    return failed == 0


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def logistic_flow(
    s: NDArray[np.float64],
    x: NDArray[np.float64],
    kt: NDArray[np.float64],
    c: NDArray[np.float64],
    end: NDArray[np.float64],
) -> bool:
    """The end of s' = k (s − cx)(x − s) after t, kt and c one number a row; False if a lane may have got lost.

    An excess s − cx that falls below e^−708 of its start becomes 0.
    """
    failed = 0
    for row in range(s.shape[0]):
        k, slope = kt[row], c[row]
        for column in range(s.shape[1]):
            base = slope * x[row, column]
            w = s[row, column] - base
            v = k * ((1.0 - slope) * x[row, column])
            size = abs(v)
            fall, e = _exponential(-size)
            tiny, rises = size < TINY, v > 0.0
            u = 1.0 + k * w if tiny else (e if rises else 1.0) * size - k * w * fall
            above = 1.0 if rises else (e if size < -LOWEST else 0.0)
            found = base + w * ((1.0 if tiny else above * size) / u)
            end[row, column] = found
            failed |= not (u > FLOOR) or not (abs(found) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def add_rows(z: NDArray[np.float64], gain: NDArray[np.float64], reach: float, bias: NDArray[np.float64]) -> bool:
    """z += reach·gain + bias, bias one number a row, in one pass over the cache; True if all are finite."""
    failed = 0
    for row in range(z.shape[0]):
        b = bias[row]
        for column in range(z.shape[1]):
            z[row, column] += reach * gain[row, column] + b
            failed |= not (abs(z[row, column]) <= LARGEST)
    return failed == 0
