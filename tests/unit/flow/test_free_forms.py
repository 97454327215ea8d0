"""Blocks without a closed form on the precise engine: values to the last bit, escapes, steps, units, times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

from integraph import Program, Registers, Status, build, gadgets, segment
from integraph.errors import StepLimitError
from integraph.gadgets import low_rank, raw
from integraph.numbers.arb import quadratic_flow
from integraph.numbers.arb.conversion import box
from integraph.numbers.arb.quadratic_flow import QuadraticFlow
from mp_taylor import flow
from taylor_programs import free


def _factors(seed: int, m: int, n: int, r: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"U": (m, r), "V1": (r, n), "V2": (r, n), "A": (m, n), "b": (m,)}
    return {name: 0.5 * rng.integers(-4, 5, shape) / 4 for name, shape in shapes.items()}  # exact in every order


def _program(block: str, seed: int = 0) -> Program:
    """The same flow three times, from inputs that stand still, in two segments of different length."""
    r = Registers()
    x, y = r.inputs("x", 2), r.new("y", 3)
    parts = []
    for number, duration in enumerate((0.5, 1.25)):
        f = _factors(seed + number, 3, 5, 2)
        Q = np.einsum("is,sj,sk->ijk", f["U"], f["V1"], f["V2"])
        made = {"low_rank": lambda f=f: low_rank(y, x, **f), "raw": lambda f=f, Q=Q: raw(y, x, A=f["A"], Q=Q, b=f["b"])}
        parts.append(segment(f"s{number}", made[block](), duration=duration))
    return build(r, parts, y)


@pytest.mark.parametrize("block", ["low_rank", "raw"])
def test_the_float_next_to_the_flow(block: str) -> None:
    """mpmath integrates the terms, which are exact here; the result is the float next to it, not one beside."""
    program, x = _program(block), [0.3, -0.7]
    wanted = [float(v) for v in flow(program, [*x, 0.0, 0.0, 0.0])[2:]]
    assert program(x, engine="precise").tolist() == wanted


@pytest.mark.slow
def test_units_clocks_and_times() -> None:
    """Rescaled states and time, the inverse flow, and states on the way."""
    program, x = _program("low_rank"), np.array([[0.3, -0.7], [0.1, 0.2]])
    plain = program.flow(x, "precise", states=True, times=(0.0, 0.2, 0.5, 1.0, 1.75))
    taylor = program.flow(x, "taylor", states=True, times=(0.0, 0.2, 0.5, 1.0, 1.75))
    assert plain.ok
    assert np.allclose(plain.path, taylor.path, rtol=1e-13, atol=1e-14)
    other = program.rescale_states(np.full(5, 4.0)).rescale_time(7.0)
    assert np.array_equal(other(x / 4.0, engine="precise"), plain.outputs)
    back = program.reverse().flow(plain.states, "precise").check().outputs
    assert np.allclose(back[:, :2], x, rtol=0, atol=1e-15)
    assert np.allclose(back[:, 2:], 0.0, rtol=0, atol=1e-14)


def test_beside_closed_forms() -> None:
    r = Registers()
    x, y, alpha, lam = r.inputs("x", 1), r.new("y", 1), r.new("alpha", 1), r.new("lam", 1)
    first = segment("both", gadgets.tanh(alpha, lam, x), raw(y, x, A=[[0.0, 1.0]], Q=[[[1.0, 0.0], [0.0, 0.0]]]))
    program = build(r, [first, segment("sum", gadgets.affine(y, alpha[:, None], w=[[1.0]]))], y)
    with mp.workdps(30):  # y' = y² + x from 0
        root = mp.sqrt(mpf(0.4))
        wanted = float(root * mp.tan(root) + mp.tanh(mpf(0.4)))
    assert program([0.4], engine="precise")[0] == wanted


def test_more_bits_where_radii_grow() -> None:
    """y' = −30 y: a ball's radius grows like e^{30t}, 173 bits over 4; the number is e^{−120} to the last bit."""
    program = free(4.0, A=[[-30.0]], Q=[[[0.0]]])
    with mp.workdps(40):
        assert program([1.0], engine="precise")[0] == float(mp.exp(-120))


@pytest.mark.slow
def test_a_pole_is_no_number() -> None:
    """y' = y² from 1 blows up at 1: nothing is said beyond, and before it the value is right."""
    for start, fine in ((0.999, True), (1.0, False), (2.0, False)):
        result = free(1.0, Q=[[[1.0]]]).flow([[start]], "precise")
        assert result.ok == fine
        if fine:
            assert result.outputs[0, 0] == pytest.approx(start / (1 - start), rel=1e-15)
        else:
            assert result.failures[0].status is Status.STEP_LIMIT
            assert math.isnan(result.outputs[0, 0])
    with pytest.raises(StepLimitError, match="register y"):
        free(1.0, Q=[[[1.0]]])([2.0], engine="precise")
    assert not free(1.0, Q=[[[1.0]]]).flow([[0.9]], "precise", max_steps=2).ok


@pytest.mark.parametrize("seed", range(3))
def test_balls_hold_every_start(seed: int) -> None:
    """Wide balls: the ends of points inside, by DOP853, lie in the ends of the balls."""
    program, rng = _program("low_rank", seed), np.random.default_rng(seed)
    block = program.segments[0].blocks[0]
    flow_of = QuadraticFlow(low_rank.field(block))
    low, high = np.array([-0.1, 0.2, 0.0]), np.array([0.1, 0.3, 0.05])
    with ctx.workprec(80):
        ends = flow_of.end(box(low, high), box([0.3, -0.1], [0.31, -0.1]), arb(0.25), 1000)
    r = Registers()
    z = r.inputs("z", 5)
    points = build(r, [segment("s", low_rank(z[2:], z[:2], **block.tensors), duration=0.25)], z[2:])
    for _ in range(20):
        start = [rng.uniform(0.3, 0.31), -0.1, *rng.uniform(low, high)]
        for ball, value in zip(ends, points(start, engine="oracle"), strict=True):
            assert ball.lower() <= value + 1e-12
            assert ball.upper() >= value - 1e-12


def test_the_tail_is_part_of_the_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps so long that the series ends early: the balls are wider than rounding, and still hold tan and its kin."""
    monkeypatch.setattr(quadratic_flow, "_goal", lambda *_: -12.0)
    field = raw.field(free(Q=[[[1.0]]], b=[1.0]).segments[0].blocks[0])  # y' = 1 + y²
    for bits in (60, 120):
        with ctx.workprec(bits):
            (ball,) = QuadraticFlow(field).end([arb(0)], [], arb(1), 100)
            assert ball.rad() < 1e-2
            assert ball.contains(arb(1).tan())
            assert ball.rad() > 1e-12


@pytest.mark.parametrize("speed", [0.0, 1e-260, 1e-40])
def test_a_state_that_stands_still_costs_no_digits(speed: float) -> None:
    """x' = u − x², where u is a state of the same block that hardly moves."""
    A, Q = np.array([[0.0, 1.0], [0.0, speed]]), np.zeros((2, 2, 2))
    Q[0, 0, 0] = -1.0
    r = Registers()
    y = r.inputs("y", 2)
    program = build(r, [segment("s", raw(y, y[:0], A=A, Q=Q, b=np.zeros(2)), duration=5.0)], y)
    x, u = program([0.5, 0.36], engine="precise")
    assert x == pytest.approx(0.6 * math.tanh(3.0 + math.atanh(0.5 / 0.6)), rel=1e-15)
    assert u == 0.36
