"""Affine blocks that compute multiples of what another has just computed: one matrix product serves both.

A ReLU starts at x/2 and a GELU at x/2 and x/√(2π), where x is what a layer's matrix gives: blocks with one operand and
proportional weights. A ReLU whose sign is known starts at x or 0, so each neuron may have a factor of its own.
"""

from __future__ import annotations

import numpy as np

from integraph.flow.exact.affine_steps import Step, all_finite, compiles
from integraph.numbers.arrays import Floats
from integraph.program import Block, View

FIRST = 64  # weights that decide whether a look at all of them is worth it
ROUNDING = 2.0**-51  # of weights that were multiplied by a constant, which is taken from two of them


def multiple(block: Block, of: Block) -> Floats | None:
    """The constant c if `block` adds c times what `of` adds, up to the rounding of its weights, or one for each row of
    the matrix; None if it does not."""
    views = (*block.targets, *of.targets)
    if block.op.name != "affine" or of.op is not block.op or block.operands != of.operands:
        return None
    if not all(isinstance(view, View) and view.contiguous for view in views) or views[0].shape != views[1].shape:
        return None
    if set(block.tensors) != set(of.tensors):
        return None
    pairs = [(block.tensors[name], of.tensors[name]) for name in ("w", "b") if name in of.tensors]
    w, v = pairs[0]
    if not v.size or any(one.shape != other.shape for one, other in pairs):
        return None
    first, start = (tensor.reshape(-1, tensor.shape[-1])[0, :FIRST] for tensor in (w, v))
    c = _factors(first, start)
    if (c == 0.0 and not start.any()) or not _proportional(first, start, c):
        return None
    if all(_proportional(one, other, c) for one, other in pairs):
        return c
    rows = w.shape[:1]
    if w.ndim != 2 or any(one.shape[:1] != rows for one, _ in pairs) or views[0].shape[-1:] != rows:
        return None
    c = _factors(w, v)
    return c if all(_proportional(one.T, other.T, c) for one, other in pairs) else None


def _factors(w: Floats, v: Floats) -> Floats:
    """w/v along the last axis, where v is largest; 0 where all of it is."""
    largest = np.argmax(np.abs(v), axis=-1, keepdims=True)
    over, under = (np.take_along_axis(tensor, largest, -1)[..., 0] for tensor in (w, v))
    return np.divide(over, under, out=np.zeros_like(over), where=under != 0.0)


def _proportional(one: Floats, other: Floats, c: Floats) -> bool:
    return bool((np.abs(one - c * other) <= ROUNDING * np.abs(one)).all())


def scaled(block: Block, of: Block, states: Floats, c: Floats) -> Step:
    """The step of a block whose targets are still 0, from what `of` has left."""
    target, source = block.targets[0].of(states), of.targets[0].of(states)
    if c.ndim and compiles():  # the ReLUs that these start load numba anyway
        from integraph.flow.exact.linear_kernels import multiply_rows

        rows, given = (array.reshape(-1, states.shape[1]) for array in (target, source))
        factors = np.broadcast_to(c, target.shape[:-1]).ravel()
        return lambda: multiply_rows(rows, given, factors)
    fine, factor = all_finite(target), c[..., None] if c.ndim else float(c)

    def step() -> bool:
        np.multiply(source, factor, out=target)
        return fine()

    return step
