"""Adaptive Taylor integration of many small quadratic ODEs of one structure, LANES at a time.

A lane is one solution: one component of the segment for one input. Its registers obey y_i' = Σ coefficient · source, where a
source is a register, a product of two, or the constant 1. `jets` holds the Taylor terms Y_n = y^(n) hⁿ/n! of all sources for
a trial step h of each lane; scaled like this they neither overflow nor underflow. The terms give the radius of convergence
and so the step. A lane that is done makes room for the next one: lanes with few steps do not wait for those with many, and
no lane depends on its neighbours.

Compiled once and cached on disk. numba looks at this file only: touch it after a change of `taylor_simd`.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import njit

from integraph.flow.taylor_simd import LANES, add, exp2, fill, larger, load, log2, positive_or, size, store, subtract
from integraph.flow.taylor_simd import divide, multiply, multiply_add

ESCAPED, OVERFLOWED, STEP_LIMIT = 1, 2, 3
IDLE = -1
SAFETY = 0.95  # of the step: exp2 is up to 6 % too large
GROWTH = 4.0  # a step may be so much longer than its trial, no more: high terms of a tiny register may have underflowed
SMALLEST = 1e-307  # below, a register has no relative accuracy
SHRINK = 2.0**-20  # of the trial step where its terms overflow
MAX_SHRINKS = 40
TAIL = 2  # orders before the last that bound the step too: the terms of odd and even solutions vanish in turn


@njit(nogil=True, error_model="numpy")
def _fill_jets(jets, products, shared, shared_source, shared_value, own, own_source, own_value, trial, inverse):
    """All terms up to the order: (n+1) Y_{n+1} = h Σ coefficient · source_n, products by Cauchy's rule."""
    order, registers = len(inverse) - 1, len(shared) - 1
    stride = (registers + len(products) + 1) * LANES
    h = load(trial, 0)
    for n in range(order):
        at = n * stride
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
            store(jets, at + (registers + q) * LANES, total)
        factor = multiply(h, fill(inverse[n + 1]))
        for i in range(registers):
            total = fill(0.0)
            for e in range(shared[i], shared[i + 1]):
                total = multiply_add(fill(shared_value[e]), load(jets, at + shared_source[e] * LANES), total)
            for e in range(own[i], own[i + 1]):
                total = multiply_add(load(own_value, e * LANES), load(jets, at + own_source[e] * LANES), total)
            store(jets, at + stride + i * LANES, multiply(factor, total))


@njit(nogil=True, error_model="numpy")
def _fill_scales(jets, scales, registers, stride, order):
    """1 / the size of each register in this step: its value or first change; where both are 0, its largest term."""
    for i in range(registers):
        at = i * LANES
        low = larger(size(load(jets, at)), size(load(jets, at + stride)))
        high = fill(SMALLEST)
        for n in range(2, order + 1):
            high = larger(high, size(load(jets, at + n * stride)))
        store(scales, at, divide(fill(1.0), larger(positive_or(low, high), fill(SMALLEST))))


@njit(nogil=True, error_model="numpy")
def _fill_reach(reach, jets, scales, registers, stride, first, order, log_rtol):
    """The step as a multiple of the trial: largest θ with |Y_n| θⁿ ≤ rtol^(n/order) · size for the orders from `first`.

    Where θ < 1 the size may itself shrink, like θ if the register starts at 0: hence n − 1."""
    worst = fill(-1000.0)
    for n in range(first, order + 1):
        ratio = fill(0.0)
        for i in range(registers):
            ratio = larger(ratio, multiply(size(load(jets, n * stride + i * LANES)), load(scales, i * LANES)))
        excess = subtract(log2(ratio), fill(n * log_rtol / order))
        worst = larger(worst, larger(multiply(excess, fill(1.0 / n)), multiply(excess, fill(1.0 / (n - 1)))))
    store(reach, 0, exp2(subtract(fill(0.0), worst)))


@njit(nogil=True, error_model="numpy")
def _fill_ends(ends, broken, jets, ratio, registers, stride, order):
    """The polynomials at the chosen steps, by Horner's rule; `broken` is not 0 in lanes where one is not finite."""
    theta = load(ratio, 0)
    bad = fill(0.0)
    for i in range(registers):
        at = i * LANES
        total = load(jets, at + order * stride)
        for n in range(order - 1, -1, -1):
            total = multiply_add(total, theta, load(jets, at + n * stride))
        bad = add(bad, subtract(total, total))
        store(ends, at, total)
    store(broken, 0, bad)


@njit(nogil=True, error_model="numpy")
def _fastest(jets, scales, registers, stride, order, l):
    """The register of a lane whose last term is largest, and whether it moves away from 0."""
    found, largest = 0, -1.0
    for i in range(registers):
        ratio = abs(jets[order * stride + i * LANES + l]) * scales[i * LANES + l]
        if not ratio <= largest:
            found, largest = i, ratio
    return found, jets[found * LANES + l] * jets[stride + found * LANES + l] > 0.0


@njit(nogil=True, error_model="numpy")
def _aligned(count):
    """Zeros on a cache line: vectors that straddle two lines cost twice as much."""
    whole = np.zeros(count + 8)
    skip = (-(whole.ctypes.data // 8)) % 8
    return whole[skip : skip + count]


@njit(cache=True, nogil=True, error_model="numpy")
def integrate(
    states,  # (W, inputs), advanced in place
    registers,  # (registers of a component, components)
    products,  # (n, 2): pairs of registers
    shared,  # rows of terms whose coefficient all lanes share: starts, sources, values
    shared_source,
    shared_value,
    own,  # rows of the others: starts, sources; values (n, components · inputs)
    own_source,
    own_value,
    order,
    rtol,
    span,  # how long to integrate
    floor,  # a step shorter than this is an escape
    max_steps,
    status,  # of each lane: 0, or how it failed, which of its registers, and when
    place,
    moment,
):
    count, inputs = len(registers), states.shape[1]
    lanes = registers.shape[1] * inputs
    stride = (count + len(products) + 1) * LANES
    jets, mine = _aligned((order + 1) * stride), _aligned(len(own_source) * LANES)
    scales, ends = _aligned(count * LANES), _aligned(count * LANES)
    trial, ratio, broken, early, late = _aligned(LANES), _aligned(LANES), _aligned(LANES), _aligned(LANES), _aligned(LANES)
    left = np.zeros(LANES)
    steps, shrinks, lane = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.full(LANES, IDLE)
    fresh, last = np.zeros(LANES, np.bool_), np.zeros(LANES, np.bool_)
    inverse = np.zeros(order + 1)
    inverse[1:] = 1.0 / np.arange(1, order + 1)
    jets[stride - LANES : stride] = 1.0
    log_rtol = np.log2(rtol)
    following = total = 0
    while True:
        busy = any_fresh = False
        for l in range(LANES):
            if lane[l] == IDLE and following < lanes:
                lane[l], left[l], trial[l], steps[l], shrinks[l], fresh[l] = following, span, span, 0, 0, True
                component, column = following // inputs, following % inputs
                for i in range(count):
                    jets[i * LANES + l] = states[registers[i, component], column]
                for e in range(len(own_source)):
                    mine[e * LANES + l] = own_value[e, following]
                following += 1
            busy |= lane[l] != IDLE
            any_fresh |= fresh[l]
        if not busy:
            return total
        _fill_jets(jets, products, shared, shared_source, shared_value, own, own_source, mine, trial, inverse)
        _fill_scales(jets, scales, count, stride, order)
        _fill_reach(late, jets, scales, count, stride, order - TAIL, order, log_rtol)
        if any_fresh:  # whole stretches of terms may vanish at a start: look at more of them
            _fill_reach(early, jets, scales, count, stride, order // 2, order, log_rtol)
        for l in range(LANES):
            h = min(SAFETY * (early[l] if fresh[l] else late[l]), GROWTH) * trial[l]
            last[l] = h >= left[l]
            if h < left[l] < 2.0 * h:
                h = 0.5 * left[l]  # two steps are needed: let neither be short
            ratio[l] = min(h, left[l]) / trial[l] if lane[l] != IDLE else 0.0
        _fill_ends(ends, broken, jets, ratio, count, stride, order)
        for l in range(LANES):
            if lane[l] == IDLE:
                continue
            h = ratio[l] * trial[l]
            steps[l] += 1
            total += 1
            failed = 0
            if broken[l] != 0.0:
                trial[l] *= SHRINK
                shrinks[l] += 1
                failed = OVERFLOWED if shrinks[l] > MAX_SHRINKS else 0
            elif last[l]:
                component, column = lane[l] // inputs, lane[l] % inputs
                for i in range(count):
                    states[registers[i, component], column] = ends[i * LANES + l]
                lane[l], fresh[l], trial[l] = IDLE, False, 0.0
            else:
                found, away = _fastest(jets, scales, count, stride, order, l) if h < floor else (0, True)
                for i in range(count):
                    jets[i * LANES + l] = ends[i * LANES + l]
                left[l] -= h
                trial[l], fresh[l] = h, False
                if h < floor:
                    failed = ESCAPED if away else STEP_LIMIT
            if failed == 0 and lane[l] != IDLE and steps[l] >= max_steps:
                failed = STEP_LIMIT
            if failed:
                status[lane[l]], moment[lane[l]] = failed, span - left[l]
                place[lane[l]] = _fastest(jets, scales, count, stride, order, l)[0]
                lane[l], fresh[l], trial[l] = IDLE, False, 0.0
