"""Ranges of nets, formulas and programs of Theorem 1 hold many samples at many times, and are close to them."""

from __future__ import annotations

import numpy as np
import pytest

from range_programs import BOX, PROGRAMS, net
from sampled_registers import holds, points, ratios

SAMPLES, TIMES = 1000, 50


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_ranges(name: str) -> None:
    program = PROGRAMS[name]()
    ranges = program.ranges(progress=False)
    corners = np.array(np.meshgrid(*[BOX] * program.inputs)).reshape(program.inputs, -1).T
    low, high = (np.full(program.inputs, end) for end in BOX)
    x = np.concatenate([corners, points(low, high, SAMPLES)])
    for number in range(0, len(x), 500):
        assert holds(program, ranges, x[number : number + 500], TIMES)
    assert ranges.unbounded == ()
    assert (ratios(program, ranges, x) <= 1.2).all()


@pytest.mark.parametrize("method", ["narrow", "wide"])
def test_rectifiers(method: str) -> None:
    """Steep rectifiers have ranges, so that a program of them can be scaled to a machine."""
    program = net((2, 4, 1), "relu", method, 1.0)
    ranges = program.ranges(cells=64, progress=False)
    low, high = np.full(2, -1.0), np.ones(2)
    assert holds(program, ranges, points(low, high, 100), TIMES)
    assert ranges.largest.max() < 10
    assert program.scaled().ranges.unbounded == ()
