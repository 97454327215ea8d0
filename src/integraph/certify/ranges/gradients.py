"""Balls with gradients: a value for every input of a cell, and its derivatives with respect to the inputs there.

They keep the correlation between registers that balls lose, through the mean value form y(c) + y'(X)(X − c), whose
excess falls with the square of the cell. They are elements of object arrays, as balls are, so the gadgets' own closed
forms run on them. A partial derivative without a rule is unknown, and then the ball of the value stands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from integraph.certify.ranges.derivatives import PARTIALS
from integraph.gadgets.functions.arb import BALLS, SCALARS, BallFunctions
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, intersection
from integraph.numbers.arb.ranges import UNKNOWN

Gradient = list[arb]


class GradientBall:
    """A quantity on a cell: its `value`, its value at the `centre`, ∂/∂x for each input x, and x − centre for each.

    Sums only collect; before anything else is done to it, the value is intersected with the mean value form.
    """

    __slots__ = ("_value", "centre", "gradient", "offsets", "tight")

    def __init__(self, value: arb, centre: arb, gradient: Gradient, offsets: Gradient, tight: bool = False) -> None:
        self._value, self.centre, self.gradient, self.offsets, self.tight = value, centre, gradient, offsets, tight

    @property
    def value(self) -> arb:
        if not self.tight:
            self.tight = True
            if self._value.is_finite():
                form = self.centre
                for slope, offset in zip(self.gradient, self.offsets, strict=True):
                    form = form + slope * offset
                self._value = intersection(self._value, form)
        return self._value

    def __add__(self, other: Any) -> GradientBall:
        if type(other) is not GradientBall:
            return GradientBall(self._value + other, self.centre + other, self.gradient, self.offsets, self.tight)
        gradient = [a + b for a, b in zip(self.gradient, other.gradient, strict=True)]
        return GradientBall(self._value + other._value, self.centre + other.centre, gradient, self.offsets)

    __radd__ = __add__

    def __neg__(self) -> GradientBall:
        return GradientBall(-self._value, -self.centre, [-a for a in self.gradient], self.offsets, self.tight)

    def __sub__(self, other: Any) -> GradientBall:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> GradientBall:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> GradientBall:
        if type(other) is not GradientBall:
            gradient = [a * other for a in self.gradient]
            return GradientBall(self._value * other, self.centre * other, gradient, self.offsets)
        x, y = self.value, other.value
        value = ranges.square(x) if self is other else x * y
        gradient = [a * y + b * x for a, b in zip(self.gradient, other.gradient, strict=True)]
        return GradientBall(value, self.centre * other.centre, gradient, self.offsets)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> GradientBall:
        return self.__mul__(1 / other)

    def __rtruediv__(self, other: Any) -> GradientBall:
        inverse = 1 / self.value
        slope = -inverse * inverse * other
        return GradientBall(inverse * other, other / self.centre, [slope * a for a in self.gradient], self.offsets)

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > other)


def value_of(ball: Any) -> arb:
    return ball.value if type(ball) is GradientBall else ball


def centre_of(ball: Any) -> arb:
    return ball.centre if type(ball) is GradientBall else ball


def variable(value: arb, centre: arb, number: int, offsets: Gradient) -> GradientBall:
    """Input `number`."""
    return GradientBall(value, centre, [ONE if n == number else ZERO for n in range(len(offsets))], offsets, True)


def without_gradient(value: arb, like: Any) -> Any:
    """A value that depends on the inputs, nobody knows how."""
    if type(like) is not GradientBall:
        return value
    return GradientBall(value, UNKNOWN, [UNKNOWN] * len(like.gradient), like.offsets, True)


def lifted(function: Callable[..., arb], rules: tuple[Callable[..., arb] | None, ...]) -> Callable[..., Any]:
    """A function of balls, with its partial derivatives (None: unknown), as one of gradient balls.

    Where the value is not known, neither is the gradient: the function may jump, or not be defined.
    """

    def of(*arguments: Any) -> Any:
        balls = [value_of(a) if type(a) in (GradientBall, arb) else arb(a) for a in arguments]
        value = function(*balls)
        like, gradient = None, None
        for argument, rule in zip(arguments, rules, strict=True):
            if type(argument) is GradientBall:
                slope = rule(*balls) if rule is not None and value.is_finite() else UNKNOWN
                part = [slope * a for a in argument.gradient]
                gradient = part if gradient is None else [a + b for a, b in zip(gradient, part, strict=True)]
                like = argument
        if like is None or gradient is None:
            return value
        centres = [centre_of(a) if type(a) in (GradientBall, arb) else arb(a) for a in arguments]
        return GradientBall(value, function(*centres), gradient, like.offsets)

    return of


class GradientFunctions(BallFunctions):
    """`Functions` of gradient balls."""

    def __init__(self) -> None:
        for name, (function, count) in SCALARS.items():
            rules = PARTIALS.get(name, (None,) * count)
            setattr(self, name, np.frompyfunc(lifted(function, rules), count, 1))

    def logistic(self, x: Any, k: Any, *z: Any) -> tuple[Any, ...]:
        """N e^{−x} in place of N: no case distinction by the sign of x, where there is no derivative."""
        below = self.exp(-x) + k * self.expm1c(-x)
        return below, *(y / below for y in z)

    def gaps(self, t: Any, s: Any, c: Any, u: Any) -> tuple[Any, Any]:
        """The number M is a constant of the cell."""
        top = BALLS.gaps(t, values(s), values(c), values(u))[1]
        return t * (s + c) - top, top

    def normaliser(self, t: Any, u: Any, m: Any, sigma: Any, top: Any, grown: Any) -> tuple[Any, Any]:
        """A sum of values of all lanes, so it depends on every input that they depend on."""
        sizes, alive = BALLS.normaliser(t, *(values(part) for part in (u, m, sigma, top, grown)))
        return strip(sizes, m + np.sum(u + sigma, axis=-2)), alive


values = np.frompyfunc(value_of, 1, 1)
strip = np.frompyfunc(without_gradient, 2, 1)
GRADIENTS = GradientFunctions()
