"""arctan: y' = v, v' = −2vw, w' = v² − w²; from (0, x, 0): y(1) = arctan x.

ζ = w + iv obeys ζ' = −ζ², so ζ = ζ₀/(1 + ζ₀t) and y gains arg(1 + ζ₀t)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Arctan(Elementwise):
    name = "arctan"
    targets = ("y", "v", "w")
    operands = ()
    tensors = ()
    escapes = True
    domain = "where v = 0, w must start above −1"
    meaning = "from y = w = 0, y(1) = arctan v(0)"
    equations = (
        ("y", 1, "v"),
        ("v", -2, "v", "w"),
        ("w", 1, "v", "v"),
        ("w", -1, "w", "w"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        y, v, w = start
        real, imaginary = 1.0 + t * w, t * v
        r = f.hypot(real, imaginary)
        v_end = v / r / r
        w_end = (w / r) * (real / r) + (v / r) * (imaginary / r)
        return Closed((y + f.atan2(imaginary, real), v_end, w_end), {"w": f.relu(real) + f.abs(imaginary)})


arctan = Arctan()
register(arctan)
