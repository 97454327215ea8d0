"""How far the flow of an activation is from the activation, when neither argument nor start is quite right.

In the registers an activation f has the argument M̂ = M + δ instead of M, and every role of its recipe starts off by η:
at scale·M̂ + shift + η. Then

    output − f(M) = [f(M̂) − f(M)] + [output − f(M̂)],    f(M̂) − f(M) ∈ f'(hull(M, M̂))·δ

and the second bracket is exact, as derived below for each flow (τ = tanh(m)/m, s = sech m at the argument m, E stands
for a number between 1 and the exponential next to it). Balls keep signs, so on small boxes errors cancel as they do in
truth. `wrong` returns the bracket, in what does not depend on η and what does, and what the other roles hold at the
end. GELU's tanh form follows below; rectifiers have a file of their own.

| flow | output − f(M̂) |
|---|---|
| tanh: α' = M − αλ, λ' = M² − λ² | (s α₀ − λ₀ s(1 − s)/M)/(1 + λ₀τ), and λ = M tanh M + λ₀ s²/(1 + λ₀τ) |
| silu: s' = Ms − s² | w = s − M/2 obeys λ's equation with m = M/2: η s²/(1 + ητ) |
| softplus: y' = s | η_y + ln(1 + ητ), the integral of that |
| log_cosh: l' = m, m the λ of tanh | η_l + ln(1 + η_m τ), the integral of λ |
| arctan: ζ' = −ζ², ζ = w + iv | η_y + arg(1 + w₀ + iM) − arg(1 + iM) = η_y − w₀ M/((1 + θw₀)² + M²), 0 ≤ θ ≤ 1 |
| sin: u' = Mv, v' = −Mu | u₀ cos M + η_v sin M |
| exp: z' = Mz | η_z e^M |
| gaussian: w' = M², y' = −2wy | (e^(−2w₀) − 1 + η_y e^(−2w₀)) e^(−M²) |
| erf: h' = −2wh, y' = h | η_y + η_h E ∫e^(−M²t²) − 2w₀E (1 − e^(−M²))/(√π M), E by e^(−2w₀) |
| gelu: h' = −wh, z' = Mh | η_z + η_h E M∫e^(−M²t²/2) − w₀E (1 − e^(−M²/2))/√(2π), E by e^(−w₀) |

1 + λ₀τ and 1 + ητ must be positive for the flow to exist; where a ball cannot tell, nothing is known (NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, hull
from integraph.targets.activations import GELU_TANH_BEND, GELU_TANH_TURN, GELU_TURN, SILU_BEND, SILU_TURN

Roles = Mapping[str, arb]
Wrong = tuple[arb, arb, dict[str, arb]]
Range = Callable[[arb], arb]


@dataclass(frozen=True, slots=True)
class ActivationRule:
    """Ranges of f and of f' over a ball, as the registers have f, and the bracket."""

    value: Range
    slope: Range
    wrong: Callable[[arb, Roles], Wrong]


NEAR = arb(0, 1e-12)  # a turning point is known to 1e-15, and within this the function is flat


def turning(f: Range, x: arb, turns: tuple[float, ...]) -> arb:
    """The range of f, which is monotone between neighbouring turning points."""
    if not x.is_finite():
        return arb.nan()
    span = hull(f(x.lower()), f(x.upper()))
    for turn in turns:
        if x.overlaps(turn + NEAR):
            span = span.union(f(turn + NEAR))
    return span


def positive(ball: arb) -> arb:
    """The ball, if it is certainly positive."""
    return ball if ball > 0 else arb.nan()


def tanh_wrong(M: arb, eta: Roles) -> Wrong:
    if not M.is_finite():
        return ZERO, M, {"x": M, "lam": M}
    left, right = _lemma1(M.lower()), _lemma1(M.upper())
    kappa = hull(left[3], right[3])
    for turn in (ranges.TURN, -ranges.TURN):
        if M.overlaps(turn):
            kappa = kappa.union(_lemma1(turn)[3])
    if M.contains(0):
        left, right = _lemma1(ZERO), _lemma1(M.abs_upper())
    s, tau, turned, _ = (hull(a, b) for a, b in zip(left, right, strict=True))
    lam = eta["lam"]
    below = positive(ONE + lam * tau)
    bracket = (s * eta["alpha"] - lam * kappa) / below
    return ZERO, bracket, {"x": M, "lam": turned + lam * s * s / below}


def _lemma1(x: arb) -> tuple[arb, arb, arb, arb]:
    """sech x, tanh(x)/x, x tanh x, which never turn with |x|, and κ = sech x (1 − sech x)/x, from two exponentials."""
    if x == 0:
        return ONE, ONE, ZERO, ZERO
    size = abs(x)
    e, m = (-size).exp(), (-2 * size).expm1()
    s, t = 2 * e / (2 + m), -m / (2 + m)
    return s, t / size, size * t, s * t * t / ((1 + s) * x)


def silu_wrong(M: arb, eta: Roles) -> Wrong:
    half = M / 2
    below = positive(ONE + eta["s"] * ranges.tanhc(half))
    return ZERO, eta["s"] * ranges.sech2(half) / below, {"x": M}


def softplus_wrong(M: arb, eta: Roles) -> Wrong:
    _, off, ends = silu_wrong(M, eta)
    grown = eta["s"] * ranges.tanhc(M / 2)
    return ZERO, eta["y"] + ranges.log1p(grown), {**ends, "s": silu(M) + off}


def log_cosh_wrong(M: arb, eta: Roles) -> Wrong:
    _, _, ends = tanh_wrong(M, {"alpha": ZERO, "lam": eta["m"]})
    return ZERO, eta["l"] + ranges.log1p(eta["m"] * ranges.tanhc(M)), {"x": M, "m": ends["lam"]}


def arctan_wrong(M: arb, eta: Roles) -> Wrong:
    real = positive(ONE + eta["w"])
    between = positive(ONE + hull(ZERO, eta["w"]))
    q, end = M / between, M / real
    lost = eta["w"] * turning(_over_one_plus_square, q, (-1.0, 1.0)) / between
    v = turning(_over_one_plus_square, end, (-1.0, 1.0)) / real
    return ZERO, eta["y"] - lost, {"v": v, "w": ONE - lorentz(end) / real}


def sin_wrong(M: arb, eta: Roles) -> Wrong:
    sine, cosine = ranges.sin(M), ranges.cos(M)
    return ZERO, eta["u"] * cosine + eta["v"] * sine, {"x": M, "v": (ONE + eta["v"]) * cosine - eta["u"] * sine}


def exp_wrong(M: arb, eta: Roles) -> Wrong:
    return ZERO, eta["z"] * ranges.exp(M), {"x": M}


def gaussian_wrong(M: arb, eta: Roles) -> Wrong:
    fall = -2 * eta["w"]
    return (
        ZERO,
        (fall.expm1() + eta["y"] * fall.exp()) * ranges.gaussian(M),
        {"x": M, "w": eta["w"] + ranges.square(M)},
    )


def erf_wrong(M: arb, eta: Roles) -> Wrong:
    w, root = eta["w"], arb.const_sqrt_pi()
    E = hull(ONE, (-2 * w).exp())
    bracket = eta["y"] + eta["h"] * E * _erf_mean(M) - 2 * w * E * turning(_bite, M, (-BITE, BITE)) / root
    h = (2 * M / root + eta["h"]) * (-2 * w).exp() * ranges.gaussian(M)
    return ZERO, bracket, {"x": M, "w": w + ranges.square(M), "h": h}


def gelu_wrong(M: arb, eta: Roles) -> Wrong:
    w, root = eta["w"], (2 * arb.pi()).sqrt()
    E, bell = hull(ONE, (-w).exp()), ranges.gaussian(M / arb(2).sqrt())
    reach = (arb.pi() / 2).sqrt() * ranges.erf(M / arb(2).sqrt())
    bracket = eta["z"] + eta["h"] * E * reach - w * E * (ONE - bell) / root
    return ZERO, bracket, {"x": M, "w": w + ranges.square(M), "h": (M / root + eta["h"]) * (-w).exp() * bell}


def silu(M: arb) -> arb:
    return turning(lambda x: x * sigmoid(x), M, (-SILU_TURN,))


def log_cosh(M: arb) -> arb:
    """Even, and rising with |M|."""
    return hull(*(x + (ranges.log1p((-2 * x).exp()) - arb.const_log2()) for x in (M.abs_lower(), M.abs_upper())))


def lorentz(M: arb) -> arb:
    return ONE / (ONE + ranges.square(M))


def sigmoid(x: arb) -> arb:
    return (ONE + (x / 2).tanh()) / 2


def _silu_slope(x: arb) -> arb:
    s = sigmoid(x)
    return s + x * s * (ONE - s)


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _gelu_slope(x: arb) -> arb:
    return _normal(x) + x * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def _over_one_plus_square(x: arb) -> arb:
    return x / (ONE + x * x)


BITE = 1.1209064227785340  # where (1 − e^(−x²))/x is largest


def _bite(x: arb) -> arb:
    return ZERO if x == 0 else -(-x * x).expm1() / x


def _erf_mean(M: arb) -> arb:
    """∫_0^1 e^(−M²t²) dt = (√π/2) erf(M)/M, even and falling."""
    near, far = M.abs_lower(), M.abs_upper()
    return hull(*(ONE if x == 0 else arb.const_sqrt_pi() / 2 * x.erf() / x for x in (near, far)))


RULES: dict[str, ActivationRule] = {
    "identity": ActivationRule(lambda x: x, lambda x: ONE, lambda M, eta: (ZERO, ZERO, {})),
    "tanh": ActivationRule(ranges.tanh, ranges.sech2, tanh_wrong),
    "softplus": ActivationRule(lambda x: ranges.softplus(x) - arb.const_log2(), ranges.sigmoid, softplus_wrong),
    "silu": ActivationRule(silu, lambda x: turning(_silu_slope, x, (-SILU_BEND, SILU_BEND)), silu_wrong),
    "log_cosh": ActivationRule(log_cosh, ranges.tanh, log_cosh_wrong),
    "arctan": ActivationRule(ranges.atan, lorentz, arctan_wrong),
    "sin": ActivationRule(ranges.sin, ranges.cos, sin_wrong),
    "exp": ActivationRule(ranges.exp, ranges.exp, exp_wrong),
    "gaussian": ActivationRule(
        ranges.gaussian,
        lambda x: turning(lambda y: -2 * y * (-y * y).exp(), x, (-(0.5**0.5), 0.5**0.5)),
        gaussian_wrong,
    ),
    "erf": ActivationRule(ranges.erf, lambda x: 2 / arb.const_sqrt_pi() * ranges.gaussian(x), erf_wrong),
    "gelu": ActivationRule(
        lambda x: turning(lambda y: y * _normal(y), x, (-GELU_TURN,)),
        lambda x: turning(_gelu_slope, x, (-(2.0**0.5), 2.0**0.5)),
        gelu_wrong,
    ),
}


def gelu_tanh(weights: Mapping[str, arb]) -> ActivationRule:
    """½x(1 + tanh u), u = √(2/π)(x + 0.044715 x³), as four segments with the stored weights a, c₁, c₃, c₅, c₆.

    q = a x² + η_q, u = c₁x + c₃x q + η_u, α from u by Lemma 1, z = c₅x + c₆xα + η_z. From the inside out, u is off by

        (c₁ − √(2/π))x + (c₃a − √(2/π)·0.044715)x³ + c₃xη_q + η_u

    α by sech² times that and by Lemma 1's bracket, and z by (c₅ − ½)x + (c₆ − ½)x tanh u + c₆x(error of α) + η_z.
    """
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
