"""The validated Taylor engine: raw systems against mpmath, its majorant, its radii, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from arb_values import near
from integraph import Program, Registers, Segment, build
from integraph.certify.enclosure import taylor_step
from integraph.certify.enclosure.closed_forms import enclose
from integraph.certify.enclosure.systems import sizes, systems
from integraph.certify.problem import Unprovable
from integraph.gadgets import raw
from integraph.numbers.arb.conversion import above, box, largest
from integraph.numbers.arb.majorant import balanced, majorant
from law import examples
from mp_taylor import Escape, flow
from taylor_programs import free, ln_program

SEEDS = st.integers(0, 2**32 - 1)


def _random(seed: int, size: float = 0.6) -> tuple[Program, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    A, Q, b = rng.normal(0, size, (n, n)), rng.normal(0, size / n, (n, n, n)), rng.normal(0, size, n)
    return free(A=A, Q=Q * rng.integers(0, 2, Q.shape), b=b), rng.uniform(-0.5, 0.5, n)


@pytest.mark.slow
@examples(60)
@given(SEEDS)
def test_raw_systems_hold_the_flow(seed: int) -> None:
    program, x = _random(seed)
    try:
        truth = flow(program, x.tolist())
    except Escape:
        with pytest.raises(Unprovable):
            enclose(program, tuple(x), tuple(x), "taylor")
        return
    try:
        found = []
        for bits in (64, 128):
            with ctx.workprec(bits):
                found.append(taylor_step.taylor(program, box(x, x)))
    except Unprovable:
        assert max(abs(v) for v in truth) > 5  # on its way out
        return
    for coarse, fine, value in zip(*found, truth, strict=True):
        assert fine.is_finite()
        assert coarse.overlaps(fine)
        assert abs(coarse - near(value)) < 1e-14 * (1 + abs(fine)) or largest(fine) > 5
        assert (fine * arb(1, 1e-28) + arb(0, 1e-28)).overlaps(near(value))


@examples(40)
@given(SEEDS, st.sampled_from([1e-6, 1e-3, 0.03]))
def test_wide_starts_hold_their_points(seed: int, wide: float) -> None:
    program, x = _random(seed, 0.4)
    try:
        with ctx.workprec(64):
            found = taylor_step.taylor(program, box(x - wide, x + wide))
    except Unprovable:
        return
    for point in x + wide * np.random.default_rng(seed).uniform(-1, 1, (3, len(x))):
        with ctx.workprec(96):
            inside = taylor_step.taylor(program, box(point, point))
        assert all(a.contains(b.mid()) for a, b in zip(found, inside, strict=True))
    assert all(above(ball.rad()) < 100 * wide for ball in found)


@examples(60)
@given(SEEDS)
def test_the_majorant_bounds_the_coefficients(seed: int) -> None:
    program, x = _random(seed)
    for system in systems(program, 0, box(x, x)):
        y = [arb(float(x[r])) for r in system.registers]
        found = sizes(system, system.slope(y), system.jacobian(y))
        scales = balanced(found, np.ones(len(y)))
        limit = majorant(found, scales, 1.0, False)
        assert limit is not None
        assert (np.diff(limit.time) >= 0).all()
        series = system.series(y, 12)
        for k in (40, 100, 160):
            for n in range(1, 13):
                bound = arb(limit.size[k]) / arb(limit.time[k]) ** n
                assert all(abs(c[n]) <= bound * arb(s) for c, s in zip(series, scales.tolist(), strict=True))


def test_the_tail_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps so long that the polynomial alone is wrong in the sixth digit."""
    monkeypatch.setattr(taylor_step, "_goal", lambda *_: 0.0)
    with ctx.workprec(64):
        (found,) = taylor_step.taylor(free(A=[[8.0]]), box([1.0], [1.0]))
        assert found.contains(arb(8).exp())
        assert found.rel_accuracy_bits() < 30


def test_decay_keeps_its_radius_small() -> None:
    """A naive ball would grow by e^40 where the flow shrinks by as much."""
    program = free(A=[[-40.0]])
    with ctx.workprec(64):
        (found,) = taylor_step.taylor(program, box([0.9], [1.1]))
    assert 0 < found < 3 * (-arb(40)).exp()
    assert found.contains((-arb(40)).exp())


def test_frozen_registers_that_are_wide() -> None:
    """z' = −x z with x in a ball: the range of e^{−x}, not of e^{|x|}."""
    r = Registers()
    x, z = r.inputs("x", 1), r.inputs("z", 1)
    program = build(r, [Segment("s", (raw(z, x, Q=[[[0.0, -1.0], [0.0, 0.0]]]),))], z)
    (low,), (high,) = enclose(program, (4.99, 1.0), (5.01, 1.0), "taylor")
    assert low <= np.exp(-5.01)
    assert high >= np.exp(-4.99)
    assert high - low < 3 * (np.exp(-4.99) - np.exp(-5.01))


def test_escapes_and_stiffness_are_refused() -> None:
    square = free(Q=[[[1.0]]])
    for start in (1.0, 1.5, 1e6):
        with pytest.raises(Unprovable, match="y"):
            enclose(square, (start,), (start,), "taylor")
    (low,), (high,) = enclose(square, (0.9,), (0.9,), "taylor")  # x/(1 − x)
    assert low <= 9.000000000000002
    assert high >= 8.999999999999998
    assert high - low < 1e-13
    with pytest.raises(Unprovable, match="steps"):
        enclose(free(A=[[-1e9]]), (1.0,), (1.0,), "taylor")
    with pytest.raises(Unprovable):
        enclose(square, (-1e200,), (1e200,), "taylor")


def test_a_start_that_may_escape_is_refused() -> None:
    with pytest.raises(Unprovable):
        enclose(ln_program(), (-1.1,), (-0.5,), "taylor")
    (low,), (high,) = enclose(ln_program(), (0.5,), (0.5,), "taylor")
    assert low <= 1 + np.log(1.5) <= high


def test_still_programs() -> None:
    r = Registers()
    y = r.inputs("y", 2)
    program = build(r, [Segment("nothing", (raw(y),))], y)
    assert enclose(program, (0.25, -1.0), (0.5, -1.0), "taylor")[1][1] == -1.0
    rest = free(A=[[-1.0]])
    assert enclose(rest, (0.0,), (0.0,), "taylor")[0][0] == pytest.approx(0.0, abs=1e-15)


def test_components_are_apart() -> None:
    """A stiff register does not shorten the steps of another."""
    program = free(A=np.diag([-100.0, 0.5]).tolist())
    assert [s.registers for s in systems(program, 0, box([1, 1], [1, 1]))] == [[0], [1]]
    chained = free(A=[[-1.0, 0.0], [1.0, 0.0]])
    assert [s.registers for s in systems(chained, 0, box([1, 1], [1, 1]))] == [[0, 1]]
