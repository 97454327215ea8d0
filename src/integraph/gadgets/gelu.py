"""GELU, the exact one: w' = x², h' = −w h, z' = x h; from (0, x/√(2π), x/2): z(1) = x·Φ(x)."""

from __future__ import annotations

import math

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Gelu(Elementwise):
    name = "gelu"
    targets = ("w", "h", "z")
    operands = ("x",)
    domain = "h must stay below 1.8e308"
    equations = (
        ("w", 1, "x", "x"),
        ("h", -1, "w", "h"),
        ("z", 1, "x", "h"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (w, h, z), (x,) = start, operands
        a, b = 0.5 * t * w, t * x / math.sqrt(2)
        z_end = z + x * h * t * f.gauss_integral(a, b)
        return Closed((w + t * x * x, h * f.exp_minus_square(a, b), z_end))


gelu = Gelu()
register(gelu)
