"""How a Python function is called: in batches or point by point, with few calls, and errors that name the point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from integraph.errors import SourceError
from integraph.frontends import function
from integraph.targets import Function


def values(f: Function, x: Any) -> np.ndarray:
    assert f.values is not None
    return f.values(np.asarray(x, float))


def wants_rows(x: Any) -> Any:
    """As `predict` of scikit-learn does."""
    if np.ndim(x) != 2:
        raise ValueError("Expected 2D array")
    return 2.0 * x[:, 0]


def test_one_input_as_a_column() -> None:
    np.testing.assert_array_equal(values(function(wants_rows), [[0.25], [3.0]]), [[0.5], [6.0]])


@pytest.mark.parametrize(("f", "most"), [(lambda x: x, 5 + 2), (math.sin, 3 * 5)])
def test_reading_takes_few_calls(f: Callable[..., Any], most: int) -> None:
    found = function(f)
    assert found.meter is not None
    assert found.meter.calls <= most
    values(found, np.full((10, 1), 0.5))
    assert found.meter.calls <= most + 11  # and a point whose value is known


def test_the_row_at_which_a_batch_fails_is_named() -> None:
    def f(x: Any) -> Any:
        if np.any(np.abs(x - 0.75) < 1e-3):
            raise ArithmeticError("resonance")
        return x

    x = np.linspace(0.0, 1.0, 101)[:, None]
    with pytest.raises(SourceError, match=r"f fails at x = 0\.75: ArithmeticError: resonance"):
        values(function(f), x)


def test_a_little_noise_is_no_mixing_of_points() -> None:
    def noisy(x: Any) -> Any:
        return x + 1e-3 * np.random.default_rng().uniform(-1.0, 1.0, np.shape(x))

    x = np.linspace(0.0, 1.0, 50)[:, None]
    found = function(noisy)
    for _ in range(20):
        np.testing.assert_allclose(values(found, x), x, atol=1.1e-3)


def test_trial_points_are_not_on_a_line() -> None:
    seen = []

    def f(x: Any, y: Any) -> Any:
        seen.append(np.stack([x, y], -1))
        return x + y

    function(f)
    points = seen[0]
    assert np.linalg.matrix_rank(points - points.mean(0), tol=0.05) == 2
