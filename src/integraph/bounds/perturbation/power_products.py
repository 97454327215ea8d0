"""Logarithms, powers and fused products from a start that is slightly off.

A base ξ = 1 + p that is off by ρ changes ln ξ by at most −ln(1 − ρ/ξ), and 1 − 1/ξ, which is what p becomes, by
ρ/(ξ(ξ − ρ)). What grows by e^ℓ with ℓ off by d then ends at e^d·(right end) + e^d e^ℓ·(what its start is off), so that

    |Δz| ≤ |z(1)|(e^d − 1) + e^(d + ℓ) ρ_z

Turned by an angle that is off by δ as well, Δu = u(1)(e^d cos δ − 1) + e^d v(1) sin δ and the turned start's error.
x^y runs on q = y p: ℓ = q L(p), L(p) = ln(1 + p)/p, which falls, |L'| ≤ 1/(1 + p) for p < 0 and half of that for p ≥ 0;
|p L'| ≤ |p|/(1 + p) for p < 0 and < 0.2163 for p ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.bounds.perturbation.case import PerturbedEnd, PerturbedStart, point, times
from integraph.bounds.ranges.interval_functions import FUNCTIONS, rising
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, add, intersection, mul, power, sub, total
from integraph.numbers.roundoff import UP

Ends = dict[str, PerturbedEnd]
FLAT = 0.2163  # > sup of −p L'(p) for p ≥ 0

inverted = rising(lambda p: p / (1.0 + p), (-1.0, math.inf), most=1.0)  # 1 − 1/ξ


def _base(case: PerturbedStart) -> tuple[Floats, Floats]:
    """The smallest right ξ, and ρ/ξ, at least 1 where the actual one may be no longer positive."""
    low = np.maximum(1.0 + case.starts["p"].low, 0.0)
    share = np.where(case.off["p"] == 0, np.where(low > 0, 0.0, 1.0), UP * case.off["p"] / low)
    return low, np.minimum(share, UP * case.off["share"]) if "share" in case.off else share


def _p(case: PerturbedStart) -> PerturbedEnd:
    low, share = _base(case)
    return case.end("p", inverted(case.starts["p"]), _over(share / low, share))


def _over(size: Floats, share: Floats) -> Floats:
    return np.where(share < 1, size / np.maximum(1.0 - share, 1e-300), np.inf)


def _log(share: Floats) -> Floats:
    """How far ln ξ is off."""
    return np.where(share < 1, -np.log1p(-np.minimum(share, 1.0)), np.inf)


def ln(case: PerturbedStart) -> Ends:
    right = add(case.starts["z"], FUNCTIONS["log1p"](case.starts["p"]))
    return {"p": _p(case), "z": case.end("z", right, case.off["z"] + _log(_base(case)[1]))}


def _form(case: PerturbedStart, weights: str, role: str, bias: str) -> tuple[Interval, Floats]:
    """Σ w x + b, and how far it is off."""
    x, b = case.starts[role], np.asarray(case.tensors.get(bias, 0.0))
    if weights not in case.tensors or not x.low.shape[-1]:
        lanes = Interval(np.zeros(x.low.shape[:-1]), np.zeros(x.low.shape[:-1]))
        lost = np.zeros(x.low.shape[:-1]) + case.lost * np.abs(b)
        return add(lanes, point(b)).widened(lost), lost
    w = np.asarray(case.tensors[weights])
    lost = case.lost * (times(np.abs(w), x.size).sum(-1) + np.abs(b))
    off = (1.0 + case.lost) * times(np.abs(w), case.off[role]).sum(-1) + lost
    return add(total(mul(point(w), x), (-1,)), point(b)).widened(lost), off


def _growth(case: PerturbedStart) -> tuple[Interval, Floats]:
    """e^ℓ and d."""
    exponent, off = _form(case, "w", "x", "b")
    if "p" in case.starts:
        a = np.asarray(case.tensors["a"])
        logs = FUNCTIONS["log1p"](case.starts["p"])
        rows = Interval(logs.low[..., None, :], logs.high[..., None, :])
        lost = case.lost * times(np.abs(a), rows.size).sum(-1)
        exponent = add(exponent, total(mul(point(a), rows), (-1,))).widened(lost)
        off = off + (1.0 + case.lost) * times(np.abs(a), _log(_base(case)[1])[..., None, :]).sum(-1) + lost
    return FUNCTIONS["exp"](exponent), off


def _grows(case: PerturbedStart, grown: Interval, d: Floats) -> PerturbedEnd:
    """z, which grows by e^ℓ. Where z starts away from 0, a known end bounds e^ℓ too."""
    z = case.starts["z"]
    right = case.right("z", mul(z, grown))
    most = np.minimum(grown.high, np.where(z.distance > 0, right.size / z.distance, np.inf))
    off = times(right.size, np.expm1(d)) + times(most * np.exp(d), case.off["z"])
    return case.end("z", right, _unless_nothing(off, d, (z.size == 0) & (case.off["z"] == 0)))


def _unless_nothing(off: Floats, d: Floats, nothing: Floats) -> Floats:
    """Unbounded where d is, even if the right end is 0, as for a root of 0; but a start at exactly 0 stays 0."""
    return np.where(np.isfinite(d) | nothing, off, np.inf)


def powers(case: PerturbedStart) -> Ends:
    return {"p": _p(case), "z": _grows(case, *_growth(case))}


def monomial(case: PerturbedStart) -> Ends:
    exponent, off = _form(case, "w", "l", "b")
    return {"z": _grows(case, FUNCTIONS["exp"](exponent), off)}


def spiral(case: PerturbedStart) -> Ends:
    grown, d = _growth(case)
    angle, delta = _form(case, "c", "t", "d")
    sin, cos = FUNCTIONS["sin"](angle), FUNCTIONS["cos"](angle)
    u, v = case.starts["u"], case.starts["v"]
    norm = times(grown.high, UP * np.hypot(u.size, v.size))
    disc = Interval(-norm, norm)
    turned = {"u": add(mul(u, cos), mul(v, sin)), "v": sub(mul(v, cos), mul(u, sin))}
    right = {role: case.right(role, intersection(mul(grown, x), disc)) for role, x in turned.items()}
    start = times(grown.high * np.exp(d), np.hypot(case.off["u"], case.off["v"]))
    along = np.expm1(d) + np.exp(d) * np.minimum(0.5 * delta * delta, 2.0)
    across = np.exp(d) * np.minimum(delta, 1.0)
    nothing = (u.size == 0) & (v.size == 0) & (case.off["u"] == 0) & (case.off["v"] == 0)
    ends = {}
    for role, other in (("u", "v"), ("v", "u")):
        off = start + times(right[role].size, along) + times(right[other].size, across)
        ends[role] = case.end(role, right[role], _unless_nothing(off, d, nothing))
    return ends | ({"p": _p(case)} if "p" in case.starts else {})


def variable_power(case: PerturbedStart) -> Ends:
    """A start for the role y, the range of the exponent, makes the bound narrower: then |q| ≤ |y||p|."""
    q, rho = case.starts["q"], case.off
    low, share = _base(case)
    xi = np.maximum(low * (1.0 - share), 0.0)  # the smallest actual base
    bent = np.where(xi < 1, 1.0, 0.5) / xi
    flat = np.maximum((1.0 - xi) / xi, FLAT)
    y = case.starts["y"].size if "y" in case.starts else np.inf
    by_p = np.minimum(times(q.size, bent), y * (flat + rho["p"] * bent))
    d = times(_slowest(xi - 1.0), rho["q"]) + times(by_p, rho["p"])
    exponent = mul(q, Interval(_slowest(case.starts["p"].high) / UP**2, _slowest(low - 1.0)))
    right = mul(q, power(add(case.starts["p"], point(np.array(1.0))), Fraction(-1)))
    off = _over((rho["q"] + times(right.size, rho["p"])) / low, share)
    return {"p": _p(case), "q": case.end("q", right, off), "z": _grows(case, FUNCTIONS["exp"](exponent), d)}


def _slowest(p: Floats) -> Floats:
    """L(p), rounded up."""
    small = np.abs(p) < 1e-13
    return UP * np.where(small, 1.0, np.log1p(p) / np.where(small, 1.0, p))


WRONG: dict[str, Callable[[PerturbedStart], Ends]] = {
    "ln": ln,
    "variable_power": variable_power,
    "powers": powers,
    "monomial": monomial,
    "spiral": spiral,
    "power_spiral": spiral,
}
