"""Steps begin and end at floats, and their times add up exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integraph.certify.solutions import integration
from integraph.certify.solutions.integration import integrate


class Clock:
    """Stands for the rows of x' = 1: its own exact time."""

    def __init__(self, time: Fraction) -> None:
        self.time = time


class ClockStep:
    """A step of x' = 1."""

    def __init__(self, rows: Clock, period: float, share: float) -> None:
        self.begin, self.share = rows.time, share
        self.finish = rows.time + Fraction(period) * Fraction(share)

    def end(self) -> Clock:
        return Clock(self.finish)

    def tube(self, start: float, end: float) -> ClockStep:
        return self

    def ranges(self) -> np.ndarray:
        return np.array([[self.begin, self.finish]], object).astype(float)


class ClockField:
    start, tape = Clock(Fraction(0)), None


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5),
    st.floats(1e-4, 10.0),
)
def test_times_are_exact(times: list[float], longest: float) -> None:
    def flow_step(tape: Any, rows: Clock, period: float, share: float, tolerance: Any) -> ClockStep | None:
        while period * share > max(longest, max(times) * 1e-2):
            share *= 0.5
        return ClockStep(rows, period, share)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integration, "flow_step", flow_step)
        advances = list(integrate(ClockField, np.sort(times)))  # type: ignore[arg-type]
    ends = [0.0, *(advance.end for advance in advances)]
    assert all(Fraction(advance.end) == advance.rows.time for advance in advances)  # type: ignore[attr-defined]
    assert set(times) <= set(ends)
    assert ends[-1] == max(times)
    for advance, begin in zip(advances, ends, strict=False):
        assert advance.over.tolist() == [[Fraction(begin), Fraction(advance.end)]]


def test_a_step_that_cannot_be_taken_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def flow_step(tape: Any, rows: Clock, period: float, share: float, tolerance: Any) -> ClockStep | None:
        return ClockStep(rows, period, share) if rows.time + Fraction(period) < 1 else None

    monkeypatch.setattr(integration, "flow_step", flow_step)
    *_, last = integrate(ClockField, np.array([0.25, 2.0]))  # type: ignore[arg-type]
    assert 1 - 1e-6 < last.end < 1
