"""How far a validated Taylor step reaches: the majorant v' = β + av + qv², v(0) = 0, of w = y − y₀.

In the norm max |w_i|/s_i, with β ≥ |F|, a ≥ |J| and q ≥ |Q| at y₀, the Taylor coefficients of w are at most those of v,
whatever the scales s > 0. If v ≤ V up to time R, they are at most V/R^n. From 0, v needs at least
Σ (v_{k+1} − v_k)/(β + a v_{k+1} + q v_{k+1}²) to reach V: no closed form, no case distinction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from integraph.numbers.arrays import Floats, Indices

UP = 1 + 1e-9  # more than the roundings of a sum of a million terms
LADDER = 1.2 ** np.arange(-20.0, 220.0)
LEAST = 1e-250  # below that a rate of change is taken for as much
ROUNDS = 8
CHANGE = 1 / 16  # of the Jacobian during a step, times its length


class Speeds(Protocol):
    """What is known of a system at a state."""

    def rates(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Row by row at least |F|/s, |J|s/s and |Q|(s, s)/s."""
        ...

    def own(self, s: Floats) -> Floats:
        """The part of the rates that does not fall if a register's own scale is larger."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """|F|, |J| and |Q| of a system at a state, rounded up, entry by entry."""

    slope: Floats
    row: Indices
    column: Indices
    entry: Floats
    quadratic_row: Indices
    left: Indices
    right: Indices
    quadratic: Floats

    def rates(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        n = len(s)
        linear = np.bincount(self.row, self.entry * s[self.column], n)
        bent = np.bincount(self.quadratic_row, self.quadratic * s[self.left] * s[self.right], n)
        return self.slope / s * UP, linear / s * UP, bent / s * UP

    def own(self, s: Floats) -> Floats:
        n, self_row = len(s), self.row == self.column
        left, right = self.quadratic_row == self.left, self.quadratic_row == self.right
        factor = np.where(left, s[self.right], s[self.left]) * self.quadratic * (left | right)
        linear: Floats = np.bincount(self.row, self.entry * self_row, n).astype(np.float64)
        return linear + np.bincount(self.quadratic_row, factor, n)


def balanced(speeds: Speeds, s: Floats) -> Floats:
    """Scales in which the fastest register is slower, and of such scales small ones: tails and tubes grow with them."""
    best, least = s, math.inf
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS):
            parts = speeds.rates(s)
            middle = math.sqrt(max(parts[0].max(), LEAST) / max(parts[2].max(), LEAST))
            s = s * min(max(middle, 0.1), 10.0)  # where the constant and the quadratic rates agree
            speed = np.sum(speeds.rates(s), 0)
            if not speed.max() < least:
                break
            best, least = s, speed.max()
            s = s * np.maximum(speed / least, 0.1)
        for _ in range(ROUNDS):
            own = speeds.own(best)
            driven = (np.sum(speeds.rates(best), 0) / UP - own) * best  # what falls with a larger scale
            slim = driven / (2 * least - own)
            best = np.where((slim > 0) & (slim < best), slim, best)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Majorant:
    """`size[k]` is not reached before `time[k]`; up to number `steady`, J changes little on the way."""

    size: Floats
    time: Floats
    steady: int

    def best(self, order: int, goal: float) -> tuple[float, int]:
        """The longest step whose tail is about 2^goal in the norm, and the entry that proves it."""
        steps = self.time * np.exp2(np.minimum((goal - np.log2(self.size)) / (order + 1), -0.1))
        k = int(np.argmax(steps))
        return min(float(steps[k]), float(self.time[self.steady])), k

    def reach(self, h: float) -> float:
        """v(h), or more."""
        return float(self.size[np.searchsorted(self.time, h)])


def majorant(speeds: Speeds, s: Floats, duration: float, rough: bool) -> Majorant | None:
    """None where a size is not finite. Where coefficients are rough, v must not grow much during a step."""
    with np.errstate(all="ignore"):
        beta, a, q = (float(np.max(part)) for part in speeds.rates(s))
        v = beta / max(a + math.sqrt(beta * q), 1 / duration) * LADDER
        time = np.cumsum(np.diff(v, prepend=0.0) / (beta + v * (a + q * v))) / UP
    if not (np.isfinite(v).all() and np.isfinite(time).all() and v[0] > 0 and time[0] > 0):
        return None
    steady = max(int(np.searchsorted((2 * q * v + rough * a / 8) * time, CHANGE)) - 1, 0)
    return Majorant(v, time, steady)
