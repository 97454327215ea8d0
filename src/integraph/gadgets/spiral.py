"""An exponential and a sine or cosine: u' = g u + θ v, v' = g v − θ u, g = Σ_r w_r x_r + b, θ = Σ_s c_s t_s + d.

From (0, z): (z e^g sin θ, z e^g cos θ). x has the shape of the lanes and (R,), t that of the lanes and (S,)."""

from __future__ import annotations

from integraph.gadgets.growth import Growth
from integraph.program import register


class Spiral(Growth):
    name = "spiral"
    restores = True
    targets = ("u", "v")
    operands = ("x", "t")
    tensors = ("w", "b", "c", "d")
    domain = "u and v must stay below 1.8e308"


spiral = Spiral()
register(spiral)
