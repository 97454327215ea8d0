"""Balls with gradients as rows of polynomial models: y = y(c) + y'(X)(x − c), linear in x with a radius."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from integraph.certify.loops.rows import ModelRows, degrees
from integraph.certify.ranges.gradients import GradientBall, value_of
from integraph.numbers.arb.conversion import ZERO, above, size
from integraph.numbers.models.monomials import monomials


def linear_rows(column: Any) -> ModelRows:
    """The rows of all registers of a cell; a radius is not finite where nothing is known."""
    like = next((ball for ball in column if type(ball) is GradientBall), None)
    halves = [] if like is None else [size(offset) for offset in like.offsets]
    wide = [n for n, half in enumerate(halves) if half > 0]
    table = monomials(len(wide), degrees(len(wide))[0])
    values = np.zeros((len(column), table.count + 1))
    for row, ball in zip(values, column, strict=True):
        if type(ball) is GradientBall and _known(ball):
            slopes = [ball.gradient[n].mid() for n in wide]
            rest = ball.centre - ball.centre.mid()
            for n, slope in zip(wide, slopes, strict=True):
                rest += (ball.gradient[n] - slope) * ball.offsets[n]
            numbers = [ball.centre.mid(), *(slope * halves[n] for n, slope in zip(wide, slopes, strict=True))]
        else:
            value = value_of(ball)
            numbers, rest = [value.mid()], value - value.mid()
        row[: len(numbers)] = [float(number) for number in numbers]
        lost = sum((size(number - arb(stored)) for number, stored in zip(numbers, row.tolist(), strict=False)), ZERO)
        row[-1] = above(size(rest) + lost)
    return ModelRows(table, values)


def _known(ball: GradientBall) -> bool:
    return bool(ball.centre.is_finite()) and all(slope.is_finite() for slope in ball.gradient)
