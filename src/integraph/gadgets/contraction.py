"""Lanes that read R registers each: what affine maps, products, monomials and drains share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.gadget import Gadget, fits, lane_values, row
from integraph.numbers.arrays import Floats, Indices, Int32
from integraph.program import ONE, Block, Index, Ref, Terms, View, tensor


def spread(view: Ref, shape: tuple[int, ...]) -> Ref:
    """The operand as lanes + (R,), by numpy's broadcasting rule."""
    try:
        if isinstance(view, View):
            return view.broadcast(shape)
        return Index(np.broadcast_to(view.registers, shape))
    except ValueError:
        raise SpecError(
            f"an operand of shape {view.shape} does not broadcast to {shape}: lane by lane, operands have the shape of "
            "the targets; to sum over an operand, give w one axis more than the targets have"
        ) from None


def operand(view: Ref, lanes: tuple[int, ...], w: Any) -> tuple[Ref, Any]:
    """Operand and weights as lanes + (R,): a sum over the last axis where one of them has an axis more than the lanes,
    else a diagonal map."""
    weights = None if w is None else tensor(w)
    if len(view.shape) <= len(lanes) and (weights is None or weights.ndim <= len(lanes)):
        return row(spread(view, lanes)), None if weights is None else weights[..., None]
    return spread(view, (*lanes, view.shape[-1] if view.shape else 1)), weights


def check(block: Block, *, weights: tuple[str, ...]) -> None:
    """Operands are lanes + (R,), weights broadcast to that, the other tensors to the lanes."""
    lanes = block.targets[0].shape
    reads = block.operands[0].shape
    for role, ref in zip(block.op.operands, block.operands, strict=True):
        if not ref.shape or ref.shape[:-1] != lanes or ref.shape != reads:
            raise SpecError(f"{block.op.name}: operand {role!r} has shape {ref.shape}, needs {lanes} + (terms,)")
    for name in block.tensors:
        fits(block.op.name, name, block.tensors[name].shape, reads if name in weights else lanes)
    missing = [name for name in weights if name not in block.tensors]
    if missing:
        raise SpecError(f"{block.op.name} needs the tensor {missing[0]!r}, of a shape that broadcasts to {reads}")


def distinct(view: Ref) -> bool:
    """Whether no lane can read a register twice (an index array might)."""
    return isinstance(view, View) and (view.shape[-1] <= 1 or view.strides[-1] != 0)


def nonzeros(block: Block, name: str, shape: tuple[int, ...]) -> int:
    """How many entries of the broadcast tensor are not 0."""
    tensor = block.tensors[name]
    repeats = math.prod(shape) // max(tensor.size, 1)
    return int(np.count_nonzero(tensor)) * repeats


def linear(i: Int32, k: Int32, w: Floats, b: Floats | None) -> Terms:
    """The terms of z_i' = Σ_r w_ir y_{k_ir} + b_i, with k and w of shape (lanes, R)."""
    if (k[0, 1:] <= k[0, :-1]).any() and (k - k[:, :1] == k[0] - k[0, 0]).all():  # one order for all
        order = np.argsort(k[0], kind="stable")
        k, w = k[:, order], w[:, order]
    bias = b is not None
    read, value = np.empty((len(i), k.shape[1] + bias), np.int32), np.empty((len(i), k.shape[1] + bias))
    read[:, bias:], value[:, bias:] = k, w
    if b is not None:
        read[:, 0], value[:, 0] = ONE, b
    return Terms(np.repeat(i, read.shape[1]), np.full(read.size, ONE, np.int32), read.reshape(-1), value.reshape(-1))


class WeightedSum(Gadget):
    """One target, one operand. `op(z, x, w=A, b=b)`: A is a matrix, or a diagonal one given by its entries, or 1."""

    tensors = ("w", "b")

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        self.roles(refs)
        x, w = operand(refs[1], refs[0].shape, tensors.get("w"))
        tensors["w"] = np.ones(1) if w is None else w
        return super().__call__(refs[0], x, **tensors)

    def check(self, block: Block) -> None:
        check(block, weights=("w",))

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """The terms of z' = Σ w x + b."""
        x = block.operands[0]
        i, k = block.targets[0].at(lanes).astype(np.int32), x.rows(lanes, len(x.shape) - 1)
        b = lane_values(block, "b", lanes) if "b" in block.tensors else None
        return linear(i, k, lane_values(block, "w", lanes, x.shape), b)

    def per_lane(self, block: Block, role: int) -> int:
        return block.operands[0].shape[-1] + ("b" in block.tensors)

    def count(self, block: Block) -> int | None:
        if not distinct(block.operands[0]):
            return None
        terms = nonzeros(block, "w", block.operands[0].shape)
        return terms + (nonzeros(block, "b", block.targets[0].shape) if "b" in block.tensors else 0)
