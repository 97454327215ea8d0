"""Integration in many digits: Taylor series of any quadratic ODE, in whole numbers of 2^−bits.

It sees terms, never a gadget, and shares nothing with the engines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Any, NamedTuple

from integraph.paper.digits import digits
from integraph.program import ONE

Term = tuple[int, int, int, Any]  # (i, j, k, value): value·y_j·y_k in y_i'
SPARE = 24  # bits by which rounding may add up
SHORTEST = -100  # a step below 2^ this is taken for the pole of an escape


class Escape(ArithmeticError):
    """The solution leaves every bound at `time`, a number of many digits."""

    def __init__(self, time: Any, register: int) -> None:
        super().__init__(f"register {register} blows up at t = {float(time):.6g}")
        self.time, self.register = time, register


class _System(NamedTuple):
    constant: dict[int, int]
    linear: dict[int, list[tuple[int, int]]]
    quadratic: dict[int, list[tuple[int, int, int]]]


def integrate(terms: Sequence[Term], start: Sequence[Any], duration: float = 1.0, *, bits: int = 192) -> list[Any]:
    """y(duration) from y(0) = start, to about 2^−bits of the largest number on the way, as numbers of many digits."""
    m = digits()
    y = [_fixed(value, bits) for value in start]
    system = _system(terms, y, bits)
    t, end, halvings = 0, _fixed(duration, bits), 0  # time is counted in units of 2^−halvings, about a step
    while t < end:
        series = _series(system, y, halvings, bits)
        exponent, register = _step(series, bits)
        step = min(_fixed(m.power(2, min(exponent, 0.0)), bits), (end - t) << halvings)
        if exponent - halvings < SHORTEST:
            raise Escape(m.ldexp(m.mpf(t), -bits), register)
        for i, coefficients in series.items():
            value = 0
            for c in reversed(coefficients):
                value = (value * step >> bits) + c
            y[i] = value
        t += step >> halvings if step < (end - t) << halvings else end - t
        halvings = max(0, halvings - math.floor(exponent))
    return [m.ldexp(m.mpf(value), -bits) for value in y]


def _fixed(value: Any, bits: int) -> int:
    m = digits()
    return int(m.nint(m.ldexp(m.mpf(value), bits)))


def _system(terms: Sequence[Term], y: list[int], bits: int) -> _System:
    """Of the registers that move; those that do not are numbers."""
    moving = {i for i, *_ in terms}
    system = _System(dict.fromkeys(moving, 0), {i: [] for i in moving}, {i: [] for i in moving})
    for i, j, k, value in terms:
        coefficient, left = _fixed(value, bits), []
        for register in (j, k):
            if register in moving:
                left.append(register)
            elif register != ONE:
                coefficient = coefficient * y[register] >> bits
        if len(left) == 2:
            system.quadratic[i].append((coefficient, left[0], left[1]))
        elif left:
            system.linear[i].append((coefficient, left[0]))
        else:
            system.constant[i] += coefficient
    return system


def _series(system: _System, y: list[int], halvings: int, bits: int) -> dict[int, list[int]]:
    """Coefficients 0 … bits/2: (n + 1) c_{n+1} is the n-th coefficient of the right-hand side, in that unit of time."""
    series = {i: [y[i]] for i in system.constant}
    pairs = {(j, k) for rows in system.quadratic.values() for _, j, k in rows}
    for n in range(bits // 2):
        product = {(j, k): sum(map(mul, series[j], reversed(series[k]))) >> bits for j, k in pairs}
        slopes = {}
        for i, constant in system.constant.items():
            slope = 0 if n else constant << bits
            slope += sum(c * series[k][n] for c, k in system.linear[i])
            slope += sum(c * product[j, k] for c, j, k in system.quadratic[i])
            slopes[i] = (slope >> bits + halvings) // (n + 1)
        for i, slope in slopes.items():
            series[i].append(slope)
    return series


def _step(series: dict[int, list[int]], bits: int) -> tuple[float, int]:
    """The exponent of the largest step 2^e, e ≤ 1, after which the last two terms of every register are too small to
    count, and the register that asks for it. A step longer than the unit would let rounding grow with its powers."""
    exponent, register = 1.0, ONE
    for i, coefficients in series.items():
        counts = max(bits, coefficients[0].bit_length()) - bits + SPARE  # below, in units of 2^−bits
        for n in (len(coefficients) - 2, len(coefficients) - 1):
            fits = (counts - coefficients[n].bit_length()) / n
            if coefficients[n] and fits < exponent:
                exponent, register = fits, i
    return exponent, register
