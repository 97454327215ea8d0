"""Taylor coefficients of a formula, of all degrees below n at once, rigorous: at points, or over whole boxes.

`taylor` runs the tape of an expression in the arithmetic of truncated series with balls as coefficients.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import Ball, hull, number
from integraph.numbers.multi_index import count
from integraph.numbers.power_series import Series, constant, variable
from integraph.numbers.series_functions import condition, divided, function, maximum_of, minimum_of, power
from integraph.targets.expression import CONDITION, Expression, Step, evaluate

AT_ONCE = 2**19  # products of a block of boxes: what is gathered for them stays in the cache

OPERATIONS: dict[str, Callable[..., Series]] = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": divided,
    "min": minimum_of,
    "max": maximum_of,
    CONDITION: condition,
}


class SeriesArithmetic:
    """What the steps of a tape mean for series in d variables, of degree < n."""

    def __init__(self, d: int, n: int) -> None:
        self.d, self.n = d, n

    def number(self, text: str) -> Series:
        return constant(self.d, self.n, number(text))

    def apply(self, step: Step, args: Sequence[Series]) -> Series:
        if step.op == "power":
            return power(args[0], args[1], Fraction(step.text) if step.text else None)
        return OPERATIONS[step.op](*args) if step.op in OPERATIONS else function(step.op, args[0])


def taylor(expression: Expression, low: Floats, high: Floats, n: int) -> Ball:
    """f^(α)/α! for |α| < n over the boxes low…high (B, d): mid and rad are (M, B, outputs).

    With low = high these are the coefficients at points, with a radius for the rounding. What is not finite is unknown.
    """
    low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    B, d = low.shape
    M = count(d, n)
    coefficients = Ball(np.empty((M, B, len(expression.outputs))), np.empty((M, B, len(expression.outputs))))
    block = max(1, AT_ONCE // comb(2 * d + n - 1, 2 * d))
    arithmetic = SeriesArithmetic(d, n)
    for start in range(0, B, block):
        part = slice(start, start + block)
        box = hull(low[part].T, high[part].T)
        inputs = [variable(d, n, i, box[i]) for i in range(d)]
        for j, series in enumerate(evaluate(expression, arithmetic, inputs)):
            whole = series.filled(n - 1)
            coefficients.mid[:, part, j], coefficients.rad[:, part, j] = whole.mid, whole.rad
    return coefficients
