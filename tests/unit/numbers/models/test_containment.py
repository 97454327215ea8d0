"""Every operation of models contains real arithmetic: random rows at random points against mpmath."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from integraph.numbers.models.smooth_functions import SMOOTH
from model_arithmetic import ORDER, PACKAGE
from model_functions import APPLIED
from model_operations import OPERATIONS, fuzz
from model_truth import TRUTH
from slow import mostly_slow

ROWS, MANY = 200, 100_000


@pytest.fixture(scope="module")
def arithmetic() -> Any:
    """The modules as they are, compiled."""
    return SimpleNamespace(**{name: importlib.import_module(f"{PACKAGE}.{name}") for name in ORDER})


def test_every_function_is_tested() -> None:
    assert set(SMOOTH) == set(TRUTH)
    assert set(SMOOTH) <= set(APPLIED)


@mostly_slow("name", OPERATIONS, quick=12)
def test_results_contain_the_truth(arithmetic: Any, name: str) -> None:
    count = fuzz(arithmetic, name, ROWS, seed=0)
    assert count.outside == 0
    assert count.compared >= ROWS


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_many_results_contain_the_truth(arithmetic: Any, name: str) -> None:
    count = fuzz(arithmetic, name, MANY, seed=1)
    assert count.outside == 0, f"worst: {count.worst} of the radius"


@mostly_slow("name", sorted(SMOOTH), quick=4)
def test_nothing_is_nan_at_the_ends_of_float64(arithmetic: Any, name: str) -> None:
    ends = np.array(
        [0.0, -0.0, 5e-324, 1e-308, 1.0, -1.0, 709.0, 711.0, -746.0, 1e15, 1e16, 1e154, 1e155, 1.7e308, -1.7e308]
    )
    low, high = (grid.ravel()[:, None] for grid in np.meshgrid(ends, ends))
    low, high = np.minimum(low, high), np.maximum(low, high)
    for degree in (0, 1, 3):
        x = arithmetic.models.of_cells(low, high, degree)
        for rows in (x, x * x, x * x * x, x + x):
            y = arithmetic.functions.apply(SMOOTH[name], rows)
            close = arithmetic.polynomial_ranges.tight_ranges(y)
            for known in (y.known, close):
                assert (known.low <= known.high).all()
            assert np.isfinite(y.p).all()
            assert not np.isnan(y.r).any()
