"""Starts and times as people give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from integraph.certify.solutions.starts import moments, start_box
from integraph.errors import UsageError
from solution_truth import unlifted


@pytest.mark.parametrize(
    "x0", [[1.0, (2, 3)], {"v": (2, 3), "x": 1}, np.array([[1.0, 1.0], [2.0, 3.0]]), ((1, 1), [2, 3])]
)
def test_boxes(x0: Any) -> None:
    assert start_box(x0, ("x", "v")).tolist() == [[1, 1], [2, 3]]


def test_one_state_needs_no_list() -> None:
    assert start_box(0.5, ("x",)).tolist() == [[0.5, 0.5]]


def test_times() -> None:
    assert moments(2).tolist() == [2.0]
    assert moments([0, 1, 1, 2]).tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("x0", "T", "says"),
    [
        ([1.0], 1.0, "a start has 2 values, x, v"),
        ({"x": 1}, 1.0, "v is missing"),
        ({"x": 1, "v": 0, "z": 2}, 1.0, "z is no state and no input"),
        ([(2.0, 1.0), 0.0], 1.0, r"x0 = \(2.0, 1.0\): x: needs finite ends, low ≤ high"),
        ([float("nan"), 0.0], 1.0, "x: needs finite ends"),
        ([float("inf"), 0.0], 1.0, "x: needs finite ends"),
        ([(1, 2, 3), 0.0], 1.0, "x: give a number or"),
        (["1", 0.0], 1.0, "the start of x must be numbers"),
        ([1.0, 0.0], -1.0, "T = -1.0: needs a finite time ≥ 0"),
        ([1.0, 0.0], float("nan"), "needs a finite time"),
        ([1.0, 0.0], float("inf"), "needs a finite time"),
        ([1.0, 0.0], [2.0, 1.0], "in order"),
        ([1.0, 0.0], [], "needs a finite time"),
        ([1.0, 0.0], np.zeros(1_000_001), "more than 1,000,000 times"),
    ],
)
def test_misuse(x0: Any, T: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        unlifted("x' = v; v' = -sin(x)").enclose(x0, T)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), True])
def test_seconds(seconds: float) -> None:
    with pytest.raises(UsageError, match="seconds = "):
        unlifted("x' = -x").enclose([1.0], 1.0, seconds=seconds)


def test_functions_without_a_series() -> None:
    with pytest.raises(UsageError, match=r"abs\(x\): abs has no Taylor series here; equations may use"):
        unlifted("x' = abs(x)").enclose([1.0], 1.0)
