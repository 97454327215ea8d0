"""ReLU and leaky ReLU as flows, with the controls they have: s' = p x s − k s² − l x², ideally p = k(1 + c), l = k c.

With P = p/k, D = P²/4 − l/k and w = s − P x/2 it is w' = k(D x² − w²), the equation of λ in Lemma 1, so that with
X = k√D x, W₀ = k(s(0) − P x/2), U = 2|X| and g(U) = U/(1 + e^U)

    s(1) = P x/2 + sign(k)(√D |x| − g(U)/|k|) + W₀ sech²X/(k(1 + W₀ tanh(X)/X))

and leaky ReLU is (1 + c)x/2 + (1 − c)|x|/2. From s(0) = (1 + c)x/2 + η, with P' = P − 1 − c: W₀ = k(η − P' x/2).
"""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb

from integraph.certify.network.activation_rules import ActivationRule, Roles, Wrong, positive, turning
from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, hull

PEAK = 1.2784645427610738  # where g is largest


def rectifier(p: arb, k: arb, l: arb, c: arb) -> ActivationRule:
    """Of one unit, or with hulls of the controls of several."""
    P = p / k
    D = positive(P * P / 4 - l / k)
    root, side = D.sqrt(), (ONE if k > 0 else -ONE if k < 0 else arb.nan())
    off = P - 1 - c

    def wrong(M: arb, eta: Roles) -> Wrong:
        X, size = k * root * M, ranges.abs_(M)
        W = k * (eta["s"] - off * M / 2)
        below = positive(ONE + W * ranges.tanhc(X))
        stretch = ranges.sech2(X) / below
        near = off * M / 2 * (ONE - stretch) + size * (side * root - (ONE - c) / 2)
        near -= side * turning(_g, (2 * abs(k) * root * size).nonnegative_part(), (PEAK,)) / abs(k)
        return near, eta["s"] * stretch, {"x": M}

    return ActivationRule(lambda x: leaky(x, c), lambda x: steps(x, c), wrong)


def leaky(x: arb, c: arb) -> arb:
    """The range of leaky ReLU."""
    if not x.is_finite():
        return arb.nan()
    if x >= 0:
        return x
    if x <= 0:
        return c * x
    return hull(ZERO, x.upper(), c * x.lower())


def steps(x: arb, c: arb) -> arb:
    """The range of its slopes."""
    if x >= 0:
        return ONE
    return c if x <= 0 else hull(c, ONE)


def bend(x: arb, kappa: arb, c: arb) -> arb:
    """The range of κx − leaky ReLU of x."""
    if not x.is_finite():
        return arb.nan()
    if x >= 0:
        return (kappa - 1) * x
    if x <= 0:
        return (kappa - c) * x
    return hull(ZERO, (kappa - 1) * x.upper(), (kappa - c) * x.lower())


def lanes(parameters: Mapping[str, list[float]]) -> tuple[list[ActivationRule], ActivationRule]:
    """One rule for each unit that runs, and one that covers all of them."""
    columns = [[arb(v) for v in parameters[name]] for name in ("p", "k", "l", "c")]
    return [rectifier(*row) for row in zip(*columns, strict=True)], rectifier(*(hull(*column) for column in columns))


def _g(u: arb) -> arb:
    e = (-u).exp()
    return u * e / (ONE + e)
