"""Lemmas 1, 2, 3 of the paper and the inverse of Lemma 3, word for word, on every engine.

The lemmas' starts are y(0) = (ξ, 0, …) and constants; a constant 1 is an input here, so that each lemma is one segment.
"""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.typing import NDArray

from integraph import Program, Registers, build, segment
from integraph.errors import EscapeError
from integraph.gadgets import affine, ln, monomial, ramp, tanh

# DOP853 takes no tolerance below 2.3e-14 a step, and its steps add up
ENGINES = [("exact", 1e-13), ("taylor", 1e-13), ("oracle", 2e-12)]
engines = pytest.mark.parametrize(("engine", "accuracy"), ENGINES, ids=[name for name, _ in ENGINES])


def states(program: Program, x: NDArray[np.float64], engine: str) -> NDArray[np.float64]:
    found = program.flow(x, engine, rtol=1e-15, states=True).check().states
    assert found is not None
    return found


def assert_close(found: NDArray[np.float64], wanted: list[mpf], accuracy: float) -> None:
    for value, truth in zip(found.tolist(), wanted, strict=True):
        assert abs(mpf(value) - truth) <= accuracy * abs(truth), (value, truth)


@engines
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (-2.5, 0.75), (0.0, 1.5), (3.0, -2.0)])
def test_lemma_1(engine: str, accuracy: float, a: float, b: float) -> None:
    """ẏ₁ = 0, ẏ₂ = (a y₁ + b) − y₂y₃, ẏ₃ = (a y₁ + b)² − y₃²; y(0) = (ξ, 0, 0)."""
    r = Registers()
    y1, y2, y3 = r.inputs("y1"), r.new("y2"), r.new("y3")
    program = build(r, [segment("Lemma 1", tanh(y2, y3, y1, a=a, b=b))], y2)
    terms = program.controls()
    where = zip(terms.i.tolist(), terms.j.tolist(), terms.k.tolist(), strict=True)
    written = dict(zip(where, terms.value.tolist(), strict=True))
    printed = {
        (1, -1, 0): a, (1, -1, -1): b, (1, 1, 2): -1.0,
        (2, 0, 0): a * a, (2, -1, 0): 2 * a * b, (2, -1, -1): b * b, (2, 2, 2): -1.0,
    }  # fmt: skip
    assert written == {place: value for place, value in printed.items() if value}
    xi = np.array([-7.0, -1.25, -0.125, 0.5, 1.0, 4.0])
    ends = states(program, xi, engine)
    assert (ends[:, 0] == xi).all()
    arguments = [mpf(a) * x + mpf(b) for x in xi]  # exact in binary: no cancellation that is not there
    assert_close(ends[:, 1], [mp.tanh(x) for x in arguments], accuracy)
    assert_close(ends[:, 2], [x * mp.tanh(x) for x in arguments], accuracy)


@engines
def test_lemma_2(engine: str, accuracy: float) -> None:
    """ẏ₁ = y₂, ẏ₂ = −y₂²; y(0) = (0, ξ − 1), ξ > 0."""
    r = Registers()
    y2, y1 = r.inputs("y2"), r.new("y1")
    program = build(r, [segment("Lemma 2", ln(y2, y1))], y1)
    terms = program.controls()
    assert list(zip(terms.i, terms.j, terms.k, terms.value, strict=True)) == [(0, 0, 0, -1.0), (1, -1, 0, 1.0)]
    xi = np.array([0.0625, 0.5, 0.9375, 1.0, 1.5, 3.0, 1000.0])
    ends = states(program, xi - 1.0, engine)
    assert_close(ends[:, 1], [mp.log(mpf(x)) for x in xi], accuracy)
    assert_close(ends[:, 0], [(mpf(x) - 1) / mpf(x) for x in xi], accuracy)


@engines
def test_lemma_2_needs_a_positive_argument(engine: str, accuracy: float) -> None:
    """The remark after Lemma 2: for ξ ≤ 0 the solution diverges, at time 1/(1 − ξ)."""
    r = Registers()
    y2, y1 = r.inputs("y2"), r.new("y1")
    program = build(r, [segment("Lemma 2", ln(y2, y1))], y1)
    xi = np.array([2.0, -1.0, 0.5, -3.0])
    result = program.flow(xi - 1.0, engine)
    assert [failure.input for failure in result.failures] == [1, 3]
    assert np.isnan(result.outputs[[1, 3]]).all()
    assert np.isfinite(result.outputs[[0, 2]]).all()
    assert [failure.time for failure in result.failures] == pytest.approx([0.5, 0.25], rel=1e-6)
    with pytest.raises(EscapeError, match=r"input 1: .*y2, segment 0 'Lemma 2'"):
        result.check()


W, B, XI = np.array([2.0, -0.5, 3.25]), -0.75, np.array([[0.5, 0.25, 1.0], [0.1, 0.9, 0.3], [1e-3, 0.7, 1e-2]])


def logarithms() -> tuple[NDArray[np.float64], list[mpf]]:
    """ln ξ in float64, and e^b Πξ^w of the numbers whose logarithms those floats are."""
    logs = np.log(XI)
    return logs, [mp.exp(mpf(B) + mp.fdot([(mpf(w), mpf(l)) for w, l in zip(W, row, strict=True)])) for row in logs]


@engines
def test_lemma_3(engine: str, accuracy: float) -> None:
    """ẏ₁…ẏ_d = 0, ẏ_{d+1} = (w·y + b) y_{d+1}; y(0) = (ln ξ, 1)."""
    r = Registers()
    y = r.inputs("y", 4)
    program = build(r, [segment("Lemma 3", monomial(y[3:], y[:3], w=W[None], b=[B]))], y)
    terms = program.controls()
    assert list(zip(terms.i, terms.j, terms.k, terms.value, strict=True)) == [
        (3, -1, 3, B), (3, 0, 3, 2.0), (3, 1, 3, -0.5), (3, 2, 3, 3.25)
    ]  # fmt: skip
    logs, wanted = logarithms()
    ends = states(program, np.column_stack([logs, np.ones(3)]), engine)
    assert (ends[:, :3] == logs).all()
    assert_close(ends[:, 3], wanted, accuracy)
    naive = np.exp(B) * np.prod(XI**W, axis=1)
    assert ends[:, 3] == pytest.approx(naive, rel=1e-12)


@engines
def test_inverse_of_lemma_3_divides(engine: str, accuracy: float) -> None:
    """w ← −w, b ← −b after the proof of Lemma 3; and the same by reversing time."""
    r = Registers()
    y = r.inputs("y", 4)
    divide = build(r, [segment("division", monomial(y[3:], y[:3], w=-W[None], b=[-B]))], y)
    logs, wanted = logarithms()
    numerators = np.array([1.0, -4.0, 0.3])
    start = np.column_stack([logs, numerators])
    quotients = [mpf(n) / m for n, m in zip(numerators, wanted, strict=True)]
    assert_close(states(divide, start, engine)[:, 3], quotients, accuracy)
    multiply = build(r, [segment("Lemma 3", monomial(y[3:], y[:3], w=W[None], b=[B]))], y)
    assert states(multiply.reverse(), start, engine) == pytest.approx(states(divide, start, engine), rel=2 * accuracy)
    there = states(multiply, start, engine)
    assert states(divide, there, engine) == pytest.approx(start, rel=4 * accuracy)


@engines
def test_lemmas_2_and_3_from_the_paper_s_own_start(engine: str, accuracy: float) -> None:
    """From y(0) = (ξ, 0, …, 0): load ξ − 1 and 1, take logarithms, multiply them up."""
    r = Registers()
    xi, p, log, z = r.inputs("xi", 3), r.new("p", 3), r.new("ln", 3), r.new("z", 1)
    load = segment("load", affine(p, xi, b=[-1.0] * 3), ramp(z, b=1.0))
    program = build(r, [load, segment("ln", ln(p, log)), segment("multiply", monomial(z, log, w=W[None], b=[B]))], z)
    points = np.array([[0.5, 0.25, 1.0], [0.125, 0.75, 0.375], [2.0, 3.5, 9.0]])  # ξ − 1 is exact
    wanted = [mp.exp(mpf(B)) * mp.fprod(mpf(x) ** mpf(w) for x, w in zip(row, W, strict=True)) for row in points]
    assert_close(program.flow(points, engine, rtol=1e-15).check().outputs[:, 0], wanted, 2 * accuracy)
