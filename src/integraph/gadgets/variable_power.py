"""x^y for x > 0: p' = −p², q' = −p q, z' = q z; from p = x − 1, q = y(x − 1), z = 1.

As in ln, the start rounds x − 1: the relative error is about 1e-16·|y|/x for small x."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class VariablePower(Elementwise):
    name = "variable_power"
    targets = ("p", "q", "z")
    operands = ()
    tensors = ()
    escapes = True
    domain = "the base of the power must be > 0; p + 1 is a multiple of it"
    meaning = "z(1) = z(0)·(1 + p(0))^(q(0)/p(0))"
    equations = (
        ("p", -1, "p", "p"),
        ("q", -1, "p", "q"),
        ("z", 1, "q", "z"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        p, q, z = start
        alive = 1.0 + t * p
        return Closed((p / alive, q / alive, f.grow(z, t * q * f.log1pc(t * p))), {"p": alive})


variable_power = VariablePower()
register(variable_power)
