"""Waves, powers, logarithms, hyperbolic functions and the tangent, with the ranges of all their derivatives.

Their derivatives are of their own kind, and where they turn is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.ball_functions import FAR, holds
from integraph.numbers.balls import TINY

Real = Callable[[Floats], Floats]

TRUST = 2.0**-43  # relative error of values by numpy and scipy
EVERYWHERE = (-math.inf, math.inf)
POSITIVE = (TINY, math.inf)


class Smooth(Protocol):
    @property
    def domain(self) -> tuple[float, float]: ...

    @property
    def slack(self) -> float: ...

    def value(self, x: Floats) -> Floats:
        """f(x), to a relative error of `TRUST` and an absolute one of `slack`."""

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of f^(order) over [low, high], inside of the domain; infinite where it has a pole there."""


@dataclass(frozen=True, slots=True)
class Wave:
    """sin(x + quarters·π/2), whose derivatives are of its kind."""

    quarters: int
    domain: tuple[float, float] = EVERYWHERE
    slack: float = 0.0

    def value(self, x: Floats) -> Floats:
        wave = (np.sin, np.cos, np.sin, np.cos)[self.quarters % 4](x)
        return -wave if self.quarters % 4 in (2, 3) else wave

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        wave = Wave(self.quarters + order)
        ends = wave.value(np.stack([low, high]))
        least, most = (ends - TRUST).min(0), (ends + TRUST).max(0)
        peak = (1 - wave.quarters) / 4  # sin(x + qπ/2) is 1 where x/(2π) − peak is an integer
        for turn, sign in ((peak, 1.0), (peak + 0.5, -1.0)):
            inside = holds(low, high, 2 * math.pi, turn)  # so far away that phases are unknown: always
            most = np.where(inside, np.maximum(most, sign), most)
            least = np.where(inside, np.minimum(least, sign), least)
        return np.fmax(least, -1.0), np.fmin(most, 1.0)


@dataclass(frozen=True, slots=True)
class Power:
    """x^a: of all x if a = 0, 1, 2, …, else of x > 0. Derivatives are monotone on either side of 0. If a is `rounded`,
    the exponent that is meant is within half an ulp of it."""

    a: float
    rounded: bool = False

    @property
    def domain(self) -> tuple[float, float]:
        return EVERYWHERE if self.a >= 0 and self.a.is_integer() and not self.rounded else POSITIVE

    @property
    def slack(self) -> float:
        return TINY

    def value(self, x: Floats) -> Floats:
        return np.power(x, self.a)

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        factor = math.prod(self.a - i for i in range(order))
        if factor == 0.0:
            return np.zeros_like(low), np.zeros_like(low)
        ends = factor * np.power(np.stack([low, high]), self.a - order)
        if self.domain == EVERYWHERE:
            ends = np.concatenate(
                [ends, np.where((low < 0) & (high > 0), 0.0, ends[0])[None] if self.a > order else ends]
            )
        off = (8.0 * TRUST if self.rounded else TRUST) * np.abs(ends) + TINY
        return (ends - off).min(0), (ends + off).max(0)


@dataclass(frozen=True, slots=True)
class Logarithm:
    """ln(x + shift)·unit, whose derivative is unit/(x + shift)."""

    of: Real = np.log
    unit: float = 1.0
    shift: float = 0.0
    slack: float = 0.0

    @property
    def domain(self) -> tuple[float, float]:
        return (float(np.nextafter(-self.shift, 1.0)), math.inf) if self.shift else POSITIVE

    def value(self, x: Floats) -> Floats:
        return self.of(x)

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if order:
            least, most = Power(-1.0).extremes(order - 1, low + self.shift, high + self.shift)
            return self.unit * least, self.unit * most
        ends = self.value(np.stack([low, high]))
        off = TRUST * np.abs(ends)
        return (ends - off)[0], (ends + off)[1]


@dataclass(frozen=True, slots=True)
class Hyperbolic:
    """sinh, or cosh if it is `even`: each is the derivative of the other."""

    even: bool
    domain: tuple[float, float] = EVERYWHERE
    slack: float = 0.0

    def value(self, x: Floats) -> Floats:
        result: Floats = np.cosh(x) if self.even else np.sinh(x)
        return result

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        kind = Hyperbolic(self.even == (order % 2 == 0))
        ends = kind.value(np.stack([low, high]))
        off = TRUST * np.abs(ends)
        least, most = (ends - off).min(0), (ends + off).max(0)
        return np.where((low <= 0) & (high >= 0), 1.0, least) if kind.even else least, most


@dataclass(frozen=True, slots=True)
class Tangent:
    """tan x, of y = tan x with y' = 1 + y²: derivatives are polynomials in y with coefficients ≥ 0, either even or odd,
    and turn nowhere but at y = 0."""

    domain: tuple[float, float] = EVERYWHERE
    slack: float = 0.0

    def value(self, x: Floats) -> Floats:
        return np.tan(x)

    def extremes(self, order: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        coefficients = _tangent(order)
        y = np.tan(np.stack([low, high]))
        ends = np.polynomial.polynomial.polyval(y, coefficients)
        off = TRUST * np.polynomial.polynomial.polyval(np.abs(y), coefficients)
        least, most = (ends - off).min(0), (ends + off).max(0)
        zero = (y[0] <= 0) & (y[1] >= 0)
        least = np.where(zero, np.minimum(least, coefficients[0]), least)
        known: Any = (np.maximum(np.abs(low), np.abs(high)) <= FAR) & ~holds(low, high, math.pi, 0.5)
        return np.where(known, least, -np.inf), np.where(known, most, np.inf)


@cache
def _tangent(order: int) -> Floats:
    """The coefficients of the derivative of this order, of y⁰, y¹, …"""
    if order == 0:
        return np.array([0.0, 1.0])
    slope = np.polynomial.polynomial.polyder(_tangent(order - 1))
    return np.asarray(np.polynomial.polynomial.polymul(slope, [1.0, 0.0, 1.0]), np.float64)
