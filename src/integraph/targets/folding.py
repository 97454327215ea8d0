"""Operations on constants, computed in many digits and rounded once. Rounding each of several operations could lose
most of the value.

A constant remembers what it was before it was rounded, so that the next operation starts from there. With 2200 bits a
sum of any two float64 is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.targets.expression import FUNCTIONS
from integraph.targets.graph_evaluation import STRUCTURE

if TYPE_CHECKING:
    from flint import arb

    from integraph.targets.graph import Node

BITS = 2200
ALL = 2100  # bits to which a ball and a float64 in it are one number
FEW = 1024  # entries that are worth so many digits
EXACT = frozenset(("neg", "min", "max", "abs", "relu", "reshape", "broadcast", "transpose", "slice", "take", "concat"))
MOVES = ("sum", "reshape", "broadcast", "transpose", "slice", "take")
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "min", "max")
Digits = np.ndarray[Any, Any]  # of Arb balls


def fold(node: Node, args: Sequence[Digits]) -> Digits | None:
    """The result of the operation in many digits, or None if the operation is not computed this way."""
    if max(node.size, *(arg.size for arg in args)) > FEW:
        return None
    from flint import arb

    from integraph.numbers.arb.conversion import precision

    with precision(BITS):
        given = [x if x.dtype == object else np.asarray(np.frompyfunc(arb, 1, 1)(x), object) for x in args]
        balls = _apply(node, given)
    return balls if balls is not None and all(ball.is_finite() for ball in balls.ravel()) else None


def _apply(node: Node, given: list[Digits]) -> Digits | None:
    if node.op == "matmul":
        return np.asarray(np.matmul(*given))
    if node.op == "concat":
        return np.concatenate(given, node.data[0])
    if node.op in MOVES:
        return np.asarray(STRUCTURE[node.op](given[0], node.data))
    how = _entrywise(node)
    return None if how is None else np.asarray(np.frompyfunc(how, len(given), 1)(*given))


def _entrywise(node: Node) -> Callable[..., arb] | None:
    from integraph.targets.arb_functions import fixed_power, power, value

    if node.op in ARITHMETIC or node.op in FUNCTIONS:
        return lambda *args: value(node.op, "", args)
    if node.op == "power":
        return lambda x: fixed_power(x, Fraction(node.data[0]))
    if node.op == "variable_power":
        return power
    if node.op == "relu":
        return lambda x: x.max(0)
    return None


def rounded(exact: Digits) -> tuple[Floats, bool]:
    """The nearest float64, and whether it is the exact value."""
    value = np.asarray(exact, np.float64)
    return value, all(_same(ball, number) for ball, number in zip(exact.ravel(), value.ravel().tolist(), strict=True))


def _same(ball: arb, number: float) -> bool:
    return bool(ball.contains(number)) and (bool(ball.is_exact()) or ball.rel_accuracy_bits() > ALL)
