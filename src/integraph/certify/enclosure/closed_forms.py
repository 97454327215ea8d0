"""An enclosure of the outputs of a program, for all inputs of a box: closed forms on balls, block by block.

It encloses the exact flow of the stored controls. Every register is a ball, so dependencies between registers are
lost: dividing the box helps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np
from flint import arb

from integraph.certify.controls import exact_program, stored_form
from integraph.certify.enclosure import taylor_step
from integraph.certify.problem import Point, PrecisionTooLow, Unprovable
from integraph.certify.readout import read_out
from integraph.gadgets import Closed, Gadget
from integraph.gadgets.functions.arb import BALLS, BallFunctions
from integraph.gadgets.gadget import arguments
from integraph.numbers.arb.conversion import FIRST, MOST, Balls, above, below, box, precision
from integraph.program import Block, Program, Segment
from integraph.program.views import mark

ENOUGH = 0.99  # a width that a doubling of the bits does not bring below so much of itself is final
TRIES = 2  # precisions at which a box may fail before it counts as too wide

_EXACT: WeakSet[Program] = WeakSet()  # whose controls are known to be unrounded


def enclose(program: Program, low: Point, high: Point, engine: str, bits: int = FIRST) -> tuple[Point, Point]:
    """Floats (low, high) around every output, by engine "closed" or "taylor"; raises Unprovable where there are none.

    The precision is raised from `bits`, or from what the program needs, as long as that helps.
    """
    flow: Callable[[Program, Balls], Balls] = closed if engine == "closed" else taylor_step.taylor
    enclosure: tuple[Point, Point] | None = None
    limit = MOST if engine == "closed" else taylor_step.MOST
    width, failed, bits = np.inf, 0, max(bits, program.bits)
    while True:
        try:
            with precision(bits):
                ends = flow(program, box(low, high))
                least, most = tuple(map(below, ends)), tuple(map(above, ends))
        except PrecisionTooLow:
            failed += 1
            if enclosure is None and (2 * bits > limit or (low != high and failed >= TRIES)):
                raise
        else:
            previous, width = width, float(np.max(np.subtract(most, least), initial=0.0))
            if enclosure is None or width < previous:
                enclosure = least, most
            if not width < ENOUGH * previous or _neighbours(least, most):
                return enclosure
        bits *= 2
        if bits > limit and enclosure is not None:
            return enclosure


def _neighbours(low: Point, high: Point) -> bool:
    """Whether floats cannot be much closer."""
    return all(b <= math.nextafter(math.nextafter(a, math.inf), math.inf) for a, b in zip(low, high, strict=True))


def closed(program: Program, start: Balls) -> Balls:
    """The outputs for all inputs in the balls, at the precision of the moment."""
    if program not in _EXACT:
        exact_program(program)
        _EXACT.add(program)
    scales = None if program.scales is None else BALLS.exactly(program.scales)[:, None]
    states = BALLS.exactly(np.zeros((program.width, 1)))
    states[: program.inputs, 0] = start
    if scales is not None:
        states *= scales
    for segment in program.segments:
        t = arb(segment.duration) * arb(segment.rate)
        for block in segment.blocks:
            with np.errstate(all="ignore"):  # a ball that is not finite says so itself
                end = advance(BALLS, segment, block, t, states)
            _examine(program, segment, block, end, states)
    if scales is not None:
        states = states / scales
    return read_out(program, states[:, 0].tolist())


def advance(f: BallFunctions, segment: Segment, block: Block, t: Any, states: Any) -> Closed:
    """The closed form of one block from states (W, cells), for all times in the ball t, whose sign is certain."""
    op = block.op
    if not (isinstance(op, Gadget) and op.exact):
        raise Unprovable(f"segment {segment.label!r}: {op.name} has no closed form")
    start, operands, tensors = arguments(block, states)
    stored = stored_form(block)
    if stored is not None:
        return stored(f, block, t, start, operands)
    return op.closed(f, t, start, operands, {name: f.exactly(value) for name, value in tensors.items()})


def _examine(program: Program, segment: Segment, block: Block, end: Closed, states: Any) -> None:
    """Write the end values, if the solution provably reaches them."""
    for role, ref, value in zip(block.op.targets, block.targets, end.ends, strict=True):
        mark(ref, states, value)
        registers = ref.indices().reshape(-1)
        finite = np.array([ball.is_finite() for ball in states[registers, 0]])
        alive = np.broadcast_to(np.greater(end.alive.get(role, 1.0), 0), (*ref.shape, 1)).reshape(-1)
        good = finite & alive.astype(np.bool_)
        if not good.all():
            name = program.registers.name(int(registers[np.argmin(good)]))
            cause = "may escape" if not alive.all() else "is not known"
            domain = f" ({block.op.domain})" if isinstance(block.op, Gadget) and block.op.domain else ""
            raise PrecisionTooLow(f"segment {segment.label!r}: {name} {cause} for some input in the box{domain}")
