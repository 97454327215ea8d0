"""Softplus and SiLU: s' = x s − s², y' = s; from s = x/2, y = ln 2: s(1) = x·sigmoid(x), y(1) = ln(1 + e^x).

y is ln 2 plus an increment, so its error is 1e-16 absolutely: nothing is left of ln(1 + e^x) below x = −36.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class Softplus(Elementwise):
    name = "softplus"
    targets = ("s", "y")
    operands = ("x",)
    escapes = True
    domain = "s must start above −x/(e^x − 1); x/2 is"
    meaning = "from s = x/2 and y = ln 2, y(1) = ln(1 + e^x)"
    equations = (
        ("s", 1, "x", "s"),
        ("s", -1, "s", "s"),
        ("y", 1, "s"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (s, y), (x,) = start, operands
        v = t * x
        alive, s_end = f.logistic(v, t * s, s)  # s = s₀ e^v/N, N = 1 + s₀(e^v − 1)/x
        return Closed((s_end, y + f.log_logistic(v, t * s)), {"s": alive})


softplus = Softplus()
register(softplus)
