"""`loop` and `simulate`: a plant under a sampled controller, what it does, and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.api.arguments import check_workers
from integraph.errors import UsageError
from integraph.frontends import Parameters
from integraph.numbers.arrays import Floats, numbers, real, whole

if TYPE_CHECKING:
    from integraph.api.loop_questions import LoopQuestion
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.result import LoopResult

CELLS, SECONDS = 256, 60.0
PERIODS = 100_000  # at most
SHORTEST = 1e-290  # period: a part of it is still a number of full precision


def loop(
    plant: Any,
    controller: Any,
    *,
    period: float,
    steps: int,
    start: Mapping[str, Any],
    spec: str,
    inputs: str | Sequence[str] | None = None,
    outputs: Any = None,
    scale: ArrayLike = 1.0,
    offset: ArrayLike = 0.0,
    limits: ArrayLike | None = None,
    discrete: bool = False,
    parameters: Parameters = None,
    disturbances: Mapping[str, Any] | None = None,
    cells: int = CELLS,
    seconds: float = SECONDS,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
) -> LoopResult:
    """Prove or refute that every trajectory from the box `start` meets `spec`.

    `plant` are equations of the states, as `lift` takes them: text, a file, or a mapping from each state to the formula
    of its derivative, in states and `inputs` (u); with `discrete` to its next value. `parameters` are constants, pairs
    of them unknown in an interval; `disturbances` are pairs too, between which they change in time as they like.
    `controller` is anything `read` reads, or a program, or a mapping from inputs to controllers; it sees `outputs`,
    formulas of the states, or the states; its value N gives the inputs scale·(N − offset), clipped to `limits`, and
    held for a `period`. A start set that is not proved is divided, into so many `cells` at most, for so many `seconds`;
    Ctrl-C keeps what is proved. `workers` processes share the cells, or the dask cluster of a `scheduler`.
    """
    from integraph.certify.loops.search import search

    whole("cells", cells, 1)
    if isinstance(seconds, bool) or not 0 < real(seconds, "seconds") < math.inf:
        raise UsageError("it must be finite and > 0", argument="seconds", value=seconds)
    check_workers(workers, scheduler)
    asked = question(
        plant, controller, start=start, spec=spec, period=period, steps=steps, inputs=inputs, outputs=outputs,
        scale=scale, offset=offset, limits=limits, discrete=discrete, parameters=parameters, disturbances=disturbances,
    )  # fmt: skip
    return search(asked.loop, asked.spec, asked.low, asked.high, cells, seconds, progress, workers, scheduler)


def simulate(closed: Loop | LoopResult, starts: ArrayLike, *, seed: int | None = None) -> Floats:
    """The states (steps + 1, B, n) at sampling times from starts (B, n), in float64, without proof; NaN from the period
    on in which a state grows without bound, or a function is not defined.

    `closed` is what `loop` gave, or its loop. A start has a number for each of its states: states of the plant, then
    constants that are uncertain. Disturbances are in the middle of their intervals, or with a `seed` random.
    """
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.result import LoopResult
    from integraph.certify.loops.simulation import simulated

    if isinstance(closed, LoopResult):
        closed = closed.loop
    if not isinstance(closed, Loop):
        raise UsageError(
            f"give what integraph.loop gave, or its loop, not a {type(closed).__name__}", argument="closed"
        )
    if seed is not None:
        whole("seed", seed, 0)
    x = np.atleast_2d(numbers(starts, "starts"))
    if x.ndim != 2 or x.shape[1] != len(closed.states):
        raise UsageError(
            f"starts have shape {np.shape(starts)}: give (batch, {len(closed.states)}), for "
            f"{', '.join(closed.states)}", argument="starts",
        )  # fmt: skip
    return simulated(closed, x, seed=seed)


def question(plant: Any, controller: Any, *, start: Any, spec: Any, **setting: Any) -> LoopQuestion:
    """What `loop` is asked by these arguments."""
    from integraph.api.loop_plants import sides
    from integraph.api.loop_questions import LoopQuestion
    from integraph.api.loop_specs import read_spec

    closed, constants = _closed(plant, controller, **setting)
    low, high = sides(start, closed.states[: len(closed.states) - closed.uncertain], "start")
    asked = read_spec(spec, closed.states, closed.period, closed.steps)
    return LoopQuestion(closed, asked, *(np.concatenate(ends) for ends in zip((low, high), constants, strict=True)))


def closed_loop(plant: Any, controller: Any, **setting: Any) -> Loop:
    """The loop of a plant and a controller, with the arguments of `loop`."""
    return _closed(plant, controller, **setting)[0]


def _closed(
    plant: Any,
    controller: Any,
    *,
    period: Any,
    steps: Any,
    inputs: Any = None,
    outputs: Any = None,
    scale: Any = 1.0,
    offset: Any = 0.0,
    limits: Any = None,
    discrete: Any = False,
    parameters: Parameters = None,
    disturbances: Mapping[str, Any] | None = None,
) -> tuple[Loop, tuple[Floats, Floats]]:
    """The loop, and the ends of its uncertain constants."""
    from integraph.api.loop_controllers import inputs_of, read_controller
    from integraph.api.loop_plants import read_plant
    from integraph.certify.loops.loop import Loop
    from integraph.certify.loops.tape import operations

    if isinstance(period, bool) or not SHORTEST <= real(period, "period") < math.inf:
        raise UsageError(
            f"a sampling period must be finite and > 0, at least {SHORTEST:g}", argument="period", value=period
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= PERIODS:
        raise UsageError(f"a number of periods must be an integer from 1 to {PERIODS:,}", argument="steps", value=steps)
    if not isinstance(discrete, bool | np.bool_):
        raise UsageError("it is True or False", argument="discrete", value=discrete)
    own = inputs_of(controller)
    if own is not None and inputs is not None:
        raise UsageError("several controllers name the inputs themselves: leave it out", argument="inputs")
    read = read_plant(plant, inputs if own is None else own, parameters, disturbances, bool(discrete))
    acts = read_controller(controller, read.states, read.constants, read.inputs, outputs, scale, offset, limits)
    tape = operations(read.expression, read.states)
    closed = Loop(
        read.states + read.constants, read.inputs, read.expression, tape, acts, float(period), steps, bool(discrete),
        len(read.constants), read.disturbance,
    )  # fmt: skip
    return closed, (read.low, read.high)
