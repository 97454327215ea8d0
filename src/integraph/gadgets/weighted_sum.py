"""Gadgets built on one form Σ_r w_r x_r + b for each lane: affine maps add it, monomials grow by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.gadgets.contraction import check, distinct, linear, nonzeros, operand
from integraph.gadgets.gadget import Gadget, lane_values
from integraph.numbers.arrays import Indices
from integraph.program import Block, Ref, Terms


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
