"""Hyperbolic sine and cosine: u' = x v, v' = x u; from (0, 1): (sinh x, cosh x).

cosh w = e^{−|w|} + |sinh w| keeps both the growing and the decaying solution accurate."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class SinhCosh(Elementwise):
    name = "sinh_cosh"
    targets = ("u", "v")
    operands = ("x",)
    domain = "cosh x must stay below 1.8e308: |x| < 710"
    meaning = "from u = 0 and v = 1, u(1) = sinh x and v(1) = cosh x"
    equations = (
        ("u", 1, "x", "v"),
        ("v", 1, "x", "u"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (u, v), (x,) = start, operands
        size, s = f.abs(t * x), f.sign(t * x)
        small = f.exp(-size)
        growing = f.grow(0.5 * (u + s * v) * -f.expm1(-2.0 * size), size)
        return Closed((u * small + growing, v * small + s * growing))


sinh_cosh = SinhCosh()
register(sinh_cosh)
