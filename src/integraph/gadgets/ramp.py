"""Ramp: z' = b, a constant rate; loads a constant into fresh registers."""

from __future__ import annotations

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import Block, register


class Ramp(Elementwise):
    name = "ramp"
    targets = ("z",)
    tensors = ("b",)
    additive = True
    equations = (("z", 1, "b"),)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        return Closed((start[0] + t * tensors["b"],))

    def words(self, block: Block) -> str:
        return f"ramp of {block.targets[0].size} registers: z' = b"


ramp = Ramp()
register(ramp)
