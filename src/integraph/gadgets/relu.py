"""Smoothed ReLU: s' = k x s − k s²; from s = x/2: s(1) = x·sigmoid(kx), within 0.2785/k of max(x, 0)."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Relu(Elementwise):
    name = "relu"
    targets = ("s",)
    operands = ("x",)
    tensors = ("a", "b", "k")
    escapes = True
    domain = "s must start above −x/(e^{kx} − 1); x/2 is"
    meaning = "from s = x/2, s(1) = x/(1 + e^(−k·x)), close to max(x, 0)"
    equations = (
        ("s", 1, "k", "x", "s"),
        ("s", -1, "k", "s", "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s,), (x,) = start, operands
        kt = t * tensors["k"]
        alive, s_end = f.logistic(kt * x, kt * s, s)  # s = s₀ e^{kxt}/N, N = 1 + s₀(e^{kxt} − 1)/x
        return Closed((s_end,), {"s": alive})


relu = Relu()
register(relu)
