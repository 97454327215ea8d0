"""Softmax, its logarithm, and ln Σ exp, from a start that is slightly off.

With σ = s + c, a(1) = a₀e^σ/N, u(1) = u₀e^σ/N and m(1) = (m₀ − Σu₀ + Σu₀e^σ)/N, N = 1 + m₀ − Σu₀ + Σu₀(e^σ − 1)/σ. The
right start is a₀ = h, u₀ = σh, m₀ = Σu₀ with Σh = 1, and then N = Σ h e^σ. From the actual one, with η = |u₀ − σh| for
the actual σ, N changes by the factor 1 + κ at most,

    κ = (ρ_m + Σρ_u)/N + Σ η (e^σ − 1)/(σN)

so that a is off by (aκ + ρ_a e^σ/N)/(1 − κ) from the softmax of the actual σ. This is off from the right one by at most
a(e^(δ_i + max δ) − 1), and by (1 − a)(e^(2 max δ) − 1). With A = h_i and B = Σ_{j≠i} h_j e^σ_j at the lowest σ_j:

    e^σ/N ≤ 1/(A + B e^−σ) at the highest σ
    (e^σ − 1)/(σN) ≤ e^σ/N · (1 − e^−σ)/σ for σ ≥ 0, and ≤ (e^σ − 1)/σ/(A e^σ + B) for σ ≤ 0

and, since (e^σ − 1)/σ ≤ 1 + e^σ and Σ h e^σ = N, Σ η (e^σ − 1)/(σN) ≤ (1 + 1/N) max η/h over those with h > 0.
N is at least e^Σhσ = e^m₀ too, and there e^−δ is all that the actual σ can change. Where c is a register, a c that is
wrong changes σ in all of a row alike: that is no change of the softmax, only of what u and m should have started at.
If starts["h"] is given, an entry that takes no part has the score of one that does, so that e^σ/N ≤ e^(δ + max δ)/h.
If u and c = −Σhs were computed from the actual s, η and |Σhσ| are what that lost: off["eta"] and off["skew"].

Its logarithm has the same u, m and N: y(1) = y₀ + σ − ln N is off by ρ_y + κ/(1 − κ) from that of the actual σ, which a
c that is wrong does not change, and which is off from the right one by δ_i + max δ at most.

ln Σ exp has them too: l(1) = l₀ + ln N is off by κ/(1 − κ) from that of the actual σ, which moves by as much
as c, and by max δ at most. If l₀ = ln n − c was computed from the actual s too, c cancels but for what both lost:
off["begin"] and off["skew"].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from integraph.bounds.perturbation.activation_errors import over
from integraph.bounds.perturbation.case import PerturbedEnd, PerturbedStart, point, times
from integraph.bounds.ranges.interval_functions import logsumexp, others
from integraph.bounds.ranges.interval_functions import softmax as softmax_range
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, add, mul, sub
from integraph.numbers.roundoff import UP, U

LOST = -1e-12  # others() from below


class ScoreRows(NamedTuple):
    """What softmax and ln Σ exp have in common; `largest` is max δ of each row, κ has an axis of lanes, of length 1."""

    kappa: Floats
    largest: Floats
    alike: Floats  # by how much c is wrong
    skew: Floats
    most: Floats
    right: Interval  # of a
    held: Floats  # the largest a for the actual scores
    moved: Floats  # what these change a by
    sigma: Interval
    u: PerturbedEnd
    m: PerturbedEnd


def softmax(case: PerturbedStart) -> dict[str, PerturbedEnd]:
    """The right start of a holds h: 1/n for the n entries of a row that take part, 0 for the others. With a tensor c it
    is rounded, and does not sum up to 1; with a register c it is what it should be, and `off` knows of the rounding."""
    row = _rows(case, case.starts.get("h", case.starts["a"]).high)
    a = over(times(row.held, row.kappa) + times(row.most, case.off["a"]), row.kappa) + row.moved
    return {"a": case.end("a", row.right, a), "u": row.u, "m": row.m}


def log_softmax(case: PerturbedStart) -> dict[str, PerturbedEnd]:
    """starts["h"] holds h, which is in no register."""
    h = case.starts["h"].high
    row = _rows(case, h)
    grown = _log_n(row, h)
    right = add(case.starts["y"], sub(row.sigma, Interval(grown.low[..., None], grown.high[..., None])))
    off = case.off["y"] + case.off["s"] + row.largest + over(row.kappa, row.kappa)
    return {"y": case.end("y", right, off), "u": row.u, "m": row.m}


def log_sum_exp(case: PerturbedStart) -> dict[str, PerturbedEnd]:
    """starts["h"] holds h, which is in no register."""
    h, rho = case.starts["h"].high, case.off
    row = _rows(case, h)
    grown = _log_n(row, h)
    start = rho["begin"] + row.skew if "begin" in rho else rho["l"] + row.alike[..., 0]
    kappa = row.kappa[..., 0]
    off = start + row.largest[..., 0] + over(kappa, kappa)
    return {"l": case.end("l", add(case.starts["l"], grown), off), "u": row.u, "m": row.m}


def _log_n(row: ScoreRows, h: Floats) -> Interval:
    """ln N from the right start."""
    weight = np.log(h)
    return logsumexp(Interval(row.sigma.low + weight, row.sigma.high + weight), h > 0)


def _rows(case: PerturbedStart, h: Floats) -> ScoreRows:
    rho, s = case.off, case.starts["s"]
    taking, delta, alike = h > 0, rho["s"], np.zeros(1)
    sigma, rounded = s, 2.0 * h.shape[-1] * U
    if "c" in case.tensors:
        sigma = add(s, point(np.asarray(case.tensors["c"])[..., None]))
    elif "c" in case.starts:
        c = case.starts["c"]
        sigma, alike, rounded = add(s, Interval(c.low[..., None], c.high[..., None])), rho["c"][..., None], 0.0
    actual = sigma.widened(UP * (delta + alike))
    right, held = case.right("a", softmax_range(s, taking)), softmax_range(s.widened(UP * delta), taking).high
    largest = delta.max(-1, keepdims=True, where=taking, initial=0.0)
    moved = np.minimum(times(right.high, np.expm1(delta + largest)), times(1.0 - right.low, np.expm1(2.0 * largest)))
    moved = np.minimum(moved, 1.0)
    skew = rho.get("skew", (largest + alike)[..., 0])
    mean = case.starts["m"].low - UP * skew if "m" in case.starts else np.array(-np.inf)
    reach = np.array(np.inf)
    if "h" in case.starts:
        reach = np.where(taking, np.inf, UP * np.exp(delta + largest) / h.max(-1, keepdims=True))
    most, ratio, least = _ratios(actual, h, taking, mean, reach)
    eta = rho["eta"] if "eta" in rho else rho["u"] + times(h, delta + alike)
    apart = rho["eta"].sum(-1) + skew if "eta" in rho else rho["u"].sum(-1)
    start = times(1.0 / least, rho["m"] + apart + rounded)
    kappa = (start + _grown(eta, h, ratio, least))[..., None]
    size, shift = actual.size, times(actual.size, moved)
    u = over(times(size, times(held, kappa)) + times(most, eta), kappa) + shift + times(right.high, delta + alike)
    low = sigma.low.min(-1, where=taking, initial=np.inf)
    span = Interval(low, sigma.high.max(-1, where=taking, initial=-np.inf))
    far = size.max(-1, where=taking, initial=0.0)
    m = over(times(far, kappa[..., 0]) + start + times(most, eta).sum(-1), kappa[..., 0])
    m = m + np.where(taking, shift, 0.0).sum(-1) + (largest + alike)[..., 0]
    ends = case.end("u", mul(sigma, right), u), case.end("m", span, m)
    return ScoreRows(kappa, largest, alike, skew, most, right, held, moved, sigma, *ends)


def _ratios(sigma: Interval, h: Floats, taking: Any, mean: Floats, reach: Floats) -> tuple[Floats, Floats, Floats]:
    """The largest e^σ/N and (e^σ − 1)/(σN) of each entry, the smallest N of each row. `mean` is that of σ, at least;
    `reach` is what e^σ/N is at most, for another reason."""
    y = sigma.low + np.log(h)
    most = np.minimum(UP / (h + others(y, sigma.high, taking, LOST)), reach)
    below = h * np.exp(sigma.low) + others(y, np.zeros_like(y), taking, LOST)
    positive = np.where(sigma.high >= 0, _phi(np.maximum(sigma.low, 0.0)) * most, 0.0)
    least = np.maximum(np.exp(y).sum(-1), np.exp(mean)) / UP
    slow = UP * _phi(np.maximum(-sigma.high, 0.0))
    negative = np.where(sigma.low < 0, np.minimum(slow / below, slow / least[..., None]), 0.0)
    return most, np.maximum(positive, negative), least


def _grown(eta: Floats, h: Floats, ratio: Floats, least: Floats) -> Floats:
    """Σ η (e^σ − 1)/(σN): each at its largest, or all together."""
    each = times(ratio, eta)
    alone = each.sum(-1, where=h > 0)
    together = np.divide(eta, h, out=np.zeros(eta.shape), where=h > 0).max(-1) * (1.0 + 1.0 / least)
    growth: Floats = np.where(together < alone, UP * together, alone) + each.sum(-1, where=h == 0)
    return growth


def _phi(x: Floats) -> Floats:
    """(1 − e^−x)/x for x ≥ 0, rounded up; it falls."""
    small = x < 1e-13
    return np.where(small, 1.0, UP * -np.expm1(-x) / np.where(small, 1.0, x))
