"""Free-form blocks on polynomial models: around what engines compute, tight, nothing where a solution may escape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph import Program, Registers, build, gadgets, segment
from integraph.certify.bounds import quadratic_flow
from integraph.certify.bounds.program_models import segment_forms
from integraph.gadgets import low_rank, raw


@pytest.fixture(autouse=True)
def _terms_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of few terms would be followed by a tape of them."""
    monkeypatch.setattr(quadratic_flow, "MOST", 0)


def factors(rng: np.random.Generator, m: int, n: int, r: int, size: float) -> dict[str, np.ndarray]:
    shapes = {"U": (m, r), "V1": (r, n), "V2": (r, n), "A": (m, n), "b": (m,)}
    return {name: size / np.sqrt(shape[-1]) * rng.normal(size=shape) for name, shape in shapes.items()}


def learned(width: int, depth: int, rank: int, size: float = 0.6, seed: int = 0, block: str = "low_rank") -> Program:
    """Like a trained model: y reads the inputs, which stand still, and one output is read."""
    rng, r = np.random.default_rng(seed), Registers()
    x, y = r.inputs("x", 2), r.new("y", width)
    parts = []
    for number in range(depth):
        f = factors(rng, width, width + 2, rank, size)
        Q = np.einsum("is,sj,sk->ijk", f["U"], f["V1"], f["V2"])
        made = low_rank(y, x, **f) if block == "low_rank" else raw(y, x, A=f["A"], b=f["b"], Q=Q)
        parts.append(segment(f"s{number}", made))
    return build(r, parts, y, rng.normal(size=(1, width)) / np.sqrt(width))


def around(program: Program, bounds: Any, low: float, high: float, most: float, engine: str = "taylor") -> None:
    """Everything sampled is inside, and the bounds are at most so much wider."""
    x = np.random.default_rng(1).uniform(low, high, (1000, program.inputs))
    corners = np.stack(np.meshgrid(*[[low, high]] * program.inputs), -1).reshape(-1, program.inputs)
    values = program(np.concatenate([x, corners]), engine=engine)
    assert (values.min(0) >= bounds.low - 1e-12).all()
    assert (values.max(0) <= bounds.high + 1e-12).all()
    assert (bounds.width <= most * (values.max(0) - values.min(0))).all()
    assert (bounds.low <= bounds.attained_low).all()
    assert (bounds.attained_high <= bounds.high).all()


@pytest.mark.parametrize("block", ["low_rank", "raw"])
@pytest.mark.slow
def test_a_small_model(block: str) -> None:
    program = learned(3, 2, 2, block=block)
    assert segment_forms(program) == ("free", "free")
    around(program, integraph.bound(program, (-0.5, 0.5), progress=False), -0.5, 0.5, 1.3)


@pytest.mark.slow
def test_the_size_of_a_learned_model() -> None:
    program = learned(8, 4, 4, 0.5)
    around(program, integraph.bound(program, (-1, 1), progress=False, workers=1), -1, 1, 1.1)


@pytest.mark.slow
def test_other_units_and_other_blocks() -> None:
    """State scales that are no powers of 2, another clock, a gadget in the same segment; DOP853 for the values."""
    rng, r = np.random.default_rng(3), Registers()
    x, y, alpha, lam = r.inputs("x", 2), r.new("y", 3), r.new("alpha", 2), r.new("lam", 2)
    both = segment("both", low_rank(y, x, **factors(rng, 3, 5, 2, 0.7)), gadgets.tanh(alpha, lam, x))
    program = build(r, [both, segment("sum", gadgets.affine(y[:2], alpha[:, None], w=np.ones((2, 1))))], y)
    around(program, integraph.bound(program, (-0.5, 0.5), progress=False), -0.5, 0.5, 1.3)
    alone = learned(3, 2, 2)
    scales = np.exp(rng.normal(size=5))
    scales[:2] = 1.0
    other = alone.rescale_states(scales).rescale_time(0.3)
    around(other, integraph.bound(other, (-0.5, 0.5), progress=False), -0.5, 0.5, 1.3, "oracle")


def test_a_point_is_nearly_exact() -> None:
    program, x = learned(3, 1, 2), np.array([0.3, -0.7])
    bounds = integraph.bound(program, (x, x), progress=False)
    value = program(x, engine="precise")
    assert (bounds.low <= value).all()
    assert (value <= bounds.high).all()
    assert bounds.width[0] < 1e-12


@pytest.mark.slow
def test_an_escape_is_infinite_in_its_cells_alone() -> None:
    """y' = x y² from y = 1 escapes before 1 where x ≥ 1; a box that reaches there has no bounds, one below has."""
    r = Registers()
    y, x = r.inputs("y", 1), r.inputs("x", 1)
    program = build(r, [segment("s", low_rank(y, x, U=[[1.0]], V1=[[1.0, 0.0]], V2=[[0.0, 1.0]], A=[[0.5, 0.0]]))], y)
    bounds = integraph.bound(program, [(1.0, 1.0), (-1.0, 0.3)], progress=False)
    ends = [np.exp(0.5 + v) for v in (-1.0, 0.3)]  # y' = (0.5 + x) y
    assert bounds.low[0] == pytest.approx(ends[0], rel=1e-3)
    assert bounds.high[0] == pytest.approx(ends[1], rel=1e-3)
    square = build(r, [segment("s", raw(y, x, Q=[[[1.0, 0.0], [0.0, 0.0]]]))], y)
    assert np.isinf(integraph.bound(square, [(0.2, 1.2), (0.0, 0.0)], progress=False).width[0])
    fine = integraph.bound(square, [(0.2, 0.6), (0.0, 0.0)], gap=0.05, progress=False)
    assert fine.low[0] <= 0.25 <= fine.low[0] + 0.1
    assert 1.5 <= fine.high[0] <= 1.6
