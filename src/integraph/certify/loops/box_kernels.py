"""Taylor coefficients of a flow over a box of states, and a box that the flow does not leave, compiled.

Coefficients are scaled to a step: x(τh) = Σ x_j τ^j, so x_(j+1) = h·f_j/(j+1).
"""

from __future__ import annotations

import math

import numpy as np

from integraph.certify.loops.interval_kernels import defined, derivative, down, square, times, up
from integraph.certify.loops.tape import ADD, CONSTANT, FUNCTION, INPUT, MUL, NEG, SCALE, SUB
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.jit import cached_njit

TRIES = 8  # of boxes, each larger than the one before
SHRINKS = 3


@cached_njit(error_model="numpy")
def _convolution(a: Floats, b: Floats, j: int, integral: bool, same: bool) -> tuple[float, float]:
    """Σ a_i b_(j−i), or Σ (i/j) a_i b_(j−i), of coefficients (J, 2)."""
    low, high = 0.0, 0.0
    if same and not integral:
        for i in range((j + 1) // 2):
            c, d = times(a[i, 0], a[i, 1], a[j - i, 0], a[j - i, 1])
            low, high = down(low + 2.0 * c), up(high + 2.0 * d)
        if j % 2 == 0:
            c, d = square(a[j // 2, 0], a[j // 2, 1])
            low, high = down(low + c), up(high + d)
        return low, high
    for i in range(1 if integral else 0, j + 1):
        c, d = times(a[i, 0], a[i, 1], b[j - i, 0], b[j - i, 1])
        if integral:
            w = i / j
            c, d = down(c * w), up(d * w)
        low, high = down(low + c), up(high + d)
    return low, high


@cached_njit(error_model="numpy")
def evaluate_box(code: Indices, numbers: Floats, held: Indices, x: Floats, c: Floats, j: int) -> bool:
    """Coefficient j of every operation into c (S, J, 2), from those of the inputs (V, J, 2). False where a function is
    not defined."""
    for s in range(len(code)):
        op, a, b, f = code[s, 0], code[s, 1], code[s, 2], code[s, 3]
        if op == INPUT:
            c[s, j, 0], c[s, j, 1] = x[a, j, 0], x[a, j, 1]
        elif held[s] and j > 0:
            c[s, j, 0], c[s, j, 1] = 0.0, 0.0
        elif op == CONSTANT:
            c[s, j, 0], c[s, j, 1] = down(numbers[s, 0] - numbers[s, 1]), up(numbers[s, 0] + numbers[s, 1])
        elif op == ADD:
            c[s, j, 0], c[s, j, 1] = down(c[a, j, 0] + c[b, j, 0]), up(c[a, j, 1] + c[b, j, 1])
        elif op == SUB:
            c[s, j, 0], c[s, j, 1] = down(c[a, j, 0] - c[b, j, 1]), up(c[a, j, 1] - c[b, j, 0])
        elif op == NEG:
            c[s, j, 0], c[s, j, 1] = -c[a, j, 1], -c[a, j, 0]
        elif op == MUL:
            c[s, j, 0], c[s, j, 1] = _convolution(c[a], c[b], j, False, a == b)
        elif op == SCALE:
            w, off = numbers[s, 0], numbers[s, 1]
            least, most = w - off if off > 0 else w, w + off if off > 0 else w
            c[s, j, 0], c[s, j, 1] = times(least, most, c[a, j, 0], c[a, j, 1])
        elif op == FUNCTION and j == 0:
            low, high = c[a, 0, 0], c[a, 0, 1]
            if not defined(f, low, high):
                return False
            c[s, 0, 0], c[s, 0, 1] = derivative(f, numbers[s, 0], 0, low, high)
        else:
            c[s, j, 0], c[s, j, 1] = _convolution(c[a], c[b], j, True, False)
    return True


@cached_njit(error_model="numpy")
def _series(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, x: Floats, c: Floats, h: float, order: int
) -> bool:
    """Coefficients x_1 … x_order of the states into x (V, order + 1, 2); False where one is not finite."""
    for j in range(order):
        if not evaluate_box(code, numbers, held, x, c, j):
            return False
        for i in range(len(outputs)):
            s = outputs[i]
            x[i, j + 1, 0], x[i, j + 1, 1] = down(down(h * c[s, j, 0]) / (j + 1)), up(up(h * c[s, j, 1]) / (j + 1))
            if not math.isfinite(x[i, j + 1, 1] - x[i, j + 1, 0]):
                return False
    return True


@cached_njit(error_model="numpy")
def _widen(box: Floats, x: Floats, first: bool) -> bool:
    """Whether x contains X + [0, 1]·h f, x_1 = h f being known; where it does not, make it larger."""
    inside = not first
    for i in range(len(x)):
        low, high = down(box[i, 0] + min(0.0, x[i, 1, 0])), up(box[i, 1] + max(0.0, x[i, 1, 1]))
        if first or not (x[i, 0, 0] <= low and high <= x[i, 0, 1]):
            inside = False
            slack = 0.05 * (abs(x[i, 1, 0]) + abs(x[i, 1, 1])) if first else 0.1 * (high - low)
            slack += 1e-12 * (box[i, 1] - box[i, 0]) + 1e-300
            x[i, 0, 0], x[i, 0, 1] = min(low, x[i, 0, 0]) - slack, max(high, x[i, 0, 1]) + slack
    return inside


@cached_njit(error_model="numpy")
def _flow(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, box: Floats, x: Floats, h: float, tries: int
) -> bool:
    """With `tries`, a box that the flow does not leave into x_0, from x_0 = box; else the series over x_0."""
    n, order = len(outputs), x.shape[1] - 1
    c = np.zeros((len(code), order, 2))
    shrinks = -1  # still to come, once there is a box
    for number in range(1 + tries + SHRINKS if tries else 1):
        if not _series(code, numbers, held, outputs, x, c, h, order):
            return False
        if tries == 0:
            return True
        if shrinks < 0:
            if number > tries:
                return False
            if not _widen(box, x[:n], number == 0):
                continue
            shrinks = SHRINKS
        for i in range(n):
            x[i, 0, 0] = max(x[i, 0, 0], down(box[i, 0] + min(0.0, x[i, 1, 0])))
            x[i, 0, 1] = min(x[i, 0, 1], up(box[i, 1] + max(0.0, x[i, 1, 1])))
        shrinks -= 1
        if shrinks == 0:
            return True
    return False


def enclose(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, box: Floats, h: float
) -> tuple[bool, Floats]:
    """B ⊇ X + [0, h]·f(B, U) from the box of states and inputs (V, 2), and whether there is one: then every solution
    exists over the step and stays in B."""
    x = np.zeros((len(box), 2, 2))
    x[:, 0] = box
    inside = _flow(code, numbers, held, outputs, box, x, h, TRIES)
    return inside, x[:, 0].copy()


def box_series(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, box: Floats, h: float, order: int
) -> tuple[bool, Floats]:
    """Coefficients x_0 … x_order of the states over a box, (n, order + 1, 2)."""
    x = np.zeros((len(box), order + 1, 2))
    x[:, 0] = box
    return _flow(code, numbers, held, outputs, box, x, h, 0), x[: len(outputs)]
