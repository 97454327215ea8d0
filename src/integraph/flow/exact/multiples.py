"""Affine blocks that compute a multiple of what another has just computed: one matrix product serves both.

A ReLU starts at x/2 and a GELU at x/2 and x/√(2π), where x is what a layer's matrix gives: blocks with one operand and
proportional weights.
"""

from __future__ import annotations

import numpy as np

from integraph.flow.exact.affine_steps import Step, all_finite
from integraph.numbers.arrays import Floats
from integraph.program import Block, View

FIRST = 64  # weights that decide whether a look at all of them is worth it
ROUNDING = 2.0**-51  # of weights that were multiplied by a constant, which is taken from two of them


def multiple(block: Block, of: Block) -> float | None:
    """The constant c if `block` adds c times what `of` adds, up to the rounding of its weights; None if it does not."""
    views = (*block.targets, *of.targets)
    if block.op.name != "affine" or of.op is not block.op or block.operands != of.operands:
        return None
    if not all(isinstance(view, View) and view.contiguous for view in views) or views[0].shape != views[1].shape:
        return None
    if set(block.tensors) != set(of.tensors):
        return None
    w, v = block.tensors["w"].ravel(), of.tensors["w"].ravel()
    largest = int(np.argmax(np.abs(v[:FIRST]))) if v.size else 0
    if w.size != v.size or not v.size or v[largest] == 0.0:
        return None
    c = float(w[largest] / v[largest])
    parts = [
        (w[:FIRST], v[:FIRST]),
        (w, v),
        *((block.tensors[name], of.tensors[name]) for name in ("b",) if name in of.tensors),
    ]
    return c if all(_proportional(one, other, c) for one, other in parts) else None


def _proportional(one: Floats, other: Floats, c: float) -> bool:
    return one.shape == other.shape and bool((np.abs(one - c * other) <= ROUNDING * np.abs(one)).all())


def scaled(block: Block, of: Block, states: Floats, c: float) -> Step:
    """The step of a block whose targets are still 0, from what `of` has left."""
    target, source = block.targets[0].of(states), of.targets[0].of(states)
    fine = all_finite(target)

    def step() -> bool:
        np.multiply(source, c, out=target)
        return fine()

    return step
