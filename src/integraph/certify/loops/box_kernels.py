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
        op, a, b, f = code[s]
        if op == INPUT:
            c[s, j] = x[a, j]
        elif held[s] and j > 0:
            c[s, j] = 0.0
        elif op == CONSTANT:
            c[s, j, 0], c[s, j, 1] = down(numbers[s, 0] - numbers[s, 1]), up(numbers[s, 0] + numbers[s, 1])
        elif op == ADD:
            c[s, j, 0], c[s, j, 1] = down(c[a, j, 0] + c[b, j, 0]), up(c[a, j, 1] + c[b, j, 1])
        elif op == SUB:
            c[s, j, 0], c[s, j, 1] = down(c[a, j, 0] - c[b, j, 1]), up(c[a, j, 1] - c[b, j, 0])
        elif op == NEG:
            c[s, j, 0], c[s, j, 1] = -c[a, j, 1], -c[a, j, 0]
        elif op == MUL:
            c[s, j] = _convolution(c[a], c[b], j, False, a == b)
        elif op == SCALE:
            w, off = numbers[s, 0], numbers[s, 1]
            c[s, j] = times(w - off if off > 0 else w, w + off if off > 0 else w, c[a, j, 0], c[a, j, 1])
        elif op == FUNCTION and j == 0:
            low, high = c[a, 0, 0], c[a, 0, 1]
            if not defined(f, low, high):
                return False
            c[s, 0] = derivative(f, numbers[s, 0], 0, low, high)
        else:
            c[s, j] = _convolution(c[a], c[b], j, True, False)
    return True


@cached_njit(error_model="numpy")
def _right_side(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, x: Floats, c: Floats, f: Floats
) -> bool:
    """f of a box (V, 1, 2), into f (n, 2)."""
    if not evaluate_box(code, numbers, held, x, c, 0):
        return False
    for i in range(len(outputs)):
        f[i] = c[outputs[i], 0]
        if not math.isfinite(f[i, 1] - f[i, 0]):
            return False
    return True


@cached_njit(error_model="numpy")
def enclose(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, box: Floats, h: float
) -> tuple[bool, Floats]:
    """B ⊇ X + [0, h]·f(B, U) from the box of states and inputs (V, 2), and whether there is one: then every solution
    exists over the step and stays in B."""
    n = len(outputs)
    x = np.empty((len(box), 1, 2))
    x[:, 0] = box
    c, f = np.empty((len(code), 1, 2)), np.empty((n, 2))
    if not _right_side(code, numbers, held, outputs, x, c, f):
        return False, box
    for i in range(n):
        slack = 0.05 * h * (abs(f[i, 0]) + abs(f[i, 1])) + 1e-12 * (box[i, 1] - box[i, 0]) + 1e-300
        x[i, 0, 0] = box[i, 0] + min(0.0, h * f[i, 0]) - slack
        x[i, 0, 1] = box[i, 1] + max(0.0, h * f[i, 1]) + slack
    inside = False
    for _ in range(TRIES):
        if not _right_side(code, numbers, held, outputs, x, c, f):
            return False, box
        inside = True
        for i in range(n):
            low, high = down(box[i, 0] + min(0.0, down(h * f[i, 0]))), up(box[i, 1] + max(0.0, up(h * f[i, 1])))
            if not (x[i, 0, 0] <= low and high <= x[i, 0, 1]):
                inside = False
                slack = 0.1 * (high - low) + 1e-300
                x[i, 0, 0], x[i, 0, 1] = min(low, x[i, 0, 0]) - slack, max(high, x[i, 0, 1]) + slack
        if inside:
            break
    if not inside:
        return False, box
    for _ in range(SHRINKS):
        if not _right_side(code, numbers, held, outputs, x, c, f):
            return False, box
        for i in range(n):
            x[i, 0, 0] = max(x[i, 0, 0], down(box[i, 0] + min(0.0, down(h * f[i, 0]))))
            x[i, 0, 1] = min(x[i, 0, 1], up(box[i, 1] + max(0.0, up(h * f[i, 1]))))
    return True, x[:, 0].copy()


@cached_njit(error_model="numpy")
def box_series(
    code: Indices, numbers: Floats, held: Indices, outputs: Indices, box: Floats, h: float, order: int
) -> tuple[bool, Floats]:
    """Coefficients x_0 … x_order of the states over a box, (n, order + 1, 2)."""
    n = len(outputs)
    x = np.zeros((len(box), order + 1, 2))
    x[:, 0] = box
    c = np.zeros((len(code), order + 1, 2))
    for j in range(order):
        if not evaluate_box(code, numbers, held, x, c, j):
            return False, x[:n]
        for i in range(n):
            low, high = c[outputs[i], j, 0], c[outputs[i], j, 1]
            x[i, j + 1, 0], x[i, j + 1, 1] = down(down(h * low) / (j + 1)), up(up(h * high) / (j + 1))
            if not math.isfinite(x[i, j + 1, 1] - x[i, j + 1, 0]):
                return False, x[:n]
    return True, x[:n]
