"""Sigmoid: s' = x s − s², g' = x g − g s; from s = x/2, g = ½: g(1) = 1/(1 + e^{−x})."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Sigmoid(Elementwise):
    name = "sigmoid"
    targets = ("s", "g")
    operands = ("x",)
    escapes = True
    domain = "s must start above −x/(e^x − 1); x/2 is"
    meaning = "from s = x/2 and g = 1/2, g(1) = 1/(1 + e^(−x))"
    equations = (
        ("s", 1, "x", "s"),
        ("s", -1, "s", "s"),
        ("g", 1, "x", "g"),
        ("g", -1, "g", "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s, g), (x,) = start, operands
        v = t * x
        alive, s_end, g_end = f.logistic(v, t * s, s, g)  # s = s₀ e^v/N, N = 1 + s₀(e^v − 1)/x; g likewise
        return Closed((s_end, g_end), {"s": alive})


sigmoid = Sigmoid()
register(sigmoid)
