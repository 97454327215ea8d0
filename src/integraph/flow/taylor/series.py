"""One Taylor step of LANES solutions at once: terms, radius of convergence, sum.

`jets` holds the terms Y_n = y^(n) hⁿ/n! of all sources (registers, linear forms of them, products of two of these, the
constant 1) for a trial step h of each lane; scaled like this they neither overflow nor underflow. Flat arrays, lanes
innermost.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from integraph.flow.taylor.simd import (
    LANES,
    add,
    divide,
    exp2,
    fill,
    if_zero,
    larger,
    load,
    log2,
    multiply,
    multiply_add,
    size,
    smaller,
    store,
    subtract,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAFETY = 0.95  # of the step: exp2 is up to 6 % too large
GROWTH = 4.0  # a step may be so much longer than its trial, no more: high terms of tiny registers may have underflowed
SMALLEST = 1e-307  # below, a register has no relative accuracy
SHRINK = 2.0**-20  # of the trial step where its terms overflow

# what is kept for each lane, as offsets into `slots`
TRIAL, LEFT, AHEAD, LONGEST, REACH, EARLY, YOUNG, STEPS, LOG_RTOL, CALM, SLOTS = range(0, 11 * LANES, LANES)


@njit(nogil=True, error_model="numpy")
def fill_jets(
    jets: Floats,
    forms: Ints,
    forms_source: Ints,
    forms_value: Floats,
    forms_start: Floats,
    products: Ints,
    shared: Ints,
    shared_source: Ints,
    shared_value: Floats,
    own: Ints,
    own_source: Ints,
    own_value: Floats,
    slots: Floats,
    inverse: Floats,
) -> None:
    """All terms up to the order: (n+1) Y_{n+1} = h Σ coefficient · source_n, products by Cauchy's rule."""
    order, registers, linear = len(inverse) - 1, len(shared) - 1, len(forms) - 1
    stride = (registers + linear + len(products) + 1) * LANES
    h = load(slots, TRIAL)
    for n in range(order):
        at = n * stride
        for q in range(linear):
            total = load(forms_start, q * LANES) if n == 0 else fill(0.0)
            for e in range(forms[q], forms[q + 1]):
                total = multiply_add(fill(forms_value[e]), load(jets, at + forms_source[e] * LANES), total)
            store(jets, at + (registers + q) * LANES, total)
        for q in range(len(products)):
            square = products[q, 0] == products[q, 1]
            up, down = products[q, 0] * LANES, at + products[q, 1] * LANES
            total = fill(0.0)
            for _ in range((n + 1) // 2 if square else n + 1):
                total = multiply_add(load(jets, up), load(jets, down), total)
                up += stride
                down -= stride
            if square:
                total = add(total, total)
                if up == down:
                    total = multiply_add(load(jets, up), load(jets, up), total)
            store(jets, at + (registers + linear + q) * LANES, total)
        factor = multiply(h, fill(inverse[n + 1]))
        for i in range(registers):
            total = fill(0.0)
            for e in range(shared[i], shared[i + 1]):
                total = multiply_add(fill(shared_value[e]), load(jets, at + shared_source[e] * LANES), total)
            for e in range(own[i], own[i + 1]):
                total = multiply_add(load(own_value, e * LANES), load(jets, at + own_source[e] * LANES), total)
            store(jets, at + stride + i * LANES, multiply(factor, total))


@njit(nogil=True, error_model="numpy")
def fill_scales(jets: Floats, scales: Floats, registers: int, stride: int, order: int) -> None:
    """1 / the size of each register in this step: its value or first change; where both are 0, its largest term."""
    for i in range(registers):
        at = i * LANES
        low = larger(size(load(jets, at)), size(load(jets, at + stride)))
        high = fill(SMALLEST)
        for n in range(2, order + 1):
            high = larger(high, size(load(jets, at + n * stride)))
        store(scales, at, divide(fill(1.0), larger(if_zero(low, high, low), fill(SMALLEST))))


@njit(nogil=True, error_model="numpy")
def fill_reach(
    slots: Floats, reach: int, jets: Floats, scales: Floats, registers: int, stride: int, first: int, order: int
) -> None:
    """The step as a multiple of the trial: largest θ with |Y_n| θⁿ ≤ rtol^(n/order) · size for the orders from `first`.

    Where θ < 1 the size may itself shrink, like θ if the register starts at 0: hence n − 1."""
    worst = fill(-1000.0)
    for n in range(first, order + 1):
        ratio = fill(0.0)
        for i in range(registers):
            ratio = larger(ratio, multiply(size(load(jets, n * stride + i * LANES)), load(scales, i * LANES)))
        excess = subtract(log2(ratio), multiply(fill(n / order), load(slots, LOG_RTOL)))
        worst = larger(worst, larger(multiply(excess, fill(1.0 / n)), multiply(excess, fill(1.0 / (n - 1)))))
    store(slots, reach, multiply(fill(SAFETY), exp2(subtract(fill(0.0), worst))))


@njit(nogil=True, error_model="numpy")
def advance(
    slots: Floats, jets: Floats, registers: int, stride: int, order: int, floor: float, max_steps: float
) -> None:
    """Advance all lanes by Horner's rule, but leave alone those whose new values are not finite. AHEAD is the step that
    is possible, whatever is left to go, LONGEST the longest so far; CALM is > 0 in lanes that just go on, NaN in those
    left alone."""
    trial, left = load(slots, TRIAL), load(slots, LEFT)
    ahead = multiply(smaller(load(slots, REACH), fill(GROWTH)), trial)
    h = smaller(ahead, left)
    theta = divide(h, trial)
    broken = fill(0.0)
    for i in range(registers):
        total = load(jets, i * LANES + order * stride)
        for n in range(order - 1, -1, -1):
            total = multiply_add(total, theta, load(jets, i * LANES + n * stride))
        broken = add(broken, subtract(total, total))
        store(jets, i * LANES + order * stride, total)
    for i in range(registers):
        end, start = load(jets, i * LANES + order * stride), load(jets, i * LANES)
        store(jets, i * LANES, if_zero(broken, end, start))
    steps, rest = add(load(slots, STEPS), fill(1.0)), subtract(left, h)
    limits = smaller(subtract(fill(max_steps), steps), subtract(ahead, fill(floor)))
    store(slots, CALM, add(broken, smaller(limits, rest)))
    store(slots, LEFT, if_zero(broken, rest, left))
    store(slots, TRIAL, if_zero(broken, h, multiply(fill(SHRINK), trial)))
    store(slots, YOUNG, if_zero(broken, fill(0.0), load(slots, YOUNG)))
    store(slots, AHEAD, ahead)
    store(slots, LONGEST, larger(if_zero(broken, ahead, fill(0.0)), load(slots, LONGEST)))
    store(slots, STEPS, steps)
