"""Solutions of a lifted system, kept on the manifold where new variables equal their formulas.

The lifted flow never leaves that manifold, integrators do, and some flows amplify the distance. So a solution is
computed in stretches; after each, the distance is measured, and new variables are recomputed from the states. Where it
is too large, the stretch is halved and computed again.

The distance has no unit: 1e-12 is as far as a formula is moved by a change of 1e-12 in its own value, or in the states,
as parts of the largest values that they had so far. A variable of size 1e-11, which a control of 1e10 multiplies, is
measured like one of size 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import FlowError, UsageError
from integraph.gadgets.raw import raw
from integraph.numbers.arrays import Floats, numbers, real
from integraph.program import Block, Failure, Program, Ref, Registers, Status, build, segment
from integraph.program.engine import RTOL
from integraph.program.views import dense
from integraph.targets.expression import is_entire
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.constructions.lifting.quadratic_system import QuadraticSystem

TOLERANCE = 1e-12  # distance from the formulas that a stretch may end with
CHANGE = 2.0**-26  # of states, as a part of their sizes, that shows how far they move a formula
SHORTEST = 2.0**-14  # of the whole time: a stretch that is not halved again
KEPT = 16  # programs of flows
SIZE = 200_000_000  # numbers of a solution


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """`states[b, n]` are the states and inputs of start b at times[n], `new` the new variables; `manifold_error` is the
    largest distance of a new variable from its formula before it was recomputed, relative to what it is made of."""

    system: QuadraticSystem
    times: Floats
    path: Floats  # (B, times, width)
    restarts: Floats  # times at which new variables were recomputed
    starts: Floats  # (restarts, B, width)
    manifold_error: float
    rtol: float

    @property
    def states(self) -> Floats:
        return self.path[:, :, : len(self.system.source.variables)]

    @property
    def new(self) -> Floats:
        return self.path[:, :, len(self.system.source.variables) :]

    def __getitem__(self, name: str) -> Floats:
        """The values (B, times) of one variable."""
        if name not in self.system.names:
            raise UsageError(f"{name} is none of {', '.join(self.system.names)}", argument="name")
        return self.path[:, :, self.system.names.index(name)]

    def __call__(self, t: ArrayLike) -> Floats:
        """All variables (B, width) at any time between 0 and the last, or (B, times, width) at several."""
        if np.ndim(t) == 1:
            return np.stack([self(each) for each in numbers(t, "t")], 1)
        time = real(t, "t")
        if not 0.0 <= time <= self.times[-1]:
            raise UsageError(f"this solution is known from 0 to {self.times[-1]:g}", argument="t", value=t)
        place = int(np.searchsorted(self.restarts, time, side="right")) - 1
        span = time - float(self.restarts[place])
        begun = float(self.restarts[place])
        if span == 0.0:
            start: Floats = self.starts[place]
            return start
        end: Floats = _advance(self.system, self.starts[place], begun, span, np.array([span]), self.rtol)[:, -1]
        return end

    def __repr__(self) -> str:
        size = f"{counted(len(self.path), 'start')}, {counted(len(self.times), 'time')} to {self.times[-1]:g}"
        projected = counted(len(self.restarts) - 1, "projection")
        return f"Simulation of {self.system.source.name}: {size}; {projected}, manifold error {self.manifold_error:.2g}"


def simulate(
    system: QuadraticSystem,
    x0: ArrayLike,
    times: ArrayLike,
    project: float | bool,
    rtol: float = RTOL,
    noise: float = 0.0,
) -> Simulation:
    """`noise` is the relative error of new variables where they have just been computed."""
    moments = np.atleast_1d(numbers(times, "times"))
    if (
        moments.ndim != 1
        or not len(moments)
        or not np.isfinite(moments).all()
        or (np.diff(moments) < 0).any()
        or moments[0] < 0
    ):
        raise UsageError("needs finite times ≥ 0, in order", argument="times")
    end = float(moments[-1])
    count = len(system.source.variables)
    factors = np.ones(system.width)
    factors[count:] += noise * np.random.default_rng(3).choice([-1.0, 1.0], system.width - count)
    state = factors * system.start(x0)
    if len(state) * len(moments) * system.width > SIZE:
        raise UsageError(f"this asks for more than {SIZE:,} numbers: ask for fewer times or starts", argument="times")
    path = np.empty((len(state), len(moments), system.width))
    path[:, moments == 0.0] = state[:, None]
    restarts, starts, time, worst = [0.0], [state], 0.0, 0.0
    sizes = np.abs(state)
    fixed = not isinstance(project, bool)
    span = min(real(project, "project"), end) if fixed else end
    if fixed and not span > 0:
        raise UsageError("needs a positive time between projections", argument="project", value=project)
    shortest, tolerance = end * SHORTEST, max(TOLERANCE, real(rtol, "rtol"))
    while time < end:
        span = min(span, end - time)
        last = time + span >= end * (1 - 1e-15)
        inside = np.flatnonzero((moments > time) & ((moments <= time + span) | last))
        asked = np.append(np.minimum(moments[inside] - time, span), span)
        adaptive = project is True and system.definitions is not None and span > shortest
        try:
            stretch = _advance(system, state, time, span, asked, rtol)
        except FlowError:
            if not adaptive:
                raise
            span /= 2
            continue
        seen = np.maximum(np.abs(state), np.abs(stretch).max(1))
        seen[:, :count] = np.maximum(seen[:, :count], sizes[:, :count])  # of states, over the whole solution
        error = distance(system, stretch[:, -1], seen)
        if adaptive and not error <= tolerance:
            span /= 2
            continue
        worst, sizes = max(worst, error), seen
        path[:, inside] = stretch[:, :-1]
        time = end if last else time + span
        state = stretch[:, -1]
        if project is not False and not last:
            state = factors * system.start(state[:, :count])
            restarts.append(time)
            starts.append(state)
        if project is True and error < tolerance / 8:
            span *= 2
    return Simulation(system, moments, path, np.array(restarts), np.stack(starts), worst, rtol)


def distance(system: QuadraticSystem, states: Floats, sizes: Floats) -> float:
    """The largest distance of a new variable from its formula, where all variables are as large as `sizes`, or more."""
    if system.definitions is None:
        return 0.0
    count = len(system.source.variables)
    x, new = states[:, :count], states[:, count:]
    signs = np.random.default_rng(7).uniform(-1.0, 1.0, count)
    with np.errstate(all="ignore"):
        exact, moved = system.formulas_at(x), system.formulas_at(x + CHANGE * signs * sizes[:, :count])
        slope = np.nan_to_num(np.abs(moved - exact) / CHANGE, posinf=0.0)  # 0 beside a point without a value
        size = np.maximum(np.maximum(np.abs(exact), sizes[:, count:]), slope)
        error = np.abs(new - exact)
        return float(np.max(np.divide(error, size, out=np.zeros_like(error), where=error != 0)))


def _advance(system: QuadraticSystem, state: Floats, begun: float, span: float, asked: Floats, rtol: float) -> Floats:
    """The states (B, asked, width) at times after `begun`. Programs are kept: few spans occur."""
    if span not in system.flows:
        if len(system.flows) == KEPT:
            del system.flows[next(iter(system.flows))]
        system.flows[span] = free_flow(system, span)
    flow = system.flows[span].flow(state, engine="taylor", times=asked, rtol=rtol)
    if flow.failures:
        failures = sorted(flow.failures, key=lambda failure: failure.time)
        first = failures[0]
        who = "the solution" if len(state) == 1 else f"the solution from start {first.input + 1}"
        raise FlowError(
            f"{who} could not be followed beyond t = {begun + first.time:.6g}: {_reason(system, first)}",
            tuple(failure.input for failure in failures),
        )
    assert flow.path is not None
    return flow.path


def _reason(system: QuadraticSystem, failure: Failure) -> str:
    """What ended the solution, or only a new variable whose formula has no value there."""
    if failure.register not in system.new or system.definitions is None or failure.status is Status.STEP_LIMIT:
        return f"{failure.status.value}, in {failure.register}"
    number = system.new.index(failure.register)
    variable = f"{failure.register} = {system.formulas[number]}"
    if is_entire(system.definitions, number):
        return f"{failure.status.value}, in {variable}"
    return (
        f"{variable} has no value there, or is too large; the solution itself may go on (enclose, or a solver of the "
        "original equations, says so)"
    )


def free_flow(system: QuadraticSystem, span: float) -> Program:
    """The lifted flow over `span`, from starts of all variables."""
    registers = Registers()
    y = registers.variables(system.names)
    return build(registers, [segment("flow", flow_block(system, y), duration=span)], y, source=system.source.name)


def flow_block(system: QuadraticSystem, y: Ref) -> Block:
    """y' = b + A y + Q(y, y)."""
    index, value = system.controls
    return raw(y, dense(0, (0,)), index=index, value=value)
