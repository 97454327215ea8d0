"""A slow, obvious reference: Taylor integration of any quadratic ODE in mpmath. It sees terms, never a gadget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from mpmath import mp, mpf

from integraph import Program

DIGITS, ORDER, TOLERANCE = 50, 44, 1e-34  # a step's truncation error, relative to each component


Term = tuple[int, int, int, mpf | float]  # (i, j, k, value)


class Escape(ArithmeticError):
    """The solution blows up; `time` says when, to about 1e-6 of the duration."""

    def __init__(self, time: float) -> None:
        super().__init__(f"blows up at t ≈ {time}")
        self.time = time


def integrate(
    terms: Sequence[Term],
    start: Sequence[mpf | float],
    duration: float,
    *,
    digits: int = DIGITS,
    order: int = ORDER,
    tolerance: float = TOLERANCE,
    shortest: float = 1e-6,
) -> list[mpf]:
    """y(duration) of y_i' = Σ value·y_j·y_k, index −1 being the constant 1, from y(0) = start.

    A step below `shortest` times the duration is taken for an escape."""
    with mp.workdps(digits):
        y = [mpf(v) for v in start]
        system = _system(terms, y)
        t, end = mpf(0), mpf(duration)
        while t < end:
            series = _series(system, y, order)
            h = _step(series, float(end - t), tolerance)
            if h < shortest * duration:
                raise Escape(float(t))
            step = end - t if h >= float(end - t) else mpf(h)
            for i, coefficients in series.items():
                y[i] = reduce(lambda value, c, step=step: value * step + c, reversed(coefficients))
            t += step
        return y


System = tuple[dict[int, mpf], dict[int, list[tuple[mpf, int]]], dict[int, list[tuple[mpf, int, int]]]]


def _system(terms: Sequence[Term], y: list[mpf]) -> System:
    """Constants, linear and quadratic parts of the registers that move; the others are numbers."""
    moving = {i for i, *_ in terms}
    constant = {i: mpf(0) for i in moving}
    linear: dict[int, list[tuple[mpf, int]]] = {i: [] for i in moving}
    quadratic: dict[int, list[tuple[mpf, int, int]]] = {i: [] for i in moving}
    for i, j, k, value in terms:
        c = mpf(value)
        left = []
        for r in (j, k):
            if r in moving:
                left.append(r)
            elif r != -1:
                c *= y[r]
        if len(left) == 2:
            quadratic[i].append((c, left[0], left[1]))
        elif left:
            linear[i].append((c, left[0]))
        else:
            constant[i] += c
    return constant, linear, quadratic


def _series(system: System, y: list[mpf], order: int) -> dict[int, list[mpf]]:
    """Taylor coefficients up to `order`: (n + 1) c_{n+1} is the n-th coefficient of the right-hand side."""
    constant, linear, quadratic = system
    series = {i: [y[i]] for i in constant}
    pairs = {(j, k) for rows in quadratic.values() for _, j, k in rows}
    for n in range(order):
        product = {(j, k): mp.fdot(series[j], series[k][::-1]) for j, k in pairs}
        for i in constant:
            slope = constant[i] if n == 0 else mpf(0)
            slope += mp.fsum(c * series[k][n] for c, k in linear[i])
            slope += mp.fsum(c * product[j, k] for c, j, k in quadratic[i])
            series[i].append(slope / (n + 1))
    return series


def _step(series: dict[int, list[mpf]], longest: float, tolerance: float) -> float:
    """The largest step whose last two terms are below the tolerance times the largest, in every component."""
    sizes = []
    for coefficients in series.values():
        log = np.array([float(mp.mag(c)) for c in coefficients])
        if np.isfinite(log[1:]).any():
            sizes.append(log)
    h = longest
    n = np.arange(len(next(iter(series.values()))))
    while any((log + n * np.log2(h))[-2:].max() > (log + n * np.log2(h)).max() + np.log2(tolerance) for log in sizes):
        h *= 0.9
    return h


def flow(program: Program, start: Sequence[mpf | float]) -> list[mpf]:
    """The end state of a program from the full start state, segment after segment."""
    y = [mpf(v) for v in start]
    for number, segment in enumerate(program.segments):
        y = integrate(listed(program, number), y, segment.duration)
    return y


def listed(program: Program, number: int) -> list[tuple[int, int, int, float]]:
    """The terms (i, j, k, value) of a segment."""
    batches = list(program.segment_terms(number))
    return [t for b in batches for t in zip(*(x.tolist() for x in (b.i, b.j, b.k, b.value)), strict=True)]
