"""The oracle against mpmath and closed formulas, its failures and its paths."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import mp_taylor
from integraph import Program, Registers, Status, View, build, segment
from integraph.errors import StepLimitError
from integraph.gadgets import affine, arctan, decay, exp, ln, ramp, raw, sin_cos, tanh
from slow import mostly_slow

RNG = np.random.default_rng(8)


def chain() -> Program:
    """μ = a·x + b, then α = tanh μ, then ln of the input."""
    r = Registers()
    x, mu, alpha, lam, z = r.inputs("x"), r.new("mu", 2), r.new("alpha", 2), r.new("lam", 2), r.new("z")
    steps = [
        segment("affine", affine(mu, x, w=[[2.0], [-1.0]], b=[0.5, 1.0]), duration=0.5),
        segment("tanh", tanh(alpha, lam, mu)),
        segment("ln", ln(x, z), duration=2.0),
    ]
    return build(r, steps, View(0, (r.width,), (1,)))


def test_a_chain_of_segments() -> None:
    x = np.array([0.3, -0.4, 2.0])
    flow = chain().flow(x, "oracle", rtol=1e-13, states=True).check()
    mu = np.stack([x + 0.25, -0.5 * x + 0.5], 1)
    expected = np.column_stack([x / (1 + 2 * x), mu, np.tanh(mu), mu * np.tanh(mu), np.log1p(2 * x)])
    assert np.allclose(flow.outputs, expected, rtol=1e-11, atol=0)
    assert np.array_equal(flow.outputs, flow.states)
    assert flow.steps > 0


def test_a_free_form_block_against_mpmath() -> None:
    A, Q, b = RNG.normal(size=(4, 4)), 0.2 * RNG.normal(size=(4, 4, 4)), RNG.normal(size=4)
    r = Registers()
    y = r.inputs("y", 4)
    p = build(r, [segment("free", raw(y, A=A, Q=Q, b=b), duration=0.7)], y)
    x = RNG.normal(size=4)
    found = p.flow(x, "oracle", rtol=1e-13).check().outputs[0]
    reference = mp_taylor.flow(p, x.tolist())
    assert max(abs(mpf(a) - b) / abs(b) for a, b in zip(found.tolist(), reference, strict=True)) < 1e-11


@pytest.mark.parametrize("start", [1.0, 1e-200])
def test_a_tiny_state_keeps_its_digits(start: float) -> None:
    r = Registers()
    x = r.inputs("x")
    p = build(r, [segment("down", decay(x, r=60.0)), segment("up", decay(x, r=-60.0))], x)
    flow = p.flow([start], "oracle", times=(1.0,)).check()
    assert abs(flow.outputs[0, 0] / start - 1) < 1e-11
    assert abs(mpf(float(flow.path[0, 0, 0])) / (start * mp.exp(-60)) - 1) < 1e-11


def test_a_register_that_starts_like_the_tenth_power() -> None:
    A, Q, b = np.zeros((5, 5)), np.zeros((5, 5, 5)), np.array([1.0, 0, 0, 0, 0])
    A[1, 0], Q[2, 0, 1], Q[3, 1, 1], Q[4, 3, 2] = 2, 4, 5, 10
    r = Registers()
    y = r.new("y", 5)
    p = build(r, [segment("powers", raw(y, A=A, Q=Q, b=b))], y)
    assert np.allclose(p.flow(np.zeros((1, 0)), "oracle").check().outputs, 1.0, rtol=1e-10, atol=0)


def test_path_at_any_times() -> None:
    times = (3.5, 0.0, 1.0, 0.5, 0.25, 1.0, 2.0)
    flow = chain().flow([0.3], "oracle", times=times, states=True).check()
    assert np.array_equal(flow.path[0, 0], flow.states[0])
    for n, t in enumerate(times):
        mu = np.array([2 * 0.3 + 0.5, -0.3 + 1.0]) * min(t, 0.5)
        since, late = min(max(t - 0.5, 0.0), 1.0), max(t - 1.5, 0.0)
        alpha = np.tanh(mu * since)
        expected = [0.3 / (1 + 0.3 * late), *mu, *alpha, *(mu * alpha), np.log1p(0.3 * late)]
        assert np.allclose(flow.path[0, n], expected, rtol=1e-10, atol=1e-300)


def test_failures_are_named() -> None:
    flow = chain().flow([0.3, -0.5, -2.0], "oracle", times=(0.5,))
    assert flow.status == (Status.DONE, Status.ESCAPED, Status.ESCAPED)
    for failure, time in zip(flow.failures, (3.5, 2.0), strict=True):
        assert (failure.segment, failure.label, failure.register) == (2, "ln", "x")
        assert abs(failure.time - time) < 1e-6
    assert np.isnan(flow.outputs[1:]).all()
    assert np.isnan(flow.path[1:]).all()
    assert np.isfinite(flow.outputs[0]).all()


@mostly_slow("rtol", [0.99, 1e-3, 1e-12], quick=1)
def test_a_loose_tolerance_misses_no_escape(rtol: float) -> None:
    r = Registers()
    x, z = r.inputs("x"), r.new("z")
    p = build(r, [segment("ln", ln(x, z))], z)
    flow = p.flow([-4.0, -1.37, -1.01, -1.0, -0.999, 1e6], "oracle", rtol=rtol)
    assert flow.status == (*[Status.ESCAPED] * 4, Status.DONE, Status.DONE)
    assert np.allclose(flow.outputs[4:, 0], np.log1p([-0.999, 1e6]), rtol=1e-5, atol=0)


def test_short_steps_without_growth_are_no_escape() -> None:
    r = Registers()
    y, x = r.inputs("y", 3), r.inputs("x", 1)
    turn = build(r, [segment("turn", sin_cos(y[0], y[1], x[0]))], y)
    assert turn.flow([0.0, 1.0, 0.0, 1e16], "oracle", max_steps=300).status == (Status.STEP_LIMIT,)
    slow_down = build(r, [segment("arctan", arctan(y[0], y[1], y[2]))], y)
    found = slow_down.flow([0.0, 1e13, 0.0, 0.0], "oracle").check().outputs
    assert np.allclose(found, [[np.arctan(1e13), 1e-13, 1.0]], rtol=1e-10, atol=0)


def test_a_short_segment_after_a_long_one() -> None:
    """1e16 + 1 is 1e16: the second segment must last 1 nevertheless."""
    r = Registers()
    x, z = r.inputs("x"), r.new("z")
    p = build(r, [segment("a", affine(z, x), duration=1e16), segment("b", affine(z, x, w=1e18))], z)
    assert np.allclose(p.flow([1.0], "oracle").check().outputs, 1.01e18, rtol=1e-11, atol=0)
    assert np.allclose(p.flow([1.0], "taylor").check().outputs, 1.01e18, rtol=1e-11, atol=0)


def test_overflow_and_step_limit() -> None:
    r = Registers()
    x, z = r.inputs("x"), r.new("z")
    p = build(r, [segment("one", ramp(z, b=1.0)), segment("grow", exp(z, x))], z)
    flow = p.flow([1.0, 800.0], "oracle", rtol=1e-6)
    assert flow.status == (Status.DONE, Status.OVERFLOWED)
    assert flow.failures[0].register == "z"
    with pytest.raises(StepLimitError, match="segment 1 'grow'"):
        p.flow([100.0], "oracle", max_steps=10).check()


def test_a_weighted_sum_that_overflows() -> None:
    r = Registers()
    x = r.inputs("x")
    flow = build(r, [], x, [[1e10]]).flow([1e300, 1.0], "oracle")
    assert [(f.input, f.status, f.register) for f in flow.failures] == [(0, Status.OVERFLOWED, "read-out")]
    assert np.isnan(flow.outputs[0, 0])
    assert flow.outputs[1, 0] == 1e10


def test_nothing_to_do() -> None:
    r = Registers()
    x = r.inputs("x", 2)
    for segments in ([], [segment("idle")]):
        p = build(r, segments, x)
        assert np.array_equal(p.flow([[1.0, 2.0]], "oracle", times=(0.0,)).outputs, [[1.0, 2.0]])
        assert p.flow(np.zeros((0, 2)), "oracle", states=True).states.shape == (0, 2)
