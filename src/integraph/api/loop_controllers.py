"""Controllers of closed loops: what they see, what computes their values, and how these become inputs of the plant."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from integraph.certify.loops.controller import Controller, ControllerGroup, Law
from integraph.certify.loops.tape import taped
from integraph.errors import UsageError
from integraph.frontends import ReadOptions, SourceKind, kind_of, read
from integraph.frontends.formula.parser import parse
from integraph.frontends.input_names import names
from integraph.numbers.arrays import numbers
from integraph.numbers.intervals import Interval
from integraph.program import Program
from integraph.targets import Function
from integraph.targets.expression import VARIABLE, Expression, Tape
from integraph.targets.graph import Graph
from integraph.targets.graph_conversion import to_graph

PROGRAMS = (".integraph", ".safetensors")
FORMULAS = (".formula", ".txt")
CLOCK = "t"  # the state that a plant has in addition where it depends on the time


def inputs_of(controller: Any) -> tuple[str, ...] | None:
    """The plant's inputs that several controllers name: {"u": …, "a, b": …}."""
    if not isinstance(controller, Mapping):
        return None
    if not controller or not all(isinstance(name, str) for name in controller):
        raise UsageError('name the input of each controller, as in {"u": "net.onnx", "w": "-x"}', argument="controller")
    return tuple(name for key in controller for name in names(key, "controller"))


def is_file(controller: str) -> bool:
    """Whether a text names a file, and is no formula."""
    return kind_of(controller) is not SourceKind.FORMULA or Path(controller).suffix.lower() in (*PROGRAMS, *FORMULAS)


def read_controller(
    source: Any,
    states: tuple[str, ...],
    constants: tuple[str, ...],
    held: tuple[str, ...],
    outputs: Any,
    scale: Any,
    offset: Any,
    limits: Any,
) -> Controller | ControllerGroup:
    """The controller of all inputs, or a group of them, each with its part of scales, offsets and limits."""
    factors, shifts = (_each(value, name, len(held)) for value, name in ((scale, "scale"), (offset, "offset")))
    ends = _limits(limits, len(held))
    if not isinstance(source, Mapping):
        return Controller(*_law(source, states, constants, outputs, len(held), (factors, shifts, ends)))
    if isinstance(outputs, Mapping) and (extra := [key for key in outputs if key not in source]):
        raise UsageError(
            f"there is no controller {extra[0]!r}: keys are those of the controllers, {', '.join(source)}",
            argument="outputs",
        )
    parts, first = [], 0
    for key, each in source.items():
        count = len(names(key))
        part = slice(first, first + count)
        first += count
        seen = outputs.get(key) if isinstance(outputs, Mapping) else outputs
        clip = None if ends is None else Interval(ends.low[part], ends.high[part])
        parts.append(Controller(*_law(each, states, constants, seen, count, (factors[part], shifts[part], clip))))
    return ControllerGroup(tuple(parts))


def _law(
    source: Any, states: tuple[str, ...], constants: tuple[str, ...], outputs: Any, count: int, scaling: Any
) -> tuple[Any, ...]:
    """The fields of a controller of so many inputs."""
    readings = _readings(states, constants, outputs)
    seen = len(states) + len(constants) if readings is None else len(readings.outputs)
    law = _read(source, states if outputs is None else _names(readings, states + constants), states + constants)
    sizes = (law.inputs, law.sizes if isinstance(law, Graph) else law.outputs) if not isinstance(law, Expression) else (
        len(law.variables), len(law.outputs)
    )  # fmt: skip
    if outputs is None and CLOCK in states and sizes == (seen - 1, count):
        rest = ", ".join(name for name in states if name != CLOCK)
        raise UsageError(
            f"the plant depends on the time, so {CLOCK} is a state, which the controller would see: leave it out with "
            f'outputs="{rest}", and begin with {CLOCK} = 0 in start',
            argument="outputs",
        )
    if sizes != (seen, count):
        raise UsageError(
            f"the controller has {sizes[0]} inputs and {sizes[1]} outputs, the loop gives it {seen} and needs {count}: "
            "say what it sees with outputs=, and name the plant's inputs with inputs=",
            argument="controller",
        )
    return law, *scaling, readings


def _readings(states: tuple[str, ...], constants: tuple[str, ...], outputs: Any) -> Expression | None:
    """What a controller sees, as formulas of states and constants; None where it sees all of them in order."""
    every = states + constants
    if outputs is None:
        tape = Tape(every)
        return tape.expression([tape.add(VARIABLE, text=name) for name in states]) if constants else None
    parts = (outputs,) if isinstance(outputs, str) else outputs
    if not isinstance(parts, Sequence) or not parts or not all(isinstance(part, str) for part in parts):
        raise UsageError(
            'give formulas of the states as text, "x, sqrt(v)" or ["x", "sqrt(v)"]', argument="outputs", value=outputs
        )
    text = ", ".join(parts)
    expression = parse(text, every).expression
    assert expression is not None
    steps = [expression.steps[n] for n in expression.outputs]
    return None if [(step.op, step.text) for step in steps] == [(VARIABLE, name) for name in every] else expression


def _names(readings: Expression | None, every: tuple[str, ...]) -> tuple[str, ...]:
    """What a formula calls what it sees: names of states and constants, and nothing for other formulas of them."""
    if readings is None:
        return every
    steps = [readings.steps[n] for n in readings.outputs]
    return tuple(step.text if step.op == VARIABLE else "" for step in steps)


def _read(source: Any, seen: tuple[str, ...], every: tuple[str, ...]) -> Law:
    """The network, formula, graph or program; a formula of functions that have no Taylor series is a graph. `seen` has
    the names of what it sees, empty where that is no state or constant."""
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in PROGRAMS:
        import integraph

        source = integraph.load(source)
    if isinstance(source, Program):
        return source
    kind = kind_of(source)
    options, alone = ReadOptions(), False
    if kind is SourceKind.FORMULA and not isinstance(source, Function):
        alone = seen == ("",)
        if not alone and "" in seen:
            raise UsageError(
                "a formula reads what it sees by name, and only names of states are names: write the other formulas "
                "into the controller itself",
                argument="outputs",
            )
        options = ReadOptions() if alone else ReadOptions(seen)
    elif kind is SourceKind.PYTHON:
        options = ReadOptions(inputs=len(seen), into=Graph)
    target = read(source, options)
    if not isinstance(target, Function):
        return target
    if alone and (len(target.variables) != 1 or target.variables[0] in every):
        raise UsageError(
            f"it is a formula of {', '.join(target.variables)}, and sees one formula of the states: give that a name "
            'that no state has, as in controller = "tanh(y)" for outputs = "x - v"',
            argument="controller",
        )
    if target.expression is None:
        raise UsageError(
            f"{target.name} can only be called: a closed loop needs a formula, a graph or a network",
            argument="controller",
        )
    return target.expression if taped(target.expression) else to_graph(target.expression, target.name)


def _each(value: Any, name: str, count: int) -> Any:
    given = numbers(value, name)
    if given.shape not in ((), (1,), (count,)) or not np.isfinite(given).all():
        raise UsageError(f"give one finite number, or {count}: one for each input", argument=name, value=value)
    return np.broadcast_to(given, (count,)).copy()


def _limits(limits: Any, count: int) -> Interval | None:
    if limits is None:
        return None
    given = numbers(limits, "limits")
    if given.shape not in ((2,), (1, 2), (count, 2)):
        raise UsageError("limits are (low, high), for all inputs or for each", argument="limits", value=limits)
    ends = np.broadcast_to(given, (count, 2))
    if not (np.isfinite(ends).all() and (ends[:, 0] <= ends[:, 1]).all()):
        raise UsageError("limits are (low, high), finite, for all inputs or for each", argument="limits", value=limits)
    return Interval(ends[:, 0].copy(), ends[:, 1].copy())
