"""Adaptive Taylor integration of many small quadratic ODEs of one structure, LANES at a time.

A lane is one solution: one component of the segment for one input. Its registers obey y_i' = Σ coefficient · source,
where a source is a register, a linear form of registers, a product of two of these, or the constant 1. A lane that is
done makes room for the next one: those with few steps do not wait for those with many, and no lane depends on its
neighbours.

A step is as long as the radius of convergence allows. Where steps get shorter and shorter while a register grows, the
solution has a pole: it escapes, or passes so close that every error so far is multiplied. Then the lane is run again
with the finest tolerance before anything is said about it. Steps that are short from the start to the end mean no pole
but a fast rotation or decay.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from integraph.flow.taylor.series import (
    AHEAD,
    CALM,
    EARLY,
    LEFT,
    LOG_RTOL,
    LONGEST,
    REACH,
    SLOTS,
    STEPS,
    TRIAL,
    YOUNG,
    Floats,
    Ints,
    advance,
    fill_jets,
    fill_reach,
    fill_scales,
)
from integraph.flow.taylor.simd import LANES, if_zero, load, store
from integraph.numbers.jit import cached_njit

GO_ON, ESCAPED, OVERFLOWED, STEP_LIMIT, DONE, AGAIN, SHRUNK = range(7)  # what becomes of a lane
IDLE = -1
MAX_SHRINKS = 40  # of a trial step whose terms overflow
TAIL = 2  # orders before the last that bound the step too: terms of odd and even solutions vanish in turn
SHORTEST = 1e-13  # of a segment: no step near a pole is shorter, the solution escapes
NEAR = 3e-2  # of the longest step so far: a step shorter than this, with a growing register, means that a pole is near
FINEST = 1e-16  # tolerance near a pole


@njit(nogil=True, error_model="numpy")
def _culprit(jets: Floats, scales: Floats, registers: int, stride: int, order: int, l: int) -> tuple[int, bool]:
    """The register of a lane whose high terms are largest for its size, and whether one of those whose radius of
    convergence is about the same moves away from 0."""
    culprit, largest = 0, -1.0
    for i in range(registers):
        at = (order - 1) * stride + i * LANES + l  # the last terms have made room for the sums
        ratio = max(abs(jets[at]), abs(jets[at - stride])) * scales[i * LANES + l]
        if not ratio <= largest:
            culprit, largest = i, ratio
    away = False
    for i in range(registers):
        at = (order - 1) * stride + i * LANES + l
        ratio = max(abs(jets[at]), abs(jets[at - stride])) * scales[i * LANES + l]
        if ratio >= largest * 0.5 ** (order - 1):  # a radius up to twice the smallest
            # signs, because the product of tiny numbers is 0
            away |= np.sign(jets[i * LANES + l]) * np.sign(jets[stride + i * LANES + l]) > 0.0
    return culprit, away


@njit(nogil=True, error_model="numpy")
def _verdict(slots: Floats, shrinks: Ints, away: bool, duration: float, max_steps: int, tight: float, l: int) -> int:
    """What becomes of a lane that is not calm."""
    if np.isnan(slots[CALM + l]):
        return OVERFLOWED if shrinks[l] == MAX_SHRINKS else SHRUNK
    done, short = slots[LEFT + l] == 0.0, slots[AHEAD + l] < SHORTEST * duration
    pole = away and slots[AHEAD + l] < NEAR * slots[LONGEST + l]
    if pole and (done or short) and slots[LOG_RTOL + l] > tight:
        return AGAIN
    if done:
        return DONE
    if pole and short:
        return ESCAPED
    return STEP_LIMIT if slots[STEPS + l] >= max_steps else GO_ON


@njit(nogil=True, error_model="numpy")
def _aligned(count: int) -> Floats:
    """Zeros on a cache line: vectors that straddle two lines cost twice as much."""
    whole = np.zeros(count + 8)
    skip = (-(whole.ctypes.data // 8)) % 8
    return whole[skip : skip + count]


@cached_njit(nogil=True, error_model="numpy")
def integrate(
    states: Floats,  # (W, inputs), advanced in place
    registers: Ints,  # (registers of a component, components)
    forms: Ints,  # rows of linear forms: starts, sources, values; and what is added to each, (n, components · inputs)
    forms_source: Ints,
    forms_value: Floats,
    forms_start: Floats,
    products: Ints,  # (n, 2): pairs of registers or forms
    shared: Ints,  # rows of terms whose coefficient all lanes share: starts, sources, values
    shared_source: Ints,
    shared_value: Floats,
    own: Ints,  # rows of the others: starts, sources; values (n, components · inputs)
    own_source: Ints,
    own_value: Floats,
    order: int,
    rtol: float,
    span: float,  # how long to integrate
    duration: float,  # of the whole segment
    max_steps: int,
    status: Ints,  # of each lane: 0, or how it failed, which of its registers, and when
    place: Ints,
    moment: Floats,
) -> int:
    """Advance every lane by `span`; returns the number of steps taken by all lanes together."""
    count, inputs = len(registers), states.shape[1]
    stride = (count + len(forms_start) + len(products) + 1) * LANES
    jets, mine = _aligned((order + 1) * stride), _aligned(len(own_source) * LANES)
    offsets = _aligned(len(forms_start) * LANES)
    scales, slots = _aligned(count * LANES), _aligned(SLOTS)
    shrinks, component, column = np.zeros(LANES, np.int64), np.full(LANES, IDLE), np.zeros(LANES, np.int64)
    inverse = np.zeros(order + 1)
    for n in range(1, order + 1):  # numba compiles loops in a fraction of the seconds that assigned slices take
        inverse[n] = 1.0 / n
    for l in range(LANES):
        jets[stride - LANES + l] = 1.0
    tight = np.log2(min(rtol, FINEST))
    next_component = next_column = total = 0
    while True:
        busy, fresh = 0, False
        for l in range(LANES):
            if slots[CALM + l] > 0.0:
                busy += 1
                continue
            again = False
            if component[l] != IDLE:
                where, away = _culprit(jets, scales, count, stride, order, l)
                verdict = _verdict(slots, shrinks, away, duration, max_steps, tight, l)
                again = verdict == AGAIN
                if verdict in (GO_ON, SHRUNK):
                    shrinks[l] += verdict == SHRUNK
                    fresh |= slots[YOUNG + l] != 0.0
                elif verdict == DONE:
                    for i in range(count):
                        states[registers[i, component[l]], column[l]] = jets[i * LANES + l]
                    component[l] = IDLE
                elif not again:
                    lane = component[l] * inputs + column[l]
                    status[lane], place[lane], moment[lane] = verdict, where, span - slots[LEFT + l]
                    component[l], slots[LEFT + l] = IDLE, 0.0
            if again or (component[l] == IDLE and next_component < registers.shape[1]):
                if not again:
                    component[l], column[l] = next_component, next_column
                    next_column += 1
                    if next_column == inputs:
                        next_component, next_column = next_component + 1, 0
                for i in range(count):
                    jets[i * LANES + l] = states[registers[i, component[l]], column[l]]
                for e in range(len(own_source)):
                    mine[e * LANES + l] = own_value[e, component[l] * inputs + column[l]]
                for q in range(len(forms_start)):
                    offsets[q * LANES + l] = forms_start[q, component[l] * inputs + column[l]]
                slots[TRIAL + l] = slots[LEFT + l] = span
                slots[LOG_RTOL + l] = tight if again else np.log2(rtol)
                slots[YOUNG + l], slots[STEPS + l], slots[LONGEST + l], shrinks[l] = 1.0, 0.0, 0.0, 0
                fresh = True
            busy += component[l] != IDLE
        if busy == 0:
            return total
        total += busy
        fill_jets(
            jets,
            forms,
            forms_source,
            forms_value,
            offsets,
            products,
            shared,
            shared_source,
            shared_value,
            own,
            own_source,
            mine,
            slots,
            inverse,
        )
        fill_scales(jets, scales, count, stride, order)
        fill_reach(slots, REACH, jets, scales, count, stride, order - TAIL, order)
        if fresh:  # whole stretches of terms may vanish at a start: look at more of them
            fill_reach(slots, EARLY, jets, scales, count, stride, order // 2, order)
            store(slots, REACH, if_zero(load(slots, YOUNG), load(slots, REACH), load(slots, EARLY)))
        advance(slots, jets, count, stride, order, SHORTEST * duration, float(max_steps))
