"""Steps of softmax, compiled, row after row, for any start that is clearly alive. Imported lazily, with numba.

`gadgets/softmax.py` has the formulas. What a and u are divided by, N = 1 + t(m − Σu) + Σ u (e^{σt} − 1)/σ, has two
kinds of summands. Where |tσ| ≤ NEAR, one is tu·(e^{tσ} − 1)/(tσ) by its Taylor series: u/σ would be noise, or 0/0.
Elsewhere it is taken apart into the share u/σ times e^{σt}, and minus the share.

N is positive all the way if all shares are, and if 1 − Σ shares, all that can be negative on the way, and the share of
the lane with the largest tσ (where e^{σt} ≥ 1, if it is not near 0) have a positive sum.

tσ less the largest is t times a difference of scores: σ itself is rounded where c is large.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from integraph.flow.exact.affine_steps import Step
from integraph.flow.exact.exponential import LOWEST, exponential, remainder
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.functions.normaliser import NOISE, SHARE
from integraph.gadgets.gadget import Gadget
from integraph.numbers.arrays import Floats
from integraph.numbers.jit import cached_njit
from integraph.program import Block

NEAR = 0.25  # |tσ| up to which twelve terms of (e^v − 1)/v are exact to rounding
LARGE = 1e280  # what is divided by N > NOISE stays finite below


@njit(inline="always")
def _fall(x: float) -> float:
    """e^x for x ≤ 0; 0 where that is not a normal number."""
    _, e = exponential(x)
    return e if x >= LOWEST else 0.0


@njit(inline="always")
def _expm1c(v: float) -> float:
    """(e^v − 1)/v for |v| ≤ NEAR."""
    return remainder(v) * v + 1.0


@njit(inline="always")
def _alive(n: int, total: float, loss: float, least: float, top: float, change: float) -> bool:
    """Whether N stays positive; `change` is t(m − Σu), `loss` what the near summands take away."""
    low = 1.0 - total + loss + min(change, 0.0) + (least if top > NEAR else 0.0)
    return low > n * NOISE and least > 0.0 and total <= SHARE and top <= LARGE and abs(change) <= LARGE


@njit(inline="always")
def _odd(x: float, a: float, u: float) -> bool:
    """A lane at tσ − top = x that outgrows the others, unless it holds nothing, or that is too large."""
    inside = abs(a) <= LARGE and abs(u) <= LARGE
    return not (inside and (x <= 0.0 or (x > 0.0 and a == 0.0 and u == 0.0)))


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def softmax_one(a: Floats, u: Floats, m: Floats, s: Floats, c: Floats, t: float, rest: bool) -> int:
    """Advance rows of softmax for one input in place: a, u and s are (rows, n), m and c (rows,).

    u and m end only if `rest`. Returns how many rows were done: it stops before a doubtful one and leaves that alone.
    """
    n, rows = s.shape[1], int(s.shape[0])
    share, part, v = np.empty(n), np.empty(n), np.empty(n)
    for row in range(rows):
        odd = 0
        for j in range(n):
            sigma = s[row, j] + c[row]
            v[j] = t * sigma
            near = abs(v[j]) <= NEAR
            share[j] = 0.0 if near or u[row, j] == 0.0 else u[row, j] / sigma
            part[j] = t * u[row, j] * _expm1c(v[j]) if near else 0.0
        top, high, least, total, loss, near_total, sum_u = 0.0, 0.0, np.inf, 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            total += share[j]
            near_total += part[j]
            loss += min(part[j], 0.0)
            sum_u += u[row, j]
            least = min(least, np.inf if share[j] == 0.0 else share[j])
            if v[j] > top and (share[j] != 0.0 or v[j] <= NEAR):
                top, high = v[j], s[row, j]
        slope = m[row] - sum_u
        if not _alive(n, total, loss, least, top, t * slope):
            return row
        for j in range(n):
            x = t * (s[row, j] - high) if top > 0.0 else v[j]
            odd |= _odd(x, a[row, j], u[row, j])
            v[j] = _fall(min(x, 0.0))
        if odd:
            return row
        scale, grown, sum_grown = _fall(-top), 0.0, 0.0
        for j in range(n):
            grown += share[j] * v[j]
            sum_grown += u[row, j] * v[j]
        inverse = 1.0 / ((1.0 - total + near_total + t * slope) * scale + grown)
        for j in range(n):
            a[row, j] *= v[j] * inverse
        if rest:
            m[row] = (slope * scale + sum_grown) * inverse
            for j in range(n):
                u[row, j] *= v[j] * inverse
    return rows


@cached_njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def softmax_many(a: Floats, u: Floats, m: Floats, s: Floats, c: Floats, t: float, rest: bool) -> int:
    """The same for many inputs, side by side: a, u and s are (rows, n, inputs), m and c (rows, inputs).

    Several loops: LLVM gives up where too many arrays might overlap.
    """
    n, inputs, rows = s.shape[1], s.shape[2], int(s.shape[0])
    share, part, v, sums = np.empty((n, inputs)), np.empty(inputs), np.empty((n, inputs)), np.empty((9, inputs))
    top, least, total, loss, near_total, sum_u = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    grown, sum_grown, high = sums[6], sums[7], sums[8]
    for row in range(rows):
        odd = 0
        sums[:] = 0.0
        least[:] = np.inf
        for j in range(n):
            for i in range(inputs):
                sigma = s[row, j, i] + c[row, i]
                v[j, i] = t * sigma
                near = abs(v[j, i]) <= NEAR
                share[j, i] = 0.0 if near or u[row, j, i] == 0.0 else u[row, j, i] / sigma
            for i in range(inputs):
                part[i] = t * u[row, j, i] * _expm1c(v[j, i]) if abs(v[j, i]) <= NEAR else 0.0
            for i in range(inputs):
                near_total[i] += part[i]
                loss[i] += min(part[i], 0.0)
                sum_u[i] += u[row, j, i]
            for i in range(inputs):
                total[i] += share[j, i]
                least[i] = min(least[i], np.inf if share[j, i] == 0.0 else share[j, i])
            for i in range(inputs):
                higher = v[j, i] > top[i] and (share[j, i] != 0.0 or v[j, i] <= NEAR)
                high[i] = s[row, j, i] if higher else high[i]
                top[i] = v[j, i] if higher else top[i]
        for i in range(inputs):
            odd |= not _alive(n, total[i], loss[i], least[i], top[i], t * (m[row, i] - sum_u[i]))
        for j in range(n):
            for i in range(inputs):
                x = t * (s[row, j, i] - high[i]) if top[i] > 0.0 else v[j, i]
                odd |= _odd(x, a[row, j, i], u[row, j, i])
                v[j, i] = _fall(min(x, 0.0))
            for i in range(inputs):
                grown[i] += share[j, i] * v[j, i]
            if rest:
                for i in range(inputs):
                    sum_grown[i] += u[row, j, i] * v[j, i]
        if odd:
            return row
        for i in range(inputs):
            slope, scale = m[row, i] - sum_u[i], _fall(-top[i])
            grown[i] = 1.0 / ((1.0 - total[i] + near_total[i] + t * slope) * scale + grown[i])
            sum_grown[i] = (slope * scale + sum_grown[i]) * grown[i]
        for j in range(n):
            for i in range(inputs):
                a[row, j, i] *= v[j, i] * grown[i]
            if rest:
                for i in range(inputs):
                    u[row, j, i] *= v[j, i] * grown[i]
        if rest:
            for i in range(inputs):  # not m[row] = …, which numba compiles for seconds
                m[row, i] = sum_grown[i]
    return rows


def softmax_step(block: Block, states: Floats, t: float, live: tuple[bool, ...]) -> Step:
    """Rows that are clearly alive by a compiled loop, the others by the closed form. c is a number, a tensor, or
    registers."""
    op, refs = block.op, block.refs()
    assert isinstance(op, Gadget)
    n, inputs, rest = refs[0].shape[-1], states.shape[1], live[1] or live[2]
    a, u, s = (refs[role].of(states).reshape(-1, n, inputs) for role in (0, 1, 3))
    m = refs[2].of(states).reshape(-1, inputs)
    if len(block.operands) == 2:
        c = refs[4].of(states).reshape(m.shape)
    else:
        given = np.broadcast_to(block.tensors.get("c", np.zeros(())), refs[2].shape)
        c = np.repeat(given.reshape(-1, 1), inputs, 1)
    run, kernel = (a, u, m, s, c), softmax_many
    if inputs == 1:
        run, kernel = (a[..., 0], u[..., 0], m[..., 0], s[..., 0], c[..., 0]), softmax_one

    def step() -> bool:
        done = kernel(*run, t, rest)
        if done == len(m):
            return True
        start, operands = (a[done:], u[done:], m[done:]), (s[done:], c[done:])
        closed = op.closed(FLOAT, t, start, operands, {"c": c[done:]})
        for target, end in zip(start, closed.ends, strict=True):
            target[...] = end
        alive = closed.alive["m"]
        return bool(((alive > 0) & (alive < np.inf)).all()) and all(bool(np.isfinite(end).all()) for end in closed.ends)

    return step
