"""Plants of closed loops: equations, uncertain constants, disturbances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.certify.loops.disturbance import Disturbance
from integraph.errors import UsageError
from integraph.frontends import Parameters
from integraph.frontends.dynamics import read_system
from integraph.frontends.input_names import names
from integraph.numbers.arrays import Floats, numbers
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.expression import NUMBER, VARIABLE, Expression, Step

INPUT = "u"  # of a plant that names none


@dataclass(frozen=True, slots=True, eq=False)
class Plant:
    """`expression` over states, uncertain constants, inputs and disturbances; its outputs are of states and constants,
    which do not change. `low` and `high` are the ends of the constants."""

    states: tuple[str, ...]
    constants: tuple[str, ...]
    inputs: tuple[str, ...]
    expression: Expression
    low: Floats
    high: Floats
    disturbance: Disturbance | None


def read_plant(
    source: Any,
    inputs: str | Sequence[str] | None,
    parameters: Parameters,
    disturbances: Mapping[str, Any] | None,
    discrete: bool,
) -> Plant:
    """The plant of a source that `read_system` reads; parameters that are pairs are constants in an interval."""
    held = (INPUT,) if inputs is None else names(inputs, "inputs")
    values = {} if parameters is None else parameters
    if not isinstance(values, Mapping):
        raise UsageError(
            'give names and values, as in {"m": 1.5, "g": (9.7, 9.9)}', argument="parameters", value=values
        )
    fixed = {name: value for name, value in values.items() if not isinstance(value, Sequence) or isinstance(value, str)}
    constants = tuple(name for name in values if name not in fixed)
    low, high = sides({name: values[name] for name in constants}, constants, "parameters")
    if not isinstance(disturbances, Mapping | None):
        raise UsageError('give names and ends, as in {"w": (-0.1, 0.1)}', argument="disturbances", value=disturbances)
    noise = tuple(disturbances or ())
    w = Disturbance(noise, *sides(disturbances or {}, noise, "disturbances")) if noise else None
    named = tuple(source) if isinstance(source, Mapping) else ()
    _once(states=named, inputs=held, parameters=tuple(values), disturbances=noise)
    if isinstance(source, DynamicalSystem):
        system = source
        held = _inputs(system, inputs, (*constants, *noise))
    else:
        system = read_system(source, inputs=(*held, *constants, *noise), parameters=fixed)
    form, states = system.expression, system.states
    used = {step.text for step in form.steps if step.op == VARIABLE}
    for argument, given in (("parameters", constants), ("disturbances", noise)):
        for name in given:
            if name not in used:
                raise UsageError(f"{name} does not occur in the plant: leave it out", argument=argument, value=name)
    still = Step(NUMBER, text="0")
    extra = tuple(Step(VARIABLE, text=name) if discrete else still for name in constants)
    expression = replace(
        form,
        variables=(*states, *constants, *held, *noise),
        steps=(*form.steps, *extra),
        outputs=(*form.outputs, *range(len(form.steps), len(form.steps) + len(extra))),
        formula=False,
    )
    return Plant(states, constants, held, expression, low, high, w)


def _once(**roles: tuple[str, ...]) -> None:
    """A name has one role."""
    known: dict[str, str] = {}
    for role, several in roles.items():
        for name in several:
            if name in known:
                other = f"twice in {role}" if known[name] == role else f"in {known[name]} and in {role}"
                raise UsageError(f"{name} is {other}: rename one", argument=role, value=name)
            known[name] = role


def _inputs(system: DynamicalSystem, inputs: str | Sequence[str] | None, others: tuple[str, ...]) -> tuple[str, ...]:
    """The inputs of a system that is read already: those that are neither constants nor disturbances."""
    for name in others:
        if name not in system.inputs:
            raise UsageError(f"{name} is no input of the system, whose inputs are {', '.join(system.inputs)}")
    held = tuple(name for name in system.inputs if name not in others)
    if inputs is not None and names(inputs, "inputs") != held:
        raise UsageError(f"the system has the inputs {', '.join(held)}", argument="inputs", value=inputs)
    return held


def sides(box: Any, wanted: tuple[str, ...], argument: str) -> tuple[Floats, Floats]:
    """The ends of a number or a pair for each name, in order."""
    if not isinstance(box, Mapping) or set(box) != set(wanted):
        raise UsageError(f"give a number or (low, high) for each of {', '.join(wanted)}", argument=argument, value=box)
    pairs = []
    for name in wanted:
        ends = numbers(box[name], f"{argument}[{name!r}]")
        if ends.shape not in ((), (2,)):
            raise UsageError(f"{name} needs a number or (low, high)", argument=argument, value=box[name])
        pairs.append(np.broadcast_to(ends, (2,)))
    low, high = np.array(pairs).reshape(-1, 2).T.copy()
    for name, start, end in zip(wanted, low, high, strict=True):
        if not (start <= end and float(end) - float(start) < np.inf):
            raise UsageError(
                f"{name} needs (low, high), finite, low ≤ high, with a finite difference",
                argument=argument,
                value=box[name],
            )
    return low, high
