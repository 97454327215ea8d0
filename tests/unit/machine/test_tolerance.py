"""How far outputs move: the linear worst case is what the worst perturbed program does, and random ones do less."""

from __future__ import annotations

import numpy as np
import pytest

import export_programs
import integraph
from integraph.errors import UsageError


def test_a_product_by_hand() -> None:
    """z' = a·x·y with a = 1: output x·y moves by 0.1 % of itself, and by the drifts of x, y and z."""
    program = integraph.compile("x*y")
    tolerance = program.tolerance((1.0, 1.0 + 1e-9), samples=1, trials=0)
    assert np.allclose(tolerance.by_coefficients, 1e-3, rtol=1e-6)
    assert np.allclose(tolerance.by_offsets, 1e-4 * (0.5 + 0.5 + 1.0), rtol=1e-6)  # x and y drift while z is filled
    assert np.allclose(tolerance.sampled, tolerance.worst, rtol=1e-2)


@pytest.mark.parametrize("name", ["formula", "wide"])
def test_the_worst_case_happens(name: str) -> None:
    tolerance = export_programs.PROGRAMS[name]().tolerance(coefficients=1e-5, offsets=1e-6, samples=4, trials=3)
    assert np.allclose(tolerance.sampled, tolerance.worst, rtol=0.02)
    assert np.allclose(tolerance.registers.sum(0), tolerance.worst, rtol=1e-9)
    text = str(tolerance)
    assert "by registers" in text
    assert tolerance.largest[0][0].term in text


def test_nothing_is_off() -> None:
    tolerance = integraph.compile("exp(-x)*y").tolerance(coefficients=0.0, offsets=0.0, samples=2, trials=1)
    assert tolerance.worst.max() == 0.0
    assert tolerance.sampled.max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coefficients": -1.0}, "≥ 0 and below 1"),
        ({"offsets": float("nan")}, "≥ 0 and below 1"),
        ({"samples": 0}, "integer ≥ 1"),
        ({"trials": -1}, "integer ≥ 0"),
        ({"seed": 1.5}, "integer ≥ 0"),
        ({"samples": 10**9}, "too many"),
    ],
)
def test_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.compile("exp(-x)*y").tolerance(**options)
