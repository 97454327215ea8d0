"""Relaxation: z' = r(v − z), z(1) = v + e^{−r}(z(0) − v): brings a register from any value to the constant v.

Where r t > 0 the end is a mean of z and v, written as one: nothing cancels. Where r t < 0 the distance from v
grows, but z = v, an unstable equilibrium, stays.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Relax(Elementwise):
    name = "relax"
    targets = ("z",)
    tensors = ("r", "v")
    meaning = "z(1) = v + e^(−r)·(z(0) − v)"
    equations = (
        ("z", -1, "r", "z"),
        ("z", 1, "r", "v"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (z,), v = start, tensors["v"]
        rise, fall = f.relu(-t * tensors["r"]), f.relu(t * tensors["r"])  # one of them is 0, and its line does nothing
        z = z + f.grow((v - z) * f.expm1(-rise), rise)
        return Closed((f.grow(z, -fall) - v * f.expm1(-fall),))


relax = Relax()
register(relax)
