"""What affine maps, products, monomials and drains share: lanes that read R registers each."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.gadget import fits, row
from integraph.program import Block, Index, Ref, View


def spread(view: Ref, shape: tuple[int, ...]) -> Ref:
    """The operand as lanes + (R,), by numpy's broadcasting rule."""
    try:
        if isinstance(view, View):
            return view.broadcast(shape)
        return Index(np.broadcast_to(view.registers, shape))
    except ValueError:
        raise SpecError(f"an operand of shape {view.shape} does not broadcast to {shape} (targets + terms)") from None


def operand(view: Ref, lanes: tuple[int, ...], w: Any) -> tuple[Ref, Any]:
    """Operand and weights as lanes + (R,). Weights with one axis more than the targets are a matrix, else diagonal."""
    if w is None or np.ndim(w) <= len(lanes):
        return row(spread(view, lanes)), None if w is None else np.asarray(w, np.float64)[..., None]
    return spread(view, (*lanes, view.shape[-1] if view.shape else 1)), w


def check(block: Block, *, weights: tuple[str, ...], lane_tensors: tuple[str, ...]) -> None:
    """Operands are lanes + (R,), weights broadcast to that, the other tensors to the lanes."""
    lanes = block.targets[0].shape
    reads = block.operands[0].shape
    for role, ref in zip(block.op.operands, block.operands, strict=True):
        if ref.shape[:-1] != lanes or ref.shape != reads:
            raise SpecError(f"{block.op.name}: operand {role!r} has shape {ref.shape}, needs {lanes} + (terms,)")
    for name in block.tensors:
        fits(block.op.name, name, block.tensors[name].shape, reads if name in weights else lanes)
    missing = [name for name in weights if name not in block.tensors]
    if missing:
        raise SpecError(f"{block.op.name} needs the tensor {missing[0]!r}")


def distinct(view: Ref) -> bool:
    """Whether no lane can read a register twice (an index array might)."""
    return isinstance(view, View) and (view.shape[-1] <= 1 or view.strides[-1] != 0)


def nonzeros(block: Block, name: str, shape: tuple[int, ...]) -> int:
    """How many entries of the broadcast tensor are not 0."""
    tensor = block.tensors[name]
    repeats = int(np.prod(shape, dtype=np.int64)) // max(tensor.size, 1)
    return int(np.count_nonzero(tensor)) * repeats
