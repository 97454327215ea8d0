"""Certified ranges hold sampled trajectories and exceed them by little."""

from __future__ import annotations

import numpy as np
import pytest

import export_programs
import integraph
from gadget_cases import CASES, Case
from integraph import Layer, Network, Program, Registers, build, gadgets, segment
from integraph.certify.ranges.register_ranges import Ranges
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from sampled_registers import extremes, holds, points
from slow import mostly_slow

EXACT = [case for case in CASES if not case.name.startswith("partition")]


def assert_holds(program: Program, ranges: Ranges, low: Floats, high: Floats) -> None:
    assert holds(program, ranges, points(low, high))


BARS = {"formula": 1.03, "narrow": 1.1, "lean": 1.1, "wide": 1.1}


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
def test_the_programs_of_the_exports(name: str) -> None:
    """No register is unbounded, and the largest value is close to what samples reach."""
    program = export_programs.PROGRAMS[name]()
    ranges = program.ranges(progress=False)
    assert program.box is not None
    assert_holds(program, ranges, program.box.low, program.box.high)
    _, most = np.abs(extremes(program, points(program.box.low, program.box.high, 4000))).max(1)
    least, _ = np.abs(extremes(program, points(program.box.low, program.box.high, 4000))).max(1)
    sampled = np.maximum(least, most)
    live = sampled > 1e-9
    assert ranges.unbounded == ()
    assert (ranges.largest[live] <= BARS[name] * sampled[live]).all()


def test_a_formula_in_a_few_cells() -> None:
    program = integraph.compile("exp(-x)*y + x")
    ranges = program.ranges(cells=4, progress=False)
    assert_holds(program, ranges, np.zeros(2), np.ones(2))
    assert ranges.largest[0] == 1.0  # what does not move is known exactly
    assert "register" in str(ranges)
    assert "x, y in [0, 1]^2" in repr(ranges)


@pytest.mark.parametrize("t", [1.0, -0.5])
@mostly_slow("case", EXACT, quick=2, ids=lambda case: case.name)
def test_gadgets(case: Case, t: float) -> None:
    """Small boxes around random starts, forwards and backwards: values of all gadgets and their derivatives."""
    program = case.program(t)
    for x in case.inputs(case.draw(np.random.default_rng(11), t, 2)):
        low, high = x - 1e-3 * np.abs(x), x + 1e-3 * np.abs(x)
        if program.flow(points(low, high, 50)).ok:
            assert_holds(program, program.ranges(np.stack([low, high], 1), cells=4, progress=False), low, high)


@mostly_slow("activation", ("tanh", "relu", "sigmoid", "softplus", "silu", "gelu", "erf", "leaky_relu"), quick=2)
def test_networks(activation: str) -> None:
    rng = np.random.default_rng(3)
    layers = [
        Layer(rng.normal(0, 0.8, (4, 2)), rng.normal(0, 0.3, 4), activation),
        Layer(rng.normal(0, 1, (1, 4)), [0.1]),
    ]
    for method in ("narrow", "wide"):
        program = integraph.compile(Network(layers), method=method, eps=1e-3, box=(-1, 1))
        ranges = program.ranges(cells=8, progress=False)
        assert_holds(program, ranges, -np.ones(2), np.ones(2))
        assert ranges.unbounded == ()


def raw_program(scale: float) -> Program:
    registers = Registers()
    x = registers.inputs("x", 2)
    A = [[0.0, scale], [-scale, 0.0]]
    return build(registers, [segment("turn", gadgets.raw(x, A=A))], x)


def test_blocks_without_a_closed_form() -> None:
    """A rotation by half a radian, by Taylor steps."""
    program = raw_program(0.5)
    ranges = program.ranges([(0.9, 1.1), (-0.1, 0.1)], cells=4, progress=False)
    assert_holds(program, ranges, np.array([0.9, -0.1]), np.array([1.1, 0.1]))
    assert (ranges.largest < 1.5).all()


def test_an_escape_is_no_bound() -> None:
    """p' = −p² from p ≤ −1 ends before the segment does, although p/(1 + p) is a number; nor is what comes after."""
    registers = Registers()
    p, z, y = registers.inputs("p"), registers.new("z"), registers.new("y")
    start, power = segment("start", gadgets.ramp(z, b=1.0)), segment("power", gadgets.power(p, z, a=1.0))
    program = build(registers, [start, power, segment("copy", gadgets.affine(y, p[:, None], w=[[1.0]]))], y)
    assert program.ranges((-0.5, 0.5), cells=4, progress=False).unbounded == ()
    for box in ((-2.0, 0.5), (-3.0, -2.0)):
        assert program.ranges(box, cells=8, progress=False).unbounded == ("p", "z", "y")


def test_an_escape_ends_all_registers_of_a_block() -> None:
    """λ' = x² − λ² from λ = −5 escapes, and α with it, although its closed form has a value."""
    registers = Registers()
    alpha, lam, x = (registers.inputs(name) for name in ("alpha", "lam", "x"))
    program = build(registers, [segment("tanh", gadgets.tanh(alpha, lam, x))], alpha)
    ranges = program.ranges([(0.0, 0.1), (-5.1, -5.0), (1.0, 1.1)], cells=2, progress=False)
    assert ranges.unbounded == ("alpha", "lam")


def test_other_units() -> None:
    """Ranges are those of the states of eq. (1)."""
    program = integraph.compile("tanh(2*x)*y")
    here = program.ranges(cells=8, progress=False)
    there = program.rescale_states(4.0).ranges(cells=8, progress=False)
    assert np.allclose(there.largest * 4.0, here.largest, rtol=1e-6)


def test_no_segments() -> None:
    registers = Registers()
    x = registers.inputs("x")
    ranges = build(registers, [], x).ranges((-3, 1), progress=False)
    assert ranges.largest.tolist() == [3.0]
    assert ranges.low.shape == (0, 1)


def test_many_inputs_go_without_gradients() -> None:
    rng = np.random.default_rng(1)
    net = Network([Layer(rng.normal(0, 0.3, (3, 20)), np.zeros(3), "tanh"), Layer(rng.normal(0, 1, (1, 3)), [0.1])])
    program = integraph.compile(net, method="wide", box=(-0.1, 0.1))
    ranges = program.ranges(cells=2, progress=False)
    assert_holds(program, ranges, -0.1 * np.ones(20), 0.1 * np.ones(20))
    assert ranges.unbounded == ()


def test_the_time_is_kept() -> None:
    ranges = integraph.compile("exp(-x)*y").ranges(seconds=1e-9, progress=False)
    assert ranges.cells == 64  # of the first division
    assert ranges.unbounded == ()


@pytest.mark.parametrize(
    ("box", "options", "message"),
    [
        ((1, 0), {}, "finite low ≤ high"),
        ((0, np.nan), {}, "finite low ≤ high"),
        ([], {}, "box"),
        ([(0, 1)] * 3, {}, "3 pairs for 2 inputs"),
        (None, {"cells": 0}, "integer ≥ 1"),
        (None, {"cells": True}, "integer ≥ 1"),
        (None, {"seconds": 0}, "> 0"),
        (None, {"seconds": float("nan")}, "> 0"),
    ],
)
def test_refused(box: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        integraph.compile("x*y").ranges(box, **options)


@pytest.mark.parametrize("size", [1e-300, 1e-170])
def test_a_tiny_wave(size: float) -> None:
    """Products of its slopes are below all float64."""
    registers = Registers()
    x = registers.inputs("x", 2)
    program = build(registers, [segment("turn", gadgets.raw(x, A=[[0.0, 3.0], [-3.0, 0.0]]))], x)
    ranges = program.ranges([(0, 0), (size, size)], progress=False)
    assert ranges.high[0, 0] >= 0.9999 * size  # sin(3t) turns before t = 1


@pytest.mark.slow
def test_a_spiral_needs_short_pieces_of_time() -> None:
    program = integraph.compile("sin(3*x)*exp(-y)/(2 + x*y)", box=(-1, 1))
    ranges = program.ranges((-1, 1), progress=False)
    low, high = np.full(2, -1.0), np.ones(2)
    assert_holds(program, ranges, low, high)
    corners = np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0])).reshape(2, -1).T
    least, most = extremes(program, np.concatenate([corners, points(low, high)]))
    assert (ranges.high.max(0) - ranges.low.min(0) < 1.2 * (most.max(0) - least.min(0))).all()
