"""Softmax, its logarithm and ln Σ exp as flows, on models: around the start that computes them.

With σ = s + c over n lanes, from u = σ/n + d, m = Σ u + g, the flow divides by N = S + tg + Σ d_j (e^{σ_j t} − 1)/σ_j,
where S = Σ e^{σ_j t}/n. A summand of d is at most |d_j t| (1 + e^{σ_j t}), and S ≥ L at all times up to t: by the mean
of a row, whose exponential is no larger, or by its largest lane. So Q = N/S is between 1 − κ and 1 + κ with κ =
|t| (|g| + nD)/L + n|t| D, D the largest |d_j|; where κ < 1, N > 0 all the way. Then a = n a₀ softmax(σt)/Q, u =
n u₀ softmax(σt)/Q, m = (Σ n u₀ softmax(σt) + g/S)/Q, and ln N = ln S + ln Q. What is left of an earlier content, d and
g, is small or 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from integraph.bounds.ranges import interval_functions
from integraph.certify.bounds.model_arrays import ModelArray, constant
from integraph.gadgets import Closed
from integraph.gadgets.functions.namespace import Arrays, Tensors
from integraph.gadgets.softmax import Softmax, spread
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval, interval
from integraph.numbers.models.elementary_functions import TRUST
from integraph.numbers.models.models import of_interval
from integraph.numbers.models.row_functions import ROWS
from integraph.numbers.roundoff import UP, U

MOST = 0.5  # κ beyond which the start is another one


@dataclass(frozen=True, slots=True, eq=False)
class ScoreModels:
    """Rows of scores: σt, what is left of g/S, and Q."""

    v: ModelArray
    rest: Interval
    q: Interval

    def row(self, name: str, shape: tuple[int, ...]) -> ModelArray:
        """A function of `ROWS`, within what intervals know of it."""
        lanes, cells = self.v.shape[:-1], self.v.rows.space.cells
        ends = Interval(*(end.T.reshape(cells, *lanes) for end in (self.v.known.low, self.v.known.high)))
        known = interval_functions.ROWS[name](ends, None)
        around = Interval(*(end.reshape(cells, -1).T for end in (known.low, known.high)))
        return ModelArray(ROWS[name](self.v.rows, lanes, None).within(around), shape)

    @property
    def alive(self) -> ModelArray:
        """Q, for each row."""
        return ModelArray(of_interval(self.v.rows.space, self.q), (*self.v.shape[:-2], 1))

    @property
    def log_q(self) -> ModelArray:
        with np.errstate(all="ignore"):
            ends = interval(np.log(self.q.low) * (1 + TRUST), np.log(self.q.high) * (1 + TRUST), self.q.low > 0)
        return ModelArray(of_interval(self.v.rows.space, ends), (*self.v.shape[:-2], 1))

    @property
    def over_q(self) -> Interval:
        """1/Q."""
        with np.errstate(all="ignore"):
            low, high = 1.0 / self.q.high, 1.0 / self.q.low
        exact = low == high
        return interval(np.where(exact, low, low / UP), np.where(exact, high, high * UP), self.q.low > 0)


def score_models(op: Softmax, t: arb, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed | None:
    """The end of the flow; None from a start that is far from the usual one."""
    first, u, m = start
    sigma = operands[0] + spread(op.shift(operands, tensors))
    scores = _scores(t, u, m, sigma)
    if scores is None:
        return None
    n = sigma.shape[-2]
    share = scores.row("softmax", u.shape)
    over = scores.over_q
    each = n * (u * share)
    left = ModelArray(of_interval(u.rows.space, scores.rest), m.shape)
    end = (each.sum(-2) + left).between(over)
    lanes = Interval(np.repeat(over.low, n, 0), np.repeat(over.high, n, 0))
    ends = (_first(op, first, scores, share, lanes), each.between(lanes), end)
    return Closed(ends, {"m": scores.alive})


def _first(op: Softmax, start: ModelArray, scores: ScoreModels, share: ModelArray, over: Interval) -> ModelArray:
    n = share.shape[-2]
    size = arb(n).log()
    if op.targets[0] == "a":
        return (n * (start * share)).between(over)
    if op.targets[0] == "y":
        lost: ModelArray = spread(scores.log_q)
        return start + scores.row("log_softmax", start.shape) + size - lost
    return start + scores.row("logsumexp", start.shape) - size + scores.log_q


@quiet
def _scores(t: arb, u: ModelArray, m: ModelArray, sigma: ModelArray) -> ScoreModels | None:
    n, v = sigma.shape[-2], t * sigma
    step = float(constant(abs(t))[1])
    d = u - sigma / n
    off = _rows(d.known.size, n).max(1)
    g = (m - u.sum(-2)).known.size
    ends = Interval(_rows(v.known.low, n), _rows(v.known.high, n))
    mean = (v / n).sum(-2).known.low
    least = np.maximum(_grown(mean), _grown(ends.low.max(1)) / n / UP)
    kappa = (step * (g + n * off) / least + n * step * off) * UP
    sure = np.isfinite(g) & np.isfinite(off) & np.isfinite(ends.size).all(1)
    if (sure & ~(kappa < MOST)).any():
        return None
    rest, width = g / least * UP, np.where(kappa > 0, kappa + 2 * U, kappa)
    return ScoreModels(v, interval(-rest, rest), interval(1.0 - width, 1.0 + width, sure))


def _rows(x: Floats, n: int) -> Floats:
    """(rows of lanes, n, cells)"""
    return x.reshape(-1, n, x.shape[-1])


def _grown(v: Floats) -> Floats:
    """At most e^{vs} for all s in [0, 1]."""
    least: Floats = np.exp(np.minimum(v, 0.0)) * (1 - TRUST)
    return least
