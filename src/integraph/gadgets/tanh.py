"""tanh, Lemma 1: α' = x − αλ, λ' = x² − λ²; from 0, α(1) = tanh x and λ(1) = x tanh x.

With u = cosh v + λ₀t sinh(v)/v, v = xt: λ = u'/u and α u = α₀ + sinh v + λ₀t (cosh v − 1)/v. Everything is written in
e = e^{−|v|}, h = (1 − e)/|v| and g = |v| + λ₀t, scaled by e: nothing overflows and nothing cancels but g itself.
u has at most one zero, so the solution exists up to t if u(t) > 0. If λ₀ is −|x| to the last bit, an unstable
equilibrium, the scaled u is e^{−2|v|}; where that is not a normal number the start counts as escaping: α is unknown.
"""

from __future__ import annotations

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register

TINY = 1e-300


class Tanh(Elementwise):
    name = "tanh"
    targets = ("alpha", "lam")
    operands = ("x",)
    escapes = True
    domain = "λ must start above −|x|·coth|x|; Lemma 1 starts it at 0"
    meaning = "from alpha = lam = 0, alpha(1) = tanh x"
    equations = (
        ("alpha", 1, "x"),
        ("alpha", -1, "alpha", "lam"),
        ("lam", 1, "x", "x"),
        ("lam", -1, "lam", "lam"),
    )

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (alpha, lam), (x,) = start, operands
        v = t * x
        size = f.abs(v)
        e, h, g = f.exp(-size), f.expm1c(-size), size + t * lam
        half = 0.5 * h * g
        u = e * e + half * (1.0 + e)
        forward = 1.0 if t >= 0 else -1.0
        alpha_end = (alpha * e + f.sign(v) * (h * size) * (e + half)) / u
        lam_end = (lam * e * e + half * (1.0 + e) * forward * f.abs(x)) / u
        return Closed((alpha_end, lam_end), {"lam": u - TINY})


tanh = Tanh()
register(tanh)
