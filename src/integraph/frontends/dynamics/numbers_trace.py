"""A function of Python, written with numpy or math, as a tape: it is called once, with symbols for its arguments.

Operators of a symbol write steps. Vectors are arrays of symbols, so numpy indexes, stacks, adds and multiplies them as
it does numbers; of a function such as np.sin it calls the method of this name of every symbol. `math` takes nothing but
floats: a function that has it as a global name is called with one in its place that takes symbols too.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Rational, Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from integraph.errors import SourceError
from integraph.targets.expression import FUNCTIONS, NUMBER, VARIABLE, Expression, Tape

MOST = 2_000_000  # steps
NUMPY = {"ln": "log", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
NUMPY |= {"atanh": "arctanh"}
JUMPS = ("floor", "ceil", "rint", "trunc", "sign")
MATH = {"fabs": "__abs__"}
BRANCH = (
    "it chooses by a value, and a lift needs smooth functions: write one formula without `if`, np.where, max or min, "
    "as np.log(1 + np.exp(k*x))/k for the larger of x and 0, or 1/(1 + np.exp(-k*x)) for a step"
)
FLOAT = (
    "it asks for a number where only a name is known: use np.sin, np.exp, … on states, and np.array([…]) for vectors"
)


class Symbol:
    """A value of the function: a step of the tape."""

    __slots__ = ("step", "tape")
    __hash__ = object.__hash__

    def __init__(self, tape: Tape, step: int) -> None:
        self.tape, self.step = tape, step

    def _of(self, op: str, *args: Any, text: str = "") -> Symbol:
        if len(self.tape.steps) > MOST:
            raise SourceError(f"it computes more than {MOST:,} numbers one by one")
        return Symbol(self.tape, self.tape.add(op, *(step(self.tape, value) for value in args), text=text))

    def __add__(self, other: Any) -> Any:
        return self._either("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._either("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._either("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._either("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._either("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._either("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._either("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._either("div", other, self)

    def __rpow__(self, other: Any) -> Any:
        return self._either("power", other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Symbol) or not isinstance(other, Real):
            return self._either("power", self, other)
        exponent = Fraction(repr(float(other))) if math.isfinite(other) else Fraction(0)
        return self._of("power", self, other, text=str(exponent))

    def _either(self, op: str, a: Any, b: Any) -> Any:
        """An operation; that of an array is numpy's, entry by entry."""
        return self._of(op, a, b) if all(isinstance(x, Symbol | Real) for x in (a, b)) else NotImplemented

    def __neg__(self) -> Symbol:
        return self._of("neg", self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        raise SourceError(
            f"abs{_place()} has a kink, and an ODE with it is not a quadratic one: write a smooth function, as "
            "sqrt(x**2 + 1e-6)"
        )

    def conjugate(self) -> Symbol:
        return self

    def hypot(self, other: Any) -> Any:
        return (self * self + other * other) ** 0.5

    def _branch(self, *_: Any) -> NoReturn:
        raise SourceError(BRANCH)

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = _branch

    def _number(self, *_: Any) -> NoReturn:
        raise SourceError(FLOAT)

    __float__ = __int__ = __complex__ = __index__ = _number

    def _jump(self, *_: Any) -> NoReturn:
        raise SourceError("it jumps, and no flow does: write a smooth formula in place of floor, round, // or %")

    __floor__ = __ceil__ = __trunc__ = __round__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _jump


def _place() -> str:
    """Where the function is at the moment, in words."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"


def _method(op: str) -> Callable[[Symbol], Symbol]:
    return lambda self: self._of(op, self)


for _name in set(FUNCTIONS) - {"abs"}:
    setattr(Symbol, NUMPY.get(_name, _name), _method(_name))
for _name in JUMPS:
    setattr(Symbol, _name, Symbol._jump)


def step(tape: Tape, value: Any) -> int:
    """The step of a symbol, or of a number."""
    if isinstance(value, Symbol):
        return value.step
    if isinstance(value, Rational):
        return tape.add(NUMBER, text=str(Fraction(value)))
    number = float(value)
    if not math.isfinite(number):
        raise SourceError(f"it computes with {number}: its numbers must be finite")
    return tape.add(NUMBER, text=repr(number))


def traced(f: Callable[..., Any], arguments: Sequence[tuple[tuple[int, ...], Sequence[str]]]) -> Expression:
    """The values of f as formulas of the names of its arguments, each with its shape: () or (n,)."""
    tape = Tape([name for _, names in arguments for name in names])
    symbols = []
    for shape, names in arguments:
        entries = [Symbol(tape, tape.add(VARIABLE, text=name)) for name in names]
        vector = np.empty(len(entries), object)
        vector[:] = entries
        symbols.append(vector if shape else entries[0])
    result = _with_symbols(f)(*symbols)
    flat = np.ravel(np.asarray(result, object))
    for value in flat:
        if not isinstance(value, Symbol | Real):
            raise SourceError(f"it returns {type(value).__name__}: return the derivatives, numbers or a vector of them")
    return tape.expression([step(tape, value) for value in flat])


def _with_symbols(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its `math`, and what it took from there, replaced by functions that take symbols."""
    if not isinstance(f, types.FunctionType):
        return f
    known = {name: _replacement(f.__globals__.get(name)) for name in f.__code__.co_names}
    names = {name: new for name, new in known.items() if new is not None}
    cells = tuple(map(_cell, f.__closure__ or ()))
    called = types.FunctionType(f.__code__, f.__globals__ | names, f.__name__, f.__defaults__, cells)
    called.__kwdefaults__ = f.__kwdefaults__
    return called


def _cell(cell: types.CellType) -> types.CellType:
    try:
        new = _replacement(cell.cell_contents)
    except ValueError:  # it is empty still
        return cell
    return cell if new is None else types.CellType(new)


def _replacement(value: Any) -> Any:
    """What stands for `math`, or for a function of it; None for anything else."""
    if value is math:
        return _MATH
    return _symbolic(value) if isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math" else None


def _symbolic(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of math that takes symbols too."""
    name = plain.__name__
    method = MATH.get(name, NUMPY.get(name, name))

    def function(*args: Any) -> Any:
        if not any(isinstance(arg, Symbol) for arg in args):
            return plain(*args)
        if name in ("pow", "hypot") and len(args) == 2:
            return args[0] ** args[1] if name == "pow" else (args[0] ** 2 + args[1] ** 2) ** 0.5
        if len(args) == 1 and hasattr(Symbol, method):
            return getattr(args[0], method)()
        raise SourceError(f"math.{name} of a state is not read: write it with + − · /, powers and elementary functions")

    return function


class _Math(types.ModuleType):
    """`math`, with functions that take symbols too."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(math, name)
        return _symbolic(value) if callable(value) else value


_MATH = _Math("math")
