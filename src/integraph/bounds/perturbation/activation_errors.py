"""Activations as flows from a start that is slightly off: a tight Lemma 5 for every activation.

In a construction the registers of an activation do not start exactly where the lemma assumes: ρ[role] bounds the
residue of an earlier value. The argument itself is M = x + δ, and M is what the flow computes with. Then

    output − f(x) = [f(M) − f(x)] + [output from the wrong start − f(M)]

and the first bracket is at most sup|f'|·|δ|, which the caller adds. The second is bounded here, by closed forms;
`wrong[name](M, ρ)` returns it and the size of every other register at the end, the residue of the next layer.
A start s = M/2 + η is off by what is left in s and by half of what is left in x: η = ρ[s] + ρ[x]/2.

| flow | output from the wrong start − f(M) |
|---|---|
| tanh | s(α₀ − λ₀(1 − s)/M)/(1 + λ₀ tanh(M)/M), s = sech M, and s(1 − s)/M < 0.236 |
| silu | η sech²(M/2)/(1 + ητ), τ = tanh(M/2)/(M/2) ≤ 1 |
| softplus | η_y + ln(1 + ητ) |
| log_cosh | η_l + ln(1 + η_m tanh(M)/M) |
| arctan | η_y + arg(1 + w₀ + iM) − arg(1 + iM), whose derivative by w₀ is at most ½/(1 + w₀) |
| sin | u₀ cos M + η_v sin M |
| exp | η_z e^M |
| gaussian | ((1 + η_y) e^(−2w₀) − 1) e^(−M²) |
| erf | η_y + (η_h + h) e^(−2w₀)·∫e^(−M²t²) − …: the integral changes by a factor between e^(±2w₀) |
| gelu | the same with e^(±w₀), and ∫ ≤ √(π/2)/M |
| relu, leaky_relu | η sech²(KM/2)/(1 + Kητ); K|η| < 1 is needed |
| gelu_tanh | q = M² + η_q, u = c₁M + c₃Mq + η_u, α = tanh u + …, z = M/2 + Mα/2 + η_z |

1 + λ₀ tanh(M)/M and 1 + ητ are at least 1 − |λ₀| and 1 − |η|: where that is not positive, the bound is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP
from integraph.targets.activations import CUBIC, ROOT_2_PI

KAPPA = 0.236  # > sup sech(M)(1 − sech M)/M = 0.23594…
RELU = 0.27846454276107380  # sup |x sigmoid(x) − max(x, 0)|, rounded up

Sizes = Mapping[str, Floats]  # role → bound of a register
Wrong = tuple[Floats, dict[str, Floats]]


def over(size: Floats, small: Floats) -> Floats:
    """size/(1 − small), infinite where small ≥ 1; `small` is rounded up first, because near 1 its last bits are all."""
    small = small * UP
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(small < 1, size / np.maximum(1.0 - small, 1e-300), np.inf)


def identity(M: Interval, rho: Sizes) -> Wrong:
    return np.zeros_like(M.low), {}


def tanh(M: Interval, rho: Sizes) -> Wrong:
    sech = 1.0 / np.cosh(np.minimum(M.distance, 700.0))
    error = over(sech * rho["alpha"] + KAPPA * rho["lam"], rho["lam"])
    return error, {"x": M.size, "lam": np.maximum(M.size, over(rho["lam"], rho["lam"]))}


def silu(M: Interval, rho: Sizes) -> Wrong:
    eta = rho["s"] + 0.5 * rho["x"]
    return over(eta, eta), {"x": M.size}


def softplus(M: Interval, rho: Sizes) -> Wrong:
    eta = rho["s"] + 0.5 * rho["x"]
    return rho["y"] + over(eta, eta), {"x": M.size, "s": M.size + over(eta, eta)}


def log_cosh(M: Interval, rho: Sizes) -> Wrong:
    error = over(rho["m"], rho["m"])
    return rho["l"] + error, {"x": M.size, "m": M.size + error}


def arctan(M: Interval, rho: Sizes) -> Wrong:
    w = rho["w"]
    size = over(np.ones_like(w), w)  # |ζ/(1 + ζ)| with |1 + ζ| ≥ max(1 − |w|, |v|)
    return rho["y"] + 0.5 * over(w, w), {"v": size, "w": size}


def sin(M: Interval, rho: Sizes) -> Wrong:
    return rho["u"] + rho["v"], {"x": M.size, "v": 1.0 + rho["u"] + rho["v"]}


def exp(M: Interval, rho: Sizes) -> Wrong:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(rho["z"] == 0, 0.0, rho["z"] * np.exp(M.high)), {"x": M.size}  # 0·∞ is 0, NaN stays NaN


def gaussian(M: Interval, rho: Sizes) -> Wrong:
    grown = np.expm1(2.0 * rho["w"])
    return rho["y"] * (1.0 + grown) + grown, {"x": M.size, "w": np.square(M.size) + rho["w"]}


def erf(M: Interval, rho: Sizes) -> Wrong:
    grown, eta = np.expm1(2.0 * rho["w"]), rho["h"] + 2.0 / math.sqrt(math.pi) * rho["x"]
    h = 2.0 / math.sqrt(math.pi) * M.size + eta
    error = rho["y"] + eta * (1.0 + grown) + grown
    return error, {"x": M.size, "w": np.square(M.size) + rho["w"], "h": h * (1.0 + grown)}


def gelu(M: Interval, rho: Sizes) -> Wrong:
    grown, eta = np.expm1(rho["w"]), rho["h"] + rho["x"] / math.sqrt(2.0 * math.pi)
    h = M.size / math.sqrt(2.0 * math.pi) + eta
    reach = np.minimum(M.size, math.sqrt(0.5 * math.pi))  # of M·∫exp(−M²t²/2)
    error = rho["z"] + 0.5 * rho["x"] + eta * reach * (1.0 + grown) + 0.5 * M.size * grown
    return error, {"x": M.size, "w": np.square(M.size) + rho["w"], "h": h * (1.0 + grown)}


def relu(M: Interval, rho: Sizes) -> Wrong:
    """`K` and `switching` are not registers but the steepness, and 1 for the units that run at all."""
    eta = rho["s"] + rho["scale"] * rho["x"]
    return np.where(rho["switching"] > 0, over(eta, rho["K"] * eta), eta), {"x": M.size}


def gelu_tanh(M: Interval, rho: Sizes) -> Wrong:
    size = M.size
    cubic = ROOT_2_PI * CUBIC
    q = np.square(size) + rho["q"]
    u = ROOT_2_PI * size + cubic * size * q + rho["u"]
    wrong, ends = tanh(Interval(-u, u), rho)
    error = 0.5 * size * (cubic * size * rho["q"] + rho["u"] + wrong) + rho["z"]
    return error, {"x": size, "q": q, "u": u, "alpha": 1.0 + wrong, "lam": ends["lam"]}


WRONG: dict[str, Callable[[Interval, Sizes], Wrong]] = {
    "identity": identity,
    "tanh": tanh,
    "sigmoid": tanh,
    "arctan": arctan,
    "log_cosh": log_cosh,
    "softplus": softplus,
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "sin": sin,
    "exp": exp,
    "gaussian": gaussian,
    "erf": erf,
    "relu": relu,
    "leaky_relu": relu,
}
