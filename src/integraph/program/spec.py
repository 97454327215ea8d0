"""The executable spec: what every program must satisfy. Runs after every construction and on every load.

1. shapes: every view lies inside the register file; the read-out has W columns; inputs ≤ W
2. finite controls: tensors, read-out, scales, and what they give as coefficients of eq. (1)
3. disjoint targets: within a segment one writer per register, unless all its writers are additive
4. frozen operands: what a block reads is not written in the same segment, except by the block itself as a target
5. reachable read-out: every register read out is an input or is written by some segment
6. annotations that speak of this program: boxes and names of its inputs, probes of its registers after its segments
7. a precision that engines offer: 53 … 1 000 000 bits
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from integraph.errors import SpecError
from integraph.program.annotations import Budget, Domain, Probe
from integraph.program.block import Block
from integraph.program.engine import DOUBLE
from integraph.program.lowering import stream_segment
from integraph.program.order import distinct
from integraph.program.origin import Origin
from integraph.program.segment import Segment
from integraph.program.views import Ref, View, mark
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.program.program import Program

FREE, ADDED, OWNED = 0, 1, 2
FACTORS = 4  # tensor entries in a control, at most: k·c·a·b
MAX_BITS = 1_000_000
SAFE = math.log(1e300)  # of a control; leaves room for small factors and sums


def check(program: Program) -> None:
    """Raise SpecError, naming the rule, the place and the value, unless the program is sound."""
    if not 0 <= program.inputs <= program.width:
        raise SpecError(f"{counted(program.inputs, 'input')} do not fit in {counted(program.width, 'register')}")
    if program.readout.shape != (program.outputs, program.width) or program.outputs < 1:
        raise SpecError(f"read-out has shape {program.readout.shape}: needs (outputs ≥ 1, {program.width})")
    bits = program.bits
    if not isinstance(bits, int) or isinstance(bits, bool) or not DOUBLE <= bits <= MAX_BITS:
        raise SpecError(f"bits = {bits!r}: the precision of a flow is an integer from {DOUBLE} to {MAX_BITS}")
    _finite(program.readout.data, "the read-out")
    if program.scales is not None:
        _finite(program.scales, "the state scales")
        if program.scales.shape != (program.width,) or (program.scales <= 0).any():
            raise SpecError(f"state scales must be {program.width} positive numbers")
    used = program.readout.indices
    if len(used) and not 0 <= used.min() <= used.max() < program.width:
        raise SpecError(f"the read-out uses registers {used.min()} … {used.max()}, there are {program.width}")
    written = np.zeros(program.width, np.bool_)
    written[: program.inputs] = True
    owners = np.zeros(program.width, np.uint8)  # who writes what in the segment at hand
    for number, segment in enumerate(program.segments):
        _segment(program, number, segment, owners)
        _controls(program, segment)
        for ref in (ref for block in segment.blocks for ref in block.targets):
            mark(ref, written, True)
            mark(ref, owners, FREE)
    unreached = used[~written[used]]
    if len(unreached):
        raise SpecError(
            f"the read-out uses register {program.registers.name(int(unreached[0]))}, which is neither an input "
            "nor written by any segment: it would always be 0"
        )
    check_annotations(program)


def _segment(program: Program, number: int, segment: Segment, owners: NDArray[np.uint8]) -> None:
    where = f"segment {number} {segment.label!r}"
    for block in segment.blocks:
        _bounds(program, where, block)
        for name, tensor in block.tensors.items():
            _finite(tensor, f"{where}: tensor {name!r} of {block.op.name}")
        for role, ref in zip(block.op.targets, block.targets, strict=True):
            _claim(program, where, block, role, ref, owners)
    for block in segment.blocks:
        for role, ref in zip(block.op.operands, block.operands, strict=True):
            register = _first(ref, owners, FREE)
            if register is not None:
                raise SpecError(
                    f"{where}: {block.op.name} reads register {program.registers.name(register)} as {role!r} while "
                    "another flow writes it: operands must be frozen; move one of the two to another segment"
                )


def _controls(program: Program, segment: Segment) -> None:
    """A control is a product of a few tensor entries, the rate and the scales. Only if that could overflow, look."""
    tensors = [t for block in segment.blocks for t in block.tensors.values() if t.size]
    largest = max([1.0, *(max(float(t.max()), -float(t.min())) for t in tensors)])
    logarithm = FACTORS * math.log(largest) + math.log(abs(segment.rate))
    if program.scales is not None:
        logarithm += 2 * math.log(program.scales.max()) - math.log(program.scales.min())
    if logarithm > SAFE:
        for _ in stream_segment(segment, program.width, program.scales):
            pass  # raises where a control is not finite


def _claim(program: Program, where: str, block: Block, role: str, ref: Ref, owners: NDArray[np.uint8]) -> None:
    claim = ADDED if block.op.additive else OWNED
    if not distinct(ref):
        raise SpecError(
            f"{where}: {block.op.name} lists a register twice in target {role!r}, or strides that interleave: "
            "targets must be distinct; use Index(...) for registers in an odd order"
        )
    register = _first(ref, owners, FREE if claim == OWNED else ADDED)
    if register is not None:
        raise SpecError(
            f"{where}: register {program.registers.name(register)} has two writers, one of them {block.op.name} "
            f"({role!r}): only affine maps and products may share a target; use another register or segment"
        )
    mark(ref, owners, claim)


def _first(ref: Ref, owners: NDArray[np.uint8], allowed: int) -> int | None:
    """The first register of `ref` whose owner is more than `allowed`; makes no array as large as a broadcast view."""
    if isinstance(ref, View):
        once = tuple(n if s else min(n, 1) for n, s in zip(ref.shape, ref.strides, strict=True))
        ref = View(ref.offset, once, ref.strides)
    owner = ref.of(owners)
    if owner.max(initial=FREE) <= allowed:
        return None
    where: list[int] = []
    while owner.ndim:
        where.append(int(np.argmax(owner.max(axis=tuple(range(1, owner.ndim))) > allowed)))
        owner = owner[where[-1]]
    return ref[tuple(where)].offset if isinstance(ref, View) else int(ref.registers[tuple(where)])


def check_annotations(program: Program) -> None:
    budget, domain, origin = program.budget, program.domain, program.origin
    if domain is not None:
        if not isinstance(domain, Domain):
            raise SpecError(f"the domain is a Domain(low, high) or None, got {domain!r}")
        _check_inputs("the domain", len(domain.low), "side", program)
    if budget is not None:
        if not isinstance(budget, Budget):
            raise SpecError(f"the budget is a Budget(low, high, …) or None, got {budget!r}")
        _check_inputs("the box of the budget", len(budget.low), "side", program)
    if origin is not None:
        if not isinstance(origin, Origin):
            raise SpecError(f"the origin is an Origin(source, kind, method, …) or None, got {origin!r}")
        if origin.box is not None:
            _check_inputs("the box of the origin", len(origin.box.low), "side", program)
        if origin.variables:
            _check_inputs("the origin", len(origin.variables), "variable", program)
    if not isinstance(program.probes, tuple):
        raise SpecError(f"probes are a tuple of Probe(label, segment, ref), got {program.probes!r}")
    for probe in program.probes:
        if not isinstance(probe, Probe):
            raise SpecError(f"a probe is made by Probe(label, segment, ref), got {probe!r}")
        where = f"probe {probe.label!r}"
        if not 0 <= probe.segment < program.depth:
            raise SpecError(f"{where} is read after segment {probe.segment}: the segments are 0 … {program.depth - 1}")
        low, high = probe.ref.extent()
        if low < 0 or high >= program.width:
            raise SpecError(f"{where} reads registers {low} … {high}, there are {program.width}")
        if not 0 < probe.ref.size <= program.width:
            raise SpecError(
                f"{where} reads {counted(probe.ref.size, 'register')}: needs 1 to {program.width}, each once"
            )


def _check_inputs(what: str, count: int, noun: str, program: Program) -> None:
    """Raise SpecError unless there is one for each input."""
    if count != program.inputs:
        raise SpecError(f"{what} has {counted(count, noun)}, the program {counted(program.inputs, 'input')}")


def _bounds(program: Program, where: str, block: Block) -> None:
    for ref in block.refs():
        low, high = ref.extent()
        if low < 0 or high >= program.width:
            raise SpecError(f"{where}: {block.op.name} uses registers {low} … {high}, there are {program.width}")


def _finite(array: NDArray[np.generic], what: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].ravel()[0]
        raise SpecError(f"{what} holds {bad}: every control must be finite")
