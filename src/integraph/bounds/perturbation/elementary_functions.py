"""Functions of one argument from a start that is slightly off: bounds for every register.

The argument is M = x + δ where it should be x. A register that should end at F(x) is off by at most sup|F'|·|δ| plus
the effect of the wrong start on F(M). Starts are those that the gadget documents; registers that a gadget only adds to
(y of softplus, erf, arctan and asinh, l of log_cosh) may start anywhere. η is how far a start is from the one for M.

| gadget | register | end from the wrong start − F(M) |
|---|---|---|
| tanh, log_cosh | λ, m | λ₀ sech²M/(1 + λ₀ tanh(M)/M), F = M tanh M |
| log_cosh | l | η_l + ln(1 + m₀ tanh(M)/M) |
| sigmoid | g | σ(2η_g − ητ)/(1 + ητ), τ = tanh(M/2)/(M/2) |
| erf, gelu, gaussian | w | η_w, F = M² |
| erf | h | (η_h + F(M)) e^(−2w₀) …, F = 2M e^(−M²)/√π |
| gelu | h | the same with e^(−w₀), F = M e^(−M²/2)/√(2π) |
| arctan, asinh | ζ = w + iv, w + iu | 1/(1 + ζ₀) changes by |Δζ₀|/(|1 + ζ₀||1 + ζ₀'|) |
| asinh | v | v₀/|1 + ζ₀| |
| asinh | y | v₀∫ds/|1 + ζ₀s|, by its three derivatives |
| sinh_cosh | u, v | η_u cosh M + η_v sinh M, and the other way round |
| expm1 | z | η_z e^M |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.bounds.paper.lemma5 import BEND
from integraph.bounds.perturbation import activation_errors
from integraph.bounds.perturbation.activation_errors import Sizes, over
from integraph.bounds.perturbation.case import PerturbedEnd, PerturbedStart, point, times
from integraph.bounds.ranges.interval_functions import FUNCTIONS, even, rising, turning
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval, add, mul, power
from integraph.numbers.roundoff import UP, U
from integraph.targets.activations import ACTIVATIONS, steepest_slope

Ends = dict[str, PerturbedEnd]
LN2, ROOT_PI, ROOT_TWO_PI = math.log(2.0), math.sqrt(math.pi), math.sqrt(2.0 * math.pi)
MOMENT = 0.4289  # > sup |x| e^(−x²)
ARC = 0.4024  # > sup ln(1 + x²)/(2|x|)

x_tanh_x = even(rising(lambda x: x * np.tanh(x), least=0.0))
circle = even(rising(lambda x: 1.0 / (1.0 + np.square(1.0 / x)), least=0.0, most=1.0))  # x²/(1 + x²)
slope = rising(lambda x: np.copysign(1.0, x) / np.hypot(1.0, 1.0 / x), least=-1.0, most=1.0)  # x/√(1 + x²)


def _seen(case: PerturbedStart, name: str = "x") -> tuple[Interval, Floats, Interval, Sizes]:
    """x, δ, the range of M, and the sizes that `activation_errors` takes."""
    x, off = case.argument() if name == "x" else (case.starts[name], case.off[name])
    return x, off, x.widened(off), {**case.off, name: off, **case.own}


def _main(name: str, case: PerturbedStart, role: str, right: Interval | None = None) -> PerturbedEnd:
    """The register that holds the function itself."""
    x, off, M, rho = _seen(case)
    wrong, _ = activation_errors.WRONG[name](M, rho)
    return case.end(
        role, FUNCTIONS[name](x) if right is None else right, wrong + times(steepest_slope(ACTIVATIONS[name], M), off)
    )


def _lam(case: PerturbedStart, role: str) -> PerturbedEnd:
    x, off, M, rho = _seen(case)
    sech = 1.0 / np.cosh(np.minimum(M.distance, 350.0))
    bend = np.minimum(BEND, 2.0 * M.size)
    return case.end(role, x_tanh_x(x), over(rho[role] * sech * sech, rho[role]) + bend * off)


def tanh(case: PerturbedStart) -> Ends:
    return {"alpha": _main("tanh", case, "alpha"), "lam": _lam(case, "lam")}


def log_cosh(case: PerturbedStart) -> Ends:
    x, off, M, rho = _seen(case)
    wrong = rho["l"] + over(rho["m"], rho["m"]) + np.tanh(M.size) * off
    return {"m": _lam(case, "m"), "l": case.end("l", add(case.starts["l"], FUNCTIONS["log_cosh"](x)), wrong)}


def sigmoid(case: PerturbedStart) -> Ends:
    x, off, M, rho = _seen(case)
    half = np.maximum(0.5 * M.distance, 1e-9)
    small = (rho["s"] + 0.5 * rho["x"]) * np.tanh(half) / half
    wrong = FUNCTIONS["sigmoid"](M).high * over(2.0 * rho["g"] + small, small)
    steep = steepest_slope(ACTIVATIONS["sigmoid"], M)
    return {"s": _main("silu", case, "s"), "g": case.end("g", FUNCTIONS["sigmoid"](x), wrong + steep * off)}


def _plain(name: str) -> Callable[[PerturbedStart], Ends]:
    """The gadget of an activation: of the registers beside the function itself nothing is known in the end."""

    def rule(case: PerturbedStart) -> Ends:
        _, _, M, rho = _seen(case)
        _, others = activation_errors.WRONG[name](M, rho)
        unknown = PerturbedEnd(Interval(np.full(M.low.shape, -np.inf), np.full(M.low.shape, np.inf)), np.array(np.inf))
        return {role: unknown if role in others else _main(name, case, role) for role in case.off if role != "x"}

    return rule


def softplus(case: PerturbedStart) -> Ends:
    x, *_ = _seen(case)
    grown = add(FUNCTIONS["softplus"](x), point(np.array(-LN2)).widened(U))
    return {"s": _main("silu", case, "s"), "y": _main("softplus", case, "y", add(case.starts["y"], grown))}


def relu(case: PerturbedStart) -> Ends:
    """x·sigmoid(kx)."""
    x, off, M, rho = _seen(case)
    k = np.asarray(case.tensors["k"])
    scaled = mul(point(k), M)
    wrong, _ = activation_errors.relu(M, {**rho, "K": np.abs(k), "switching": np.ones_like(k), "scale": np.array(0.5)})
    right = mul(FUNCTIONS["silu"](mul(point(k), x)), power(point(k), Fraction(-1)))
    return {"s": case.end("s", right, wrong + steepest_slope(ACTIVATIONS["silu"], scaled) * off)}


def _gauss(case: PerturbedStart, rate: float, scale: float, turn: float) -> Ends:
    """w and h of erf and gelu: F = scale·x·e^(−rate·x²/2), h falls by e^(−rate·w₀) more."""
    x, off, M, rho = _seen(case)
    grown = np.expm1(rate * rho["w"])
    eta = rho["h"] + scale * rho["x"]
    falls = np.exp(-0.5 * rate * np.square(M.distance))
    moment = scale * MOMENT * math.sqrt(2.0 / rate)
    h = turning(lambda t: scale * t * np.exp(-0.5 * rate * np.square(t)), (-turn, turn))(x)
    wrong = eta * falls * (1.0 + grown) + moment * grown + scale * off
    return {"w": _square(case), "h": case.end("h", h, wrong)}


def _square(case: PerturbedStart) -> PerturbedEnd:
    x, off, M, rho = _seen(case)
    return case.end("w", power(x, Fraction(2)), rho["w"] + times(2.0 * M.size, off))


def erf(case: PerturbedStart) -> Ends:
    x, *_ = _seen(case)
    y = _main("erf", case, "y", add(case.starts["y"], FUNCTIONS["erf"](x)))
    return {**_gauss(case, 2.0, 2.0 / ROOT_PI, math.sqrt(0.5)), "y": y}


def gelu(case: PerturbedStart) -> Ends:
    return {**_gauss(case, 1.0, 1.0 / ROOT_TWO_PI, 1.0), "z": _main("gelu", case, "z")}


def gaussian(case: PerturbedStart) -> Ends:
    return {"w": _square(case), "y": _main("gaussian", case, "y")}


def _inverse(case: PerturbedStart, imaginary: str) -> tuple[Ends, Floats]:
    """ζ/(1 + ζ) from ζ = w + ix, and the smallest |1 + ζ'|."""
    x, off = case.starts[imaginary], case.off[imaginary]
    near = np.maximum(x.distance - off, 0.0)
    actual = np.hypot(np.maximum(1.0 - UP * case.off["w"], 0.0), near)
    moved = np.hypot(off, case.off["w"]) / (np.hypot(1.0, x.distance) * actual)
    v = turning(lambda t: 1.0 / (t + 1.0 / t), (-1.0, 1.0))(x)
    return {imaginary: case.end(imaginary, v, moved), "w": case.end("w", circle(x), moved)}, actual


def arctan(case: PerturbedStart) -> Ends:
    x, off, M, rho = _seen(case, "v")
    wrong, _ = activation_errors.arctan(M, rho)
    y = case.end(
        "y", add(case.starts["y"], FUNCTIONS["atan"](x)), wrong + steepest_slope(ACTIVATIONS["arctan"], M) * off
    )
    return {**_inverse(case, "v")[0], "y": y}


def asinh(case: PerturbedStart) -> Ends:
    """|1 + ζs|² ≥ a² + u²s² with a = 1 − |w₀|: by v, y grows by asinh(u/a)/u at most, by u and w by
    |v|·ln(1 + (u/a)²)/(2u²), and |v| ≤ |u| + what both are off."""
    x, rho = case.starts["u"], case.off
    ends, actual = _inverse(case, "u")
    a = np.maximum(1.0 - UP * rho["w"], 0.0)
    u = np.maximum(np.maximum(x.distance - rho["u"], 0.0), 1e-9 * a)
    by_v = np.minimum(np.arcsinh(u / a) / u, 1.0 / a)
    by_u = np.minimum(np.log1p(np.square(u / a)) / (2.0 * u * u), 0.5 / (a * a))
    by_u = np.minimum((x.size + rho["v"]) * by_u, ARC / a + (rho["u"] + rho["v"]) * by_u)
    y = rho["y"] + rho["v"] * by_v + (rho["u"] + rho["w"]) * by_u
    v = (rho["v"] + np.hypot(rho["u"], rho["w"])) / actual
    own = {"y": case.end("y", add(case.starts["y"], FUNCTIONS["asinh"](x)), y), "v": case.end("v", slope(x), v)}
    return {**ends, **own}


def sinh_cosh(case: PerturbedStart) -> Ends:
    x, off, M, rho = _seen(case)
    (sinh, cosh), (s, c) = ((FUNCTIONS[n](z) for n in ("sinh", "cosh")) for z in (x, M))
    u, v = case.starts["u"], case.starts["v"]
    right = {"u": add(mul(u, cosh), mul(v, sinh)), "v": add(mul(u, sinh), mul(v, cosh))}
    grown = {"u": (c.high, s.size), "v": (s.size, c.high)}
    return {
        role: case.end(
            role,
            right[role],
            times(by_u, rho["u"]) + times(by_v, rho["v"]) + times(times(by_v, u.size) + times(by_u, v.size), off),
        )
        for role, (by_u, by_v) in grown.items()
    }


def expm1(case: PerturbedStart) -> Ends:
    x, off, M, rho = _seen(case)
    z, grown = case.starts["z"], FUNCTIONS["exp"](M).high
    one = add(z, point(np.array(1.0)))
    right = add(mul(z, FUNCTIONS["exp"](x)), FUNCTIONS["expm1"](x))
    return {"z": case.end("z", right, times(grown, rho["z"]) + times(times(grown, one.size), off))}


COMPOSED = ("identity", "gelu_tanh", "sin", "leaky_relu")  # activations that are no gadget of that name, or take slopes
WRONG: dict[str, Callable[[PerturbedStart], Ends]] = {
    **{name: _plain(name) for name in activation_errors.WRONG if name not in COMPOSED},  # or sharper, below
    "tanh": tanh,
    "log_cosh": log_cosh,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "relu": relu,
    "erf": erf,
    "gelu": gelu,
    "gaussian": gaussian,
    "arctan": arctan,
    "asinh": asinh,
    "sinh_cosh": sinh_cosh,
    "expm1": expm1,
}
