"""Ranges of registers that hold, each sensitive to some part of how they are computed: a fault makes it fail."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph import Program, Registers, Segment, build, gadgets, segment
from integraph.certify.ranges.slopes import slopes
from integraph.gadgets import Gadget
from integraph.numbers.intervals import Interval
from integraph.program import Terms
from sampled_registers import holds, points

Box = list[tuple[float, float]]
TIMES = 50  # of a segment


def flow(gadget: Gadget, box: Box, rate: float = 1.0, cells: int = 1) -> bool:
    """Whether ranges of a gadget hold, from starts in a box."""
    registers = Registers()
    block = gadget(*(registers.inputs(role) for role in gadget.targets + gadget.operands))
    program = build(registers, [Segment("flow", (block,), 1.0, rate)], Registers().inputs("y", registers.width))
    return inside(program, box, cells)


def inside(program: Program, box: Box, cells: int = 1) -> bool:
    low, high = np.array(box).T
    return holds(program, program.ranges(box, cells=cells, progress=False), points(low, high, 40), TIMES)


def drained() -> bool:
    """z' = 4x − 1 turns where x = ¼."""
    registers = Registers()
    z, x = registers.inputs("z", 1), registers.inputs("x", 1)
    block = gadgets.drain(z, x, w=np.ones((1, 1)), b=-np.ones(1), r=4.0)
    program = build(registers, [segment("drain", block)], Registers().inputs("y", 2))
    return inside(program, [(0.0, 0.0), (1.0, 1.01)])


def escape() -> bool:
    """z grows without bound where p escapes, and with it all that reads z."""
    registers = Registers()
    p, z, y = registers.inputs("p"), registers.new("z"), registers.new("y")
    start, power = segment("start", gadgets.ramp(z, b=1.0)), segment("power", gadgets.power(p, z, a=1.0))
    program = build(registers, [start, power, segment("copy", gadgets.affine(y, p[:, None], w=[[1.0]]))], y)
    ranges = program.ranges((-3.0, -2.0), cells=1, progress=False)
    return ranges.unbounded == ("p", "z", "y") and not np.isfinite([ranges.low[1, :2], ranges.high[1, :2]]).any()


def sums() -> bool:
    """Each summand is less than half of the last bit of 1, and those that are added to 1 one by one are lost."""
    width = 128
    value = np.full(width, 0.99 * 2.0**-53)
    value[1] = 1.0
    terms = Terms(np.zeros(width, np.int32), np.full(width, -1, np.int32), np.arange(width, dtype=np.int32), value)
    y = np.ones((width, 1))
    found, exact = slopes(terms, Interval(y, y)), sum(map(Fraction, value.tolist()))
    return Fraction(float(found.low[0, 0])) <= exact <= Fraction(float(found.high[0, 0]))


NEAR = [(0.0, 0.0), (0.9, 1.0)]
CASES: dict[str, Callable[[], bool]] = {
    "arctan, which turns at once": lambda: flow(gadgets.arctan, [(0.0, 0.0), (19.9, 20.0), (0.0, 0.0)]),
    "sin and cos": lambda: flow(gadgets.sin_cos, [(0.0, 0.0), (1.0, 1.0), (5.0, 5.1)]),
    "tanh": lambda: flow(gadgets.tanh, [(0.0, 0.0), *NEAR[:1], (-1.0, 1.0)]),
    "tanh backwards": lambda: flow(gadgets.tanh, [(0.0, 0.0), *NEAR[:1], (-1.0, 1.0)], -0.5),
    "sigmoid backwards": lambda: flow(gadgets.sigmoid, [(0.5, 0.5), (0.5, 0.5), (1.0, 1.0)], -0.5),
    "sin and cos at another rate": lambda: flow(gadgets.sin_cos, [(0.0, 0.0), (1.0, 1.0), (1.0, 1.1)], 4.0),
    "a drain that turns": drained,
    "an escape": escape,
    "sums of terms": sums,
}
