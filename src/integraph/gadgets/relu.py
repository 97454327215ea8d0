"""Smoothed ReLU: s' = k x s − k s²; from s = x/2: s(1) = x·sigmoid(kx), within 0.2785/k of max(x, 0)."""

from __future__ import annotations

from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Relu(Elementwise):
    name = "relu"
    targets = ("s",)
    operands = ("x",)
    tensors = ("a", "b", "k")
    domain = "s must not start below −x/(e^{kx} − 1)"
    equations = (
        ("s", 1, "k", "x", "s"),
        ("s", -1, "k", "s", "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s,), (x,) = start, operands
        kt = t * tensors["k"]
        v = kt * x
        below = f.exp(-f.relu(v)) + kt * s * f.expm1c(-f.abs(v))
        return Closed((s * f.exp(-f.relu(-v)) / below,), {"s": below})


relu = Relu()
register(relu)
