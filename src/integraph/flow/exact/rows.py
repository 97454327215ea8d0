"""A tape over many inputs: numpy calls, or machine code for runs of arithmetic, on rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, starmap
from typing import Any

import numpy as np
import scipy  # loads scipy.special on first use, which takes a while

from integraph.flow.exact.schedule import Code
from integraph.flow.exact.tape import OPERATIONS, Argument, Instruction
from integraph.numbers.arrays import Floats

COLUMNS = 16384  # inputs at once, from which on calls cost little beside arithmetic
MEMORY = 1 << 20  # bytes of all rows that stay in the second-level cache
FEWEST = 256
MULTIPLE = 8  # inputs that machine code carries at a time
Step = Callable[[], Any]  # False if a guard failed
Kernel = Callable[[int, int], bool]  # of the memory and the bytes of a row


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where values are while they are needed, and which instructions are machine code, if any."""

    code: Code
    places: dict[int, int]  # the row of every value that has one
    rows: int
    kernels: tuple[Kernel, ...] = ()  # one for each run of simple instructions
    checked: frozenset[int] = frozenset()  # values whose guards a kernel checks

    @property
    def columns(self) -> int:
        """How many inputs to carry at once."""
        return max(FEWEST, min(COLUMNS, 1 << (MEMORY // (8 * max(self.rows, 1))).bit_length() - 1))


def interpreted(code: Code) -> Layout:
    """One numpy call for each instruction."""
    return Layout(code, *_places(code, range(code.inputs + len(code.instructions))))


def compiled(code: Code) -> Layout:
    """The runs of simple instructions as machine code; what only one of them reads has no row."""
    from integraph.flow.exact.arithmetic_kernel import kernels

    runs = _runs(code)
    inside = {n: k for k, (simple, run) in enumerate(runs) if simple for n, _ in run}
    read = [
        (a, inside.get(n)) for _, run in runs for n, (_, given) in run for a in given if isinstance(a, int)
    ]  # values, and in which run
    kept = {n for _, run in runs for n, _ in run if n not in inside} | {a for a, k in read if inside.get(a) != k}
    places, rows = _places(code, kept | {a for a in code.outputs if isinstance(a, int)})
    machine = kernels([run for simple, run in runs if simple], places, bounds(code))
    loaded = (a for a, k in read if k is not None and inside.get(a) != k)
    return Layout(code, places, rows, tuple(machine), frozenset([*inside, *loaded]))


class Rows:
    """A tape bound to rows of memory, one for each value that is still needed. Used by one thread at a time."""

    def __init__(self, layout: Layout, columns: int) -> None:
        code, self.layout = layout.code, layout
        self.states = np.empty((layout.rows, -(-columns // MULTIPLE) * MULTIPLE))
        self.inputs = [self._row(n) for n in range(code.inputs)]
        self.outputs = [self._row(argument) for argument in code.outputs]
        self.bounds = {n: limits for n, limits in bounds(code).items() if n not in layout.checked}
        self.steps: list[Step] = [
            partial(_within, row, *self.bounds[n]) for n, row in enumerate(self.inputs) if n in self.bounds
        ]
        kernels = iter(layout.kernels)
        for simple, run in _runs(code):
            if simple and layout.kernels:
                self.steps.append(partial(next(kernels), self.states.ctypes.data, self.states.strides[0]))
            else:
                self.steps += chain(*starmap(self._calls, run))

    def _row(self, argument: Argument) -> Any:
        return self.states[self.layout.places[argument]] if isinstance(argument, int) else argument

    def _calls(self, n: int, instruction: Instruction) -> list[Step]:
        """One numpy call, and its guard."""
        op, arguments = instruction
        call = partial(_function(op), *map(self._row, arguments), out=self._row(n))
        return [call, partial(_within, self._row(n), *self.bounds[n])] if n in self.bounds else [call]

    def run(self, x: Floats, outputs: Floats) -> bool:
        """Inputs (B, d), B ≤ columns, to outputs; False if one fails a guard. Unused columns copy the last."""
        count = len(x)
        for row, column in zip(self.inputs, x.T, strict=True):
            row[:count] = column
            if count < len(row):
                row[count:] = column[-1]
        for step in self.steps:
            if step() is False:
                return False
        for column, row in zip(outputs.T, self.outputs, strict=True):
            column[...] = row if isinstance(row, float) else row[:count]
        return True


def _runs(code: Code) -> list[tuple[bool, list[tuple[int, Instruction]]]]:
    """Simple instructions and others in turn, numbered by the values that they give."""
    numbered = enumerate(code.instructions, code.inputs)
    return [(simple, list(run)) for simple, run in groupby(numbered, key=lambda one: OPERATIONS[one[1].op].simple)]


def bounds(code: Code) -> dict[int, tuple[float, float]]:
    return {guard.value: (guard.low, guard.high) for guard in code.guards}


def _function(op: str) -> Callable[..., Any]:
    if op == "multiply_add":
        return _multiply_add
    function: Callable[..., Any] = getattr(scipy.special if op == "erf" else np, op)
    return function


def _multiply_add(x: Any, y: Any, z: Any, out: Floats) -> None:
    np.multiply(x, y, out=out)
    np.add(out, z, out=out)


def _within(row: Floats, low: float, high: float) -> bool:
    """Whether low < value < high everywhere."""
    return bool(np.minimum.reduce(row) > low and np.maximum.reduce(row) < high)


def _places(code: Code, kept: Container[int]) -> tuple[dict[int, int], int]:
    """The row of every input and of every value to be kept, and how many rows there are: one is free again after the
    last instruction that reads it."""
    total = code.inputs + len(code.instructions)
    last = list(range(total))
    for n, (_, arguments) in enumerate(code.instructions, code.inputs):
        for argument in arguments:
            if isinstance(argument, int):
                last[argument] = n
    for argument in code.outputs:
        if isinstance(argument, int):
            last[argument] = total
    places, count = {n: n for n in range(code.inputs)}, code.inputs
    free: list[int] = []
    for n, (_, arguments) in enumerate(code.instructions, code.inputs):
        if n in kept:
            if not free:
                free.append(count)
                count += 1
            places[n] = free.pop()
        free += {places[a] for a in arguments if isinstance(a, int) and last[a] == n and a in places}
    return places, count
