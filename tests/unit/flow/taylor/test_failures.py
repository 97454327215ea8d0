"""The Taylor engine: failures by name, times, states and threads, programs from programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from integraph import Registers, Status, build, segment
from integraph.errors import EscapeError
from integraph.flow.taylor import engine
from integraph.gadgets import (
    arctan,
    decay,
    drain,
    exp,
    ln,
    monomial,
    power,
    product,
    ramp,
    sin_cos,
    tanh,
)
from law import examples
from taylor_programs import free, ln_program, program_of, relative, tanh_program

RNG = np.random.default_rng(5)

# failures


def test_escapes_are_named_and_the_others_are_right() -> None:
    """ln x for x = 1 + p of either sign: p' = −p² escapes at t = −1/p."""
    start = RNG.uniform(-3.0, 3.0, 700)
    flow = ln_program().flow(start, "taylor", states=True, times=(0.5, 2.0))
    bad = np.flatnonzero(start <= -1)
    assert [f.input for f in flow.failures] == bad.tolist()
    assert len(bad) > 100
    for f in flow.failures:
        assert (f.status, f.segment, f.label, f.register) == (Status.ESCAPED, 0, "logarithm", "p")
        assert abs(f.time + 1 / start[f.input]) < 1e-9
    good = np.setdiff1d(np.arange(700), bad)
    assert np.allclose(flow.outputs[good, 0], 1 + np.log1p(start[good]), rtol=0, atol=1e-9)
    for array in (flow.outputs, flow.states, flow.path):
        assert np.isnan(array[bad]).all()
        assert np.isfinite(array[good]).all()
    with pytest.raises(EscapeError, match=f"input {bad[0]}: .* register p, segment 0 'logarithm'"):
        flow.check()


@pytest.mark.parametrize("rtol", [1e-6, 1e-12, 1e-15])
@pytest.mark.parametrize("span", [1.0, 1e-5, 3e4])
def test_an_escape_at_the_very_end(rtol: float, span: float) -> None:
    """The logarithm of 0, in any unit of time; 1e−6 beside it is fine."""
    flow = ln_program().rescale_time(span).flow([-1.0, -1.0 + 1e-6], "taylor", rtol=rtol)
    assert flow.status == (Status.ESCAPED, Status.DONE)
    assert abs(flow.failures[0].time - span / 2) < 1e-9 * span


@pytest.mark.parametrize("p", [-1.0, -1.0 - 1e-15, -1e20])
@pytest.mark.parametrize("z", [1.0, 1e-200, -1e-300])
@pytest.mark.parametrize("a", [-1.7, 1.7])
def test_an_escape_beside_a_tiny_register(p: float, z: float, a: float) -> None:
    r = Registers()
    y = r.inputs("y", 2)
    flow = program_of(power(y[0], y[1], a=a), r=r).flow([[p, z]], "taylor")
    assert flow.status == (Status.ESCAPED,)
    assert abs(flow.failures[0].time + 1 / p) < 1e-9


def test_a_pole_too_close_to_pass() -> None:
    """w + iv = ζ/(1 + ζt) from ζ = −1 + 1e−200 i: the pole is 1e−200 beside the end."""
    r = Registers()
    y = r.inputs("y", 3)
    assert program_of(arctan(y[0], y[1], y[2]), r=r).flow([[0, 1e-200, -1.0]], "taylor").status == (Status.ESCAPED,)


@pytest.mark.parametrize("rtol", [0.99, 0.5, 1e-2])
def test_a_loose_tolerance_misses_no_escape(rtol: float) -> None:
    start = np.concatenate([np.linspace(-4.0, -1.0, 61), [-0.99, 2.0]])
    flow = ln_program().flow(start, "taylor", rtol=rtol)
    assert flow.status == (*[Status.ESCAPED] * 61, Status.DONE, Status.DONE)


def test_short_steps_without_growth_are_no_escape() -> None:
    r = Registers()
    s, c, x = r.inputs("s"), r.inputs("c"), r.inputs("x")
    flow = program_of(sin_cos(s, c, x), r=r).flow([[0.0, 1.0, 1e16]], "taylor", max_steps=500)
    assert flow.status == (Status.STEP_LIMIT,)
    r = Registers()
    y = r.inputs("y", 3)
    found = program_of(arctan(y[0], y[1], y[2]), r=r).flow([[0.0, 1e13, 0.0]], "taylor").check().outputs
    assert relative(found, [mp.atan(mpf(1e13)), 1e13 / (1 + mpf(1e13) ** 2), 1 / (1 + mpf(1e-26))]) < 1e-11


def test_the_first_failure_is_the_cause() -> None:
    r = Registers()
    p, z = r.inputs("p", 3), r.new("z", 3)
    flow = build(r, [segment("ln", ln(p, z))], z).flow([[-2.0, -4.0, 1.0], [1.0, 1.0, -1.5]], "taylor")
    assert [(f.input, f.register) for f in flow.failures] == [(0, "p2"), (1, "p3")]
    assert np.allclose([f.time for f in flow.failures], [1 / 4, 1 / 1.5])


def test_what_float64_cannot_hold() -> None:
    r = Registers()
    x, z, y = r.inputs("x"), r.new("z"), r.new("y")
    steps = [segment("one", ramp(z, b=1.0)), segment("grow", exp(z, x)), segment("square", product(y, z, z))]
    p = build(r, steps, y)
    flow = p.flow([1.0, 700.0, 720.0, -700.0, 400.0], "taylor")
    assert flow.status == (Status.DONE, Status.OVERFLOWED, Status.OVERFLOWED, Status.DONE, Status.OVERFLOWED)
    assert [(f.segment, f.register) for f in flow.failures] == [(2, "y"), (1, "z"), (2, "y")]
    assert 1.9 < flow.failures[1].time < 2.0
    assert np.isnan(flow.outputs[[1, 2, 4]]).all()


def test_a_decay_that_grows_too_much() -> None:
    r = Registers()
    x = r.inputs("x")
    p = build(r, [segment("grow", decay(x, r=-800.0)), segment("idle")], x)
    assert p.flow([1.0], "taylor").status == (Status.OVERFLOWED,)
    assert relative(p.flow([1e-300], "taylor").check().outputs, [mpf(1e-300) * mp.exp(800)]) < 1e-12


def test_a_weighted_sum_that_overflows() -> None:
    r = Registers()
    x = r.inputs("x", 2)
    flow = build(r, [], x, [[1e10, 0.0], [0.0, 1.0]]).flow([[1e300, 1.0], [1.0, 1.0]], "taylor", states=True)
    assert [(f.input, f.status, f.register) for f in flow.failures] == [(0, Status.OVERFLOWED, "read-out")]
    assert np.isnan(flow.outputs[0]).all()
    assert np.isnan(flow.states[0]).all()


def test_the_step_limit() -> None:
    flow = tanh_program().flow([0.1, 50.0, 0.2], "taylor", max_steps=4)
    assert flow.status == (Status.DONE, Status.STEP_LIMIT, Status.DONE)
    assert 0 < flow.failures[0].time < 1
    assert flow.failures[0].register in ("alpha", "lam")
    assert not flow.failures[0].remedy  # no digits are lost, and more of them take as many steps


def test_more_steps_than_an_integer_counts() -> None:
    assert abs(tanh_program().flow([0.5], "taylor", max_steps=10**30).check().outputs[0, 0] - np.tanh(0.5)) < 1e-12


def test_too_stiff_is_not_an_escape() -> None:
    r = Registers()
    z, x = r.inputs("z"), r.inputs("x")
    flow = program_of(exp(z, x), r=r).flow([[1.0, -1e15]], "taylor")
    assert flow.status == (Status.STEP_LIMIT,)


# times, states, threads


def test_path_of_every_kind_of_segment() -> None:
    """Times in any order, twice, at switches and at the ends."""
    r = Registers()
    x, alpha, lam, z = r.inputs("x", 2), r.new("alpha", 2), r.new("lam", 2), r.new("z", 2)
    p = build(r, [segment("tanh", tanh(alpha, lam, x)), segment("drain", drain(z, alpha, w=np.eye(2), r=3.0))], z)
    times = (1.5, 0.0, 0.25, 1.0, 2.0, 0.25, 0.75)
    inputs = RNG.normal(size=(300, 2))
    flow = p.flow(inputs, "taylor", times=times, states=True).check()
    for n, t in enumerate(times):
        assert np.allclose(flow.path[:, n, :2], inputs, rtol=0, atol=0)
        held = np.tanh(inputs * min(t, 1.0)) * np.exp(-3.0 * max(t - 1.0, 0.0))
        assert np.allclose(flow.path[:, n, 2:4], held, rtol=1e-12, atol=0)
        reach = np.expm1(-3.0 * max(t - 1.0, 0.0)) / np.expm1(-3.0)
        assert np.allclose(flow.path[:, n, 6:], np.tanh(inputs) * reach, rtol=1e-12, atol=0)
    assert np.array_equal(flow.path[:, 4], flow.states)
    assert np.array_equal(flow.states[:, 6:], flow.outputs)
    assert np.allclose(flow.outputs, p.flow(inputs, "taylor").outputs, rtol=1e-13, atol=0)


def test_threads_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    p = ln_program()
    x = RNG.uniform(-1.2, 2.0, (900, 1))
    options = {"states": True, "times": (0.5, 1.5)}
    one = p.flow(x, "taylor", **options)
    two = p.flow(x, "taylor", threads=2, **options)
    monkeypatch.setattr(engine, "CHUNK", 7)
    small = p.flow(x, "taylor", threads=2, **options)
    for other in (two, small):
        assert np.array_equal(one.outputs, other.outputs, equal_nan=True)
        assert np.array_equal(one.states, other.states, equal_nan=True)
        assert np.array_equal(one.path, other.path, equal_nan=True)
        assert (one.failures, one.steps) == (other.failures, other.steps)


def test_memory_stays_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    chunk = engine._TaylorRun.chunk
    monkeypatch.setattr(engine, "BUDGET", 8 * 50 * 30)
    monkeypatch.setattr(
        engine._TaylorRun, "chunk", lambda work, piece: (sizes.append(piece[1] - piece[0]), chunk(work, piece))
    )
    tanh_program(10).flow(np.zeros((100, 10)), "taylor").check()  # 30 states, 20 coefficients
    assert 1 <= max(sizes) <= 50
    assert sum(sizes) == 100


def test_nothing_to_do() -> None:
    r = Registers()
    x = r.inputs("x", 2)
    still = build(r, [], x)
    idle = build(r, [segment("idle"), segment("idle")], x)
    for p, times in ((still, (0.0,)), (idle, (0.0, 0.5, 1.0, 2.0))):
        flow = p.flow([[1.0, 2.0]], "taylor", times=times, states=True).check()
        assert (flow.path == [1.0, 2.0]).all()
        assert (flow.states == [1.0, 2.0]).all()
        assert (flow.outputs == [1.0, 2.0]).all()
    for p in (still, idle, ln_program()):
        flow = p.flow(np.zeros((0, p.inputs)), "taylor", states=True, times=(0.0,))
        assert (flow.outputs.shape, flow.states.shape, flow.failures) == ((0, p.outputs), (0, p.width), ())


def test_every_input_fails() -> None:
    flow = ln_program().flow([-2.0, -3.0], "taylor", times=(0.1, 2.0))
    assert flow.status == (Status.ESCAPED, Status.ESCAPED)
    assert np.isnan(flow.path).all()


# programs from programs


def test_units_of_time_and_state_change_nothing() -> None:
    r = Registers()
    x, alpha, lam, z = r.inputs("x", 3), r.new("alpha", 3), r.new("lam", 3), r.new("z", 2)
    w = RNG.normal(size=(2, 3))
    steps = [
        segment("tanh", tanh(alpha, lam, x)),
        segment("drain", drain(z, alpha, w=w, r=5.0), monomial(lam, x, w=0.3)),
    ]
    p = build(r, steps, z)
    inputs = RNG.normal(size=(20, 3))
    expected = p.flow(inputs, "taylor").outputs
    for horizon in (1.0, 1e-6, 500.0):
        assert np.allclose(p.rescale_time(horizon).flow(inputs, "taylor").outputs, expected, rtol=1e-12, atol=1e-14)
    scales = np.exp(RNG.normal(size=p.width))
    scaled = p.rescale_states(scales).flow(inputs / scales[:3], "taylor")
    assert np.allclose(scaled.outputs, expected, rtol=1e-12, atol=1e-14)
    assert np.allclose(expected, np.tanh(inputs) @ w.T, rtol=1e-11, atol=1e-13)


@examples(25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.1, 1.0))
def test_the_inverse_flow_leads_back(seed: int, n: int, duration: float) -> None:
    rng = np.random.default_rng(seed)
    p = free(duration, A=rng.normal(size=(n, n)), Q=0.2 * rng.normal(size=(n, n, n)), b=rng.normal(size=n))
    x = rng.normal(size=(3, n))
    there = p.flow(x, "taylor", states=True)
    good = [i for i, status in enumerate(there.status) if status is Status.DONE]
    if good and np.abs(there.states[good]).max() < 20:
        back = p.reverse().flow(there.states[good], "taylor").check().outputs
        assert np.allclose(back, x[good], rtol=0, atol=1e-8)
