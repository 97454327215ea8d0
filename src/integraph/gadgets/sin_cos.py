"""Sine and cosine: u' = x v, v' = −x u; from (0, 1): (sin x, cos x)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class SinCos(Elementwise):
    name = "sin_cos"
    restores = True
    targets = ("u", "v")
    operands = ("x",)
    meaning = "from u = 0 and v = 1, u(1) = sin x and v(1) = cos x"
    equations = (
        ("u", 1, "x", "v"),
        ("v", -1, "x", "u"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (u, v), (x,) = start, operands
        sin, cos = f.sin(t * x), f.cos(t * x)
        return Closed((u * cos + v * sin, v * cos - u * sin))


sin_cos = SinCos()
register(sin_cos)
