"""A product of powers and an exponential: p_k' = −p_k², z' = (Σ_k a_k p_k + Σ_r w_r x_r + b) z.

From p_k = ξ_k − 1, z becomes z·Π ξ_k^{a_k}·e^{w·x + b}. p has the shape rows + (K,), z rows + (n,), x rows + (n, R).
With K = 1, ξ the variance of a row and a = −½, it divides the row by its standard deviation. `powers(p, z, a=…)` has
no exponential.

As in `power`, the start rounds ξ − 1; the rest is good to a few ulp, even where a factor alone is not a normal number.
"""

from __future__ import annotations

from integraph.gadgets.growth import Growth
from integraph.program import register


class Powers(Growth):
    name = "powers"
    targets = ("p", "z")
    operands = ("x",)
    tensors = ("a", "w", "b")
    escapes = True
    domain = "the bases of powers must be > 0, p + 1 are multiples of them; z must stay below 1.8e308"


powers = Powers()
register(powers)
