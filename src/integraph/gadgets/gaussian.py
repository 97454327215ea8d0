"""Gaussian: w' = x², y' = −2 w y; from (0, 1): y(1) = exp(−x²)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Gaussian(Elementwise):
    name = "gaussian"
    restores = True
    targets = ("w", "y")
    operands = ("x",)
    domain = "x² and y must stay below 1.8e308"
    meaning = "from w = 0 and y = 1, y(1) = e^(−x²)"
    equations = (
        ("w", 1, "x", "x"),
        ("y", -2, "w", "y"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (w, y), (x,) = start, operands
        return Closed((w + t * x * x, f.fall(y, t * w, t * x, 2.0)))


gaussian = Gaussian()
register(gaussian)
