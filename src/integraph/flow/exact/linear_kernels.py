"""Sums and products in one pass over the cache, with a look at whether all are finite. Imported lazily, with numba.

Arrays (rows, n) are lanes and inputs together, so that one input runs as fast as many: weights and biases are spread
over the inputs beforehand, and shared by the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from integraph.numbers.jit import cached_njit

Floats = NDArray[np.float64]
LARGEST = np.finfo(np.float64).max


@cached_njit(nogil=True, error_model="numpy")
def all_finite(z: Floats) -> bool:
    """Whether a flat array holds numbers only."""
    failed = 0
    for n in range(z.size):
        failed |= not (abs(z[n]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def shift(z: Floats, b: Floats) -> bool:
    """z += b, z (rows, n) and b (n,); True if all are finite."""
    failed = 0
    for row in range(z.shape[0]):
        for n in range(z.shape[1]):
            z[row, n] += b[n]
            failed |= not (abs(z[row, n]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def fill(z: Floats, x: Floats, w: Floats, b: Floats) -> bool:
    """z = w·x + b, z and x (rows, n), w and b (n,); True if all are finite."""
    failed = 0
    for row in range(z.shape[0]):
        for n in range(z.shape[1]):
            z[row, n] = w[n] * x[row, n] + b[n]
            failed |= not (abs(z[row, n]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def add(z: Floats, x: Floats, w: Floats, b: Floats) -> bool:
    """z += w·x + b, as `fill`."""
    failed = 0
    for row in range(z.shape[0]):
        for n in range(z.shape[1]):
            z[row, n] += w[n] * x[row, n] + b[n]
            failed |= not (abs(z[row, n]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def add_rows(z: Floats, gain: Floats, reach: float, bias: Floats) -> bool:
    """z += reach·gain + bias, bias one number a row; True if all are finite."""
    failed = 0
    for row in range(z.shape[0]):
        b = bias[row]
        for column in range(z.shape[1]):
            z[row, column] += reach * gain[row, column] + b
            failed |= not (abs(z[row, column]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, error_model="numpy")
def multiply_rows(z: Floats, x: Floats, c: Floats) -> bool:
    """z = c·x, c one number a row; True if all are finite."""
    failed = 0
    for row in range(z.shape[0]):
        for column in range(z.shape[1]):
            z[row, column] = c[row] * x[row, column]
            failed |= not (abs(z[row, column]) <= LARGEST)
    return failed == 0


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def contract(
    states: Floats,
    shape: tuple[int, ...],
    z: tuple[int, ...],
    x: tuple[int, ...],
    v: tuple[int, ...],
    weights: Floats,
    adds: bool,
) -> bool:
    """z = w·Σ_r x_r v_r, or z += that; True if all are finite.

    `shape` is lanes in three axes and the number of r; z, x and v are an offset and strides, in rows of `states`. One
    weight serves all lanes, or each has its own. Where it is 0 nothing is summed; nor is what was summed just before.
    """
    failed, lane, inputs, each = 0, 0, states.shape[1], weights.size > 1
    total, last = np.empty(inputs), (-1, -1)
    for i in range(shape[0]):
        for j in range(shape[1]):
            for k in range(shape[2]):
                left = x[0] + i * x[1] + j * x[2] + k * x[3]
                right = v[0] + i * v[1] + j * v[2] + k * v[3]
                weight = weights[lane] if each else weights[0]
                lane += 1
                if weight == 0.0 and adds:
                    continue
                if weight != 0.0 and last != (left, right):
                    last = (left, right)
                    total[:] = 0.0
                    for _ in range(shape[3] // 4):
                        x0, v0 = states[left], states[right]
                        x1, v1 = states[left + x[4]], states[right + v[4]]
                        x2, v2 = states[left + 2 * x[4]], states[right + 2 * v[4]]
                        x3, v3 = states[left + 3 * x[4]], states[right + 3 * v[4]]
                        for n in range(inputs):
                            total[n] += (x0[n] * v0[n] + x1[n] * v1[n]) + (x2[n] * v2[n] + x3[n] * v3[n])
                        left, right = left + 4 * x[4], right + 4 * v[4]
                    for _ in range(shape[3] % 4):
                        x0, v0 = states[left], states[right]
                        for n in range(inputs):
                            total[n] += x0[n] * v0[n]
                        left, right = left + x[4], right + v[4]
                end = states[z[0] + i * z[1] + j * z[2] + k * z[3]]
                if weight == 0.0:
                    end[:] = 0.0
                    continue
                for n in range(inputs):
                    value = weight * total[n] + (end[n] if adds else 0.0)
                    end[n] = value
                    failed |= not (abs(value) <= LARGEST)
    return failed == 0
