"""Programs one after the other: side by side on registers of their own, or on shared ones that are restored in between.

The flow of an ODE is injective, so no flow forgets: registers that two programs share have to return to 0, and only the
inverse flow does that exactly. So a program is run, its outputs are copied to fresh registers, and it is run backwards;
its inputs remain. Of k programs of width W with d inputs that takes W + (k − 1)d registers, not kW, and about twice the
depth. Backwards, digits survive only where blocks say so (`Op.restores`); others keep registers of their own.

A program whose outputs end in its input registers, as the flow of a dynamical system does, needs neither: the other
registers decay by e^−100, which leaves nothing that float64 sees, and it runs again, on W registers for any k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy

from integraph.errors import UsageError
from integraph.numbers.arrays import Indices
from integraph.program.block import Block, operation
from integraph.program.origin import COMPOSITION, LIFT, PROGRAM, Origin
from integraph.program.segment import Segment
from integraph.program.views import Index, Ref, View, dense
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.program.program import Program

ROUNDS = 10_000  # of a program that is repeated
CLEARING = 100.0  # e^−100 = 4e−44


def then(first: Program, second: Program, reuse: bool = False) -> Program:
    if first.outputs != second.inputs:
        gives, takes = counted(first.outputs, "output"), counted(second.inputs, "input")
        raise UsageError(f"the first program has {gives}, the second takes {takes}: these numbers must agree")
    name = f"{first.source}, then {second.source}"
    if reuse and second.scales is None and restorable(first):
        return restored([first, second], name)
    registers = first.registers.copy()
    registers.extend(second.registers)
    moved = [replace(s, blocks=tuple(_shift(b, first.width) for b in s.blocks)) for s in second.segments]
    used = np.unique(first.readout.indices).astype(np.int64)
    weights = first.readout[:, used].toarray()
    entry = np.ones(second.inputs)
    if first.scales is not None:  # blocks speak of y, the read-out of ŷ = y / scales
        weights = weights / first.scales[used]
    if second.scales is not None:  # the second program takes its inputs in its own units
        entry = second.scales[: second.inputs]
    source = Index(np.broadcast_to(used, weights.shape))
    carry = Block(
        operation("affine"), (dense(first.width, (second.inputs,)),), (source,), {"w": weights * entry[:, None]}
    )
    matrix = scipy.sparse.csr_array(
        (second.readout.data, second.readout.indices + first.width, second.readout.indptr),
        shape=(second.outputs, registers.width),
    )
    scales = None
    if first.scales is not None or second.scales is not None:
        parts = [np.ones(p.width) if p.scales is None else p.scales for p in (first, second)]
        scales = np.concatenate(parts)
    middle = Segment("hand over", (carry,))
    bits = max(first.bits, second.bits)
    origin = Origin(name, PROGRAM, COMPOSITION)
    return type(first)(registers, (*first.segments, middle, *moved), matrix, scales, name, bits=bits, origin=origin)


def _shift(block: Block, by: int) -> Block:
    move = lambda ref: replace(ref, offset=ref.offset + by) if isinstance(ref, View) else Index(ref.registers + by)  # noqa: E731
    return Block(block.op, tuple(map(move, block.targets)), tuple(map(move, block.operands)), block.tensors)


def repeat(program: Program, rounds: int) -> Program:
    """The program applied `rounds` times to its own outputs."""
    if not isinstance(rounds, int | np.integer) or isinstance(rounds, bool) or not 1 <= rounds <= ROUNDS:
        raise UsageError(f"needs an integer from 1 to {ROUNDS:,}", argument="rounds", value=rounds)
    if program.outputs != program.inputs:
        gives, takes = counted(program.outputs, "output"), counted(program.inputs, "input")
        raise UsageError(f"the program has {gives} and takes {takes}: to be repeated, it needs as many of both")
    if rounds == 1:
        return program
    if _in_place(program):
        return _again(program, int(rounds))
    if restorable(program):
        return restored([program] * int(rounds), f"{program.source}, {rounds} times")
    result = program
    for _ in range(rounds - 1):
        result = then(result, program)
    return replace(result, source=f"{program.source}, {rounds} times")


def _in_place(program: Program) -> bool:
    """Whether the outputs are the input registers, in order."""
    d = program.inputs
    difference = program.readout - scipy.sparse.eye_array(d, program.width, format="csr")
    return program.scales is None and difference.count_nonzero() == 0


def in_place(program: Program) -> Program:
    """The program with its outputs written over its inputs, so that it is repeated on its own registers."""
    if _in_place(program):
        return program
    d = program.inputs
    inputs, used = dense(0, (d,)), np.unique(program.readout.indices).astype(np.int64)
    if program.scales is not None or (used < d).any():
        raise ValueError("outputs that read input registers, or have units of their own, cannot be written over them")
    weights = program.readout[:, used].toarray()
    clear = Block(operation("decay"), (inputs,), (), {"r": np.full(d, CLEARING)})
    write = Block(operation("affine"), (inputs,), (Index(np.broadcast_to(used, weights.shape)),), {"w": weights})
    segments = (*program.segments, Segment("clear the inputs", (clear,)), Segment("write the outputs", (write,)))
    readout = scipy.sparse.eye_array(d, program.width, format="csr")
    origin = Origin(program.source, PROGRAM, COMPOSITION)
    return type(program)(program.registers, segments, readout, source=program.source, bits=program.bits, origin=origin)


def _again(program: Program, rounds: int) -> Program:
    """The segments so many times, on registers that are cleared in between."""
    work = dense(program.inputs, (program.width - program.inputs,))
    clear = Segment("clear", (Block(operation("decay"), (work,), (), {"r": np.full(work.shape, CLEARING)}),))
    between = (clear,) if work.size else ()
    segments = program.segments + (*between, *program.segments) * (rounds - 1)
    name = f"{program.source}, {rounds} times"
    origin = Origin(name, PROGRAM, COMPOSITION) if program.origin is None else program.origin.repeated(rounds)
    result = type(program)(program.registers, segments, program.readout, source=name, bits=program.bits, origin=origin)
    return result.annotate(domain=program.domain) if origin.method == LIFT else result


def restorable(program: Program) -> bool:
    """Whether the program can be run backwards without loss of digits, block by block."""
    blocks = (block for segment in program.segments for block in segment.blocks)
    return program.scales is None and all(block.op.additive or block.op.restores for block in blocks)


def restored(programs: Sequence[Program], name: str) -> Program:
    """The programs in turn; all but the last are run backwards again, and share their registers."""
    first = programs[0]
    registers = first.registers.copy()
    work = np.arange(first.inputs, first.width)
    places, segments = np.arange(first.width), list(first.segments)
    for number, (before, after) in enumerate(pairwise(programs), 1):
        carried = registers.numbered("v", after.inputs, label=f"the inputs of round {number + 1}")
        missing = after.width - after.inputs - len(work)
        if missing > 0:
            extra = registers.numbered("w", missing, label="work")
            work = np.concatenate([work, extra.indices()])
        used = np.unique(before.readout.indices).astype(np.int64)
        weights = before.readout[:, used].toarray()
        source = Index(np.broadcast_to(places[used], weights.shape))
        copy = Block(operation("affine"), (carried,), (source,), {"w": weights})
        segments.append(Segment(f"copy {number}", (copy,)))
        segments += [
            replace(s, label=f"undo {s.label}", rate=-s.rate, blocks=placed(s, places))
            for s in reversed(before.segments)
        ]
        places = np.concatenate([carried.indices(), work[: after.width - after.inputs]])
        segments += [replace(s, blocks=placed(s, places)) for s in after.segments]
    last = programs[-1].readout
    rows, columns = last.tocoo().coords
    entries = (last.tocoo().data, (rows, places[columns]))
    matrix = scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(last.shape[0], registers.width)))
    bits = max(program.bits for program in programs)
    return type(first)(
        registers, tuple(segments), matrix, source=name, bits=bits, origin=Origin(name, PROGRAM, COMPOSITION)
    )


def placed(segment: Segment, places: Indices) -> tuple[Block, ...]:
    """The blocks of a segment on other registers: register n becomes places[n]."""
    return tuple(
        Block(
            b.op, tuple(_moved(r, places) for r in b.targets), tuple(_moved(r, places) for r in b.operands), b.tensors
        )
        for b in segment.blocks
    )


def _moved(ref: Ref, places: Indices) -> Ref:
    """A view stays one where its registers move together."""
    if ref.size == 0:
        return ref
    new = places[ref.indices()]
    low, high = ref.extent()
    if (
        isinstance(ref, View)
        and places[high] - places[low] == high - low
        and (np.diff(places[low : high + 1]) == 1).all()
    ):
        return replace(ref, offset=ref.offset + int(places[low]) - low)
    return Index(new)
