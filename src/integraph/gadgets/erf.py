"""Error function: w' = x², h' = −2 w h, y' = h; from (0, 2x/√π, 0): y(1) = erf x."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Erf(Elementwise):
    name = "erf"
    restores = True
    targets = ("w", "h", "y")
    operands = ("x",)
    domain = "x² and h must stay below 1.8e308"
    meaning = "from w = y = 0 and h = 2·x/√π, y(1) = erf x"
    equations = (
        ("w", 1, "x", "x"),
        ("h", -2, "w", "h"),
        ("y", 1, "h"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (w, h, y), (x,) = start, operands
        y_end = y + t * f.gauss(h, t * w, t * x, 2.0)
        return Closed((w + t * x * x, f.fall(h, t * w, t * x, 2.0), y_end))


erf = Erf()
register(erf)
