"""How programs of Theorem 1 begin, and what makes their blocks mean what they say.

A proof speaks of the stored controls: blocks are taken at their closed forms only if lowering them rounds nothing, a
segment runs for exactly one unit, and no two terms are rounded when they are added up. Inputs are read in by one affine
map, or are the variables of the unit cube themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from integraph.certify.controls import exact_segment
from integraph.certify.problem import Unprovable
from integraph.gadgets.gadget import lane_values
from integraph.numbers.arb.conversion import ONE, ZERO, Balls
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block, Program, Segment

TERMS, INPUTS = 4_000_000, 24  # a gigabyte of balls; axes of an array


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """t_j = scale_j x_j + shift_j is in register t[j] after the first `segments` segments."""

    t: tuple[int, ...]
    scale: Balls
    shift: Balls
    segments: int


def entry(program: Program) -> Entry:
    d = program.inputs
    if d > INPUTS:
        raise Unprovable(f"{d} inputs are more than {INPUTS}, as many as a program of Theorem 1 is read for")
    blocks = program.segments[0].blocks if program.segments else ()
    if len(blocks) == 1 and blocks[0].op.name == "affine" and program.depth > 1:
        block = blocks[0]
        x, w, b = weighted(block)
        fresh = (block.targets[0].indices() >= d).all()
        if fresh and x.shape == (d, 1) and (x[:, 0] == np.arange(d)).all() and (w != 0).all():
            t = tuple(block.targets[0].indices().reshape(-1).tolist())
            return Entry(t, [arb(s) for s in w[:, 0].tolist()], [arb(s) for s in b.tolist()], 1)
    return Entry(tuple(range(d)), [ONE] * d, [ZERO] * d, 0)


def exact_segments(program: Program, first: int = 0) -> Iterator[tuple[int, Segment]]:
    """The segments from `first` on, each once it is known that its closed forms are the flow of what is stored."""
    if program.terms > TERMS:
        raise Unprovable(f"{program.terms} terms are more than {TERMS}, as many as are read")
    if program.scales is not None:
        raise Unprovable("the states are rescaled, which rounds controls: prove the program before rescaling it")
    for number, segment in enumerate(program.segments):
        if Fraction(segment.duration) * Fraction(segment.rate) != 1:
            raise Unprovable(
                f"segment {segment.label!r}: duration {segment.duration!r} times rate {segment.rate!r} is not exactly "
                "1: choose another horizon"
            )
        if [block.op.name for block in segment.blocks] != ["partition"]:  # which is read term by term
            exact_segment(program, number, strict=True)
        if number >= first:
            yield number, segment


def weighted(block: Block) -> tuple[Indices, Floats, Floats]:
    """Registers and weights (lanes, reads) of an affine map, a monomial or a product, and b, 0 if there is none."""
    lanes = np.arange(block.targets[0].size)
    reads = block.operands[0].indices().reshape(len(lanes), -1)
    w = lane_values(block, "w", lanes, block.operands[0].shape)
    return reads, w, lane_values(block, "b", lanes) if "b" in block.tensors else np.zeros(len(lanes))


def form(block: Block) -> tuple[Floats, Floats]:
    """a and b of the operand a·x + b of an elementwise gadget, lane by lane."""
    lanes = np.arange(block.targets[0].size)
    a, b = (
        lane_values(block, name, lanes) if name in block.tensors else np.full(len(lanes), default)
        for name, default in (("a", 1.0), ("b", 0.0))
    )
    return a, b


def registers(block: Block) -> list[list[int]]:
    """Those of every target and operand, lane by lane."""
    return [ref.indices().reshape(-1).tolist() for ref in block.refs()]
