"""The box that a program was made for goes with it: into its file, into proofs, comparisons and summaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import SourceError
from integraph.program.box import interval

BOX = [(-3.0, 3.0), (-2.0, 2.0)]


def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y


@pytest.mark.slow
def test_a_python_function_keeps_its_box(path: Path) -> None:
    program = integraph.compile(wave, eps=1e-3, box=BOX)
    program.save(path)
    loaded = integraph.load(path)
    for found in (program, loaded):
        assert found.budget is None
        assert (found.box.low.tolist(), found.box.high.tolist()) == ([-3.0, -2.0], [3.0, 2.0])
        assert "for x in [-3, 3] × [-2, 2]" in repr(found)
        assert "made for          x in [-3, 3] × [-2, 2]" in found.summary()
    proof = integraph.certify(loaded, "sin(x)*y", eps=2e-3, progress=False)
    assert (proof.status, proof.box.low, proof.box.high) == ("proved", (-3.0, -2.0), (3.0, 2.0))
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 61), np.linspace(-2, 2, 41)), -1).reshape(-1, 2)
    assert np.abs(program(grid)[:, 0] - wave(*grid.T)).max() <= proof.upper


def test_a_formula_without_a_promise_keeps_its_box() -> None:
    program = integraph.compile("ln(x)", box=(0, 2))
    assert program.budget is None
    assert program.box.high.tolist() == [2.0]
    assert "no error bound is promised for x in [0, 2]" in repr(program)


class Array:
    """As other libraries have them."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = np.array(numbers)

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        return self.numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, n: int) -> float:
        return float(self.numbers[n])


@pytest.mark.parametrize(
    "box",
    [
        (np.array([0.0, 1.0]), np.array([2.0, 3.0])),
        (Array(0.0, 1.0), Array(2.0, 3.0)),
        (np.array([0.0, 1.0]), (2.0, 3.0)),
        [(0.0, 2.0), (1.0, 3.0)],
        np.array([[0.0, 2.0], [1.0, 3.0]]),
    ],
    ids=["numpy", "another library", "mixed", "pairs", "rows are pairs"],
)
def test_lows_and_highs_of_two_inputs(box: Any) -> None:
    """With two inputs a square could be either: a tuple with an array in it is (lows, highs)."""
    found = interval(box, 2)
    assert (found.low.tolist(), found.high.tolist()) == ([0.0, 1.0], [2.0, 3.0])


@pytest.mark.parametrize("formula", ["sqrt(x-0.5)", "(x-0.5)^1.5", "(x*y-0.1)^0.25"])
def test_no_promise_where_a_root_has_no_value(formula: str) -> None:
    with pytest.raises(SourceError, match="negative number cannot be smoothed"):
        integraph.compile(formula, eps=1e-3)
    assert integraph.compile(formula).budget is None


def test_a_root_that_ends_at_0_is_smoothed() -> None:
    program = integraph.compile("sqrt(1-x^2)", eps=1e-3)
    x = np.linspace(0.0, 1.0, 201)
    assert np.abs(program(x)[:, 0] - np.sqrt(1 - x * x)).max() <= program.budget.total <= 1e-3
