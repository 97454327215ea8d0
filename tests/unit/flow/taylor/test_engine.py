"""The Taylor engine against mpmath, scipy and itself: accuracy of every register, how a segment is split."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.linalg import expm

import mp_taylor
from integraph import Registers, Status, build, segment
from integraph.errors import UsageError
from integraph.flow.taylor import kernel
from integraph.flow.taylor.components import ComponentKind, components, split
from integraph.flow.taylor.engine import TAYLOR
from integraph.flow.taylor.exponentials import exponentials
from integraph.gadgets import (
    affine,
    decay,
    drain,
    exp,
    low_rank,
    power,
    product,
    raw,
    softmax,
    tanh,
)
from slow import mostly_slow
from taylor_programs import free, ln_program, program_of, relative, tanh_program

RNG = np.random.default_rng(5)
EXTENDED = np.finfo(np.longdouble).eps < 1e-18  # not on every platform

# accuracy


@pytest.mark.parametrize(("rtol", "bound"), [(1e-6, 1e-6), (1e-12, 1e-12), (1e-14, 1e-13), (1e-15, 1e-13)])
def test_lemma_1_to_the_tolerance(rtol: float, bound: float) -> None:
    x = np.concatenate([RNG.normal(size=40), [0.0, 1e-8, -1e-300, 20.0, -300.0]])
    found = tanh_program().flow(x, "taylor", rtol=rtol).check().outputs
    assert relative(found, [mp.tanh(v) for v in x.tolist()]) < bound


def test_the_tolerance_is_used() -> None:
    x = RNG.normal(size=50)
    errors = [relative(tanh_program().flow(x, "taylor", rtol=r).outputs, np.tanh(x)) for r in (1e-2, 1e-5, 1e-9)]
    assert 1e-14 < errors[2] < 0.1 * errors[1] < 0.01 * errors[0]


@mostly_slow("seed", range(6), quick=5)
def test_free_form_blocks_against_mpmath(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 3 + seed % 3
    p = free(0.5, A=rng.normal(size=(n, n)), Q=0.3 * rng.normal(size=(n, n, n)), b=rng.normal(size=n))
    x = rng.normal(size=(1, n))
    reference = mp_taylor.flow(p, x[0].tolist())
    assert relative(p.flow(x, "taylor", rtol=1e-14).check().outputs, reference) < 1e-13
    assert relative(p.flow(x, "taylor", rtol=1e-12).check().outputs, reference) < 1e-12


def test_lorenz_against_mpmath() -> None:
    Q = np.zeros((3, 3, 3))
    Q[1, 0, 2], Q[2, 0, 1] = -1.0, 1.0
    p = free(1.0, A=np.array([[-10.0, 10.0, 0.0], [28.0, -1.0, 0.0], [0.0, 0.0, -8 / 3]]), Q=Q)
    found = p.flow([[1.0, 2.0, 20.0]], "taylor", rtol=1e-14).check().outputs
    assert relative(found, mp_taylor.flow(p, [1.0, 2.0, 20.0])) < 1e-12


@pytest.mark.parametrize("start", [1.0, 1e-200, 1e-270, 3e200])
@pytest.mark.parametrize("gadget", ["decay", "exp"])
def test_a_tiny_state_keeps_its_digits(gadget: str, start: float) -> None:
    """e^−60 and back: linear rows by exponentials, rows with a frozen factor by Taylor steps."""
    r = Registers()
    z, x = r.inputs("z"), r.inputs("x")
    down, up = (decay(z, r=60.0), decay(z, r=-60.0)) if gadget == "decay" else (exp(z, x, a=-1.0), exp(z, x))
    p = build(r, [segment("down", down), segment("up", up)], z)
    flow = p.flow([[start, 60.0]], "taylor", times=(1.0,)).check()
    assert abs(flow.outputs[0, 0] / start - 1) < 1e-12
    assert relative(flow.path[0, 0, 0], [start * mp.exp(-60)]) < 1e-12


def test_a_tiny_register_beside_a_large_one() -> None:
    """z' = p z with z = 1e−250 and p = O(1) in one component: each has its own scale."""
    r = Registers()
    p, z = r.inputs("p"), r.inputs("z")
    found = program_of(power(p, z, a=-2.5), r=r).flow([[0.7, 1e-250]], "taylor").check().outputs
    assert relative(found, [mpf(0.7) / (1 + mpf(0.7)), mpf(1e-250) * (1 + mpf(0.7)) ** mpf(-2.5)]) < 1e-12


def test_terms_that_vanish_at_the_start() -> None:
    """Registers t, t², t⁴, t⁵, t¹⁰, t¹⁵, t²⁶ from 0 and exp(26 t²⁷/27): the last has no term before order 27."""
    A, Q, b = np.zeros((8, 8)), np.zeros((8, 8, 8)), np.zeros(8)
    b[0], A[1, 0], Q[2, 0, 1], Q[3, 1, 1] = 1, 2, 4, 5
    Q[4, 3, 2], Q[5, 4, 2], Q[6, 5, 4], Q[7, 6, 7] = 10, 15, 26, 26
    found = free(A=A, Q=Q, b=b).flow([[0.0] * 7 + [1.0]], "taylor").check().outputs
    assert relative(found, [mpf(1)] * 7 + [mp.exp(mpf(26) / 27)]) < 1e-11


def test_a_start_that_is_faster_than_everything_after() -> None:
    """p = 1e20 falls to 1 at once: the terms of a step of length 1 would be 1e400."""
    found = ln_program().flow([1e20], "taylor", times=(1.0,)).check().path
    assert relative(found[0, 0], [1 / (1 + mpf(1e-20)), mp.log(1 + mpf(1e20))]) < 1e-12


def test_near_a_pole_errors_are_not_multiplied_by_the_tolerance() -> None:
    """ln(1e−5): the pole is 1e−5 after the end, so a relative error early on counts 1e5 times."""
    start = np.float64(1e-5 - 1.0)
    found = ln_program().flow([[start]], "taylor", rtol=1e-8, times=(1.0,)).check().path
    assert relative(found[0, 0], [mpf(start) / (1 + mpf(start)), mp.log(1 + mpf(start))]) < 1e-9


# the linear part


def reference_linear(A: np.ndarray, b: np.ndarray, x: np.ndarray, t: float) -> list[mpf]:
    """e^{At} x + ∫ e^{As} b ds at 60 digits."""
    n = len(b)
    with mp.workdps(60):
        whole = mp.matrix(n + 1, n + 1)
        for i in range(n):
            whole[i, n] = mpf(float(b[i])) * t
            for j in range(n):
                whole[i, j] = mpf(float(A[i, j])) * t
        found = mp.expm(whole, method="taylor") * mp.matrix([*map(float, x), 1.0])
        return [found[i] for i in range(n)]


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 40.0, -700.0])
def test_divided_differences_keep_every_digit(gap: float) -> None:
    """z' = a_z z + 3x + 2, x' = a_x x with rates that are equal, nearly equal, or far apart."""
    rates = np.array([-40.0, -40.0 + gap, gap, -60.0])
    A = np.diag(rates)
    A[0, 1], A[2, 3] = 3.0, -5.0
    b = np.array([2.0, 0.0, 0.0, 0.0])
    p = free(0.9, A=A, b=b)
    terms = split(p, p.segments[0])
    assert set(components(terms).kind) == {ComponentKind.DECOUPLED}
    x = np.array([1.5, -0.5, 0.25, 1e-100])
    flow = p.flow(x[None], "taylor").check()
    assert flow.steps == 0
    assert relative(flow.outputs, reference_linear(A, b, x, mpf(0.9))) < 1e-13


@pytest.mark.parametrize(
    "A",
    [
        np.array([[-60.0, 0, 0], [1.0, -1.0, 0], [0, 1.0, 0]]),  # a chain that ends in a quadrature
        np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]),  # polynomials
        np.array([[0.0, 7.0, 0], [-7.0, 0, 0], [1.0, 0, -3.0]]),  # a rotation that feeds a decay
        np.array([[-50.0, 1e-3], [1e-3, 10.0]]),
        np.diag(np.full(9, -30.0)) + np.diag(np.ones(8), -1),
        np.diag([-9000.0, -1.0, -2.3]) + np.diag([1e3, 7.0], -1),  # many squarings
    ],
)
def test_chains_and_cycles_component_by_component(A: np.ndarray) -> None:
    b = np.zeros(len(A))
    b[0] = 0.5
    x = 1.0 / np.arange(1, len(A) + 1)
    p = free(0.75, A=A, b=b)
    assert ComponentKind.COUPLED in components(split(p, p.segments[0])).kind
    flow = p.flow(x[None], "taylor").check()
    assert flow.steps == 0
    assert relative(flow.outputs, reference_linear(A, b, x, mpf(0.75))) < (1e-13 if EXTENDED else 1e-11)


def test_exponentials_of_a_stack() -> None:
    X = RNG.normal(size=(5, 6, 6)) * np.array([0.0, 1e-3, 1.0, 5.0, 30.0])[:, None, None]
    flow, gain = exponentials(X)
    for x, e, g in zip(X, flow, gain, strict=True):
        assert np.allclose(e, expm(x), rtol=1e-10, atol=1e-12 * np.abs(e).max())
        assert np.allclose(x @ g, e - np.eye(6), rtol=1e-10, atol=1e-12 * np.abs(e).max())


def test_a_linear_component_too_fast_for_a_matrix() -> None:
    """Squaring e^X 40 times would leave 8 digits: it runs out of steps, the slow rotation beside it is exact."""
    A = np.zeros((4, 4))
    A[0, 1], A[1, 0], A[2, 3], A[3, 2] = 1e6, -1e6, 2.0, -2.0
    p, q = free(2.0, A=A), free(0.5, A=A)
    assert sorted(components(split(p, p.segments[0])).kind) == [ComponentKind.COUPLED, ComponentKind.LANES]
    assert free(2.0, A=A).flow([[1.0, 0.0, 1.0, 0.0]], "taylor", max_steps=50).status == (Status.STEP_LIMIT,)
    assert set(components(split(q, q.segments[0])).kind) == {ComponentKind.COUPLED}
    x = np.array([1.0, 0.0, 1.0, 0.0])
    found = free(0.5, A=A).flow(x[None], "taylor").check().outputs
    exact = [mp.cos(5e5), -mp.sin(5e5), mp.cos(1), -mp.sin(1)]
    assert relative(found, exact) < (1e-12 if EXTENDED else 1e-9)


def test_large_weights_in_a_chain_are_no_obstacle() -> None:
    A = np.diag([1e9, 1e9], -1)
    assert np.allclose(free(A=A).flow([[1.0, 0.0, 0.0]], "taylor").check().outputs, [1.0, 1e9, 5e17], rtol=1e-14)


def test_a_linear_component_too_large_for_a_matrix() -> None:
    n = 150
    A = np.roll(np.eye(n), 1, 1) - np.roll(np.eye(n), -1, 1)
    p = free(A=A, b=np.ones(n))
    assert set(components(split(p, p.segments[0])).kind) == {ComponentKind.LANES}
    x = RNG.normal(size=(2, n))
    whole = expm(np.block([[A, np.ones((n, 1))], [np.zeros((1, n + 1))]]))
    assert np.allclose(p.flow(x, "taylor").check().outputs, x @ whole[:n, :n].T + whole[:n, n], rtol=0, atol=1e-12)


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_affine_maps_and_products_of_frozen_registers(density: float) -> None:
    """Dense by BLAS, sparse by a sparse product, both onto registers that hold something already."""
    w = RNG.normal(size=(30, 40)) * (RNG.uniform(size=(30, 40)) < density)
    r = Registers()
    x, v, z = r.inputs("x", 40), r.inputs("v", 30), r.inputs("z", 30)
    blocks = affine(z, x, w=w, b=np.arange(30.0)), product(z, v, x[:30], w=2.0)
    p = build(r, [segment("s", *blocks, duration=0.5)], z)
    inputs = RNG.normal(size=(300, 100))
    X, V, Z = inputs[:, :40], inputs[:, 40:70], inputs[:, 70:]
    expected = Z + 0.5 * (X @ w.T + np.arange(30.0) + 2.0 * V * X[:, :30])
    assert np.allclose(p.flow(inputs, "taylor").check().outputs, expected, rtol=1e-13, atol=1e-13)


def test_a_drained_layer() -> None:
    A, b = RNG.normal(size=(20, 7)), RNG.normal(size=20)
    r = Registers()
    x, z = r.inputs("x", 7), r.new("z", 20)
    flow = program_of(drain(z, x, w=A, b=b, r=40.0), r=r).flow(X := RNG.normal(size=(9, 7)), "taylor").check()
    assert flow.steps == 0
    assert np.allclose(flow.outputs[:, 7:], X @ A.T + b, rtol=1e-13, atol=1e-13)
    assert np.allclose(flow.outputs[:, :7] / X, np.exp(-40.0), rtol=1e-13, atol=0)


# how a segment is split


def test_components_of_one_structure_are_one_group() -> None:
    r = Registers()
    x, alpha, lam = r.inputs("x", 50), r.new("alpha", 50), r.new("lam", 50)
    p, z = r.new("p", 6), r.new("z", 6)
    a, u, m = r.new("a", 2, 5), r.new("u", 2, 5), r.new("m", 2)
    blocks = [tanh(alpha, lam, x), power(p, z, a=RNG.normal(size=6)), softmax(a, u, m, x[:10].reshape(2, 5), c=1.0)]
    (plan,) = TAYLOR.plans(program_of(*blocks, r=r))
    assert sorted(lanes.registers.shape for lanes in plan.lanes) == [(2, 6), (2, 50), (11, 2)]
    by_shape = {lanes.registers.shape: lanes for lanes in plan.lanes}
    assert len(by_shape[2, 50].shared_source) == 2  # −αλ and −λ²; x and x² differ from lane to lane
    assert len(by_shape[2, 6].own_source) == 1  # the exponents differ, −p² does not
    assert plan.linear == ()


def test_different_structures_side_by_side() -> None:
    """Random systems with random zeros, permuted registers: grouping must not mix them up."""
    r = Registers()
    n, count = 3, 12
    y = r.inputs("y", n * count)
    order = RNG.permutation(n * count)
    Q = np.zeros((n * count,) * 3)
    alone = []
    for c in range(count):
        q = RNG.normal(size=(n, n, n)) * (RNG.uniform(size=(n, n, n)) < 0.3)
        q = q if c % 3 else alone[-1] * 1.5 if alone else q  # some share a structure
        alone.append(q)
        where = np.sort(order[n * c : n * c + n])
        Q[np.ix_(where, where, where)] = q
    x = 0.1 * RNG.normal(size=(5, n * count))
    found = program_of(raw(y, Q=Q), r=r).flow(x, "taylor").check().outputs
    for c, q in enumerate(alone):
        where = np.sort(order[n * c : n * c + n])
        assert np.allclose(found[:, where], free(Q=q).flow(x[:, where], "taylor").outputs, rtol=1e-12, atol=0)


def test_no_lane_depends_on_its_neighbours() -> None:
    p = free(0.6, A=RNG.normal(size=(3, 3)), Q=RNG.normal(size=(3, 3, 3)))
    x = RNG.normal(size=(90, 3))
    together = p.flow(x, "taylor")
    alone = np.concatenate([p.flow(one, "taylor").outputs for one in x])
    assert 0 < len(together.failures) < 90
    assert np.array_equal(together.outputs, alone, equal_nan=True)


# the compiled kernel


def test_one_compiled_version_serves_all() -> None:
    """Another layout or type of an array would silently compile the kernel again, for seconds."""
    tanh_program(1).flow([0.5], "taylor").check()
    tanh_program(3).flow(np.zeros((2, 3)), "taylor").check()
    free(Q=np.full((2, 2, 2), 0.1)).flow(np.ones((3, 2)), "taylor", times=(0.5,)).check()
    test_components_of_one_structure_are_one_group()
    r = Registers()
    x, y = r.inputs("x", 1), r.new("y", 2)
    program_of(low_rank(y, x, U=[[1.0], [2.0]], V1=[[0.0, 0.0, 1.0]], V2=[[1.0, 2.0, 0.0]]), r=r).flow([0.1], "taylor")
    assert len(kernel.integrate.signatures) == 1


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(UsageError, match="unset NUMBA_DISABLE_JIT"):
        tanh_program().flow([0.5], "taylor")
    r = Registers()
    x = r.inputs("x")
    build(r, [segment("linear", decay(x, r=2.0))], x).flow([1.0], "taylor").check()  # needs none
