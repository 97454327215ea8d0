"""e^x − 1 without cancellation: z' = x z + x from 0."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Expm1(Elementwise):
    name = "expm1"
    targets = ("z",)
    operands = ("x",)
    domain = "z must stay below 1.8e308"
    meaning = "from z = 0, z(1) = e^x − 1"
    equations = (
        ("z", 1, "x", "z"),
        ("z", 1, "x"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (z,), v = start, t * operands[0]
        rising, falling = f.relu(v), -f.relu(-v)  # one of them is 0
        below = z * f.exp(falling) + f.expm1(falling)
        return Closed((below + f.grow((below + 1.0) * -f.expm1(-rising), rising),))


expm1 = Expm1()
register(expm1)
