"""Merge blocks of a segment that do the same in single lanes: a formula of a hundred terms becomes one operation.

Blocks merge if they have the same gadget, the same shapes and the same tensors; these are stacked along a new first
axis. Registers that follow each other at equal distances are a view again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from integraph.gadgets import Elementwise
from integraph.numbers.arrays import Indices
from integraph.program import Block, Index, Ref, View

FEWEST = 3  # blocks that are worth it
LIKE = {  # tensor → the role whose shape it broadcasts to, for each kind of gadget; functions, of one shape, are others
    "affine": {"w": "x", "b": "z"},
    "monomial": {"w": "l", "b": "z"},
    "product": {"w": "x"},
    "ramp": {"b": "z"},
    "powers": {"w": "x", "b": "z"},
    "spiral": {"w": "x", "b": "u", "c": "t", "d": "u"},
    "power_spiral": {"w": "x", "b": "u", "c": "t", "d": "u"},
}


def merged(blocks: Iterable[Block]) -> list[Block]:
    """The same, with as few blocks as possible; the order of what acts on different registers does not matter."""
    alike: dict[Any, list[Block]] = defaultdict(list)
    for number, block in enumerate(blocks):
        alike[_kind(block) or number].append(block)
    groups: list[Block] = []
    for same in alike.values():
        groups += [_stacked(same)] if len(same) >= FEWEST else same
    return groups


def _kind(block: Block) -> tuple[Any, ...] | None:
    """Equal for blocks that merge; None for those that never do."""
    if not (block.op.name in LIKE or _function(block)) or math.prod(block.targets[-1].shape) > 1:
        return None
    return block.op.name, tuple(ref.shape for ref in block.refs()), tuple(sorted(block.tensors))


def _function(block: Block) -> bool:
    """Whether it is a function of a·x + b, lane by lane, without further tensors."""
    return isinstance(block.op, Elementwise) and {*block.op.tensors} <= {"a", "b"}


def _stacked(blocks: Sequence[Block]) -> Block:
    first = blocks[0]
    roles = dict(zip(first.op.targets + first.op.operands, first.refs(), strict=True))
    targets = [_together([block.targets[n] for block in blocks]) for n in range(len(first.targets))]
    operands = [_together([block.operands[n] for block in blocks]) for n in range(len(first.operands))]
    tensors = {}
    for name in first.tensors:
        if name == "a" and "p" in roles:  # exponents: every lane has one of each base
            shape = (*first.targets[-1].shape, roles["p"].shape[-1])
        else:
            shape = (first.targets[0] if _function(first) else roles[LIKE[first.op.name][name]]).shape
        tensors[name] = np.stack([np.broadcast_to(block.tensors[name], shape) for block in blocks])
    return Block(first.op, tuple(targets), tuple(operands), tensors)


def _together(refs: Sequence[Ref]) -> Ref:
    registers = np.stack([ref.indices() for ref in refs])
    return as_view(registers) or Index(registers)


def joined(refs: Sequence[Ref]) -> Ref:
    """Side by side along the last axis."""
    if len(refs) == 1:
        return refs[0]
    registers = np.concatenate([ref.indices() for ref in refs], -1)
    return as_view(registers) or Index(registers)


def as_view(registers: Indices) -> View | None:
    """The strided view of these registers, if there is one."""
    if not registers.size:
        return View(0, registers.shape, (1,) * registers.ndim)
    start = int(registers[(0,) * registers.ndim])
    strides = []
    for axis, n in enumerate(registers.shape):
        next_one = tuple(int(axis == other) if n > 1 else 0 for other in range(registers.ndim))
        strides.append(int(registers[next_one]) - start if n > 1 else 1)
    view = View(start, registers.shape, tuple(strides))
    return view if np.array_equal(view.indices(), registers) else None
