"""Between learned controls and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from integraph.errors import UsageError
from integraph.flow.jax.taylor import Controls
from integraph.gadgets import affine, decay, low_rank, ramp
from integraph.numbers.arrays import Floats
from integraph.program import ONE, Program, Registers, Segment, build, segment
from integraph.program.engine import DOUBLE
from integraph.program.terms import concatenate
from integraph.program.views import dense

if TYPE_CHECKING:
    from integraph.learn.quadratic_ode import QuadraticODE

LARGEST = 50_000_000  # numbers of dense controls


def learned_segments(model: QuadraticODE) -> list[Segment]:
    """A low-rank block of the first W registers for each segment."""
    with jax.enable_x64(True):  # or jax would round float64 to float32 without a word
        controls = Controls(*(np.asarray(part, np.float64) for part in model.controls()))
    if not all(np.isfinite(part).all() for part in controls):
        raise UsageError("the controls of the model are not all finite: they are no program")
    y = dense(0, (model.width,))
    return [
        segment(f"learned {number + 1}", low_rank(y, U=U, V1=V1, V2=V2, A=A, b=b))
        for number, (b, A, U, V1, V2) in enumerate(zip(*controls, strict=True))
    ]


def program(model: QuadraticODE) -> Program:
    """The Program of a model."""
    registers = _registers(model)
    readout = np.asarray(model.C, np.float64)
    return build(registers, learned_segments(model), dense(0, (model.width,)), readout, _source(model))


def scaled_program(model: QuadraticODE, centre: Floats, spread: Floats, offset: Floats, gain: Floats) -> Program:
    """x ↦ offset + gain·model((x − centre)/spread): two segments bring the inputs to the model's units, in place, and
    one brings its outputs to new registers."""
    registers = _registers(model)
    out = registers.new("out", model.outputs, label="output")
    x = dense(0, (model.inputs,))
    segments = [
        segment("centre", ramp(x, b=-centre)),
        segment("scale", decay(x, r=np.log(spread))),
        *learned_segments(model),
        segment("output", affine(out, dense(0, (model.width,)), w=gain[:, None] * np.asarray(model.C), b=offset)),
    ]
    return build(registers, segments, out, source=_source(model))


def _registers(model: QuadraticODE) -> Registers:
    registers = Registers()
    registers.inputs("x", model.inputs)
    if model.width > model.inputs:
        registers.new("h", model.width - model.inputs, label="hidden")
    return registers


def _source(model: QuadraticODE) -> str:
    return f"a learned quadratic ODE, {model.kind}, rank {model.rank}"


def controls(program: Program) -> tuple[Controls, Floats]:
    """Controls of unit segments, and C. A low-rank block of all registers gives its factors; of any other segment every
    pair j ≤ k of factors that occurs in its terms is a column of U."""
    if not isinstance(program, Program):
        raise UsageError(f"from_program takes a program, got {program!r}")
    if program.bits > DOUBLE:
        raise UsageError(f"the program needs {program.bits} bits, and models have {DOUBLE}: compile with method='lean'")
    segments = [_controls(program, number) for number in range(program.depth)]
    rank = max(len(one.V1) for one in segments)
    if program.depth * program.width * (program.width + 3 * rank) > LARGEST:
        raise UsageError(
            f"the program has {program.width} registers, {program.depth} segments and up to {rank:,} products in one: "
            f"dense controls for training would be more than {LARGEST:,} numbers"
        )
    padded = [_padded(one, rank) for one in segments]
    return Controls(*map(np.stack, zip(*padded, strict=True))), program.readout.toarray()


def _controls(program: Program, number: int) -> Controls:
    W, one = program.width, program.segments[number]
    block = one.blocks[0]
    if len(one.blocks) == 1 and block.op is low_rank and block.targets[0] == dense(0, (W,)) and program.scales is None:
        t = block.tensors
        return Controls(
            one.tau * t.get("b", np.zeros(W)),
            one.tau * t.get("A", np.zeros((W, W))),
            one.tau * t["U"],
            t["V1"],
            t["V2"],
        )
    terms = concatenate(list(program.segment_terms(number)))
    i, j, k, value = terms.i, terms.j, terms.k, terms.value * one.duration
    constant, bent = k == ONE, j != ONE
    linear = ~constant & ~bent
    pairs, columns = np.unique(np.stack([j[bent], k[bent]], 1), axis=0, return_inverse=True)
    if W * len(pairs) > LARGEST:
        raise UsageError(f"segment {one.label!r} has {len(pairs):,} products of {W} registers: too many for training")
    b, A, U, unit = np.zeros(W), np.zeros((W, W)), np.zeros((W, len(pairs))), np.eye(W)
    b[i[constant]] = value[constant]
    A[i[linear], k[linear]] = value[linear]
    U[i[bent], columns] = value[bent]
    return Controls(b, A, U, unit[pairs[:, 0]], unit[pairs[:, 1]])


def _padded(one: Controls, rank: int) -> Controls:
    """With products whose weight is 0."""
    more = rank - len(one.V1)
    rows = ((0, more), (0, 0))
    return one._replace(U=np.pad(one.U, ((0, 0), (0, more))), V1=np.pad(one.V1, rows), V2=np.pad(one.V2, rows))
