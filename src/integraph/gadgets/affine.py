"""Affine map: z' = Σ_r w_r x_r + b. Exact for any duration; adds to what z holds."""

from __future__ import annotations

from integraph.gadgets.contraction import WeightedSum
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.program import Block, register
from integraph.program.wording import counted


class Affine(WeightedSum):
    name = "affine"
    targets = ("z",)
    operands = ("x",)
    additive = True

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        gain = f.sum(tensors["w"] * operands[0], -2)
        return Closed((start[0] + t * (gain + tensors.get("b", 0.0)),))

    def words(self, block: Block) -> str:
        lanes, reads = counted(block.targets[0].size, "register"), block.operands[0].shape[-1]
        gain = ("w·x" if reads == 1 else "Σ w·x") + " + b" * ("b" in block.tensors)
        return f"affine, {lanes}, {counted(reads, 'weight')} each: z(1) = z(0) + {gain}; z' = {gain}"


affine = Affine()
register(affine)
