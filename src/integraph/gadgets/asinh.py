"""asinh: y' = v, v' = −vw, u' = −2uw, w' = u² − w²; from (0, x, x, 0): y(1) = asinh x.

ζ = w + iu obeys ζ' = −ζ²; v falls as 1/|1 + ζ₀t|, and its integral is that of 1/distance along a straight line:
with R = |1 + ζ₀t| and L = |ζ₀t| it is t·ln((1 + R + L)/(1 + R − L))/L, where R − L = (1 + 2w₀t)/(R + L)."""

from __future__ import annotations

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Asinh(Elementwise):
    name = "asinh"
    targets = ("y", "v", "u", "w")
    operands = ()
    tensors = ()
    domain = "w must not start at −1 or below where u = 0"
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
        r, length = f.hypot(real, imaginary), f.hypot(t * u, t * w)
        below = 1.0 + (1.0 + 2.0 * t * w) / (r + length)
        y_end = y + v * t * (2.0 / below) * f.log1pc(2.0 * length / below)
        w_end = (w / r) * (real / r) + (u / r) * (imaginary / r)
        return Closed((y_end, v / r, u / r / r, w_end), {"w": f.relu(real) + f.abs(imaginary)})


asinh = Asinh()
register(asinh)
