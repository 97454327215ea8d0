"""Logarithm, Lemma 2: p' = −p², z' = p; from p = ξ − 1, z = 0: z(1) = ln ξ and p(1) = 1 − 1/ξ.

The start holds ξ as p = ξ − 1, which rounds: for small ξ, ln ξ is off by about 1e-16/ξ, and ξ < 1e-16 is taken for 0.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Ln(Elementwise):
    name = "ln"
    targets = ("p", "z")
    operands = ()
    tensors = ()
    escapes = True
    domain = "the argument of ln must be > 0; p + 1 is a multiple of it"
    meaning = "z(1) = z(0) + ln(1 + p(0))"
    equations = (
        ("p", -1, "p", "p"),
        ("z", 1, "p"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        p, z = start
        alive = 1.0 + t * p
        return Closed((p / alive, z + f.log1p(t * p)), {"p": alive})


ln = Ln()
register(ln)
