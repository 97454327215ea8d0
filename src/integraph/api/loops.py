"""`loop` and `simulate`: a plant under a sampled controller, what it does, and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.frontends import Parameters, ReadOptions, SourceKind, kind_of, read
from integraph.frontends.formula.parser import parse
from integraph.frontends.input_names import names
from integraph.numbers.arrays import Floats, numbers, real
from integraph.numbers.intervals import Interval
from integraph.targets import Function
from integraph.targets.expression import VARIABLE, Expression
from integraph.targets.graph import Graph

if TYPE_CHECKING:
    from integraph.certify.loops.controller import Controller
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.search import LoopResult

CELLS, SECONDS = 256, 60.0


def loop(
    plant: Mapping[str, str],
    controller: Any,
    *,
    period: float,
    steps: int,
    start: Mapping[str, Any],
    spec: str,
    inputs: str | Sequence[str] = "u",
    outputs: str | Sequence[str] | None = None,
    scale: ArrayLike = 1.0,
    offset: ArrayLike = 0.0,
    limits: ArrayLike | None = None,
    discrete: bool = False,
    parameters: Parameters = None,
    cells: int = CELLS,
    seconds: float = SECONDS,
    progress: bool = True,
) -> LoopResult:
    """Prove or refute that every trajectory from the box `start` meets `spec`.

    `plant` maps each state to the formula of its derivative, in states and `inputs`; with `discrete` to its next value.
    `controller` is anything `read` reads; it sees `outputs`, formulas of the states, or the states; its value N gives
    the inputs scale·(N − offset), clipped to `limits`, and held for a `period`. A start set that is not proved is
    divided, into so many `cells` at most, for so many `seconds`; Ctrl-C keeps what is proved.
    """
    from integraph.api.loop_specs import read_spec
    from integraph.certify.loops.search import search

    closed = closed_loop(
        plant, controller, period=period, steps=steps, inputs=inputs, outputs=outputs, scale=scale, offset=offset,
        limits=limits, discrete=discrete, parameters=parameters,
    )  # fmt: skip
    low, high = _box(start, closed.states)
    for name, value in (("cells", cells), ("seconds", seconds)):
        if isinstance(value, bool) or not 0 < real(value, name) < math.inf:
            raise UsageError("it must be finite and > 0", argument=name, value=value)
    return search(
        closed, read_spec(spec, closed.states, closed.period, closed.steps), low, high, cells, seconds, progress
    )


def simulate(closed: Loop, starts: ArrayLike) -> Floats:
    """The states (steps + 1, B, n) at sampling times from starts (B, n), in float64, without proof."""
    from integraph.certify.loops.simulation import simulated

    x = np.atleast_2d(numbers(starts, "starts"))
    if x.ndim != 2 or x.shape[1] != len(closed.states):
        raise UsageError(f"starts have shape {np.shape(starts)}: give (batch, {len(closed.states)})", argument="starts")
    return simulated(closed, x)


def closed_loop(
    plant: Mapping[str, str],
    controller: Any,
    *,
    period: float,
    steps: int,
    inputs: str | Sequence[str] = "u",
    outputs: str | Sequence[str] | None = None,
    scale: ArrayLike = 1.0,
    offset: ArrayLike = 0.0,
    limits: ArrayLike | None = None,
    discrete: bool = False,
    parameters: Parameters = None,
) -> Loop:
    """The loop of a plant and a controller, with the arguments of `loop`."""
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.tape import operations

    if isinstance(period, bool) or not 0 < real(period, "period") < math.inf:
        raise UsageError("a sampling period must be finite and > 0", argument="period", value=period)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise UsageError("a number of periods must be an integer ≥ 1", argument="steps", value=steps)
    if not isinstance(plant, Mapping) or not plant or not all(isinstance(x, str) for p in plant.items() for x in p):
        raise UsageError(
            'give names and right-hand sides as text, as in {"x": "v", "v": "-sin(x) + u"}',
            argument="plant",
            value=plant,
        )
    states, held = tuple(plant), names(inputs)
    clash = set(states) & set(held)
    if clash:
        raise UsageError(f"{min(clash)} is a state and an input: rename one", argument="inputs")
    expression = _expression(parse(list(plant.values()), states + held, parameters))
    if len(expression.outputs) != len(states):
        raise UsageError("the right-hand side of each state is one formula", argument="plant")
    acts = _controller(controller, states, held, outputs, scale, offset, limits)
    return Loop(states, held, expression, operations(expression, states), acts, float(period), steps, discrete)


def _controller(
    source: Any, states: tuple[str, ...], held: tuple[str, ...], outputs: Any, scale: Any, offset: Any, limits: Any
) -> Controller:
    from integraph.certify.loops.controller import Controller

    readings = None
    if outputs is not None:
        text = outputs if isinstance(outputs, str) else ", ".join(outputs)
        readings = _expression(parse(text, states))
        if [readings.steps[n].text for n in readings.outputs if readings.steps[n].op == VARIABLE] == list(states):
            readings = None
    seen = len(states) if readings is None else len(readings.outputs)
    formula = readings is None and not isinstance(source, Function) and kind_of(source) is SourceKind.FORMULA
    target = read(source, ReadOptions(states if formula else None))
    if isinstance(target, Graph):
        raise UsageError(f"{target!r} is no feedforward network: give one, or a formula", argument="controller")
    if (target.inputs, target.outputs) != (seen, len(held)):
        raise UsageError(
            f"the controller has {target.inputs} inputs and {target.outputs} outputs, the loop gives it {seen} and "
            f"needs {len(held)}: say what it sees with outputs=, and name the plant's inputs with inputs=",
            argument="controller",
        )
    factors, shifts = (
        np.broadcast_to(numbers(value, name), (len(held),)).copy()
        for value, name in ((scale, "scale"), (offset, "offset"))
    )
    acts = _expression(target) if isinstance(target, Function) else target
    return Controller(acts, factors, shifts, _limits(limits, len(held)), readings)


def _expression(function: Function) -> Expression:
    if function.expression is None:
        raise UsageError(
            f"{function.name} can only be called: a closed loop needs a formula or a network", argument="controller"
        )
    return function.expression


def _limits(limits: Any, count: int) -> Interval | None:
    if limits is None:
        return None
    ends = np.broadcast_to(numbers(limits, "limits"), (count, 2))
    if not (np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()):
        raise UsageError("limits are (low, high), finite, for all inputs or for each", argument="limits", value=limits)
    return Interval(ends[:, 0].copy(), ends[:, 1].copy())


def _box(start: Mapping[str, Any], states: tuple[str, ...]) -> tuple[Floats, Floats]:
    if not isinstance(start, Mapping) or set(start) != set(states):
        raise UsageError(f"give each state a number or (low, high): {', '.join(states)}", argument="start", value=start)
    ends = np.array([np.broadcast_to(numbers(start[name], f"the start of {name}"), (2,)) for name in states])
    if not (np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()):
        raise UsageError("a side is (low, high), finite, low ≤ high", argument="start", value=start)
    return ends[:, 0].copy(), ends[:, 1].copy()
