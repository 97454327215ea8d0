"""SiLU: s' = x s − s²; from s = x/2: s(1) = x·sigmoid(x)."""

from __future__ import annotations

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Silu(Elementwise):
    name = "silu"
    targets = ("s",)
    operands = ("x",)
    domain = "s must not start below −x/(e^x − 1)"
    equations = (
        ("s", 1, "x", "s"),
        ("s", -1, "s", "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s,), (x,) = start, operands
        v = t * x
        below = f.exp(-f.relu(v)) + t * s * f.expm1c(-f.abs(v))  # N e^{−max(v, 0)}, N = 1 + s₀(e^v − 1)/x
        rise = f.exp(-f.relu(-v)) / below
        return Closed((s * rise,), {"s": below})


silu = Silu()
register(silu)
