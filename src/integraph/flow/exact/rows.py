"""A tape over many inputs: one numpy call for each instruction, on rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
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
NO_BOUNDS = (np.nan, np.nan)
Step = Callable[[], Any]  # False if a guard failed


class Rows:
    """A tape bound to rows of memory, one for each value that is still needed. Used by one thread at a time."""

    def __init__(self, code: Code, columns: int, *, compiled: bool = False) -> None:
        self.places, count = _places(code)
        self.states = np.empty((count, columns))
        self.bounds = {guard.value: (guard.low, guard.high) for guard in code.guards}
        self.inputs = [self._row(n) for n in range(code.inputs)]
        self.outputs = [self._row(argument) for argument in code.outputs]
        self.steps: list[Step] = [
            partial(_within, row, *self.bounds[n]) for n, row in enumerate(self.inputs) if n in self.bounds
        ]
        numbered = enumerate(code.instructions, code.inputs)
        for simple, group in groupby(numbered, key=lambda numbered: OPERATIONS[numbered[1].op].simple):
            run = list(group)
            self.steps += [self._kernel(run)] if simple and compiled else chain(*starmap(self._calls, run))

    def _row(self, argument: Argument) -> Any:
        return self.states[self.places[argument]] if isinstance(argument, int) else argument

    def _calls(self, n: int, instruction: Instruction) -> list[Step]:
        """One numpy call, and its guard."""
        op, arguments = instruction
        call = partial(_function(op), *map(self._row, arguments), out=self._row(n))
        return [call, partial(_within, self._row(n), *self.bounds[n])] if n in self.bounds else [call]

    def _kernel(self, run: list[tuple[int, Instruction]]) -> Step:
        """Many instructions in one call."""
        from integraph.flow.exact.arithmetic_kernel import KERNEL, TILE, arithmetic

        numbers = sorted({a for _, (_, arguments) in run for a in arguments if isinstance(a, float)})
        operand = {number: -1 - k for k, number in enumerate(numbers)}
        code = [
            (KERNEL[op], *(operand[a] if isinstance(a, float) else self.places[a] for a in (given * 3)[:3]),
             self.places[n])
            for n, (op, given) in run
        ]  # fmt: skip
        bounds = [self.bounds.get(n, NO_BOUNDS) for n, _ in run]
        constants = np.repeat(np.array([*numbers, 0.0])[:, None], TILE, axis=1)
        return partial(arithmetic, self.states, constants, np.array(code, np.int64), np.array(bounds))

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


def _function(op: str) -> Callable[..., Any]:
    if op == "multiply_add":
        return _multiply_add
    function: Callable[..., Any] = getattr(scipy.special if op == "erf" else np, op)
    return function


def _multiply_add(x: Any, y: Any, z: Any, out: Floats) -> None:
    np.multiply(x, y, out=out)
    np.add(out, z, out=out)


def columns(code: Code) -> int:
    """How many inputs to carry at once."""
    return max(FEWEST, min(COLUMNS, 1 << (MEMORY // (8 * max(_places(code)[1], 1))).bit_length() - 1))


def _within(row: Floats, low: float, high: float) -> bool:
    """Whether low < value < high everywhere."""
    return bool(np.minimum.reduce(row) > low and np.maximum.reduce(row) < high)


def _places(code: Code) -> tuple[list[int], int]:
    """The row of every value, and how many rows there are: one is free again after the last instruction that reads
    it."""
    total = code.inputs + len(code.instructions)
    last = list(range(total))
    for n, (_, arguments) in enumerate(code.instructions, code.inputs):
        for argument in arguments:
            if isinstance(argument, int):
                last[argument] = n
    for argument in code.outputs:
        if isinstance(argument, int):
            last[argument] = total
    places, count = list(range(code.inputs)), code.inputs
    free: list[int] = []
    for n, (_, arguments) in enumerate(code.instructions, code.inputs):
        if not free:
            free.append(count)
            count += 1
        places.append(free.pop())
        free += {places[a] for a in arguments if isinstance(a, int) and last[a] == n}
    return places, count
