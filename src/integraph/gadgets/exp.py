"""Exponential: z' = x z, z(1) = z(0) e^x."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Exp(Elementwise):
    name = "exp"
    restores = True
    targets = ("z",)
    operands = ("x",)
    domain = "z must stay below 1.8e308"
    meaning = "z(1) = e^x·z(0)"
    equations = (("z", 1, "x", "z"),)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        return Closed((f.grow(start[0], t * operands[0]),))


exp = Exp()
register(exp)
