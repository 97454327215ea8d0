"""`sobolev_norm` of functions that can only be called: few calls, and an estimate that is called one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import UsageError


class Counted:
    """A function, and at how many points it was called."""

    def __init__(self, f: Callable[..., Any], d: int) -> None:
        self.f, self.d, self.calls = f, d, 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.calls += len(x)
        result: np.ndarray = self.f(*x.T)
        return result


@pytest.mark.parametrize(
    ("f", "formula", "most"),
    [
        (lambda x: np.sin(3 * x), "sin(3*x)", 100),
        (lambda x: 1e6 * np.exp(-(x**2)), "1e6*exp(-x^2)", 100),
        (lambda x, y: np.sin(3 * x) * np.exp(-y), "sin(3*x)*exp(-y)", 400),
    ],
    ids=["sine", "bell", "wave"],
)
def test_few_calls_estimate_the_derivatives(f: Callable[..., Any], formula: str, most: int) -> None:
    truth = integraph.sobolev_norm(formula, 3)
    source = Counted(f, truth.alphas.shape[1])
    seen = integraph.sobolev_norm(source, 3, inputs=source.d)
    assert source.calls <= most
    assert seen.estimate is not None
    np.testing.assert_allclose(seen.estimate, truth.upper, rtol=0.11)  # the truth is within 1.1 of its own lower bound
    assert (seen.lower <= truth.upper).all()
    assert seen.lower[0, 0] >= 0.9 * truth.lower[0, 0]
    assert (seen.lower[1:] == 0).all()  # no value of a derivative is known
    assert np.isinf(seen.upper).all()
    assert seen.norm[1] == np.inf
    assert "by a polynomial through values" in str(seen)


def test_an_estimate_is_never_a_promise() -> None:
    """What norm= takes is the user's word; nothing estimated takes its place."""
    program = integraph.compile(lambda x: np.sin(3 * x), 1e-3)
    assert program.budget is None
    with pytest.raises(UsageError, match="norm = 1"):
        integraph.compile(lambda x: np.sin(3 * x), 1e-3, norm=1.0, order=2)


def test_given_derivatives_are_values_of_the_function() -> None:
    seen = integraph.sobolev_norm(lambda x: np.sin(3 * x), 2, derivatives={1: lambda x: 3 * np.cos(3 * x)})
    assert seen.estimate is not None
    np.testing.assert_allclose(seen.lower[:, 0], [1, 3, 0], atol=1e-3)
    np.testing.assert_allclose(seen.estimate[:, 0], [1, 3, 9], rtol=1e-3)


@pytest.mark.parametrize(
    ("f", "estimated"),
    [(lambda x: abs(x - 0.3), False), (lambda x: 0 * x, True), (lambda x: np.where(x > 0.4, 1.0, 0.0), False)],
    ids=["kink", "zero", "jump"],
)
def test_what_is_not_smooth_is_not_estimated(f: Callable[..., Any], estimated: bool) -> None:
    source = Counted(f, 1)
    seen = integraph.sobolev_norm(source, 1, inputs=1)
    assert (seen.estimate is not None) == estimated
    assert source.calls < 1000
    assert "about" not in str(seen) or estimated
