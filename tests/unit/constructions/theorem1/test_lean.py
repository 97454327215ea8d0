"""The lean construction: monomials by products, bumps by ln cosh, sums over cells; sizes as they were promised."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from integraph import Partition, Program, Registers, build, segment
from integraph.constructions.theorem1.lean import BumpRegisters, Shape, bumps, cells_of, construct
from integraph.constructions.theorem1.local_polynomials import values
from integraph.constructions.theorem1.monomials import MonomialRegisters
from integraph.constructions.theorem1.unit_cube import unit_cube
from integraph.errors import SpecError
from integraph.gadgets import bilinear
from integraph.numbers.intervals import Interval
from integraph.numbers.multi_index import below, count
from law import examples


def lean(shape: Shape, c: float, coefficients: np.ndarray, low: float = 0.0, high: float = 1.0) -> Program:
    cube = unit_cube(Interval(np.full(shape.d, low), np.full(shape.d, high)))
    assert cube.identity != shape.read_in
    variables = [f"x{j}" for j in range(1, shape.d + 1)]
    registers, segments, out = construct(shape, cube, c, coefficients, variables)
    return build(registers, segments, out)


def random(shape: Shape, seed: int = 0) -> np.ndarray:
    size = ((shape.N + 1,) * shape.d, count(shape.d, shape.n), shape.outputs)
    return np.random.default_rng(seed).normal(size=(*size[0], *size[1:]))


SHAPES = [
    Shape(1, 1, 0, 1, 0, 1, False), Shape(1, 2, 0, 5, 0, 1, True), Shape(3, 1, 0, 4, 0, 1, True),
    Shape(1, 1, 1, 1, 0, 2, False), Shape(1, 1, 7, 4, 0, 8, False), Shape(1, 3, 7, 4, 0, 3, True),
    Shape(1, 1, 5, 9, 0, 1, True), Shape(2, 1, 3, 3, 0, 16, False), Shape(2, 1, 3, 3, 1, 4, False),
    Shape(2, 2, 4, 2, 1, 2, True), Shape(2, 1, 2, 1, 1, 3, True), Shape(2, 1, 1, 6, 1, 1, False),
    Shape(3, 2, 2, 3, 1, 9, True), Shape(3, 1, 2, 2, 1, 5, False), Shape(3, 1, 1, 4, 0, 3, False),
    Shape(4, 1, 1, 3, 2, 4, True), Shape(5, 1, 1, 2, 2, 8, False), Shape(2, 10, 2, 2, 1, 3, False),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("engine", ["exact", "taylor"])
def test_the_flow_is_the_sum(shape: Shape, engine: str) -> None:
    """Σ φ_k P_k with any coefficients, on both engines, and the sizes are those of the shape."""
    a, low, high = random(shape), (-3.0 if shape.read_in else 0.0), (2.0 if shape.read_in else 1.0)
    c = 6.0 * max(shape.N, 1)
    program = lean(shape, c, a, low, high)
    assert (program.width, program.depth) == (shape.width, shape.depth)
    assert program.terms <= shape.terms
    assert shape.coefficients == a.size
    t = np.random.default_rng(1).random((40, shape.d))
    t[:4] = np.arange(4)[:, None] / 3
    size = np.abs(a).sum(-2).max()
    wanted = values(a, Partition(shape.N, c), shape.n, t, 0.5)
    assert program(low + (high - low) * t, engine) == pytest.approx(wanted, abs=2e-13 * size * (1 + shape.batches))


@examples(60)
@given(st.data())
def test_the_sizes_of_any_shape(data: st.DataObject) -> None:
    """W and D written down again: what there is to hold, and what has to wait for what."""
    d, N, n = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 4)), data.draw(st.integers(1, 6))
    outputs, read_in = data.draw(st.integers(1, 4)), data.draw(st.booleans())
    right = data.draw(st.integers(0, d // 2)) if N else 0
    batch = data.draw(st.integers(1, (N + 1) ** (d - right))) if N else 1
    shape = Shape(d, outputs, N, n, right, batch, read_in)
    if shape.coefficients > 20_000:
        return
    program = lean(shape, 5.0 * max(N, 1), random(shape), *((0.25, 0.75) if read_in else (0.0, 1.0)))
    monomials = sum(1 for a in itertools.product(range(n), repeat=d) if 2 <= sum(a) < n)
    held = d + d * read_in + monomials + outputs
    levels = 0 if n <= 2 else math.ceil(math.log2(n - 1))
    if N:
        split = (N + 1) ** right if right else 0
        held += 2 * N * d + batch + split + split * outputs
        depth = read_in + max(2, levels) + 2 * math.ceil((N + 1) ** (d - right) / batch) - 1 + bool(right)
    else:
        depth = read_in + levels + 1
    assert (program.width, program.depth) == (shape.width, shape.depth) == (held, depth)
    assert program.terms <= shape.terms


def test_terms_of_coefficients_that_are_zero_are_left_out() -> None:
    shape = Shape(2, 1, 3, 3, 1, 4, False)
    a = random(shape)
    few = np.where(np.arange(a.shape[-2])[:, None] < 1, a, 0.0)
    full, thin = lean(shape, 20.0, a), lean(shape, 20.0, few)
    assert full.terms - thin.terms == (a.shape[-2] - 1) * 16


@pytest.mark.parametrize(("d", "n"), [(1, 2), (1, 3), (1, 9), (1, 17), (2, 4), (2, 8), (3, 5), (4, 3), (5, 4)])
def test_powers(d: int, n: int) -> None:
    """Every register holds its monomial, after ⌈log2(n − 1)⌉ segments; those of degree 1 hold t itself."""
    r = Registers()
    t = r.inputs("t", d)
    powers = MonomialRegisters(r, t, n)
    assert len(powers.segments) == (math.ceil(math.log2(n - 1)) if n > 2 else 0)
    x = np.random.default_rng(2).random((20, d))
    rows = below(d, n)[1:]
    wanted = np.prod((x[:, None] - 0.5) ** rows, axis=2)
    wanted[:, :d] = x
    if powers.segments:
        program = build(r, [segment("powers", *blocks) for blocks in powers.segments], powers.view)
        assert program(x) == pytest.approx(wanted, abs=2e-16 * n)
    assert powers.view.size == len(rows)


def test_coefficients_are_shifted_to_what_is_held() -> None:
    r = Registers()
    powers = MonomialRegisters(r, r.inputs("t", 2), 3)
    a = np.arange(1.0, 7.0)
    t = np.array([0.3, 0.9])
    held = np.array([1.0, *t, (t[0] - 0.5) ** 2, (t[0] - 0.5) * (t[1] - 0.5), (t[1] - 0.5) ** 2])
    wanted = a @ np.prod((t - 0.5) ** below(2, 3), axis=1)
    assert powers.shifted(a) @ held == pytest.approx(wanted, abs=1e-15)
    assert a[0] == 1.0, "what was given stays as it was"


def psi(k: int, N: int, c: float, x: mpf) -> mpf:
    """Half the difference of two neighbouring tanh, as printed."""
    ends = [mp.tanh(mpf(c) * (x - mpf(2 * j - 1) / (2 * N))) for j in (k, k + 1)]
    return ((ends[0] if k else 1) - (ends[1] if k < N else -1)) / 2


@pytest.mark.parametrize(("N", "c"), [(1, 6.0), (2, 12.0), (5, 200.0), (40, 640.0)])
def test_ln_of_bumps(N: int, c: float) -> None:
    """Linear in t and ln cosh with stored weights: off by no more than the error that is told, in 60 digits."""
    t, l = np.array([0, 1]), np.arange(2, 2 + 2 * N).reshape(2, N)
    cells = cells_of(N, 2)
    assert cells.tolist() == [list(k) for k in itertools.product(range(N + 1), repeat=2)]
    chosen = np.unique(np.random.default_rng(3).integers(0, len(cells), 30))
    found = bumps(2, N, c, cells[chosen], t, l)
    error = BumpRegisters.error(2, N, c)
    assert error <= 1e-14 * (c + 4)
    with mp.workdps(60):
        x = [mpf("0.3"), mpf("0.77")]
        z = [[mpf(c) * (v - mpf(2 * k - 1) / (2 * N)) for k in range(1, N + 1)] for v in x]
        state = [*x, *(mp.log(mp.cosh(v)) for row in z for v in row)]
        with mp.workprec(200 + int(6 * c)):
            logs = [[mp.log(psi(k, N, c, v)) for k in range(N + 1)] for v in x]
        for row, cell in enumerate(cells[chosen].tolist()):
            sum_ = mpf(float(found.constants[row])) + sum(
                mpf(w) * state[i] for w, i in zip(found.weights[row].tolist(), found.reads[row].tolist(), strict=True)
            )
            wanted = logs[0][cell[0]] + logs[1][cell[1]]
            assert abs(sum_ - wanted) <= error * (1 + 1e-9) + 1e-40, cell


def test_batches_where_bumps_would_vanish() -> None:
    """A bump of e^−700 cannot be turned into another."""
    shape = Shape(1, 1, 40, 2, 0, 10, False)
    assert shape.refillable(320.0)
    assert not shape.refillable(330.0)
    assert Shape(1, 1, 40, 2, 0, 41, False).refillable(1e6)
    assert not Shape(2, 1, 40, 2, 0, 41, False).refillable(320.0)
    assert Shape(2, 1, 40, 2, 1, 10, False).refillable(320.0)
    a = random(shape)
    t = np.linspace(0, 1, 301)[:, None]
    assert lean(shape, 320.0, a)(t) == pytest.approx(values(a, Partition(40, 320.0), 2, t, 0.5), abs=1e-11)


def test_bilinear_terms_one_by_one() -> None:
    rng = np.random.default_rng(5)
    r = Registers()
    x, v, z = r.inputs("x", 3), r.inputs("v", 2), r.new("z", 2)
    w = rng.normal(size=(2, 3, 2))
    w[0, 1, 1] = w[1, 0, 0] = 0.0
    program = build(r, [segment("s", bilinear(z, x, v, w=w))], z)
    wanted = {(5 + i, j, 3 + k): w[i, j, k] for i, j, k in np.ndindex(w.shape) if w[i, j, k] != 0}
    c = program.controls()
    found = {(int(i), int(j), int(k)): float(value) for i, j, k, value in zip(c.i, c.j, c.k, c.value, strict=True)}
    assert found == wanted
    assert program.terms == len(wanted) == 10


@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_bilinear_counts_what_it_writes(overlap: int) -> None:
    """Also where x and v share registers, and x_r v_s is x_s v_r."""
    r = Registers()
    y, z = r.inputs("y", 5), r.new("z", 2)
    x, v = y[:3], y[3 - overlap : 5 - overlap]
    w = np.ones((2, 3, 2))
    program = build(r, [segment("s", bilinear(z, x, v, w=w))], z)
    assert program.terms == sum(len(t) for _, t in program.stream())
    point = np.random.default_rng(6).normal(size=(1, 5))
    wanted = point[0, :3].sum() * point[0, 3 - overlap : 5 - overlap].sum()
    for engine in ("exact", "taylor", "oracle"):
        assert program(point, engine) == pytest.approx(np.full((1, 2), wanted), rel=1e-9)


def test_misuse_of_bilinear() -> None:
    r = Registers()
    x, v, z, m = r.inputs("x", 3), r.inputs("v", 2), r.new("z", 2), r.new("m", 2, 2)
    with pytest.raises(SpecError, match=r"'w' of shape \(z, x, v\) = \(2, 3, 2\), got None"):
        bilinear(z, x, v)
    with pytest.raises(SpecError, match=r"= \(2, 3, 2\), got \(2, 2, 3\)"):
        bilinear(z, x, v, w=np.ones((2, 2, 3)))
    with pytest.raises(SpecError, match="z, x and v must be one-dimensional"):
        bilinear(m, x, v, w=np.ones((4, 3, 2)))
