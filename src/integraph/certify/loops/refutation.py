"""A start that fails: simulations in float64 say where to look, a rigorous one from that start alone refutes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from integraph.certify.loops.loop import Loop
from integraph.certify.loops.simulation import ROUGH, simulated
from integraph.certify.loops.spec import Answer, Specification, When
from integraph.certify.loops.tube import Tube, tube
from integraph.numbers.arrays import Floats
from integraph.numbers.low_discrepancy import kronecker

STARTS = 200  # simulated to look for one that fails
FEW = 20  # simulated to see whether there is anything to prove
CORNERS = 6  # sides of the start set, and disturbances, of which all combinations of ends are tried
SUSPECTS = 5  # starts, the worst ones, that are simulated rigorously


@dataclass(frozen=True, slots=True, eq=False)
class Refutation:
    """The tube of a start that fails, with constant disturbances; with any if there are none of these."""

    tube: Tube
    disturbance: Floats | None = None


def refutation(loop: Loop, spec: Specification, low: Floats, high: Floats) -> Refutation | None:
    """A start that fails, if simulation comes across one: disturbances stay in their middle, or at their ends."""
    starts, variants = _starts(low, high, STARTS), _variants(loop)
    distances = np.concatenate([_distances(spec, simulated(variant, starts, ROUGH)) for variant in variants])
    for place in np.argsort(distances)[:SUSPECTS]:
        if not distances[place] < 0:
            break
        variant, start = variants[place // len(starts)], starts[place % len(starts)]
        point = tube(variant, start, start, spec)
        if point.answer is Answer.REFUTED:
            return Refutation(point, None if variant.disturbance is None else variant.disturbance.low)
    return None


def hopeless(loop: Loop, spec: Specification, low: Floats, high: Floats) -> bool:
    """Whether no start can meet it, as far as simulation shows: a clause is about the last period, and every trajectory
    ends before."""
    if all(clause.when is When.BY for clause in spec.clauses):
        return False
    return bool(np.isnan(simulated(loop, _starts(low, high, FEW), ROUGH)[-1]).any(1).all())


def _starts(low: Floats, high: Floats, count: int) -> Floats:
    """Corners, and so many starts inside."""
    inside = low + (high - low) * kronecker(count, len(low))
    corners = low + (high - low) * (np.arange(2 ** min(len(low), CORNERS))[:, None] >> np.arange(len(low)) & 1)
    starts: Floats = np.clip(np.concatenate([corners, inside]), low, high)
    return starts


def _variants(loop: Loop) -> list[Loop]:
    """The loop with each of the constant disturbances that are tried."""
    w = loop.disturbance
    if w is None:
        return [loop]
    sides = zip(w.low.tolist(), w.high.tolist(), w.middle.tolist(), strict=True)
    ends = [(low, high) if n < CORNERS else (middle,) for n, (low, high, middle) in enumerate(sides)]
    return [loop.held(values) for values in (w.middle, *map(np.array, product(*ends)))]


def _distances(spec: Specification, states: Floats) -> Floats:
    """How far each trajectory is from failing at a sampling time, negative where it fails."""
    least = np.full(states.shape[1], np.inf)
    for clause, holds in zip(spec.clauses, spec.margins(states), strict=True):
        if clause.when is When.END:
            own = holds[-1]
        else:
            own = holds[: clause.last + 1].max(0) if clause.when is When.BY else holds[clause.first :].min(0)
        least = np.fmin(least, own)
    return least
