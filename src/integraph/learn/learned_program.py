"""Between learned controls and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.flow.jax.taylor import Controls
from integraph.gadgets import raw
from integraph.numbers.arrays import Floats
from integraph.program import Block, Program, Registers, Segment, build, segment
from integraph.program.views import dense

if TYPE_CHECKING:
    from integraph.learn.quadratic_ode import QuadraticODE

LARGEST = 50_000_000  # numbers of the controls that a program is written out to


def learned_segments(model: QuadraticODE) -> list[Segment]:
    """A block of all registers, the first W, for each segment."""
    controls = Controls(*(np.asarray(part, np.float64) for part in model.controls()))
    if not all(np.isfinite(part).all() for part in controls):
        raise UsageError("the controls of the model are not all finite: they are no program")
    return [
        segment(f"learned {number + 1}", _block(model.width, Controls(*(part[number] for part in controls))))
        for number in range(model.depth)
    ]


def _block(width: int, controls: Controls) -> Block:
    b, A, U, V1, V2 = controls
    if width**3 > LARGEST:
        raise UsageError(f"a width of {width} has {width**3:,} quadratic terms a segment, more than {LARGEST:,}")
    return raw(dense(0, (width,)), A=A, Q=np.einsum("ir,rj,rk->ijk", U, V1, V2, optimize=True), b=b)


def program(model: QuadraticODE) -> Program:
    """The Program of a model."""
    registers = Registers()
    registers.inputs("x", model.inputs)
    if model.width > model.inputs:
        registers.new("h", model.width - model.inputs, label="hidden")
    source = f"a learned quadratic ODE, {model.kind}, rank {model.rank}"
    return build(registers, learned_segments(model), dense(0, (model.width,)), np.asarray(model.C, np.float64), source)


def controls(program: Program) -> tuple[Controls, Floats]:
    """Controls of unit segments, and C, of a program: every pair j ≤ k of factors that occurs is a column of U."""
    if not isinstance(program, Program):
        raise UsageError(f"from_program takes a program, got {program!r}")
    W, D = program.width, program.depth
    parts = program.controls()
    quadratic = (parts.j >= 0) & (parts.k >= 0)
    pairs = [np.unique(np.stack([parts.j, parts.k], 1)[quadratic & (parts.segment == n)], axis=0) for n in range(D)]
    rank = max(1, *(len(each) for each in pairs))
    if D * W * (W + 3 * rank) > LARGEST:
        raise UsageError(
            f"the program has {W} registers, {D} segments and up to {rank:,} products in one: dense controls for "
            f"training would be more than {LARGEST:,} numbers"
        )
    result = Controls(
        np.zeros((D, W)), np.zeros((D, W, W)), np.zeros((D, W, rank)), np.zeros((D, rank, W)), np.zeros((D, rank, W))
    )
    for number, (each, one) in enumerate(zip(pairs, program.segments, strict=True)):
        here = parts.segment == number
        i, j, k, value = (part[here] for part in (parts.i, parts.j, parts.k, parts.value))
        value = value * one.duration
        constant, linear = (j < 0) & (k < 0), (j < 0) & (k >= 0)
        result.b[number, i[constant]] = value[constant]
        result.A[number, i[linear], k[linear]] = value[linear]
        both = (j >= 0) & (k >= 0)
        columns = np.searchsorted(each[:, 0] * np.int64(W) + each[:, 1], j[both] * np.int64(W) + k[both])
        result.U[number, i[both], columns] = value[both]
        result.V1[number, np.arange(len(each)), each[:, 0]] = 1.0
        result.V2[number, np.arange(len(each)), each[:, 1]] = 1.0
    return result, program.readout.toarray()
