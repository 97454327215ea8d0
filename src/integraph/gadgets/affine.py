"""Affine map: z' = Σ_r w_r x_r + b. Exact for any duration; adds to what z holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.gadgets.contraction import check, distinct, linear, nonzeros, operand
from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, lane_values
from integraph.gadgets.wording import counted
from integraph.program import Block, Ref, Terms, register
from integraph.program.views import Indices


class Affine(Gadget):
    name = "affine"
    targets = ("z",)
    operands = ("x",)
    tensors = ("w", "b")
    additive = True

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """`affine(z, x, w=A, b=b)`: a matrix A, or a diagonal one given by its entries; without w, z' = x + b."""
        self.roles(refs)
        x, w = operand(refs[1], refs[0].shape, tensors.get("w"))
        tensors["w"] = np.ones(1) if w is None else w
        return super().__call__(refs[0], x, **tensors)

    def check(self, block: Block) -> None:
        check(block, weights=("w",))

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        x = block.operands[0]
        i, k = block.targets[0].at(lanes).astype(np.int32), x.rows(lanes, len(x.shape) - 1)
        b = lane_values(block, "b", lanes) if "b" in block.tensors else None
        return linear(i, k, lane_values(block, "w", lanes, x.shape), b)

    def per_lane(self, block: Block, role: int) -> int:
        return block.operands[0].shape[-1] + ("b" in block.tensors)

    def count(self, block: Block) -> int | None:
        if not distinct(block.operands[0]):
            return None
        found = nonzeros(block, "w", block.operands[0].shape)
        return found + (nonzeros(block, "b", block.targets[0].shape) if "b" in block.tensors else 0)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        gain = f.sum(tensors["w"] * operands[0], -2)
        return Closed((start[0] + t * (gain + tensors.get("b", 0.0)),))

    def words(self, block: Block) -> str:
        lanes, reads = counted(block.targets[0].size, "register"), block.operands[0].shape[-1]
        gain = ("w·x" if reads == 1 else "Σ w·x") + " + b" * ("b" in block.tensors)
        return f"affine, {lanes}, {counted(reads, 'term')} each: z(1) = z(0) + {gain}; z' = {gain}"


affine = Affine()
register(affine)
