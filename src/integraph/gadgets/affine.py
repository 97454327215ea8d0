"""Affine map: z' = Σ_r w_r x_r + b. Exact for any duration; adds to what z holds."""

from __future__ import annotations

from integraph.gadgets.contraction import WeightedSum
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.program import Block, register
from integraph.program.wording import each, times


class Affine(WeightedSum):
    name = "affine"
    targets = ("z",)
    operands = ("x",)
    additive = True

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        gain = f.sum(tensors["w"] * operands[0], -2)
        return Closed((start[0] + t * (gain + tensors.get("b", 0.0)),))

    def words(self, block: Block) -> str:
        size, reads = block.targets[0].size, block.operands[0].shape[-1]
        return f"{times('affine', size)}{each(reads, 'weight', size)}: adds {self._gain(block)} to z"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("z", self._gain(block))]

    def _gain(self, block: Block) -> str:
        return ("w·x" if block.operands[0].shape[-1] == 1 else "Σ w·x") + " + b" * ("b" in block.tensors)


affine = Affine()
register(affine)
