"""Numbers of one width, whatever the precision of the moment is, and their functions: Arb's, without the radius."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce, total_ordering
from typing import Any

import numpy as np
from flint import arb, arb_mat

from integraph.numbers.arb.conversion import precision

BITS = 400
Matrix = np.ndarray[Any, Any]  # of numbers


@total_ordering
class WideNumber:
    """The middle of a ball, `BITS` wide."""

    __slots__ = ("middle",)

    def __init__(self, value: Any) -> None:
        self.middle = _middle(value)

    def __add__(self, other: Any) -> WideNumber:
        return _computed(lambda x, y: x + y, self, other)

    def __sub__(self, other: Any) -> WideNumber:
        return _computed(lambda x, y: x - y, self, other)

    def __mul__(self, other: Any) -> WideNumber:
        return _computed(lambda x, y: x * y, self, other)

    def __truediv__(self, other: Any) -> WideNumber:
        return _computed(lambda x, y: x / y, self, other)

    def __pow__(self, other: Any) -> WideNumber:
        return _computed(lambda x, y: x**y, self, other)

    def __rsub__(self, other: Any) -> WideNumber:
        return WideNumber(other) - self

    def __rtruediv__(self, other: Any) -> WideNumber:
        return WideNumber(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> WideNumber:
        return _computed(lambda x: -x, self)

    def __abs__(self) -> WideNumber:
        return _computed(abs, self)

    def __eq__(self, other: object) -> bool:
        return bool(self.middle == WideNumber(other).middle)

    def __lt__(self, other: Any) -> bool:
        return bool(self.middle < WideNumber(other).middle)

    def __hash__(self) -> int:
        return hash(float(self))

    def __bool__(self) -> bool:
        return not self.middle.is_zero()

    def __float__(self) -> float:
        return float(self.middle)

    def __int__(self) -> int:
        whole = self.middle.unique_fmpz()
        if whole is None:
            raise ValueError(f"{self.middle} is no integer")
        return int(whole)


def _middle(value: Any) -> arb:
    """Integers and floats are exact whatever the precision is."""
    return value.middle if isinstance(value, WideNumber) else arb(value).mid()


def _computed(function: Callable[..., arb], *values: Any) -> WideNumber:
    with precision(BITS):
        return WideNumber(function(*[_middle(value) for value in values]).mid())


def _matrix(function: Callable[[arb_mat], arb_mat], matrix: Matrix) -> Matrix:
    with precision(BITS):
        entries = function(arb_mat([[WideNumber(value).middle for value in row] for row in matrix])).tolist()
        return np.array([[WideNumber(value) for value in row] for row in entries], object)


FUNCTIONS: dict[str, Callable[..., arb]] = {
    **{name: getattr(arb, name) for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "sech", "atan")},
    **{name: getattr(arb, name) for name in ("atanh", "erf", "erfc", "ceil")},
    "ln": arb.log,
    "log10": lambda x: x.log_base(10),
    "nint": lambda x: (x + 0.5).floor(),
    "power": lambda x, y: x**y,
}


class WideFunctions:
    """The functions of such numbers."""

    mpf = WideNumber

    def __getattr__(self, name: str) -> Callable[..., WideNumber]:
        if name not in FUNCTIONS:
            raise AttributeError(name)
        return lambda *values: _computed(FUNCTIONS[name], *values)

    def ldexp(self, x: Any, exponent: int) -> WideNumber:
        return WideNumber(x) * WideNumber(arb((1, exponent)))

    def fdot(self, x: Iterable[Any], y: Iterable[Any]) -> WideNumber:
        return sum((WideNumber(a) * b for a, b in zip(x, y, strict=True)), WideNumber(0))

    def fprod(self, values: Iterable[Any]) -> WideNumber:
        return reduce(lambda x, y: x * y, values, WideNumber(1))

    def expm(self, matrix: Matrix) -> Matrix:
        return _matrix(arb_mat.exp, matrix)

    def inverse(self, matrix: Matrix) -> Matrix:
        return _matrix(arb_mat.inv, matrix)
