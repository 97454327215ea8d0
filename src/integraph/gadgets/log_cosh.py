"""ln cosh: m' = x² − m², l' = m; from 0, l(1) = ln cosh x. m is the λ of Lemma 1 and l its integral."""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register

TINY = 1e-300  # see tanh.py


class LogCosh(Elementwise):
    name = "log_cosh"
    targets = ("m", "l")
    operands = ("x",)
    escapes = True
    domain = "m must start above −|x|·coth|x|"
    meaning = "from m = l = 0, l(1) = ln cosh x"
    equations = (
        ("m", 1, "x", "x"),
        ("m", -1, "m", "m"),
        ("l", 1, "m"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (m, l), (x,) = start, operands
        v = t * x
        size = f.abs(v)
        e, g = f.exp(-size), size + t * m
        rise = 0.5 * f.expm1c(-size) * (1.0 + e) * g
        u = e * e + rise
        forward = 1.0 if t >= 0 else -1.0
        m_end = (m * e * e + rise * forward * f.abs(x)) / u
        return Closed((m_end, l + f.log_cosh(v, t * m)), {"m": u - TINY})


log_cosh = LogCosh()
register(log_cosh)
