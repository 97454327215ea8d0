"""Straight-line programs: steps of named operations on earlier values, the inputs first. What jax and torch share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuzz.judge import Points

Shape = tuple[int, ...]
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, -0.3, 1.7, 3.0)
ROUNDING, TRIALS, MARGIN = 2.0**-50, 4, 16.0  # how much, and how often, values on the way are moved; a safety factor


@dataclass(frozen=True)
class Step:
    op: str
    args: tuple[int, ...]
    data: tuple[Any, ...] = ()  # plain: numbers, tuples of them, texts


@dataclass(frozen=True)
class Case:
    inputs: tuple[Shape, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    seed: int
    thorough: bool = False


@dataclass(frozen=True)
class Operation:
    """`draw` gives the data for operands of these shapes, or None where there is none; `text` is how it is written,
    with {0}, {1}, … for the operands and {d[0]}, … for the data; `apply` does it."""

    operands: int
    draw: Callable[[np.random.Generator, Sequence[Shape]], tuple[Any, ...] | None]
    apply: Callable[..., Any]
    text: str


Table = Mapping[str, Operation]


def numbers(rng: np.random.Generator, *shape: int) -> Points:
    """Random ones with three decimals, or all the same, or many zeros."""
    kind = rng.integers(4)
    array = np.round(rng.normal(size=shape), 3)
    if kind == 0:
        return np.full(shape, float(rng.choice(NUMBERS)))
    return array * (rng.random(shape) < 0.5) if kind == 1 else array


def nested(array: Any) -> Any:
    """An array as tuples of tuples, the data of a step."""
    return tuple(map(nested, array)) if np.ndim(array) else float(array)


def nothing(rng: np.random.Generator, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    return ()


def run(case: Case, table: Table, arrays: Sequence[Any], change: Callable[[Any], Any] = lambda x: x) -> list[Any]:
    """All values, the inputs first; `change` is done to each."""
    values = [change(array) for array in arrays]
    for step in case.steps:
        values.append(change(table[step.op].apply(*(values[n] for n in step.args), *step.data)))
    return values


def split(case: Case, x: Points) -> list[Points]:
    """One point as arrays of the shapes of the inputs."""
    sizes = [int(np.prod(shape)) for shape in case.inputs]
    parts = np.split(x, np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, case.inputs, strict=True)]


def flat(values: Sequence[Any], outputs: Sequence[int]) -> Points:
    return np.concatenate([np.asarray(values[n], np.float64).ravel() for n in outputs])


def slack(case: Case, table: Table, array: Callable[[Points], Any], x: Points) -> Points:
    """How far the outputs move if every value on the way is rounded otherwise; `array` makes one of numpy's."""
    rng = np.random.default_rng(case.seed)
    found = []
    for row in x:
        given = [array(part) for part in split(case, row)]
        true = flat(run(case, table, given), case.outputs)

        def moved(value: Any) -> Any:
            factor, shift = ROUNDING * rng.choice([-1.0, 1.0], (2, *value.shape))
            return value * array(1.0 + factor) + array(1e-3 * shift)

        others = [flat(run(case, table, given, moved), case.outputs) for _ in range(TRIALS)]
        found.append(MARGIN * np.max(np.abs(np.stack(others) - true), 0))
    return np.stack(found)


def needed(case: Case) -> Case:
    """Without steps that no output needs."""
    first, live = len(case.inputs), set(case.outputs)
    for number in range(len(case.steps) - 1, -1, -1):
        if first + number in live:
            live.update(case.steps[number].args)
    kept = [n for n in range(len(case.steps)) if first + n in live]
    place = {n: n for n in range(first)} | {first + old: first + new for new, old in enumerate(kept)}
    steps = tuple(replace(case.steps[n], args=tuple(place[k] for k in case.steps[n].args)) for n in kept)
    return replace(case, steps=steps, outputs=tuple(place[n] for n in case.outputs))


def smaller(case: Case) -> Iterator[Case]:
    """Fewer outputs; an earlier value for an output; an operand instead of a step; a smaller box."""
    first = len(case.inputs)
    if len(case.outputs) > 1:
        yield from (needed(replace(case, outputs=(n,))) for n in case.outputs)
    for n in range(first, first + len(case.steps)):
        if (n,) != case.outputs:
            yield needed(replace(case, outputs=(n,)))
    for number in range(len(case.steps)):
        for operand in case.steps[number].args:
            yield needed(_without(case, first + number, operand))
    if case.thorough:
        yield replace(case, thorough=False)
    middle = tuple(0.5 * (a + b) for a, b in zip(case.low, case.high, strict=True))
    if any(a < b for a, b in zip(case.low, case.high, strict=True)):
        yield replace(case, low=middle, high=middle)
        yield replace(case, low=middle)
        yield replace(case, high=middle)


def _without(case: Case, gone: int, instead: int) -> Case:
    def place(n: int) -> int:
        return instead if n == gone else n

    steps = tuple(replace(step, args=tuple(map(place, step.args))) for step in case.steps)
    return replace(case, steps=steps, outputs=tuple(map(place, case.outputs)))


def show(case: Case, table: Table, head: str, tail: str) -> str:
    """A function of its arguments, one line for each step."""
    names = [f"x{n}" for n in range(len(case.inputs))]
    lines = [f"def f({', '.join(names)}):"]
    for step in case.steps:
        names.append(f"v{len(names)}")
        text = table[step.op].text.format(*(names[n] for n in step.args), d=[_shown(part) for part in step.data])
        lines.append(f"    {names[-1]} = {text}")
    lines.append(f"    return {', '.join(names[n] for n in case.outputs)}")
    box = list(map(list, zip(case.low, case.high, strict=True)))
    return "\n".join([head, "", *lines, "", tail.format(inputs=case.inputs, box=box)])


def _shown(part: Any) -> str:
    return repr(part)
