"""Right-hand sides written with numpy or math, against the functions themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import sin
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError
from integraph.frontends.dynamics import read_system
from integraph.targets.float_arithmetic import values

A = np.array([[0.0, 1.0], [-2.0, -0.1]])


def forced(t: Any, y: Any) -> Any:
    return [y[1], -np.sin(y[0]) - 0.1 * y[1] + math.cos(t)]


def in_place(y: Any) -> Any:
    out = np.zeros_like(y)
    out[0], out[1] = y[1], -y[0] * y[1]
    return out


def kepler(y: Any) -> Any:
    return np.concatenate([y[2:], -y[:2] / np.linalg.norm(y[:2]) ** 3])


def closed_over() -> Callable[..., Any]:
    import math as local

    return lambda x, v: (v, -local.exp(-x) * local.hypot(x, v))


VECTORS: list[tuple[Callable[[Any], Any], int]] = [
    (lambda y: A @ y, 2),
    (lambda y: np.dot(A, y) * np.tanh(y).sum(), 2),
    (lambda y: np.array([y[1], -math.exp(-(y[0] ** 2)) * y[0]]), 2),
    (lambda y: np.sqrt(1 + np.square(y)) / np.cosh(y) + np.expm1(y) * y.mean() - np.log1p(y) ** 1.5, 3),
    (lambda y: [2 ** y[0], y[1] ** y[0], np.pi * y[2] / 3], 3),
    (lambda y: 30 * (np.roll(y, 1) - 2 * y + np.roll(y, -1)) + y - y**3, 40),
    (lambda y: np.arctan(y) - np.arcsinh(y) + np.hypot(y, 2.0) + np.cbrt(1 + y) - np.exp(-y) * np.log(y), 2),
    (lambda y: 1 - 2 / (3 - y) + (y - 4) / 5 - +y - np.reciprocal(1 + y), 2),
    (in_place, 2),
    (kepler, 4),
]


@pytest.mark.parametrize(("f", "count"), VECTORS)
def test_functions_of_vectors(f: Callable[[Any], Any], count: int) -> None:
    system = read_system(f, states=count)
    x = np.random.default_rng(count).uniform(0.2, 1, count)
    assert np.allclose(values(system.expression, x[None])[0], f(x), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("f", [lambda x, v: (v, -9.81 * sin(x)), lambda x, v: (v, math.pow(x, 3) + 1), closed_over()])
def test_functions_of_numbers(f: Callable[..., Any]) -> None:
    system = read_system(f)
    assert system.states == ("x", "v")
    assert np.allclose(values(system.expression, np.array([[0.3, 0.7]]))[0], f(0.3, 0.7), rtol=1e-14)


def test_time_and_lifting() -> None:
    system = integraph.lift(forced, states="x, v", progress=False)
    assert system.source.states == ("x", "v", "t")
    assert set(system.formulas) == {"sin(x)", "cos(x)", "sin(t)", "cos(t)"}


def test_numbers_keep_their_decimals() -> None:
    """0.1 is a tenth, as in a formula, and an integer has all its digits."""
    assert integraph.lift(lambda x: 0.1 * x, progress=False).terms == integraph.lift("x' = 0.1*x").terms
    (term,) = integraph.lift(lambda x: (3**40) * x, progress=False).terms
    assert term.value == 3**40


DRAWS = np.random.default_rng(1)


def filled(y: Any) -> Any:
    out = np.zeros(2)
    out[0] = y[0]
    return out


def imported_inside(y: Any) -> Any:
    import math as local

    return local.sin(y[0]) * y


UNREAD = "cannot be read: |jax cannot trace"  # the latter once something has imported jax


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda y: np.where(y > 0, y, -y), "without `if`"),
        (lambda y: [max(y[0], 0), y[1]], "without `if`"),
        (lambda y: y if y[0] == 0 else -y, "without `if`"),
        (lambda y: np.maximum(y, 0), "without `if`"),
        (lambda y: np.abs(y), r"abs \(test_numbers_trace.py:\d+\) has a kink"),
        (lambda y: [math.fabs(y[0]), y[1]], "has a kink"),
        (lambda y: np.floor(y), "it jumps"),
        (lambda y: [math.floor(y[0]), y[1]], "it jumps"),
        (lambda y: y % 2, "it jumps"),
        (lambda y: y * DRAWS.random(), "no random input"),
        (lambda y: np.linalg.solve(A, y), UNREAD),
        (lambda y: np.arctan2(y, 1.0), UNREAD),
        (lambda y: [math.gamma(y[0]), y[1]], r"math\.gamma of a state"),
        (lambda y: y * np.inf, "must be finite"),
        (lambda y: ["a", "b"], "it returns str"),
        (lambda y: None, "it returns NoneType"),
        (lambda y: y[7], "IndexError"),
        (filled, r"np\.array"),
        (imported_inside, r"use np\.sin"),
    ],
)
def test_refusals(f: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_system(f, states=2)
