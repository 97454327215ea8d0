"""Smoothed leaky ReLU of slope c: s' = k (s − c x)(x − s); from s = (1 + c)x/2: s(1) = c x + (1 − c) x·sigmoid(Kx).

K = k(1 − c). The excess w = s − c x follows the logistic w' = k w((1 − c)x − w), as in relu. For K > 0, that is k > 0
if c < 1 and k < 0 if c > 1, s(1) is within |1 − c|·0.2785/K = 0.2785/|k| of x for x > 0 and of c x for x < 0, because
u/(1 + e^u) ≤ 0.2785. c = 1 is the identity.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class LeakyRelu(Elementwise):
    name = "leaky_relu"
    targets = ("s",)
    operands = ("x",)
    tensors = ("a", "b", "k", "c")
    escapes = True
    domain = "k·(s − c·x) must start above −Kx/(e^{Kx} − 1), K = k·(1 − c); s = (1 + c)·x/2 does"
    meaning = "from s = (1 + c)·x/2, s(1) = c·x + (1 − c)·x/(1 + e^(−k·(1 − c)·x)), close to x above 0, c·x below"
    equations = (
        ("s", 1, "k", "x", "s"),
        ("s", 1, "k", "c", "x", "s"),
        ("s", -1, "k", "s", "s"),
        ("s", -1, "k", "c", "x", "x"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s,), (x,) = start, operands
        kt, c = t * tensors["k"], tensors["c"]
        excess = s - c * x
        alive, excess = f.logistic(kt * ((1.0 - c) * x), kt * excess, excess)
        return Closed((c * x + excess,), {"s": alive})


leaky_relu = LeakyRelu()
register(leaky_relu)
