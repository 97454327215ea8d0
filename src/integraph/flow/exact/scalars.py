"""A tape for one input: Python's own arithmetic takes a tenth of a microsecond an instruction, numpy's half of one."""

from __future__ import annotations

import numpy as np

from integraph.flow.exact.schedule import Code
from integraph.flow.exact.tape import OPERATIONS, Argument
from integraph.numbers.arrays import Floats

NONE = -1  # the place of an operand that an operation does not have


class Scalars:
    """A tape bound to places in a list: inputs, constants, then the values of instructions."""

    def __init__(self, code: Code) -> None:
        arguments = [*code.outputs, *(a for instruction in code.instructions for a in instruction.arguments)]
        self.constants = list(dict.fromkeys(a for a in arguments if isinstance(a, float)))
        inputs, constants = code.inputs, len(self.constants)

        def place(argument: Argument) -> int:
            """Constants come right after the inputs."""
            if isinstance(argument, float):
                return inputs + self.constants.index(argument)
            return argument if argument < inputs else argument + constants

        self.code = []
        for op, given in code.instructions:
            first, second, third = (*map(place, given), NONE, NONE)[:3]
            self.code.append((OPERATIONS[op].function, first, second, third))
        self.guards = [(place(guard.value), guard.low, guard.high) for guard in code.guards]
        self.outputs = [place(argument) for argument in code.outputs]

    def point(self, x: list[float]) -> Floats | None:
        values = self.run(x)
        return None if values is None else np.array(values)

    def run(self, x: list[float]) -> list[float] | None:
        """The outputs of one input; None if it fails a guard or an operation has no value."""
        values = x + self.constants
        append = values.append
        try:
            for function, first, second, third in self.code:
                if third >= 0:
                    append(function(values[first], values[second], values[third]))
                elif second >= 0:
                    append(function(values[first], values[second]))
                else:
                    append(function(values[first]))
        except (ArithmeticError, ValueError):  # where numpy has ∞ or NaN
            return None
        for value, low, high in self.guards:
            if not low < values[value] < high:
                return None
        return [values[output] for output in self.outputs]
