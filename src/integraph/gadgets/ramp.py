"""Ramp: z' = b, a constant rate; loads a constant into fresh registers."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Ramp(Elementwise):
    name = "ramp"
    targets = ("z",)
    tensors = ("b",)
    additive = True
    meaning = "adds b to z"
    equations = (("z", 1, "b"),)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        return Closed((start[0] + t * tensors["b"],))


ramp = Ramp()
register(ramp)
