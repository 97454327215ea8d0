"""GELU, the exact one: w' = x², h' = −w h, z' = x h; from (0, x/√(2π), x/2): z(1) = x·Φ(x).

z is x/2 plus an increment, so its error is 1e-16·|x|: nothing is left of x·Φ(x) below x = −8.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Gelu(Elementwise):
    name = "gelu"
    restores = True
    targets = ("w", "h", "z")
    operands = ("x",)
    domain = "x² and h must stay below 1.8e308"
    meaning = "from w = 0, h = x/√(2π) and z = x/2, z(1) = x·Φ(x)"
    equations = (
        ("w", 1, "x", "x"),
        ("h", -1, "w", "h"),
        ("z", 1, "x", "h"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (w, h, z), (x,) = start, operands
        z_end = z + t * x * f.gauss(h, t * w, t * x, 1.0)
        return Closed((w + t * x * x, f.fall(h, t * w, t * x, 1.0), z_end))


gelu = Gelu()
register(gelu)
