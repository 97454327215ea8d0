"""A plant, a controller, a sampling period: all trajectories from a box, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.loops.disturbance import Disturbance, widened
from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.rows import ModelRows, of_box
from integraph.certify.loops.steps import LEAST, FlowStep, flow_step
from integraph.certify.loops.tape import Operations
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats
from integraph.targets.expression import Expression

HOPELESS = 100.0  # errors beside the widest polynomials of a state: the next sets would be wider still
FLOOR = 1e-3  # of the size of a state, a width that polynomials count as: of narrow sets errors may be a tenth
PIECES = 4  # of a step, for what holds between sampling times


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """x' = f(x, u, w), or x⁺ = f(x, u, w) if it is discrete, with u = controller(x) at the start of each period, held
    over it. `expression` is f, over states, inputs and disturbances. The last states, as many as are `uncertain`, are
    constants of the plant that are only known to lie in intervals."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    expression: Expression
    plant: Operations
    controller: Controller | ControllerGroup
    period: float
    steps: int
    discrete: bool = False
    uncertain: int = 0
    disturbance: Disturbance | None = None

    def held(self, values: Floats) -> Loop:
        """The loop with disturbances that stay at these values."""
        w = self.disturbance
        return self if w is None else replace(self, disturbance=replace(w, low=values, high=values))

    def variables(self, x: ModelRows, u: ModelRows) -> ModelRows:
        """What the plant is a function of, at the start of a period."""
        rows = x.joined(u)
        if self.disturbance is not None:
            rows = rows.joined(self.disturbance.rows(rows, wide=self.discrete))
        return rows.fresh()


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """One period: the states at its start and at its end; `flow` are the steps between, none if time is discrete.
    `reason` says why the end is not known."""

    number: int
    start: ModelRows
    end: ModelRows | None
    flow: tuple[FlowStep, ...] = ()
    reason: str = ""

    def between(self) -> Iterator[ModelRows]:
        """The states over pieces of time that cover the period."""
        for step in self.flow:
            for n in range(PIECES):
                yield step.tube(n / PIECES, (n + 1) / PIECES)


def periods(loop: Loop, low: Floats, high: Floats, degree: int | None = None) -> Iterator[Period]:
    """All periods from a box of starts, until one whose end is not known. `degree` is that of the polynomials."""
    x, share = of_box(low, high, degree).fresh(), 1.0
    widest, size = x.polynomial_radii(), np.abs(x.ranges()).max(1)
    for number in range(loop.steps):
        check_deadline()
        u = loop.controller.models(x)
        if u is None or not np.isfinite(u.values).all():
            yield Period(number, x, None, reason="the controller is not defined on all states")
            return
        period = _discrete(loop, number, x, u) if loop.discrete else _continuous(loop, number, x, u, share)
        yield period
        if period.end is None:
            return
        if period.flow:
            share = min(1.0, 2.0 * period.flow[-1].share)
        x = period.end
        widest, size = np.maximum(widest, x.polynomial_radii()), np.maximum(size, np.abs(x.ranges()).max(1))
        far = x.errors() / HOPELESS > np.maximum(widest, FLOOR * size)
        if loop.disturbance is None and far[widest > 0].any():
            yield Period(
                number + 1, x, None, reason=f"errors outgrow the set of states at t = {(number + 1) * loop.period:.4g}"
            )
            return


def _discrete(loop: Loop, number: int, x: ModelRows, u: ModelRows) -> Period:
    plant, rows = loop.plant, loop.variables(x, u)
    failed, out = row_values(plant.code, plant.numbers, plant.held, plant.outputs, rows.values, rows.table)
    if failed >= 0 or not np.isfinite(out).all():
        return Period(number, x, None, reason="the plant is not defined on all states")
    return Period(number, x, rows.with_values(out).fresh())


def _continuous(loop: Loop, number: int, x: ModelRows, u: ModelRows, share: float) -> Period:
    """Steps of shares 2^−k of the period, so that the time is exact."""
    flow: list[FlowStep] = []
    done, rows = 0.0, loop.variables(x, u)
    while done < 1.0:
        step = _step(loop, rows, share)
        if step is None:
            time = (number + done) * loop.period
            why = f"after t = {time:.4g} states may grow without bound, or a function of the plant is not defined"
            return Period(number, x, None, tuple(flow), why)
        flow.append(step)
        done += step.share
        share = 2.0 * step.share
        while done % share and done < 1.0:  # a share begins at a multiple of itself, and none is longer than the rest
            share *= 0.5
        rows = step.end()
    return Period(number, x, rows.with_values(rows.values[: len(loop.states)]), tuple(flow))


def _step(loop: Loop, rows: ModelRows, share: float) -> FlowStep | None:
    """A step of at most share·period, for all disturbances."""
    while share >= LEAST:
        step = flow_step(loop.plant, rows, loop.period, share)
        if step is None or loop.disturbance is None:
            return step
        wide = widened(loop.plant, step, loop.period * step.share, loop.disturbance)
        if wide is not None:
            return wide
        share = 0.5 * step.share
    return None
