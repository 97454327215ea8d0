"""Steps of erf and GELU, compiled where w starts near 0. Imported lazily, with numba.

With q = c(tx)²/2 and d = ctw, the integral ∫_0^1 e^{−ds − qs²} ds is I_0 − dI_1 + d²I_2/2 −
d³I_3/6 up to rounding for |d| ≤ NEAR. Here I_k = ∫_0^1 s^k e^{−qs²} ds: I_0 = (√π/2) erf(√q)/√q, I_1 = (1 − e^−q)/2q,
and the others follow by parts, or from their series where that would cancel.

erf by Taylor's formula from the nearest of 769 places: erf(r + d) = erf r + (2/√π)e^{−r²}(d − rd² + …), six terms for
|d| ≤ 1/256.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from integraph.flow.exact.affine_steps import Step
from integraph.flow.exact.exponential import LOWEST, exponential
from integraph.gadgets.gadget import arguments
from integraph.numbers.arrays import Floats
from integraph.numbers.jit import cached_njit
from integraph.program import Block

LARGEST = np.finfo(np.float64).max
LARGE = 1e150  # x² may overflow beyond
TINY = 1e-300  # added to what is divided by, it changes no quotient but makes 0/0 its limit
NEAR = 2e-4  # |d|: the next term, d⁴/120, is below rounding
FLAT = 1e-4  # q below which I_2 and I_3 come from their series
FAR = 6.0  # erf is 1 beyond
PLACES = 128.0  # in a unit
HALF_ROOT_PI = math.sqrt(math.pi) / 2
ERF = np.array([math.erf(n / PLACES) for n in range(int(FAR * PLACES) + 1)])
SLOPE = np.array([math.exp(-((n / PLACES) ** 2)) / HALF_ROOT_PI for n in range(int(FAR * PLACES) + 1)])

DOUBTFUL, LOST, FINE = -1, 0, 1


@intrinsic
def _multiply_add(_context: Any, _x: Any, _y: Any, _z: Any) -> Any:
    """x·y + z, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@njit(inline="always")
def _erf(x: float) -> float:
    """erf x for x ≥ 0, to an ulp."""
    x = x if x < FAR else FAR
    n = math.floor(x * PLACES + 0.5)
    r = n / PLACES
    d, rr = x - r, r * r
    q = -r * (2.0 * rr * rr - 10.0 * rr + 7.5) * (1 / 45)
    q = q * d + (rr * rr - 3.0 * rr + 0.75) * (2 / 15)
    q = q * d - r * (rr - 1.5) * (1 / 3)
    q = q * d + (rr - 0.5) * (2 / 3)
    q = q * d - r
    place = np.int64(n)
    result: float = ERF[place] + SLOPE[place] * (d + d * d * q)
    return result


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _centred(x: Floats, scale: float, i0: Floats) -> None:
    """I_0 for √q = scale·|x|."""
    for n in range(x.size):
        root = scale * abs(x[n]) + TINY
        i0[n] = HALF_ROOT_PI * (_erf(root) / root)


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _moved(w: Floats, x: Floats, t: float, c: float, integral: Floats, factor: Floats) -> None:
    """From I_0 to the integral, and what h is multiplied by."""
    for n in range(x.size):
        d, b = c * t * w[n], t * x[n]
        square = b * b
        q = 0.5 * c * square + TINY
        fall, e = exponential(-q)
        half, flat = 0.5 / q, q < FLAT
        i0, i1 = integral[n], -fall * half
        i2 = 1 / 3 - q * (1 / 5) if flat else (i0 - e) * half
        i3 = 1 / 4 - q * (1 / 6) if flat else (2.0 * i1 - e) * half
        integral[n] = i0 - d * (i1 - d * (0.5 * i2 - d * (1 / 6) * i3))
        d += 0.5 * c * _multiply_add(b, b, -square)  # type: ignore[call-arg]  # what the rounding of b² lost
        factor[n] = e * (1.0 - d * (1.0 - d * (0.5 - d * (1 / 6 - d * (1 / 24))))) if q <= -LOWEST else 0.0


@cached_njit(nogil=True, error_model="numpy")
def _add(h: Floats, y: Floats, x: Floats, integral: Floats, t: float, driven: float) -> bool:
    """y += t·h·integral, times x if `driven` is 1, not 0; True if all are finite.

    Each sum and product is rounded, as in the closed form, so that a GELU that is 0 there is 0 here.
    """
    failed = 0
    for n in range(x.size):
        y[n] += t * (driven * x[n] + (1.0 - driven)) * (h[n] * integral[n])
        failed |= not (abs(y[n]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def centred_flow(w: Floats, h: Floats, y: Floats, x: Floats, t: float, c: float, driven: float) -> int:
    """Advance y' = h, or x·h if `driven`, by t in place, where w = 0 everywhere; w and h stay."""
    doubtful, integral = 0, np.empty(x.size)
    for n in range(x.size):
        doubtful |= not (w[n] == 0.0 and abs(x[n]) <= LARGE)
    if doubtful:
        return DOUBTFUL
    _centred(x, abs(t) * math.sqrt(0.5 * c), integral)
    return FINE if _add(h, y, x, integral, t, driven) else LOST


@cached_njit(nogil=True, error_model="numpy")
def gauss_flow(w: Floats, h: Floats, y: Floats, x: Floats, t: float, c: float, driven: float) -> int:
    """Advance w' = x², h' = −cwh and y as `centred_flow` does, where |ctw| ≤ NEAR. A factor of h below e^−708 is 0."""
    doubtful, lost, integral, factor = 0, 0, np.empty(x.size), np.empty(x.size)
    for n in range(x.size):
        doubtful |= not (abs(c * t * w[n]) <= NEAR and abs(x[n]) <= LARGE)
    if doubtful:
        return DOUBTFUL
    _centred(x, abs(t) * math.sqrt(0.5 * c), integral)
    _moved(w, x, t, c, integral, factor)
    fine = _add(h, y, x, integral, t, driven)
    for n in range(x.size):
        h[n] *= factor[n]
        w[n] += t * x[n] * x[n]
        lost |= not (abs(h[n]) <= LARGEST and abs(w[n]) <= LARGEST)
    return FINE if fine and not lost else LOST


def gauss_step(
    block: Block, states: Floats, t: float, live: tuple[bool, ...], closed_form: Step, c: float, driven: bool
) -> Step:
    """w' = x², h' = −cwh, y' = h, or y' = xh if `driven`: a compiled loop where w starts at 0 or near it, else the
    closed form."""
    w, h, y, source = (ref.of(states).reshape(-1) for ref in block.refs())
    scaled, alone = bool(block.tensors), not (live[0] or live[1])

    def step() -> bool:
        x = arguments(block, states)[1][0].reshape(-1) if scaled else source
        verdict = centred_flow(w, h, y, x, t, c, driven) if alone else DOUBTFUL
        if verdict == DOUBTFUL:
            verdict = gauss_flow(w, h, y, x, t, c, driven)
        return closed_form() if verdict == DOUBTFUL else verdict == FINE

    return step
