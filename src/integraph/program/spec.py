"""The executable spec: what every program must satisfy. Runs after every construction and on every load.

1. shapes: every view lies inside the register file; the read-out has W columns; inputs ≤ W
2. finite controls: tensors, read-out, scales
3. disjoint targets: within a segment one writer per register, unless all its writers are additive
4. frozen operands: what a block reads is not written in the same segment, except by the block itself as a target
5. reachable read-out: every register read out is an input or is written by some segment
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from integraph.errors import SpecError
from integraph.program.block import Block
from integraph.program.segment import Segment
from integraph.program.views import Index, Ref

if TYPE_CHECKING:
    from integraph.program.program import Program

FREE, ADDED, OWNED = 0, 1, 2


def check(program: Program) -> None:
    """Raise SpecError, naming the rule, the place and the value, unless the program is sound."""
    if not 0 <= program.inputs <= program.width:
        raise SpecError(f"{program.inputs} inputs do not fit in {program.width} registers")
    if program.readout.shape != (program.outputs, program.width) or program.outputs < 1:
        raise SpecError(f"read-out has shape {program.readout.shape}: needs (outputs ≥ 1, {program.width})")
    _finite(program.readout.data, "the read-out")
    if program.scales is not None:
        _finite(program.scales, "the state scales")
        if program.scales.shape != (program.width,) or (program.scales <= 0).any():
            raise SpecError(f"state scales must be {program.width} positive numbers")
    written = np.zeros(program.width, np.bool_)
    written[: program.inputs] = True
    for number, segment in enumerate(program.segments):
        written |= _segment(program, number, segment) != FREE
    unreached = np.setdiff1d(program.readout.indices, np.flatnonzero(written))
    if len(unreached):
        raise SpecError(
            f"the read-out uses register {program.registers.name(int(unreached[0]))}, which is neither an input "
            "nor written by any segment: it would always be 0"
        )


def _segment(program: Program, number: int, segment: Segment) -> NDArray[np.uint8]:
    where = f"segment {number} {segment.label!r}"
    owners = np.zeros(program.width, np.uint8)
    for block in segment.blocks:
        _bounds(program, where, block)
        for name, tensor in block.tensors.items():
            _finite(tensor, f"{where}: tensor {name!r} of {block.op.name}")
        for role, ref in zip(block.op.targets, block.targets, strict=True):
            _claim(program, where, block, role, ref, owners)
    for block in segment.blocks:
        for role, ref in zip(block.op.operands, block.operands, strict=True):
            moving = _select(ref, owners) != FREE
            if moving.any():
                register = int(ref.indices()[moving][0])
                raise SpecError(
                    f"{where}: {block.op.name} reads register {program.registers.name(register)} as {role!r} while "
                    "another flow writes it: operands must be frozen; move one of the two to another segment"
                )
    return owners


def _claim(program: Program, where: str, block: Block, role: str, ref: Ref, owners: NDArray[np.uint8]) -> None:
    claim = ADDED if block.op.additive else OWNED
    before = _select(ref, owners)
    taken = (before != FREE) if claim == OWNED else (before == OWNED)
    if taken.any():
        register = int(ref.indices()[taken][0])
        raise SpecError(
            f"{where}: register {program.registers.name(register)} has two writers, one of them {block.op.name} "
            f"({role!r}): only affine maps and products may share a target; use another register or segment"
        )
    if _repeats(ref):
        raise SpecError(f"{where}: {block.op.name} lists a register twice in target {role!r}: targets must be distinct")
    if isinstance(ref, Index):
        owners[ref.registers] = claim
    else:
        ref.of(owners)[...] = claim


def _select(ref: Ref, owners: NDArray[np.uint8]) -> NDArray[np.uint8]:
    found: NDArray[np.uint8] = ref.of(owners)
    return found


def _repeats(ref: Ref) -> bool:
    if not isinstance(ref, Index) and ref.contiguous:
        return False
    return len(np.unique(ref.indices())) < ref.size


def _bounds(program: Program, where: str, block: Block) -> None:
    for ref in block.refs():
        low, high = ref.extent()
        if low < 0 or high >= program.width:
            raise SpecError(f"{where}: {block.op.name} uses registers {low} … {high}, there are {program.width}")


def _finite(array: NDArray[np.generic], what: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].ravel()[0]
        raise SpecError(f"{what} holds {bad}: every control must be finite")
