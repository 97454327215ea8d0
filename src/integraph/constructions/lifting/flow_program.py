"""The flow of a lifted system as a program: x(0) → x(T), with new variables recomputed from the states in between.

A period is: clear the new variables and the work registers (decay by e^−100, which leaves nothing that float64 sees),
compute the formulas of the new variables from the states by gadgets, load them, and let the lifted system flow. All
periods share their registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from integraph.constructions.graph.construction import exact
from integraph.constructions.lifting.simulation import TOLERANCE, flow_block, simulate
from integraph.errors import FlowError, SourceError, UsageError
from integraph.gadgets import affine, decay
from integraph.numbers.arrays import Floats, Indices, real
from integraph.numbers.intervals import Interval
from integraph.program import Domain, Index, Origin, Program, Registers, Segment, build, segment
from integraph.program.box import interval
from integraph.program.composition import CLEARING, placed
from integraph.program.origin import LIFT, PROGRAM, Option
from integraph.program.views import dense
from integraph.targets.function import Function, point
from integraph.targets.graph_conversion import to_graph
from integraph.text import NAME, counted

if TYPE_CHECKING:
    from integraph.constructions.lifting.quadratic_system import QuadraticSystem

SAMPLES = 16  # starts in the box, besides its corners
CORNERS = 6  # dimensions of a box whose corners are all tried
MOMENTS = 65
PERIODS = 4096
GADGETS = 1e-13  # relative error of formulas that gadgets compute on the Taylor engine
SMALL, WORTH = 1e-11, 3.0  # below such an error, periods are halved only where that makes it so many times smaller
FEW = 2.0**20  # parts of a span that all but the last are whole numbers of
MARGIN = 0.25  # of the hull of simulations, on either side: where formulas are compiled


def flow_program(
    system: QuadraticSystem,
    T: float,
    box: ArrayLike,
    project: float | bool,
    output: Function | None,
    controller: Program | None,
) -> Program:
    source = system.source
    count = len(source.variables)
    if controller is not None:
        _check_controller(system, controller)
    _check_output(system, output)
    inputs = source.variables if controller is None else source.states
    if box is None:
        raise UsageError(
            f"needs the box of starts, (low, high) of {', '.join(inputs)}, or one pair for all", argument="box"
        )
    cube = interval(box, len(inputs))
    starts = _starts(cube)
    if controller is not None:
        starts = np.concatenate([starts, controller(starts)], 1)
    hull = _hull(system, starts, T)
    periods, error = _periods(system, starts, T, project)
    registers = Registers()
    x = registers.variables(inputs)
    for name in source.variables[x.size :]:
        registers.new(name, label=f"the input {name}")
    for name, formula in zip(system.new, system.formulas, strict=True):
        registers.new(name, label=formula)
    segments: list[Segment] = []
    if controller is not None:
        segments += _embedded(registers, controller, "controller").segments(x.size, count, clear=False)
    formulas = None
    if system.definitions is not None:
        program = exact(to_graph(system.definitions, "the new variables"), box=hull)
        formulas = _embedded(registers, program, "formulas of new variables")
    for period, span in enumerate(_spans(T, periods)):
        if formulas is not None:
            segments += formulas.segments(count, system.width, clear=period > 0)
        segments.append(segment("flow", flow_block(system, dense(0, (system.width,))), duration=span))
    out = dense(0, (len(source.states),))
    name = f"{source.name}, T = {T:g}"
    domain = Domain(cube.low, cube.high)
    facts: dict[str, Option] = {
        "new variables": len(system.new), "projections": periods - 1, "manifold error": float(f"{error:.2g}"), "T": T
    }  # fmt: skip
    if system.rate:
        facts["relax"] = system.rate
    said = {"inputs": ", ".join(source.inputs), "positive": ", ".join(source.positive), "output": _text(output)}
    origin = Origin(name, PROGRAM, LIFT, options=facts | {k: v for k, v in said.items() if v}, box=domain)
    program = build(registers, segments, out, source=name, domain=domain, origin=origin)
    if output is None:
        return program
    assert output.expression is not None
    ends = hull[: len(source.states)]
    return program.then(exact(to_graph(output.expression, output.name), box=ends)).annotate(
        domain=domain, origin=origin
    )


def _spans(T: float, periods: int) -> list[float]:
    """Spans that are nearly equal and add up to T exactly: all but the last have few digits."""
    span, exponent = math.frexp(T / periods)
    short = math.ldexp(round(span * FEW) / FEW, exponent) if periods > 1 else T
    return [short] * (periods - 1) + [float(Fraction(T) - (periods - 1) * Fraction(short))]


def _text(output: Function | None) -> str:
    """A read-out as a text that says all of it, or none."""
    formula = None if output is None else output.expression
    return formula.source if formula is not None and formula.formula and len(formula.source) <= NAME else ""


def _check_output(system: QuadraticSystem, output: Function | None) -> None:
    states = system.source.states
    if output is not None and (output.expression is None or output.variables != states):
        raise UsageError(
            f"needs a formula of the states, in order: text, or integraph.function(…, variables={', '.join(states)!r})",
            argument="output",
            value=output,
        )


def _check_controller(system: QuadraticSystem, controller: Program) -> None:
    states, inputs = len(system.source.states), len(system.source.inputs)
    if not isinstance(controller, Program) or controller.scales is not None:
        raise UsageError(
            "needs a program in its own units: integraph.compile makes one of a formula or a net",
            argument="controller",
            value=controller,
        )
    if (controller.inputs, controller.outputs) != (states, inputs) or not inputs:
        raise UsageError(
            f"the system has {counted(states, 'state')} and {counted(inputs, 'input')}; the controller takes "
            f"{controller.inputs} and gives {controller.outputs}: inputs are named by lift(…, inputs=)",
            argument="controller",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Embedding:
    """A program of the first registers; places[n] is where its register n is, `copied` whether its inputs are copies,
    because it overwrites them."""

    program: Program
    places: Indices
    copied: bool

    def segments(self, first: int, count: int, *, clear: bool) -> list[Segment]:
        """Compute the registers from `first` to `count`, after clearing what was there."""
        new = dense(first, (count - first,))
        steps = [Segment(s.label, placed(s, self.places), s.duration, s.rate) for s in self.program.segments]
        used = np.unique(self.program.readout.indices).astype(np.int64)
        weights = self.program.readout[:, used].toarray()
        source = Index(np.broadcast_to(self.places[used], weights.shape))
        inputs = self.program.inputs
        work = Index(self.places[0 if self.copied else inputs :])
        if self.copied:
            copies = Index(self.places[:inputs])
            steps.insert(0, segment("copy", affine(copies, Index(np.arange(inputs)[:, None]), w=np.ones((inputs, 1)))))
        if clear:
            steps.insert(0, segment("clear", decay(new, r=CLEARING), decay(work, r=CLEARING)))
        return [*steps, segment("load", affine(new, source, w=weights))]


def _embedded(registers: Registers, program: Program, label: str) -> _Embedding:
    inputs = program.inputs
    blocks = (block for s in program.segments for block in s.blocks)
    copied = any(ref.size and ref.extent()[0] < inputs for block in blocks for ref in block.targets)
    count = program.width if copied else program.width - inputs
    work = registers.numbered("v", count, label=label).indices()
    return _Embedding(program, work if copied else np.concatenate([np.arange(inputs), work]), copied)


def _hull(system: QuadraticSystem, starts: Floats, T: float) -> Floats:
    """The box that simulations stay in, and a margin."""
    try:
        seen = simulate(system, starts, np.linspace(0.0, T, MOMENTS), True)
    except FlowError as error:
        place = error.indices[0] if error.indices else 0
        if len(starts) > 1:
            return _hull(system, starts[[place]], T)  # which says it of this start alone
        where = point(starts[place], system.source.variables)
        raise SourceError(f"from {where}, {error}: choose a shorter T or another box", argument="box") from None
    low, high = seen.states.min((0, 1)), seen.states.max((0, 1))
    size = MARGIN * np.maximum(high - low, 1e-3 * np.maximum(np.abs(low), np.abs(high)))
    margin = np.where((low > 0) & (low - size <= 0), low / 2, size)  # what is positive stays so
    return np.stack([low - margin, high + size], 1)


def _periods(system: QuadraticSystem, starts: Floats, T: float, project: float | bool) -> tuple[int, float]:
    """How many periods keep new variables near their formulas, and how near."""
    periods = 1
    if system.definitions is not None and not isinstance(project, bool):
        span = real(project, "project")
        if not span > 0:
            raise UsageError("needs a positive time between projections", argument="project", value=project)
        periods = int(np.ceil(T / span * (1 - 1e-12)))
        if periods > PERIODS:
            raise UsageError(
                f"this makes more than {PERIODS:,} periods: choose a longer one", argument="project", value=project
            )
    error = _manifold_error(system, starts, T, periods)
    while project is True and error > TOLERANCE and periods < PERIODS:
        finer = _manifold_error(system, starts, T, 2 * periods)
        if error < SMALL and finer > error / WORTH:
            break
        periods, error = 2 * periods, finer
    if not np.isfinite(error):
        raise SourceError(
            f"new variables drift too far from their formulas to be followed for T = {T:g} with "
            f"{counted(periods - 1, 'projection')}: choose a shorter time between projections",
            argument="project",
        )
    return periods, error


def _manifold_error(system: QuadraticSystem, starts: Floats, T: float, periods: int) -> float:
    try:
        return simulate(system, starts, [T], T / periods, noise=GADGETS).manifold_error
    except FlowError:
        return np.inf


def _starts(cube: Interval) -> Floats:
    """Corners of the box, or some of them, points inside, and the one that is nearest to 0."""
    d = len(cube.low)
    generator = np.random.default_rng(1)
    unit = generator.random((SAMPLES, d))
    corners = np.indices((2,) * d).reshape(d, -1).T if d <= CORNERS else generator.integers(0, 2, (2**CORNERS, d))
    near = np.clip(0.0, cube.low, cube.high)[None]  # where formulas divide by 0, if they do
    starts: Floats = np.concatenate([cube.low + (cube.high - cube.low) * np.concatenate([unit, corners]), near])
    return starts
