"""e^x − 1 without cancellation: z' = x z + x from 0."""

from __future__ import annotations

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Expm1(Elementwise):
    name = "expm1"
    targets = ("z",)
    operands = ("x",)
    domain = "z must stay below 1.8e308"
    equations = (
        ("z", 1, "x", "z"),
        ("z", 1, "x"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        v = t * operands[0]
        return Closed((start[0] * f.exp(v) + f.expm1(v),))


expm1 = Expm1()
register(expm1)
