"""GELU's tanh form, ½x(1 + tanh u), u = √(2/π)(x + 0.044715 x³), as four segments with stored weights.

q = a x² + η_q, u = c₁x + c₃x q + η_u, α from u by Lemma 1, z = c₅x + c₆xα + η_z. From the inside out, u is off by

    (c₁ − √(2/π))x + (c₃a − √(2/π)·0.044715)x³ + c₃xη_q + η_u

α by sech² times that and by Lemma 1's bracket, and z by (c₅ − ½)x + (c₆ − ½)x tanh u + c₆x(error of α) + η_z.
"""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb

from integraph.certify.network.activation_rules import RULES, ActivationRule, Roles, Wrong, sigmoid, turning
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, hull
from integraph.targets.activations import GELU_TANH_BEND, GELU_TANH_TURN


def gelu_tanh(weights: Mapping[str, arb]) -> ActivationRule:
    """With the stored weights a, c₁, c₃, c₅, c₆."""
    root, cubic = (2 / arb.pi()).sqrt(), arb("0.044715")
    a, c1, c3, c5, c6 = (weights[name] for name in ("square", "linear", "cubic", "half", "last"))

    def inner(x: arb) -> arb:
        return root * (x + cubic * x**3)

    def value(x: arb) -> arb:
        return x * sigmoid(2 * inner(x))

    def slope(x: arb) -> arb:
        t = inner(x).tanh()
        return (ONE + t) / 2 + x * (ONE - t * t) * root * (ONE + 3 * cubic * x * x) / 2

    def wrong(M: arb, eta: Roles) -> Wrong:
        u = hull(inner(M.lower()), inner(M.upper()))  # rises
        q = a * ranges.square(M) + eta["q"]
        fixed = (c1 - root) * M + (c3 * a - root * cubic) * ranges.power(M, 3)
        moved = c3 * M * eta["q"] + eta["u"]
        actual = u + fixed + moved
        steep = ranges.sech2(hull(u, actual))
        _, bracket, ends = RULES["tanh"].wrong(actual, eta)
        t = ranges.tanh(u)
        near = (c5 - arb(0.5)) * M + (c6 - arb(0.5)) * M * t + c6 * M * steep * fixed
        off = steep * moved + bracket
        alpha = t + steep * fixed + off
        return near, c6 * M * off + eta["z"], {"x": M, "q": q, "u": actual, "alpha": alpha, "lam": ends["lam"]}

    return ActivationRule(
        lambda x: turning(value, x, (-GELU_TANH_TURN,)),
        lambda x: turning(slope, x, (-GELU_TANH_BEND, GELU_TANH_BEND)),
        wrong,
    )
