"""Operations on constants, computed in many digits and rounded once: three operations are not three roundings,
of which the first may be most of the value in the end.

A constant remembers what it was before it was rounded, so that the next operation starts from there. With 660 digits a
sum of any two float64 is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.targets.constants import value_of
from integraph.targets.expression import FUNCTIONS
from integraph.targets.graph_evaluation import STRUCTURE

if TYPE_CHECKING:
    from integraph.targets.graph import Node

DIGITS = 660
FEW = 1024  # entries that are worth so many digits
EXACT = frozenset(("neg", "min", "max", "abs", "relu", "reshape", "broadcast", "transpose", "slice", "take", "concat"))
MOVES = ("sum", "reshape", "broadcast", "transpose", "slice", "take")
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "min", "max")
Digits = np.ndarray[Any, Any]  # of numbers of mpmath


def fold(node: Node, args: Sequence[Digits]) -> Digits | None:
    """The operation on numbers of many digits, or None where it is not one of those that are computed so."""
    if max(node.size, *(arg.size for arg in args)) > FEW:
        return None
    import mpmath

    with mpmath.workdps(DIGITS):
        given = [_digits(arg) for arg in args]
        if node.op == "matmul":
            return np.asarray(np.matmul(*given))
        if node.op == "concat":
            return np.concatenate(given, node.data[0])
        if node.op in MOVES:
            return np.asarray(STRUCTURE[node.op](given[0], node.data))
        how = _entrywise(mpmath.mp, node)
        return None if how is None else np.asarray(np.frompyfunc(how, len(given), 1)(*given))


def _digits(x: Digits) -> Digits:
    import mpmath

    return x if x.dtype == object else np.asarray(np.frompyfunc(mpmath.mpf, 1, 1)(x), object)


def _entrywise(mp: Any, node: Node) -> Callable[..., Any] | None:
    if node.op in ARITHMETIC or node.op in FUNCTIONS:
        return lambda *args: value_of(mp, node.op, "", args)
    if node.op == "power":
        return lambda x: value_of(mp, "power", str(Fraction(node.data[0])), (x,))
    if node.op == "variable_power":
        return lambda x, y: value_of(mp, "power", "", (x, y))
    if node.op == "relu":
        return lambda x: max(x, mp.mpf(0))
    return None


def rounded(exact: Digits) -> tuple[Floats, bool]:
    """The float64 next to it, and whether that is its value."""
    value = np.asarray(exact, np.float64)
    same = np.frompyfunc(lambda x, y: x == y, 2, 1)(exact, value)
    return value, bool(np.all(same))
