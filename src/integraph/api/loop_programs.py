"""A closed loop as one program: the controller compiled, the plant lifted, a period after the other.

The controller's inputs and the states go through exact segments of a graph; inputs are registers that stand still while
the plant flows. So a loop is saved, run by every engine, and written for other tools, as any program is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.constructions.graph.construction import exact
from integraph.constructions.lifting.construction import lift
from integraph.errors import UsageError
from integraph.numbers.arrays import whole
from integraph.program import Domain, Program
from integraph.program.composition import in_place
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.expression import Expression
from integraph.targets.graph import Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.graph_conversion import inlined, network_graph, to_graph
from integraph.targets.network import Network

if TYPE_CHECKING:
    from integraph.certify.loops.controller import Controller, Law
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.result import LoopResult
    from integraph.numbers.arrays import Floats

MARGIN = 0.25  # of the width of a proved tube, on either side: where the period is compiled


def loop_program(result: LoopResult, periods: int | None = None, *, eps: float | None = None) -> Program:
    """The map of the states over all periods of a loop, or over so many, as one quadratic neural ODE.

    `result` is what `loop` gave; its tube says how far states go. A controller with kinks (relu, limits) is smoothed
    within `eps`. Save it, run it, or write it for another tool:
    `integraph.loop_program(result).export("loop.cora.m")`.
    """
    from integraph.certify.loops.result import LoopResult

    if not isinstance(result, LoopResult):
        raise UsageError(
            f"give what integraph.loop gave, whose tube says how far states go, not a {type(result).__name__}",
            argument="result",
        )
    loop = result.loop
    if loop.disturbance is not None:
        raise UsageError(
            f"a program has no disturbances, and this loop has {', '.join(loop.disturbance.names)}: make it constants "
            "in intervals, by parameters=",
            argument="result",
        )
    if periods is not None:
        whole("periods", periods, 1, loop.steps)
    boxes = result.boxes()
    ends = np.stack([boxes[..., 0].min(0), boxes[..., 1].max(0)], 1)
    reach = ends + MARGIN * np.ptp(ends, axis=1)[:, None] * (-1.0, 1.0)
    program = _sampled(loop, reach, eps).then(_plant(loop, reach, _inputs(loop, boxes)))
    cells = result.proved + result.open or (result.failure,)
    low, high = (f([getattr(cell, end) for cell in cells], 0) for end, f in (("low", np.min), ("high", np.max)))
    return in_place(program).repeat(periods or loop.steps).annotate(domain=Domain(low, high))


def _sampled(loop: Loop, reach: Floats, eps: float | None) -> Program:
    """x → (x, u): what a period begins with."""
    from integraph.certify.loops.controller import ControllerGroup

    build = Builder("a controller")
    x = build.input("x", (len(loop.states),))
    acts = loop.controller
    parts = acts.parts if isinstance(acts, ControllerGroup) else (acts,)
    return exact(build.graph([x, *(_drawn(build, part, x) for part in parts)]), eps, box=reach)


def _drawn(build: Builder, part: Controller, x: int) -> int:
    """The inputs of one controller, from the states."""
    seen = x if part.readings is None else inlined(build, to_graph(part.readings, "what a controller sees"), x)
    u = inlined(build, _graph(part.source), seen)
    if part.offset.any():
        u = build.apply("sub", u, build.constant(part.offset))
    if (part.scale != 1.0).any():
        u = build.apply("mul", u, build.constant(part.scale))
    if part.limits is None:
        return u
    u = build.apply("max", u, build.constant(part.limits.low))
    return build.apply("min", u, build.constant(part.limits.high))


def _graph(law: Law) -> Graph:
    if isinstance(law, Program):
        raise UsageError(
            "a controller that is a program already cannot become part of another: give what it was compiled from",
            argument="controller",
        )
    if isinstance(law, Expression):
        return to_graph(law, "a controller")
    return network_graph(law) if isinstance(law, Network) else law


def _inputs(loop: Loop, boxes: Floats) -> Floats:
    """How large inputs become, by a sample of the tube, and a margin."""
    rng = np.random.default_rng(0)
    share = rng.uniform(size=(16, *boxes.shape[:2]))
    u = loop.controller((boxes[..., 0] + (boxes[..., 1] - boxes[..., 0]) * share).reshape(-1, boxes.shape[1]))
    ends = np.stack([u.min(0), u.max(0)], 1)
    ends += (MARGIN * np.ptp(ends, axis=1)[:, None] + 1e-6) * (-1.0, 1.0)
    return ends


def _plant(loop: Loop, reach: Floats, inputs: Floats) -> Program:
    """(x, u) → the states at the end of the period."""
    box = np.concatenate([reach, inputs])
    if loop.discrete:
        return exact(to_graph(loop.expression, "a plant"), box=box)
    system = DynamicalSystem(loop.states, loop.expression, loop.inputs)
    return lift(system, progress=False).program(loop.period, box)
