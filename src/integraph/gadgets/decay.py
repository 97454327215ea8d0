"""Decay: z' = −r z, z(1) = e^{−r} z(0): how Theorem 2 clears registers (steps 1 and 3)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Decay(Elementwise):
    name = "decay"
    targets = ("z",)
    tensors = ("r",)
    meaning = "z(1) = e^(−r)·z(0)"
    equations = (("z", -1, "r", "z"),)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        return Closed((f.grow(start[0], -t * tensors["r"]),))


decay = Decay()
register(decay)
