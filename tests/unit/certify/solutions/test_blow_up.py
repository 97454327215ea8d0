"""Times beyond which no solution exists, beside closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import integraph
from integraph.certify.solutions.blow_up import exact, time_to_blow_up

SYSTEMS = {  # equations, the box of all variables, when the last of the solutions ends
    "x' = x^2": ([[0.5, 1.0]], 2.0),
    "x' = -x^2": ([[-1.0, -0.5]], 2.0),
    "x' = 4*x + x^2": ([[4.0, 4.0]], 0.25 * math.log(2)),
    "x' = 1 + x^2": ([[1.0, 1.0]], math.pi / 4),
    "x' = x^2 + y; y' = y": ([[1.0, 1.0], [0.0, 0.0]], 1.0),
    "x' = x*y; y' = x*y": ([[1.0, 1.0], [1.0, 1.0]], 1.0),
    "x' = -y^2; y' = -x^2; z' = x": ([[-1.0, -1.0], [-1.0, -1.0], [0.0, 0.0]], 1.0),
    "x' = 2*y*z; y' = z*x; z' = x*y": ([[1.0, 1.0]] * 3, math.pi / 4),
}


@pytest.mark.parametrize("text", SYSTEMS)
def test_bounds(text: str) -> None:
    box, last = SYSTEMS[text]
    bound = time_to_blow_up(integraph.lift(text, progress=False), np.array(box))
    assert bound is not None
    assert last <= bound <= 2.0 * last


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("x' = x^2", [[-1.0, 1.0]]),  # solutions from −1 exist for ever
        ("x' = -x", [[1.0, 1.0]]),
        ("x' = x", [[1.0, 1.0]]),
        ("x' = x*y; y' = 1", [[1.0, 1.0], [1.0, 1.0]]),
        ("x' = x^2 - y; y' = 1", [[1.0, 1.0], [0.0, 0.0]]),
        ("x' = x^2", [[1.0, np.inf]]),
    ],
)
def test_no_proof(text: str, box: list[list[float]]) -> None:
    assert time_to_blow_up(integraph.lift(text, progress=False), np.array(box)) is None


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("x' = x^2 + 1/3*x", True),
        ("x' = exp(x)", True),
        ("x' = pi*x^2", False),
        ("x' = exp(x + 2)", False),
        ("x' = (2*x)^(1/2)", False),
        ("x' = log2(x)", False),
    ],
)
def test_coefficients_that_were_rounded_prove_nothing(text: str, sure: bool) -> None:
    assert exact(integraph.lift(text, progress=False).source.expression) is sure
