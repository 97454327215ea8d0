"""Theorem 2 for any network: choose rates and steepness so that the error bound is ε, then build.

Tight: the smallest rate, the same for all layers, at which the recursion of `budget.py` stays below ε.
Paper: the rates of `bounds/paper/theorem2.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from integraph.bounds.paper import theorem2
from integraph.constructions.decay_rate import DECAY_RATE, LARGEST_RATE, smallest
from integraph.constructions.graph.allocation import FREES
from integraph.constructions.theorem2 import narrow, wide
from integraph.constructions.theorem2.budget import Parts
from integraph.constructions.theorem2.network_plan import NetworkPlan, plan, steeper
from integraph.errors import UsageError
from integraph.numbers.arrays import real
from integraph.numbers.intervals import Interval
from integraph.program import Domain, Origin, Program
from integraph.program.box import interval
from integraph.program.origin import NETWORK, Option
from integraph.targets import Network

METHODS, BOUNDS = ("narrow", "wide"), ("tight", "paper")
LARGEST_STEEPNESS = 1e14  # k·x must leave room for rounding


def feedforward(
    network: Network,
    eps: float = 1e-6,
    *,
    method: str = "narrow",
    bound: str = "tight",
    free: str = "keep",
    box: ArrayLike | None = None,
) -> Program:
    """A program within `eps` of the network on the box, by its error budget."""
    for name, value, known in (("method", method, METHODS), ("bound", bound, BOUNDS), ("free", free, FREES)):
        if not isinstance(value, str) or value not in known:
            raise UsageError(f"needs {' or '.join(map(repr, known))}", argument=name, value=value)
    tolerance = real(eps, "eps")
    if isinstance(eps, bool) or not (math.isfinite(tolerance) and tolerance > 0):
        raise UsageError("the tolerance must be finite and > 0", argument="eps", value=eps)
    if bound == "paper" and method != "narrow":
        raise UsageError(
            "only method='narrow' takes a bound: 'wide' has no rates to choose", argument="bound", value=bound
        )
    if free != "keep" and method != "wide":
        raise UsageError("only method='wide' takes this: 'narrow' always decays", argument="free", value=free)
    cube = interval(box, network.inputs)
    options: dict[str, Option] = {"free": free} if method == "wide" else {"bound": bound}
    domain = Domain(cube.low, cube.high)
    origin = Origin(network.description, NETWORK, method, tolerance, options, box=domain)
    if method == "wide":
        return _wide(network, cube, tolerance, free).annotate(origin=origin)
    program = _paper(network, cube, tolerance) if bound == "paper" else _narrow(network, cube, tolerance)
    return program.annotate(origin=origin)


def _narrow(network: Network, box: Interval, eps: float) -> Program:
    chosen = _steep(network, box, eps, lambda p: narrow.error(p, _uniform(p, LARGEST_RATE)))
    r, parts = _smallest(lambda r: narrow.error(chosen, _uniform(chosen, r)), eps, chosen)
    return narrow.construct(chosen, _uniform(chosen, r), parts)


def _uniform(chosen: NetworkPlan, r: float) -> list[narrow.Rate]:
    return [(r, r)] * len(chosen.stretches)


def _smallest(error: Callable[[float], Parts], eps: float, chosen: NetworkPlan) -> tuple[float, Parts]:
    rate = smallest(error, eps)
    if rate is None:
        raise _unreachable(eps, error(LARGEST_RATE), chosen)
    return rate


def _steep(network: Network, box: Interval, eps: float, error: Callable[[NetworkPlan], Parts]) -> NetworkPlan:
    """The plan whose rectifiers are steep enough that their part of the budget is at most ε/2."""
    chosen, k = plan(network, box), 1.0
    while k <= LARGEST_STEEPNESS:
        k = _coarse(k)
        chosen = steeper(chosen, k)
        if not any(s.near.any() for s in chosen.stretches):
            return chosen  # no rectifier, or none that can switch
        steepness = error(chosen).approximation
        if steepness <= 0.5 * eps:
            return chosen
        k *= max(2.1 * steepness / eps, 1.1) if math.isfinite(steepness) else 16.0
    raise UsageError(
        f"its rectifiers would have to be steeper than k = {LARGEST_STEEPNESS:g}, which float64 cannot follow: ask for "
        "a larger eps or a smaller box",
        argument="eps",
        value=eps,
    )


def _coarse(k: float) -> float:
    """Rounded up to two digits, so that the last bit of a matrix product does not decide about the controls."""
    unit = 10.0 ** (math.floor(math.log10(k)) - 1)
    return math.ceil(k / unit) * unit


def _paper(network: Network, box: Interval, eps: float) -> Program:
    chosen = plan(network, box)
    other = [s for s in chosen.stretches if s.f.name != "tanh"]
    if other:
        kind = {"identity": "an affine map by itself"}.get(other[0].f.name, other[0].f.name)
        raise UsageError(
            f"layer {other[0].number} is {kind}, and the paper's bound is for tanh and sigmoid: use 'tight'",
            argument="bound",
        )
    weights = [*(abs(part).max() for s in chosen.stretches for part in (s.A, s.b)), 0.0]
    C = np.abs(chosen.readout.C)
    readout = (C.sum(1) if C.ndim == 2 else C) + 2 * np.abs(chosen.readout.b)  # the register that holds 1 is off by 2δ
    width = max([network.inputs, *(s.units for s in chosen.stretches)])
    rates = theorem2.rates(
        float(max(weights)), width, len(chosen.stretches), float(box.size.max()), float(readout.max()), eps
    )
    pairs = [(float(np.ceil(100 * rate.r1) / 100), float(np.ceil(100 * rate.r3) / 100)) for rate in rates]
    parts = narrow.error(chosen, pairs)
    if not parts.total <= eps:
        raise _unreachable(eps, parts, chosen)
    return narrow.construct(chosen, pairs, parts)


def _wide(network: Network, box: Interval, eps: float, free: str) -> Program:
    r = DECAY_RATE if free == "decay" else math.inf
    chosen = _steep(network, box, eps, lambda p: wide.error(p, r))
    parts = wide.error(chosen, math.inf)
    if not parts.total <= eps:
        raise _unreachable(eps, parts, chosen)
    if free == "decay":
        parts = wide.error(chosen, r)
        if not parts.total <= eps:
            r, parts = _smallest(lambda r: wide.error(chosen, r), eps, chosen)
    return wide.construct(chosen, r, free, parts)


def _unreachable(eps: float, budget: Parts, chosen: NetworkPlan) -> UsageError:
    k = max([0.0, *(float(s.steepness.max()) for s in chosen.stretches)])
    steep = f" (steepness k = {k:.2g}, times which rounding may not reach 1)" if k else ""
    return UsageError(
        f"this cannot be promised: rounding of the controls to float64 alone may cost {budget.rounding:.2g}, "
        f"rectifiers {budget.approximation:.2g}{steep}, what decay leaves {budget.residue:.2g}: ask for a larger eps "
        "or a smaller box",
        argument="eps",
        value=eps,
    )
