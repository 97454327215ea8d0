"""The loops that numpy cannot do in one pass: Lemma 1's flow and the logistic flow from any start, vectorised by LLVM.

Imported lazily (numba costs half a second); compiled once and cached on disk. `gadgets/tanh.py` and
`gadgets/leaky_relu.py` have the formulas and are the reference; here everything is multiplied by |v| as well, so that
one division is left, except at |v| ≈ 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from integraph.flow.exact.exponential import LOWEST, exponential
from integraph.numbers.jit import cached_njit

LARGEST = np.finfo(np.float64).max
FLOOR = 1e-290  # what is left of u near an unstable rest is noise below this
TINY = 1e-140  # |v| below which tanh v = v to all digits and squares of v would underflow


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def tanh_flow(alpha: NDArray[np.float64], lam: NDArray[np.float64], x: NDArray[np.float64], t: float) -> bool:
    """Advance α' = x − αλ, λ' = x² − λ² by t > 0 in place in every lane; True if all live on."""
    failed = 0
    for lane in range(x.size):
        a, l = alpha[lane], lam[lane]
        v = t * x[lane]
        size = abs(v)
        fall, e = exponential(-size)
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
        failed |= not (FLOOR < u <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def logistic_flow(
    states: NDArray[np.float64],
    targets: NDArray[np.int64],
    inputs: NDArray[np.float64],
    sources: NDArray[np.int64],
    kt: NDArray[np.float64],
    c: NDArray[np.float64],
    end: NDArray[np.float64],
) -> bool:
    """Advance s' = k (s − cx)(x − s) by t, s rows of the states, x of the inputs, kt and c one number a row; False if a
    lane may have got lost: nothing has changed then.

    An excess s − cx that falls below e^−708 of its start becomes 0.
    """
    failed = 0
    for row in range(len(targets)):
        k, slope = kt[row], c[row]
        start, given, ended = states[targets[row]], inputs[sources[row]], end[row]
        for column in range(states.shape[1]):
            base = slope * given[column]
            w = start[column] - base
            v = k * ((1.0 - slope) * given[column])
            size = abs(v)
            fall, e = exponential(-size)
            tiny, rises = size < TINY, v > 0.0
            u = 1.0 + k * w if tiny else (e if rises else 1.0) * size - k * w * fall
            above = 1.0 if rises else (e if size < -LOWEST else 0.0)
            value = base + w * ((1.0 if tiny else above * size) / u)
            ended[column] = value
            failed |= not (FLOOR < u <= LARGEST) or not (abs(value) <= LARGEST)
    if failed:
        return False
    for row in range(len(targets)):
        states[targets[row]] = end[row]
    return True
