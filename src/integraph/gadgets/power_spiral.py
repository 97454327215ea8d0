"""A product of powers, an exponential and a sine or cosine: `powers` and `spiral` in one run.

p_k' = −p_k², u' = g u + θ v, v' = g v − θ u with g = Σ_k a_k p_k + Σ_r w_r x_r + b and θ = Σ_s c_s t_s + d. From
p_k = ξ_k − 1 and (u, v) = (0, z): (u, v) becomes z·Π ξ_k^{a_k}·e^{w·x + b}·(sin θ, cos θ). u and v have the shape
rows + (n,), p rows + (K,)."""

from __future__ import annotations

from integraph.gadgets.growth import Growth
from integraph.program import register


class PowerSpiral(Growth):
    name = "power_spiral"
    targets = ("p", "u", "v")
    operands = ("x", "t")
    tensors = ("a", "w", "b", "c", "d")
    escapes = True
    domain = "the bases of powers must be > 0, p + 1 are multiples of them; u and v must stay below 1.8e308"


power_spiral = PowerSpiral()
register(power_spiral)
