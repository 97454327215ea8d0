"""Random starts for the gadgets: `draw(rng, t, n)` gives n inputs, for every register role an array shape + (n,).

The solution exists up to time t, of either sign, with some margin; starts called wild are drawn without that care.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

Values = dict[str, Any]
Draw = Callable[[Generator, float, int], Values]


def anything(*roles: str, size: float = 2.0) -> Draw:
    return lambda rng, t, n: {role: rng.normal(0, size, (1, n)) for role in roles}


def steep(slope: str, *others: str) -> Draw:
    """A slope that is often too steep to live."""
    return lambda rng, t, n: {slope: rng.normal(0, 4, (1, n))} | {role: rng.normal(0, 1.5, (1, n)) for role in others}


def hyperbolic(slope: str, *others: str) -> Draw:
    """x and a slope λ with λt ≥ −0.9·|xt|·coth|xt|, the edge of existence."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        edge = np.abs(x * t) / np.tanh(np.abs(x * t))
        values = {slope: rng.uniform(-0.9, 3, (1, n)) * edge / t, "x": x}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def logistic(*others: str, k: float = 1.0) -> Draw:
    """x and s with N = 1 + s(e^{kxt} − 1)/x ≥ 0.1."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        values = {"s": rng.uniform(-0.9, 3, (1, n)) * x / np.expm1(k * x * t), "x": x}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def leaky(k: float, c: float) -> Draw:
    """As logistic, for the excess s − cx. Near s = cx, which is unstable, the rounding of cx grows: c a power of 2."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        x = rng.normal(0, 3, (1, n))
        rest = (1 - c) * x
        return {"s": c * x + rng.uniform(-0.9, 3, (1, n)) * rest / np.expm1(k * rest * t), "x": x}

    return draw


def above_minus_one(base: str, *others: str) -> Draw:
    """1 + pt ≥ 0.1."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {base: rng.uniform(-0.9, 4, (1, n)) / t}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def complex_base(imaginary: str, *others: str) -> Draw:
    """The way from 1 to 1 + (w + iv)t keeps away from 0."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {"w": rng.uniform(-0.9, 4, (1, n)) / t, imaginary: rng.normal(0, 2, (1, n))}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def gaussian(*others: str) -> Draw:
    def draw(rng: Generator, t: float, n: int) -> Values:
        values = {"w": rng.normal(0, 3, (1, n)), "x": rng.normal(0, 2, (1, n))}
        return values | {role: rng.normal(0, 2, (1, n)) for role in others}

    return draw


def softmax(rng: Generator, t: float, n: int) -> Values:
    """Like the lemma's start, but neither normalised nor consistent."""
    s = rng.normal(0, 3, (2, 3, n))
    u = (s + np.array([0.5, 4.0])[:, None, None]) * rng.uniform(0, 1 / 3, s.shape)
    m = u.sum(1) + rng.uniform(0, 0.5, (2, n)) / t
    return {"a": rng.normal(0, 1, s.shape), "u": u, "m": m, "s": s}


def shifted_softmax(rng: Generator, t: float, n: int) -> Values:
    """Rows that differ by far more than their scores do."""
    found, c = softmax(rng, t, n), np.array([[0.5], [4.0]]) + 40.0 * rng.normal(size=(2, n))
    return {**found, "s": found["s"] + np.array([0.5, 4.0])[:, None, None] - c[:, None], "c": c}


def log_sum_exp(rng: Generator, t: float, n: int) -> Values:
    found = shifted_softmax(rng, t, n)
    del found["a"]
    return {"l": 3.0 * rng.normal(size=(2, n)), **found}


def wild_log_sum_exp(rng: Generator, t: float, n: int) -> Values:
    found = wild_softmax(rng, t, n)
    del found["a"]
    return {"l": rng.normal(size=(1, n)), **found, "c": rng.normal(size=(1, n))}


def log_softmax(rng: Generator, t: float, n: int) -> Values:
    scores = shifted_softmax(rng, t, n)
    return {"y": 3.0 * rng.normal(size=scores.pop("a").shape), **scores}


def wild_log_softmax(rng: Generator, t: float, n: int) -> Values:
    scores = wild_softmax(rng, t, n)
    return {"y": scores.pop("a"), **scores, "c": rng.normal(size=(1, n))}


def wild_softmax(rng: Generator, t: float, n: int) -> Values:
    s = rng.normal(0, 3, (1, 3, n))
    return {"a": rng.normal(0, 1, s.shape), "u": rng.normal(0, 2, s.shape), "m": rng.normal(0, 3, (1, n)), "s": s}


def wild_line(imaginary: str, *others: str) -> Draw:
    """w around −1 and below, every second one on the real line."""

    def draw(rng: Generator, t: float, n: int) -> Values:
        on_line = np.arange(n) % 2 == 0
        values = {"w": rng.uniform(-4, 1, (1, n)), imaginary: np.where(on_line, 0.0, rng.normal(0, 1, (1, n)))}
        return values | {role: rng.normal(0, 1, (1, n)) for role in others}

    return draw


def partition(rng: Generator, t: float, n: int) -> Values:
    return {name: rng.normal(0, 1, (*shape, n)) for name, shape in (("lam", (2, 4)), ("mu", (2, 3)), ("x", (2,)))}


def matrix(target: str, operand: str, lanes: int = 2) -> Draw:
    return lambda rng, t, n: {target: rng.normal(0, 1, (lanes, n)), operand: rng.normal(0, 1, (3, n))}
