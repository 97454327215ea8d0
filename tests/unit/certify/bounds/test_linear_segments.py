"""Segments that are linear in what moves: the models contain the flow, and are as tight as it is linear."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph import Program, Registers, Segment, build
from integraph.certify.bounds.linear_segments import LinearSegment
from integraph.certify.bounds.point_values import point_values
from integraph.certify.bounds.program_models import program_models, segment_forms
from integraph.gadgets import raw
from integraph.numbers.models.models import of_cells

REST, SYSTEM, OUTER = 2, 3, 2  # registers that rest, of λ, and that only gain
WIDTH = REST + SYSTEM + OUTER


def random_segment(seed: int, duration: float, read_outer: bool = False) -> Program:
    """λ' = Aλ + products of what rests; others gain λ, too, and λ times what rests."""
    rng = np.random.default_rng(seed)
    rest, system, outer = (slice(a, a + n) for a, n in ((0, REST), (REST, SYSTEM), (REST + SYSTEM, OUTER)))
    A, Q, b = np.zeros((WIDTH, WIDTH)), np.zeros((WIDTH, WIDTH, WIDTH)), np.zeros(WIDTH)
    moved = slice(REST, WIDTH)
    A[moved, : REST + SYSTEM] = rng.normal(size=(SYSTEM + OUTER, REST + SYSTEM))
    Q[moved, rest, rest] = rng.normal(size=(SYSTEM + OUTER, REST, REST))
    Q[outer, rest, system] = rng.normal(size=(OUTER, REST, SYSTEM))
    b[moved] = rng.normal(size=SYSTEM + OUTER)
    if read_outer:
        A[REST, REST + SYSTEM] = 1.0
    r = Registers()
    y = r.inputs("y", WIDTH)
    return build(r, [Segment("linear", (raw(y, A=A, Q=Q, b=b),), duration, 1.0)], y)


@pytest.mark.parametrize("duration", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_the_flow_is_in_the_models(seed: int, duration: float) -> None:
    program = random_segment(seed, duration)
    assert isinstance(segment_forms(program)[0], LinearSegment)
    rng = np.random.default_rng([seed, 1])
    centres = rng.normal(size=(4, WIDTH))
    for radius in (0.0, 1e-3, 0.2):
        y = program_models(program, of_cells(centres - radius, centres + radius, 2))
        assert np.isfinite(y.known.high).all()
        for cell, centre in enumerate(centres):
            corners = centre + radius * rng.choice([-1.0, 1.0], (200, WIDTH))
            low, high = point_values(program, corners[0])
            assert (low >= y.known.low[:, cell] - 1e-300).all()
            assert (high <= y.known.high[:, cell]).all()
            seen = program(corners)
            assert (seen.min(0) >= y.known.low[:, cell] - 1e-9).all()
            assert (seen.max(0) <= y.known.high[:, cell] + 1e-9).all()
            width = y.known.high[:, cell] - y.known.low[:, cell]
            assert (width <= 1.4 * (seen.max(0) - seen.min(0)) + 1e-9).all()


def test_what_is_read_must_be_linear() -> None:
    assert segment_forms(random_segment(0, 1.0, read_outer=True)) == ("free",)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["sin(3*x)", "exp(-x^2)"])
def test_the_paper_s_partition_of_unity(formula: str) -> None:
    """Its controls are rounded logarithms."""
    program = integraph.compile(formula, 1e-2, method="remark")
    bounds = integraph.bound(program)
    x = np.random.default_rng(0).uniform(0, 1, (1000, 1))
    values = program(x)
    assert bounds.low[0] <= values.min()
    assert values.max() <= bounds.high[0]
    assert bounds.width[0] <= 1.01 * integraph.bound(formula).width[0]
