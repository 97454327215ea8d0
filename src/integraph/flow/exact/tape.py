"""A straight-line tape: arithmetic on single numbers, written down once while closed forms run on symbols.

A `Node` is a number that is not known yet. Arithmetic with nodes and floats appends instructions to a `Tape`: constants
are folded, equal instructions are shared, and x + 0, 1·x and 0·x cost nothing. A guard says in which range an
instruction is as accurate as the closed form; inputs that leave it go another way.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from integraph.errors import IntegraphError

Argument = int | float  # an index of an instruction, or a constant


class NoTape(IntegraphError):
    """A program has no tape: it is too long, or it needs what a tape cannot do."""


class Operation(NamedTuple):
    """A function of one or two floats, and which arguments make it infinite or NaN whenever they are."""

    function: Callable[..., float]
    carries: tuple[bool, ...]
    symbol: str = ""  # in Python
    simple: bool = False  # exact but for one rounding, and quick


OPERATIONS: dict[str, Operation] = {  # by numpy's names
    "add": Operation(operator.add, (True, True), "+", simple=True),
    "subtract": Operation(operator.sub, (True, True), "-", simple=True),
    "multiply": Operation(operator.mul, (True, True), "*", simple=True),
    "divide": Operation(operator.truediv, (True, False), "/", simple=True),
    "maximum": Operation(max, (False, False), simple=True),
    "absolute": Operation(math.fabs, (True,), simple=True),
    "copysign": Operation(math.copysign, (True, False), simple=True),
    "sqrt": Operation(math.sqrt, (True,), simple=True),
    "exp": Operation(math.exp, (False,)),
    "expm1": Operation(math.expm1, (False,)),
    "log1p": Operation(math.log1p, (True,)),
    "sin": Operation(math.sin, (True,)),
    "cos": Operation(math.cos, (True,)),
    "sinh": Operation(math.sinh, (True,)),
    "tanh": Operation(math.tanh, (False,)),
    "arcsinh": Operation(math.asinh, (True,)),
    "arctan2": Operation(math.atan2, (False, False)),
    "hypot": Operation(math.hypot, (True, True)),
    "power": Operation(math.pow, (False, False)),
    "erf": Operation(math.erf, (False,)),
}


class Instruction(NamedTuple):
    op: str
    arguments: tuple[Argument, ...]


class Guard(NamedTuple):
    """low < value < high, or the tape says nothing about an input."""

    value: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """What is left of a tape: inputs are the instructions 0 … inputs − 1, then those of the list."""

    inputs: int
    instructions: tuple[Instruction, ...]
    guards: tuple[Guard, ...]
    outputs: tuple[Argument, ...]


class Node:
    """The value of one instruction. It has no truth value: a tape has no branch."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index

    def __add__(self, other: Any) -> Any:
        return self.tape.push("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self.tape.push("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.tape.push("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.tape.push("multiply", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.tape.push("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.push("divide", other, self)

    def __neg__(self) -> Any:
        return self.tape.push("multiply", self, -1.0)

    def __bool__(self) -> bool:
        raise NoTape("the value of an instruction is not known while a tape is written")


class Tape:
    def __init__(self, inputs: int, longest: int) -> None:
        self.inputs, self.longest = inputs, longest
        self.instructions: list[Instruction] = []
        self.guards: dict[int, tuple[float, float]] = {}
        self._known: dict[tuple[Any, ...], int] = {}

    def push(self, op: str, *arguments: Any) -> Any:
        """A node, or a float if all arguments are."""
        given = [a.index if isinstance(a, Node) else float(a) for a in arguments]
        if all(isinstance(a, float) for a in given):
            return _constant(op, given)
        simple = _simplified(op, given)
        if simple is not None:
            return Node(self, simple) if isinstance(simple, int) else simple
        if op in ("add", "multiply"):
            given.sort(key=lambda a: (isinstance(a, float), a))
        key = (op, *(a if isinstance(a, int) else a.hex() for a in given))
        if key not in self._known:
            if len(self.instructions) >= self.longest:
                raise NoTape(f"more than {self.longest} instructions")
            self._known[key] = self.inputs + len(self.instructions)
            self.instructions.append(Instruction(op, tuple(given)))
        return Node(self, self._known[key])

    def guard(self, value: Any, low: float = -math.inf, high: float = math.inf) -> None:
        """Demand low < value < high."""
        if isinstance(value, Node):
            below, above = self.guards.get(value.index, (-math.inf, math.inf))
            self.guards[value.index] = max(low, below), min(high, above)
        elif not low < value < high:
            raise NoTape(f"the constant {value} is outside ({low}, {high})")

    def code(self, outputs: Sequence[Any]) -> Code:
        """What the outputs, which must be finite, and the guards need."""
        for value in outputs:
            self.guard(value)
        ends = [a.index if isinstance(a, Node) else float(a) for a in outputs]
        needed = {a for a in ends if isinstance(a, int)} | set(self.guards)
        for index in range(len(self.instructions) - 1, -1, -1):
            if index + self.inputs in needed:
                needed.update(a for a in self.instructions[index].arguments if isinstance(a, int))
        phases = self._phases()
        kept = [*range(self.inputs), *sorted(needed - set(range(self.inputs)), key=lambda n: (phases[n], n))]
        place = {index: n for n, index in enumerate(kept)}

        def moved(argument: Argument) -> Argument:
            return place[argument] if isinstance(argument, int) else argument

        chosen = [self.instructions[index - self.inputs] for index in kept[self.inputs :]]
        instructions = tuple(Instruction(op, tuple(map(moved, arguments))) for op, arguments in chosen)
        guards = [Guard(place[index], *bounds) for index, bounds in sorted(self.guards.items())]
        results = tuple(map(moved, ends))
        implied = _implied(self.inputs, instructions, {guard.value for guard in guards})
        left = (g for g in guards if g[1:] != (-math.inf, math.inf) or not implied[g.value])
        return Code(self.inputs, instructions, tuple(left), results)

    def _phases(self) -> list[tuple[int, bool]]:
        """When instructions run: simple ones together, as far as they do not wait for others."""
        phases = [(0, False)] * self.inputs
        for op, arguments in self.instructions:
            before = [phases[a] for a in arguments if isinstance(a, int)]
            phases.append((max(phase + late for phase, late in before), not OPERATIONS[op].simple))
        return phases


def _constant(op: str, given: Sequence[float]) -> float:
    try:
        value = OPERATIONS[op].function(*given)
    except (ArithmeticError, ValueError) as error:
        raise NoTape(f"{op} of {given}: {error}") from None
    if not math.isfinite(value):
        raise NoTape(f"{op} of {given} is {value}")
    return value


def _simplified(op: str, given: Sequence[Argument]) -> Argument | None:
    """The argument or constant that an instruction equals, if it needs none."""
    first, last = given[0], given[-1]
    if op in ("add", "multiply"):
        neutral = 0.0 if op == "add" else 1.0
        for one, other in ((first, last), (last, first)):
            if isinstance(one, float) and one == neutral:
                return other
    if op == "multiply" and any(isinstance(a, float) and a == 0.0 for a in given):
        return 0.0
    if op == "subtract" and isinstance(last, float) and last == 0.0:
        return first
    if op == "divide" and isinstance(last, float) and last == 1.0:
        return first
    if op == "divide" and isinstance(first, float) and first == 0.0:
        return 0.0
    return None


def _implied(inputs: int, instructions: Sequence[Instruction], checked: set[int]) -> list[bool]:
    """Which values are finite if later ones that are checked are."""
    implied = [False] * (inputs + len(instructions))
    for index in range(len(instructions) - 1, -1, -1):
        if implied[inputs + index] or inputs + index in checked:
            op, arguments = instructions[index]
            for argument, carries in zip(arguments, OPERATIONS[op].carries, strict=True):
                if carries and isinstance(argument, int):
                    implied[argument] = True
    return implied
