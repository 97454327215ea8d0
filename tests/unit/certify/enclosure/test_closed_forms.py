"""Enclosures of programs by closed forms on balls: against mpmath from the terms, and against the other engine."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from arb_values import holds, near
from gadget_cases import CASES, Case
from integraph import Program, Registers, Segment, View, build, compile, gadgets
from integraph.certify.enclosure import taylor_step
from integraph.certify.enclosure.closed_forms import closed, enclose
from integraph.certify.problem import Unprovable
from integraph.flow.precise import PRECISE
from integraph.numbers.arb.conversion import box
from integraph.program import Options
from law import examples
from mp_taylor import Escape, flow
from networks import random_network
from random_programs import programs
from slow import mostly_slow

EXACT = [case for case in CASES if not case.name.startswith("partition")]
TIMES = (1.0, -0.5)


@pytest.mark.parametrize("t", TIMES)
@mostly_slow("case", EXACT, quick=6, ids=lambda case: case.name)
def test_gadgets_hold_the_flow_of_their_terms(case: Case, t: float) -> None:
    program = case.program(t)
    for x in case.inputs(case.draw(np.random.default_rng(7), t, 2)).tolist():
        with ctx.workprec(256):
            found = closed(program, box(x, x))
        with ctx.workprec(128):
            coarse = closed(program, box(x, x))
        truth = flow(program, x)
        for fine, rough, value in zip(found, coarse, truth, strict=True):
            assert fine.is_finite()
            assert fine.overlaps(rough)
            assert abs(fine.mid() - rough.mid()) < 1e-20 * (1 + abs(fine))
            assert abs(fine - near(value)) < 1e-28 * (1 + abs(fine))


@mostly_slow("case", EXACT, quick=30, ids=lambda case: case.name)
def test_wide_boxes_hold_their_points(case: Case) -> None:
    program, rng = case.program(1.0), np.random.default_rng(11)
    proved = 0
    for x in case.inputs(case.draw(rng, 1.0, 4)):
        for wide in (1e-6, 1e-3, 0.05):
            try:
                with ctx.workprec(64):
                    found = closed(program, box(x - wide, x + wide))
            except Unprovable:
                continue
            proved += 1
            for point in x + wide * rng.uniform(-1, 1, (6, len(x))):
                with ctx.workprec(160):
                    inside = closed(program, box(point, point))
                assert all(a.contains(b) for a, b in zip(found, inside, strict=True))
    assert proved >= 4


@mostly_slow("case", [case for case in CASES if case.wild is not None], quick=4, ids=lambda case: case.name)
def test_what_escapes_is_never_enclosed(case: Case) -> None:
    program, rng = case.program(1.0), np.random.default_rng(3)
    assert case.wild is not None
    inputs = case.inputs(case.wild(rng, 1.0, 12))
    statuses = {failure.input for failure in PRECISE.run(program, inputs, Options()).failures}
    assert statuses
    for number, x in enumerate(inputs):
        for wide in (0.0, 0.1):
            try:
                found = enclose(program, tuple(x - wide), tuple(x + wide), "closed")
            except Unprovable:
                continue
            assert number not in statuses, (x, found)


def _rounding(name: str) -> Program:
    """Programs whose controls are not what their tensors say."""
    r = Registers()
    z, x = r.inputs("z", 2), r.inputs("x", 3)
    weights = np.random.default_rng(5).normal(size=(2, 3))
    blocks = {
        "drain": gadgets.drain(z, x, w=weights, r=1.7, b=[0.1, 0.3]),
        "relax": gadgets.relax(z, r=[0.1, 0.7], v=[0.3, -0.3]),
        "leaky_relu": gadgets.leaky_relu(z, x[:2], k=[0.7, 1.1], c=[0.01, 0.3]),
        "leaky_relu at rest": gadgets.leaky_relu(z, x[:2], k=[0.0, 1.1], c=[0.01, 0.3]),
    }
    return build(r, [Segment(name, (blocks[name],), 0.75)], z)


@pytest.mark.parametrize("name", ["drain", "relax", "leaky_relu", "leaky_relu at rest"])
def test_rounded_controls_are_followed_as_stored(name: str) -> None:
    program = _rounding(name)
    for x in np.random.default_rng(1).uniform(0, 1, (4, program.inputs)).tolist():
        with ctx.workprec(256):
            one, other = closed(program, box(x, x)), taylor_step.taylor(program, box(x, x))
        for a, b in zip(one, other, strict=True):
            assert a.overlaps(b)
            assert a.rel_accuracy_bits() > 200
            assert b.rel_accuracy_bits() > 200


@pytest.mark.slow
@examples(80)
@given(programs(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-9, 1e-2]))
def test_random_programs(program: Program, seed: int, wide: float) -> None:
    x = np.random.default_rng(seed).uniform(-1, 1, program.inputs)
    found = []
    for engine in (closed, taylor_step.taylor):
        try:
            with ctx.workprec(128), pytest.MonkeyPatch.context() as patch:
                patch.setattr(taylor_step, "STEPS", 20)
                found.append(engine(program, box(x - wide, x + wide)))
        except Unprovable:
            continue
    assert all(ball.is_finite() for ends in found for ball in ends)
    if len(found) == 2:
        assert all(a.overlaps(b) for a, b in zip(*found, strict=True))


@mostly_slow(("activation", "method"), [*product(("tanh", "sigmoid", "gelu", "sin"), ("narrow", "wide"))], quick=2)
def test_compiled_networks(activation: str, method: str) -> None:
    program = compile(random_network((2, 4, 1), activation), 1e-4, method=method, box=(-1, 1))
    rng = np.random.default_rng(2)
    for x in rng.uniform(-1, 1, (2, 2)).tolist():
        one, other = (enclose(program, tuple(x), tuple(x), engine) for engine in ("closed", "taylor"))
        assert one[1][0] - one[0][0] < 1e-14
        assert other[1][0] - other[0][0] < 1e-14
        assert max(one[0][0], other[0][0]) <= min(one[1][0], other[1][0])
    low, high = enclose(program, (0.1, 0.2), (0.11, 0.21), "closed")
    values = program(rng.uniform((0.1, 0.2), (0.11, 0.21), (50, 2)))
    assert low[0] < values.min()
    assert values.max() < high[0] < low[0] + 0.5


def test_scales_and_backward_time() -> None:
    r = Registers()
    x, z = r.inputs("x", 1), r.new("z", 1)
    program = build(r, [Segment("s", (gadgets.affine(z, x, w=0.75, b=0.5),), 0.5, 2.0)], z)
    scaled = program.rescale_states([4.0, 0.5])
    assert enclose(scaled, (0.25,), (0.25,), "closed") == enclose(program, (1.0,), (1.0,), "closed")
    (low,), (high,) = enclose(scaled, (0.25,), (0.25,), "taylor")
    assert 1.25 - 1e-15 < low <= 1.25 <= high < 1.25 + 1e-15
    back = program.reverse()
    assert enclose(back, (1.0, 1.25), (1.0, 1.25), "closed") == ((1.0, 0.0), (1.0, 0.0))


def test_what_has_no_closed_form_says_so() -> None:
    r = Registers()
    y = r.inputs("y", 2)
    program = build(r, [Segment("free", (gadgets.raw(y, A=[[0.0, 1.0], [-1.0, 0.0]]),))], y)
    with pytest.raises(Unprovable, match=r"'free': raw has no closed form"):
        enclose(program, (0.0, 1.0), (0.0, 1.0), "closed")
    low, high = enclose(program, (0.0, 1.0), (0.0, 1.0), "taylor")
    assert holds(arb(low[0]).union(arb(high[0])), np.sin(1.0))


def test_precision_rises_by_itself() -> None:
    """1 − e^{−x} through 60 e-foldings: 64 bits lose all, more do not."""
    r = Registers()
    z = r.inputs("z", 1)
    there = Segment("there", (gadgets.decay(z, r=60.0),))
    back = Segment("back", (gadgets.decay(z, r=60.0),), 1.0, -1.0)
    program = build(r, [there, _shift(z, 1.0), _shift(z, -1.0), back], z)
    low, high = enclose(program, (0.75,), (0.75,), "closed")
    assert low[0] <= 0.75 <= high[0]
    assert high[0] - low[0] < 1e-15


def _shift(z: View, by: float) -> Segment:
    return Segment(f"shift {by}", (gadgets.ramp(z, b=by),))


def test_the_reference_itself_sees_escapes() -> None:
    program = next(case for case in CASES if case.name == "ln").program(1.0)
    with pytest.raises(Escape):
        flow(program, [-1.5, 0.0])
