"""A straight-line tape: arithmetic on single numbers, written down once while closed forms run on symbols.

A `Node` is a number that is not known yet. Arithmetic with nodes and floats appends instructions to a `Tape`: constants
are folded, equal instructions are shared, and x + 0, 1·x and 0·x cost nothing. A guard says in which range an
instruction is as accurate as the closed form; inputs that leave it go another way. `schedule.py` makes code of a tape.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from integraph.errors import IntegraphError

Argument = int | float  # an index of an instruction, or a constant


class NoTape(IntegraphError):
    """A program has no tape: it is too long, or it needs what a tape cannot do."""


class Operation(NamedTuple):
    """A function of floats, and which arguments make it infinite or NaN whenever they are."""

    function: Callable[..., float]
    carries: tuple[bool, ...]
    simple: bool = False  # arithmetic: quick, and each step of it rounded as it should be


OPERATIONS: dict[str, Operation] = {  # by numpy's names
    "add": Operation(operator.add, (True, True), simple=True),
    "subtract": Operation(operator.sub, (True, True), simple=True),
    "multiply": Operation(operator.mul, (True, True), simple=True),
    "divide": Operation(operator.truediv, (True, False), simple=True),
    "multiply_add": Operation(lambda x, y, z: x * y + z, (True, True, True), simple=True),
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
    "arctan": Operation(math.atan, (False,)),
    "arctan2": Operation(math.atan2, (False, False)),
    "hypot": Operation(math.hypot, (True, True)),
    "power": Operation(math.pow, (False, False)),
    "erf": Operation(math.erf, (False,)),
}


class Instruction(NamedTuple):
    op: str
    arguments: tuple[Argument, ...]


class Node:
    """The value of one instruction. It cannot be compared and has no truth value: a tape has no branch."""

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

    def __eq__(self, other: object) -> bool:
        return bool(self)

    __hash__ = None  # type: ignore[assignment]


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
        if not all(map(math.isfinite, given)):
            raise NoTape(f"{op} of {given}: a constant that is not finite")
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
