"""asinh: y' = v, v' = −vw, u' = −2uw, w' = u² − w²; from (0, x, x, 0): y(1) = asinh x.

ζ = w + iu obeys ζ' = −ζ²; v falls as 1/|1 + ζ₀t|, and its integral is that of 1/distance from 0 along a straight
line."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Asinh(Elementwise):
    name = "asinh"
    targets = ("y", "v", "u", "w")
    operands = ()
    tensors = ()
    escapes = True
    domain = "where u = 0, w must start above −1"
    meaning = "from y = w = 0 and u = v, y(1) = asinh v(0)"
    equations = (
        ("y", 1, "v"),
        ("v", -1, "v", "w"),
        ("u", -2, "u", "w"),
        ("w", 1, "u", "u"),
        ("w", -1, "w", "w"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        y, v, u, w = start
        real, imaginary = 1.0 + t * w, t * u
        r = f.hypot(real, imaginary)
        y_end = y + v * t * f.inverse_distance(t * w, imaginary)
        w_end = (w / r) * (real / r) + (u / r) * (imaginary / r)
        return Closed((y_end, v / r, u / r / r, w_end), {"w": f.relu(real) + f.abs(imaginary)})


asinh = Asinh()
register(asinh)
