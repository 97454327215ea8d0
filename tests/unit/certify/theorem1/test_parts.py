"""What a proof of Theorem 1 is made of: bumps, averages, ranges on pieces, linear forms, step 2 of Lemma 4."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat
from hypothesis import given
from hypothesis import strategies as st

from integraph.certify.problem import Unprovable
from integraph.certify.theorem1.bumps import BallBumps
from integraph.certify.theorem1.difference import _average
from integraph.certify.theorem1.exponents import NONE, Exponents, _sum
from integraph.certify.theorem1.lemma4_step2 import Step2Remainder, ideal_controls, remainder
from integraph.certify.theorem1.polynomial_ranges import pieces, ranges
from integraph.gadgets.partition import rounded
from integraph.numbers.arb.conversion import interval, precision
from integraph.numbers.multi_index import below
from law import examples

steps = st.sets(st.integers(-1000, 1000), min_size=1, max_size=5).map(
    lambda b: tuple(sorted((n / 32 for n in b), reverse=True))
)
parts = st.builds(BallBumps, st.floats(0.5, 60), steps)


def psi(bumps: BallBumps, t: float) -> list[mpmath.mpf]:
    """As printed, in many digits."""
    with mpmath.workdps(250):
        tanh = [mpmath.tanh(mpmath.mpf(bumps.slope) * t + b) for b in bumps.offsets]
        return [(a - b) / 2 for a, b in zip([mpmath.mpf(1), *tanh], [*tanh, mpmath.mpf(-1)], strict=True)]


def near(ball: arb, value: mpmath.mpf) -> bool:
    with mpmath.workdps(60):
        text = mpmath.nstr(value, 50)
    return bool(ball.overlaps(arb(text) * arb(1, 1e-40)))


@examples(150)
@given(parts, st.floats(-2, 2))
def test_bumps_at_a_point_are_differences_of_tanh(bumps: BallBumps, t: float) -> None:
    with precision(160):
        found = bumps.at(arb(t))
        assert all(ball.is_finite() and near(ball, value) for ball, value in zip(found, psi(bumps, t), strict=True))
        assert sum(found, arb(0)).contains(1)


@examples(150)
@given(parts, st.floats(-1, 1), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_bumps_on_an_interval(bumps: BallBumps, low: float, width: float, where: list[float]) -> None:
    least, most = bumps.on_pieces([arb(low), arb(low + width)])
    back = bumps.on_pieces([arb(low + width), arb(low)])
    assert (least == back[0]).all()
    assert (most == back[1]).all()
    assert (least >= 0).all()
    assert (least <= most).all()
    assert (most <= 1).all()
    tops = [-(a + b) / (2 * bumps.slope) for a, b in zip(bumps.offsets, bumps.offsets[1:], strict=False)]
    points = [low, low + width, *(low + width * w for w in where), *tops]
    for t in points:
        if low <= t <= low + width:
            values = psi(bumps, t)
            assert all(a <= v <= b for a, v, b in zip(least[:, 0], values, most[:, 0], strict=True))


def test_the_range_of_a_bump_is_tight() -> None:
    bumps = BallBumps(24.0, (-6.0, -18.0))
    least, most = bumps.on_pieces([arb(0.4), arb(0.45)])
    ends = np.array([[float(v) for v in psi(bumps, t)] for t in (0.4, 0.45)])
    np.testing.assert_allclose(least[:, 0], ends.min(0), rtol=1e-12)
    np.testing.assert_allclose(most[:, 0], ends.max(0), rtol=1e-12)
    top = bumps.on_pieces([arb(0.4), arb(0.7)])[1][1, 0]
    assert top == pytest.approx(float(mpmath.tanh(6)), rel=1e-12)


def test_steps_out_of_order_are_no_partition() -> None:
    with pytest.raises(Unprovable, match="order"):
        BallBumps(10.0, (-5.0, -3.0))
    with pytest.raises(Unprovable, match="order"):
        BallBumps(-10.0, (-3.0, -5.0))


def test_steps_that_floats_cannot_tell_are_unknown() -> None:
    least, most = BallBumps(1e300, (-2.5e299, -7.5e299)).on_pieces([arb(0.25, 1e-3), arb(0.75)])
    assert (least == 0).all()
    assert (most == 1).all()


@examples(100)
@given(parts, st.floats(-1, 1))
def test_constants_of_logarithms(bumps: BallBumps, t: float) -> None:
    """ln ψ_k = constant ± a·t − ℓ − ℓ."""
    with precision(200):
        z = bumps.z(arb(t))
        logs = [v.cosh().log() for v in z]
        forms = [-bumps.slope * arb(t) - logs[0], *(-a - b for a, b in itertools.pairwise(logs))]
        forms.append(bumps.slope * arb(t) - logs[-1])
        for constant, form, value in zip(bumps.constants(), forms, bumps.at(arb(t)), strict=True):
            assert (constant + form).exp().overlaps(value)
            assert (constant + form).is_finite()


@examples(200)
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_no_average_is_larger(cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(cells, 0.5), 20)
    low, high = weights.min(0) * rng.uniform(0, 1, cells), np.minimum(weights.max(0) * rng.uniform(1, 2, cells), 1)
    values = rng.normal(size=cells)
    found = _average(values[None], low[None], high[None])
    assert (weights @ values <= found).all()
    assert found <= np.maximum(values.max(), 0) + 1e-9
    exact = _average(values[None], weights[:1], weights[:1])
    assert exact == pytest.approx(float(weights[0] @ values), abs=1e-10)


def test_an_average_with_something_unknown_is_unknown() -> None:
    half = np.full((1, 2), 0.5)
    for bad in (np.nan, np.inf, -np.inf):
        assert _average(np.array([[0.0, bad]]), half, half) == np.inf


@examples(60)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 10**6))
def test_ranges_on_pieces(d: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    alphas, p = below(d, n), pieces(d, n)
    middles, radii = rng.normal(size=(2, len(alphas))), rng.uniform(0, 1e-3, (2, len(alphas)))
    balls = arb_mat(2, len(alphas), [arb(m, r) for m, r in zip(middles.ravel(), radii.ravel(), strict=True)])
    low, high = ranges(balls, d, n)
    assert low.shape == (p**d, 2)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    s = rng.uniform(-1, 1, (200, d))
    piece = np.ravel_multi_index(tuple(np.clip((s.T + 1) * p / 2, 0, p - 1).astype(int)), (p,) * d)
    powers = np.prod(s[:, None] ** alphas, 2)
    for sign in (-1, 1):
        values = powers @ middles.T + sign * (np.abs(powers) @ radii.T)
        assert (low[piece] - 1e-13 <= values).all()
        assert (values <= high[piece] + 1e-13).all()
    thin = ranges(arb_mat(2, len(alphas), middles.ravel().tolist()), d, n)
    assert ((thin[1] - thin[0]) <= (high - low)).all()


def test_ranges_of_unknown_polynomials_are_unknown() -> None:
    low, high = ranges(arb_mat(2, 3, [arb(1), arb("nan"), arb(0), arb(1), arb(2), arb(3)]), 1, 3)
    assert (low[:, 0] == -np.inf).all()
    assert (high[:, 0] == np.inf).all()
    assert np.isfinite(low[:, 1]).all()
    low, high = ranges(arb_mat(1, 1, [arb("1e400")]), 1, 1)
    assert (high == np.inf).all()


def test_a_form_is_the_logarithm_of_its_cell() -> None:
    bumps = BallBumps(24.0, (-6.0, -18.0))
    with precision(128):
        exponents = Exponents((bumps, bumps), [interval(0, 1)] * 2)
        columns = np.array(
            [[exponents.column(0, 1), exponents.column(0, 2), exponents.column(1, 0), exponents.column(1, 1)]]
        )
        weights = np.array([[-1.0, -1.0, -24.0, -1.0]])
        b = np.array([1.25])
        found = exponents.grown(exponents.ones(1), columns, weights, b)
        assert found.cells.tolist() == [[1, 0]]
        expected = arb(1.25) - bumps.constants()[1] - bumps.constants()[0]
        assert found.delta[0].overlaps(expected)
        assert float(found.delta[0].rad()) < 1e-30
        off = exponents.grown(exponents.ones(1), columns, weights + [[0.0, 0.125, 0.0, 0.0]], b)
        assert off.cells.tolist() == [[1, 0]]
        t = arb(0.3)
        log = bumps.z(t)[1].cosh().log()
        assert off.delta[0].contains(expected + 0.125 * log)
        assert float(off.delta[0].rad()) <= 0.125 * 18.001
        again = exponents.grown(found, columns, -weights, -b)
        assert again.cells.tolist() == [[NONE, NONE]]
        assert again.delta[0].contains(0)


def test_weights_are_not_rounded() -> None:
    assert _sum(np.array([1.0]), np.array([2.0**-52])) == 1 + 2.0**-52
    with pytest.raises(Unprovable, match="rounding"):
        _sum(np.array([1.0]), np.array([2.0**-54]))


def step_of(bumps: BallBumps, change: float = 0.0) -> Step2Remainder:
    """The controls of float64, the first of A changed."""
    N, fixed = bumps.N, rounded(bumps.N)
    A, B = fixed.A.copy(), fixed.B
    A[0] += change
    lam = [[0.0] * k + A[: N + 1 - k].tolist() + [float(fixed.b[k])] for k in range(N + 1)]
    rest = [[0.0] * k + (-B[: N + 1 - k]).tolist() + [float(fixed.kappa[k])] for k in range(1, N + 1)]
    plain = [[v * b for v in row] for row, b in zip(rest, bumps.offsets, strict=True)]
    return Step2Remainder(arb_mat(lam), arb_mat([[v * bumps.slope for v in row] for row in rest]), arb_mat(plain))


@pytest.mark.parametrize("change", [0.0, 1e-9, 1e-3])
def test_what_step_2_leaves_behind(change: float) -> None:
    """Against the same ODE in mpmath, integrated by Taylor series of its matrix."""
    bumps = BallBumps(18.0, (-3.0, -9.0, -15.0))
    step, n, t = step_of(bumps, change), 4, 0.37
    with precision(160):
        off, rest = remainder(step, bumps, interval(0, 1))
    with mpmath.workdps(40):
        z = [mpmath.mpf(bumps.slope) * t + b for b in bumps.offsets]
        start = [mpmath.mpf(1), *map(mpmath.tanh, z), mpmath.mpf(1), *(v * mpmath.tanh(v) for v in z)]
        flow = mpmath.zeros(2 * n)
        for k in range(n):
            for column in range(n + 1):
                flow[k, column] = mpmath.mpf(float(step.lam[k, column].mid()))
        for k in range(n - 1):
            for column in range(n + 1):
                x, plain = (float(m[k, column].mid()) for m in (step.times_x, step.plain))
                flow[n + 1 + k, column] = mpmath.mpf(x) * t + plain
        end = mpmath.expm(flow, method="taylor") * mpmath.matrix(start)
        found = [end[k] - v for k, v in enumerate(psi(bumps, t))] + [end[n + 1 + k] for k in range(n - 1)]
    for ball, value in zip([*off, *rest], found, strict=True):
        assert ball.is_finite()
        assert abs(arb(float(value))) <= abs(ball).upper() * 1.0001 + 1e-30
    assert max(float(abs(ball).upper()) for ball in off) < 4 * change + 1e-14


def test_step_2_in_many_bits() -> None:
    with precision(500):
        step = ideal_controls([40.0, 40.0], [-10.0, -30.0], 200)
        assert step.lam[0, 0].contains(-arb.const_log2())
        assert step.times_x[0, 1].contains(-80 * arb.const_log2())
        assert step.plain[1, 2].contains(60 * arb.const_log2())
        off, rest = remainder(step, BallBumps(40.0, (-10.0, -30.0)), interval(0, 1))
        assert all(ball.is_finite() and abs(ball).upper() < arb(2) ** -190 for ball in (*off, *rest))
        assert any(abs(ball).upper() > arb(2) ** -215 for ball in off)
