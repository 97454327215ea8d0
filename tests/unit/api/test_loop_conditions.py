"""Comparisons with kinks and roots as clauses of smooth ones: true where the comparison is, in floats and on sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from integraph.api.loop_specs import read_spec
from integraph.certify.loops.rows import of_box
from integraph.certify.loops.spec import Answer
from integraph.errors import UsageError

MEANINGS = {
    "abs(x) <= 1": lambda x, v: abs(x) <= 1,
    "abs(x) > 1": lambda x, v: abs(x) > 1,
    "max(x, v) < 0.5": lambda x, v: max(x, v) < 0.5,
    "min(x, 2*v) >= -0.5": lambda x, v: min(x, 2 * v) >= -0.5,
    "max(x/3, v) <= 1/7": lambda x, v: max(x / 3, v) <= 1 / 7,
    "2 - 3*max(x, v) >= -abs(v)/2": lambda x, v: 2 - 3 * max(x, v) >= -abs(v) / 2,
    "abs(x) + abs(v) <= 1.5": lambda x, v: abs(x) + abs(v) <= 1.5,
    "max(x, min(v, abs(x - v))) <= 0.8": lambda x, v: max(x, min(v, abs(x - v))) <= 0.8,
    "v*abs(x) <= 0.3": lambda x, v: v * abs(x) <= 0.3,
    "exp(-max(x, v)) >= 0.4": lambda x, v: math.exp(-max(x, v)) >= 0.4,
    "sqrt(x^2 + v^2) <= 1": lambda x, v: math.hypot(x, v) <= 1,
    "sqrt(x^2 + v^2) >= 1": lambda x, v: math.hypot(x, v) >= 1,
    "sqrt(x*x + 1) - 2*sqrt(v^2) > 0.3": lambda x, v: math.sqrt(x * x + 1) - 2 * abs(v) > 0.3,
    "sqrt(x^2 + v^2) <= 0.2 + 0.5*sqrt((x - 1)^2 + v^2)": lambda x, v: (
        math.hypot(x, v) <= 0.2 + 0.5 * math.hypot(x - 1, v)
    ),
    "2*sqrt(x*x) <= x + 0.1*v": lambda x, v: 2 * abs(x) <= x + 0.1 * v,
    "2*sqrt(x*x) <= x": lambda x, v: 2 * abs(x) <= x,
    "3*sqrt(x*x) - x > 0": lambda x, v: 3 * abs(x) - x > 0,
    "2*sqrt(x*x) + x >= 0": lambda x, v: True,
    "sqrt((x + v)*(x + v))/2 >= x + v": lambda x, v: abs(x + v) / 2 >= x + v,
    "max(x, x)^2 <= 1": lambda x, v: x * x <= 1,
    "sqrt(x^2) - v <= -3": lambda x, v: abs(x) - v <= -3,
    "abs(x) - abs(x) + 1 <= 2": lambda x, v: True,
    "max(1, 2) + 0*x >= 3": lambda x, v: False,
}  # fmt: skip


def spec_of(text: str):
    return read_spec(text, ("x", "v"), 1.0, 1)


@pytest.mark.parametrize("text", MEANINGS)
def test_points(text: str) -> None:
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (400, 2))
    spec = spec_of(text)
    margins = spec.margins(points)[0]
    true = np.array([MEANINGS[text](x, v) for x, v in points])
    sure = np.abs(margins) > 1e-9
    assert ((margins > 0) == true)[sure].all()
    assert sure.mean() > 0.9


@pytest.mark.parametrize("text", MEANINGS)
def test_sets(text: str) -> None:
    """What is proved or refuted of a box is so at its points; and small boxes are decided."""
    spec, rng = spec_of(text), np.random.default_rng(1)
    decided = 0
    for _ in range(40):
        low = rng.uniform(-2.0, 2.0, 2)
        high = low + 0.05
        (answer,) = spec.verdicts(of_box(low, high).fresh())
        values = [MEANINGS[text](*point) for point in rng.uniform(low, high, (20, 2))]
        assert answer is not Answer.PROVED or all(values)
        assert answer is not Answer.REFUTED or not any(values)
        decided += answer is not Answer.UNKNOWN
    assert decided > 25


def test_lengths_at_zero() -> None:
    """A velocity of 0 among the starts: its length has no derivative there, and the condition is decided."""
    spec = spec_of("sqrt(x^2 + v^2) <= 0.2 + 0.002*sqrt(x^2 + 1)")
    assert spec.verdicts(of_box(np.array([-0.1, -0.1]), np.array([0.1, 0.1])).fresh()) == [Answer.PROVED]


def test_a_kink_inside_is_no_obstacle() -> None:
    spec = spec_of("v*abs(x) <= 0.3")
    assert spec.verdicts(of_box(np.array([-0.1, -0.1]), np.array([0.2, 0.1])).fresh()) == [Answer.PROVED]


def test_too_many_cases() -> None:
    with pytest.raises(UsageError, match="several comparisons"):
        spec_of("*".join(f"abs(x - {n})" for n in range(12)) + " <= 1")
