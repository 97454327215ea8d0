"""Real powers: p' = −p², z' = a p z; from p = x/s − 1, z = s^a: z(1) = x^a for x > 0.

a = −1 with p = x² − 1 and z = x gives 1/x for either sign. Starting from z = v gives v x^a.

x/s − 1 rounds: the relative error is about 1e-16·|a|·s/x for x < s, so s should be near the smallest x that matters.
x² − 1 likewise: 1/x is good to 1e-16/x² for |x| < 1, nothing is left at 1e-8, and x² overflows at 1.3e154.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Power(Elementwise):
    name = "power"
    targets = ("p", "z")
    operands = ()
    tensors = ("a",)
    escapes = True
    domain = "the base of the power must be > 0; p + 1 is a multiple of it"
    meaning = "z(1) = z(0)·(1 + p(0))^a"
    equations = (
        ("p", -1, "p", "p"),
        ("z", 1, "a", "p", "z"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        p, z = start
        alive = 1.0 + t * p
        return Closed((p / alive, f.power(z, t * p, tensors["a"])), {"p": alive})


power = Power()
register(power)
