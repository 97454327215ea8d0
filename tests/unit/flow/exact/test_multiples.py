"""Affine blocks with proportional weights: one matrix product, the values of two."""

from __future__ import annotations

import numpy as np
import pytest

from integraph import Index, Registers, build, segment
from integraph.flow.exact.engine import EXACT
from integraph.flow.exact.multiples import multiple
from integraph.flow.exact.plan import make
from integraph.gadgets import affine
from integraph.program import Options

RNG = np.random.default_rng(9)
A, B = RNG.normal(size=(40, 30)), RNG.normal(size=40)


@pytest.mark.parametrize("count", [1, 5, 300])
@pytest.mark.parametrize("c", [0.5, 1 / np.sqrt(2 * np.pi), -3.0])
def test_one_matrix_product_serves_all(c: float, count: int) -> None:
    r = Registers()
    x, *targets = r.inputs("x", 30), r.new("u", 40), r.new("v", 40), r.new("w", 40)
    blocks = [affine(z, x, w=f * A, b=f * B) for z, f in zip(targets, (1.0, c, 0.25 * c), strict=True)]
    program = build(r, [segment("layer", *blocks, duration=0.7)], Index(np.arange(30, 150)))
    factors = [planned.multiple and planned.multiple[1] for planned in make(program, False).planned]
    assert factors == [None, pytest.approx(c, rel=1e-15), pytest.approx(0.25 * c, rel=1e-15)]
    given = RNG.normal(size=(count, 30))
    truth = 0.7 * (given @ A.T + B)
    wanted = np.concatenate([truth, c * truth, 0.25 * c * truth], 1)
    for _ in range(2):
        outputs = EXACT.run(program, given, Options()).outputs
        assert np.abs(outputs - wanted).max() <= 1e-14 * np.abs(wanted).max()


@pytest.mark.parametrize("count", [1, 300])
def test_every_row_may_have_a_factor(count: int) -> None:
    """As where the signs of some ReLUs are known; and a row of zeros goes with any factor."""
    c, v = RNG.choice([0.0, 0.5, 1.0, -1 / 3], size=40), A.copy()
    v[7] = 0.0
    b = np.where(np.arange(40) == 7, 0.0, B)
    r = Registers()
    x, u, z = r.inputs("x", 30), r.new("u", 40), r.new("z", 40)
    blocks = [affine(u, x, w=v, b=b), affine(z, x, w=c[:, None] * v, b=c * b)]
    program = build(r, [segment("layer", *blocks, duration=0.7)], Index(np.arange(30, 110)))
    factors = make(program, False).planned[1].multiple[1]
    assert factors == pytest.approx(np.where(np.arange(40) == 7, 0.0, c), rel=1e-15)
    given = RNG.normal(size=(count, 30))
    assert program(given)[:, 40:] == pytest.approx(0.7 * c * (given @ v.T + b), rel=1e-13, abs=1e-13)
    other = c[:, None] * v
    other[7, 3] = 1e-9
    assert multiple(affine(z, x, w=other, b=c * b), blocks[0]) is None
    assert multiple(affine(z, x, w=c[:, None] * v, b=c[::-1] * b), blocks[0]) is None


def test_what_is_added_to_is_no_multiple() -> None:
    """v is not empty, and u is added to by another segment before the last block comes."""
    r = Registers()
    x, u, v, w = r.inputs("x", 30), r.new("u", 40), r.new("v", 40), r.new("w", 40)
    first = segment("first", affine(u, x, w=A), affine(v, x, w=A[::-1]))
    program = build(
        r, [first, segment("again", affine(v, x, w=0.5 * A), affine(w, x, w=0.5 * A))], Index(np.arange(150))
    )
    assert not any(planned.multiple for planned in make(program, False).planned)
    given = RNG.normal(size=(4, 30))
    wanted = np.concatenate([given, given @ A.T, given @ (A[::-1] + 0.5 * A).T, 0.5 * given @ A.T], 1)
    assert np.allclose(EXACT.run(program, given, Options()).outputs, wanted, 1e-13, 1e-13)


def test_a_weight_or_a_bias_that_differs_is_seen() -> None:
    r = Registers()
    x, u, v = r.inputs("x", 30), r.new("u", 40), r.new("v", 40)
    leader, other = affine(u, x, w=A, b=B), 0.5 * A
    assert multiple(affine(v, x, w=other, b=0.5 * B), leader) == 0.5
    assert multiple(affine(v, x, w=other), leader) is None
    assert multiple(affine(v, x, w=other, b=B), leader) is None
    assert multiple(affine(v, x[::-1], w=other, b=0.5 * B), leader) is None
    assert multiple(affine(v[::-1], x, w=other, b=0.5 * B), leader) is None
    other[-1, -1] *= 1 + 1e-14
    assert multiple(affine(v, x, w=other, b=0.5 * B), leader) is None
    assert multiple(affine(v, x, w=A, b=B), affine(u, x, w=0.0 * A, b=B)) is None


def test_a_multiple_that_overflows_fails() -> None:
    r = Registers()
    x, u, v = r.inputs("x", 2), r.new("u", 2), r.new("v", 2)
    W = np.array([[1.0, 2.0], [3.0, 4.0]])
    program = build(r, [segment("layer", affine(u, x, w=W), affine(v, x, w=1e10 * W))], v)
    flow = EXACT.run(program, np.array([[1e300, 1.0], [1.0, 1.0]]), Options())
    assert [failure.input for failure in flow.failures] == [0]
    assert flow.outputs[1] == pytest.approx([3e10, 7e10])
