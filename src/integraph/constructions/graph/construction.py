"""Any graph as a program: exact, on registers that are kept, cleaned or left to decay, whichever needs the fewest."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from integraph.bounds.perturbation.activation_errors import RELU
from integraph.bounds.ranges.propagation import ranges
from integraph.constructions.decay_rate import DECAY_RATE, LARGEST_RATE
from integraph.constructions.graph.allocation import CLEAN, DECAY, FREES, KEEP
from integraph.constructions.graph.error_budget import bound, residue
from integraph.constructions.graph.layout import GraphLayout, layout, program
from integraph.constructions.graph.magnitude import magnitudes
from integraph.constructions.graph.rules import LoweredGraph, lower
from integraph.constructions.graph.sum_trees import balanced
from integraph.constructions.theorem2.budget import Parts
from integraph.errors import UsageError
from integraph.numbers.arrays import real
from integraph.numbers.intervals import Interval
from integraph.program import Budget, Domain, Origin, Program, origin
from integraph.program.box import interval
from integraph.program.origin import Option
from integraph.targets.graph import Graph

AUTO = "auto"
NOTHING = Parts(math.inf, math.inf, math.inf)  # is promised
BLIND = 120.0  # a rate where nothing bounds what is left: of 1e35, the most that is expected, e^−120 leaves 1e−17
SMALL = 2000  # registers, and runs, of a program that is promised something without being asked
EXACT = 1e-12  # what decay may leave behind where no tolerance is given
LARGEST_STEEPNESS = 1e14


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """The same graph on registers that are kept, cleaned and decayed."""

    name: str
    choices: tuple[GraphLayout, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: width against depth", f"{'free':<8}{'W':>10}{'D':>8}"]
        lines += [f"{one.free:<8}{one.width:>10,}{one.depth:>8,}" for one in self.choices]
        return "\n".join(lines)

    __repr__ = __str__


def layouts(graph: Graph, eps: float | None = None, *, box: ArrayLike | None = None) -> Layouts:
    """The layouts of a graph, one for each way to free registers."""
    lowered = _lowered(graph, interval(box, graph.inputs), tolerance(eps))
    return Layouts(graph.name, tuple(layout(lowered.tape, lowered.outputs, free) for free in FREES))


def exact(
    graph: Graph,
    eps: float | None = None,
    *,
    free: str = KEEP,
    box: ArrayLike | None = None,
    smoothed: bool = False,
) -> Program:
    """The program of a graph, within `eps` of it on the box. If the graph itself is `smoothed`, nothing is promised of
    what it was before. Without a tolerance nothing is smoothed, and of a
    small program what decay leaves is at most 1e-12, if that can be promised at all."""
    if not isinstance(free, str) or free not in (*FREES, AUTO):
        raise UsageError(f"needs {', '.join(map(repr, FREES))} or {AUTO!r}", argument="free", value=free)
    cube, eps = interval(box, graph.inputs), tolerance(eps)
    lowered = _lowered(graph, cube, eps)
    frees = FREES if free == AUTO and eps is not None else (KEEP, CLEAN) if free == AUTO else (free,)
    fitting = sorted((layout(lowered.tape, lowered.outputs, one) for one in frees), key=lambda one: one.width)
    for chosen in fitting:
        rate = _rate(chosen, lowered, cube, eps)
        if rate is not None:
            break
    else:
        raise UsageError(
            f"what decay leaves of {graph.name} may exceed that on the box: use free='keep' or 'clean', a "
            "smaller box or a larger eps; without eps nothing is promised",
            argument="eps",
            value=eps,
        )
    parts = bound(chosen, lowered, cube, rate) if _asked(chosen, eps) else NOTHING
    how = {KEEP: "", CLEAN: ", cleaned", DECAY: f" up to e^−{rate:g}"}[chosen.free]
    if eps is not None and not parts.total <= eps:
        raise UsageError(
            f"this cannot be promised: smoothing costs {parts.approximation:.2g}, what decay leaves "
            f"{parts.residue:.2g}, rounding of the controls to float64 {parts.rounding:.2g}: ask for a larger eps or a "
            "smaller box; without eps nothing is promised",
            argument="eps",
            value=eps,
        )
    known, domain = math.isfinite(parts.total) and not smoothed, Domain(cube.low, cube.high)
    smoothed = smoothed or bool(lowered.smoothed)
    return program(
        chosen,
        rate,
        f"{graph.name}, {'smoothed' if smoothed else 'exact'}{how}",
        budget=Budget(domain.low, domain.high, *parts) if known else None,
        domain=None if known else domain,
        origin=_origin(graph, eps, {"free": chosen.free} | ({"smoothed": True} if smoothed else {}), domain),
    )


def _origin(graph: Graph, eps: float | None, options: dict[str, Option], box: Domain) -> Origin:
    if graph.formula:
        return Origin(graph.formula, origin.FORMULA, origin.EXACT, eps, options, graph.variables, box)
    return Origin(graph.name, origin.GRAPH, origin.EXACT, eps, options, box=box)


def tolerance(eps: float | None) -> float | None:
    if eps is None:
        return None
    value = real(eps, "eps")
    if isinstance(eps, bool) or not (math.isfinite(value) and value > 0):
        raise UsageError("the tolerance must be finite and > 0", argument="eps", value=eps)
    return value


def _asked(chosen: GraphLayout, eps: float | None) -> bool:
    """Whether an error bound is worth its time: a large graph gets one only with a tolerance."""
    return eps is not None or max(chosen.width, len(chosen.tape.runs)) <= SMALL


def _lowered(graph: Graph, cube: Interval, eps: float | None) -> LoweredGraph:
    """With rectifiers so steep that they cost at most half of the tolerance."""
    graph = balanced(graph)
    known = ranges(graph, cube.low, cube.high)
    lowered, k = lower(graph, known, None if eps is None else RELU / eps), 1.0
    while eps is not None and lowered.smoothed:
        cost = bound(layout(lowered.tape, lowered.outputs, KEEP), lowered, cube, DECAY_RATE).approximation
        if cost <= 0.5 * eps:
            break
        k *= max(2.1 * cost / eps, 1.1) if math.isfinite(cost) else 16.0
        if RELU / eps * k > LARGEST_STEEPNESS:
            raise UsageError(
                f"{lowered.smoothed[0]} would have to be steeper than k = {LARGEST_STEEPNESS:g}, which float64 cannot "
                "follow: ask for a larger eps or a smaller box",
                argument="eps",
                value=eps,
            )
        lowered = lower(graph, known, RELU / eps * k)
    return lowered


def _rate(chosen: GraphLayout, lowered: LoweredGraph, cube: Interval, eps: float | None) -> float | None:
    """A rate of decay, from 40 on, that leaves at most half of the tolerance. Where there is none, nothing is promised
    without a tolerance, and the rate is one for large registers; with a tolerance there is no rate."""
    if chosen.free != DECAY:
        return DECAY_RATE
    if not _asked(chosen, eps):
        return _faster(chosen, DECAY_RATE, EXACT)
    r, most = DECAY_RATE, 0.5 * (EXACT if eps is None else eps)
    while True:
        left = residue(chosen, lowered, cube, r)
        if left <= most:
            return r
        if r >= LARGEST_RATE:
            return _faster(chosen, BLIND, math.exp(-DECAY_RATE)) if eps is None else None
        r = min(math.ceil(r + 1.0 + math.log(left) - math.log(most)) if math.isfinite(left) else 2.0 * r, LARGEST_RATE)


def _faster(chosen: GraphLayout, r: float, least: float) -> float:
    """At least r, and so that of registers whose range is known no more than `least` stays."""
    end = magnitudes(chosen.tape).end
    sizes = (end.get(lot.atoms[-1], math.inf) for lot in chosen.allocation.lots if lot.freed)
    known = max((size for size in sizes if math.isfinite(size)), default=0.0)
    return min(max(r, math.ceil(math.log(known) - math.log(least))), LARGEST_RATE) if known else r
