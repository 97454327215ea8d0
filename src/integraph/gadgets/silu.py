"""SiLU: s' = x s − s²; from s = x/2: s(1) = x·sigmoid(x)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Silu(Elementwise):
    name = "silu"
    targets = ("s",)
    operands = ("x",)
    escapes = True
    domain = "s must start above −x/(e^x − 1); x/2 is"
    meaning = "from s = x/2, s(1) = x/(1 + e^(−x))"
    equations = (
        ("s", 1, "x", "s"),
        ("s", -1, "s", "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s,), (x,) = start, operands
        v = t * x
        alive, s_end = f.logistic(v, t * s, s)  # s = s₀ e^v/N, N = 1 + s₀(e^v − 1)/x
        return Closed((s_end,), {"s": alive})


silu = Silu()
register(silu)
