"""A tape over many inputs: one numpy call for each instruction, on rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # loads scipy.special on first use, which takes a while

from integraph.flow.exact.tape import Argument, Code
from integraph.numbers.arrays import Floats

COLUMNS = 8192  # inputs at once


class Rows:
    """A tape bound to rows of memory, one for each value that is still needed. Used by one thread at a time."""

    def __init__(self, code: Code, columns: int) -> None:
        places, count = _places(code)
        memory = self.states = np.empty((count, columns))

        def row(argument: Argument) -> Any:
            return memory[places[argument]] if isinstance(argument, int) else argument

        checks = {guard.index: (_within, (row(guard.index), guard.low, guard.high)) for guard in code.guards}
        self.columns = columns
        self.inputs = [row(n) for n in range(code.inputs)]
        self.outputs = [row(argument) for argument in code.outputs]
        self.steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
            checks[n] for n in range(code.inputs) if n in checks
        ]
        for n, (op, arguments) in enumerate(code.instructions, code.inputs):
            self.steps.append((_function(op), (*map(row, arguments), row(n))))
            if n in checks:
                self.steps.append(checks[n])

    def run(self, x: Floats, outputs: Floats) -> bool:
        """Inputs (B, d), B ≤ columns, to outputs; False if one fails a guard. Unused columns copy the last."""
        count = len(x)
        for row, column in zip(self.inputs, x.T, strict=True):
            row[:count] = column
            if count < self.columns:
                row[count:] = column[-1]
        for function, arguments in self.steps:
            if function(*arguments) is False:
                return False
        for column, row in zip(outputs.T, self.outputs, strict=True):
            column[...] = row if isinstance(row, float) else row[:count]
        return True


def _function(op: str) -> Callable[..., Any]:
    function: Callable[..., Any] = scipy.special.erf if op == "erf" else getattr(np, op)
    return function


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
    places, free, count = list(range(code.inputs)), [], code.inputs
    for n, (_, arguments) in enumerate(code.instructions, code.inputs):
        free += {places[a] for a in arguments if isinstance(a, int) and last[a] == n}
        if not free:
            free.append(count)
            count += 1
        places.append(free.pop())
    return places, count
