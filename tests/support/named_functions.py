"""From the start its docstring names, each gadget computes a named function at t = 1: start and mpmath's own value.

Where a start cannot be formed exactly (x − 1, x² − 1 round), the truth is that of the argument the start really holds.
`limit` is the largest |x| the start can be formed for without overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mpmath import mp, mpf

from integraph import gadgets
from integraph.gadgets import Gadget

Start = Callable[[float], Mapping[str, float]]
Truth = Callable[[mpf, Mapping[str, float]], Mapping[str, mpf]]


@dataclass(frozen=True)
class Named:
    name: str
    gadget: Gadget
    start: Start  # of targets and operands; what is not named starts at 0
    truth: Truth  # (x, start) → end values
    tensors: Mapping[str, Any] = field(default_factory=dict)
    sums: tuple[str, ...] = ()  # y₀ + increment: error relative to |y₀| + |increment|
    positive: bool = False  # only x > 0
    lowest: float = 0.0  # smallest |x| that the start can tell from 0
    limit: float = 1e300
    accuracy: float = 1e-14

    def allowed(self, x: float) -> bool:
        return self.lowest <= abs(x) <= self.limit and (x > 0 or not self.positive)


def _log_cosh(x: mpf) -> mpf:
    if abs(x) < 1:
        return mp.log1p(2 * mp.sinh(x / 2) ** 2)
    return abs(x) - mp.log(2) + mp.log1p(mp.exp(-2 * abs(x)))


def _softplus(x: mpf) -> mpf:
    return max(x, mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def _normal(x: mpf) -> mpf:
    """Φ(x); beyond 1e4 it is 0 or 1 to a thousand digits."""
    if abs(x) > 1e4:
        return mpf(1 if x > 0 else 0)
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _erf(x: mpf) -> mpf:
    return mp.sign(x) if abs(x) > 1e4 else mp.erf(x)


def _base(x: mpf, start: Mapping[str, float]) -> mpf:
    """1 + p, the argument that the start really holds."""
    return 1 + mpf(start["p"])


def _power(a: float, s: float = 1.0) -> Named:
    def truth(x: mpf, start: Mapping[str, float]) -> Mapping[str, mpf]:
        base = _base(x, start)
        return {"z": mpf(start["z"]) * base ** mpf(a), "p": mpf(start["p"]) / base}

    name = f"x^{a:g}" + (f" from s = {s:g}" if s != 1 else "")
    begin: Start = lambda x: {"p": x / s - 1, "z": s**a}  # noqa: E731
    return Named(name, gadgets.power, begin, truth, {"a": a}, positive=True, lowest=1e-15 * s, limit=1e300 * min(s, 1))


NAMED = (
    Named("exp", gadgets.exp, lambda x: {"z": 1.0, "x": x}, lambda x, _: {"z": mp.exp(x)}),
    Named("expm1", gadgets.expm1, lambda x: {"x": x}, lambda x, _: {"z": mp.expm1(x)}),
    Named("tanh", gadgets.tanh, lambda x: {"x": x}, lambda x, _: {"alpha": mp.tanh(x), "lam": x * mp.tanh(x)}),
    Named("ln cosh", gadgets.log_cosh, lambda x: {"x": x}, lambda x, _: {"l": _log_cosh(x), "m": x * mp.tanh(x)}),
    Named(
        "ln",
        gadgets.ln,
        lambda x: {"p": x - 1},
        lambda x, s: {"z": mp.log1p(mpf(s["p"])), "p": mpf(s["p"]) / _base(x, s)},
        positive=True,
        lowest=1e-15,
    ),
    _power(2.5),
    _power(-0.5),
    _power(-1.0),
    _power(1000.0),
    _power(-0.5, 1e-200),
    _power(-1.0, 1e100),
    Named(
        "(1 + x)^1e6",
        gadgets.power,
        lambda x: {"p": x, "z": 1.0},
        lambda x, _: {"z": (1 + x) ** 1_000_000},
        {"a": 1e6},
        limit=1e-4,
    ),
    Named(
        "1/x of either sign",
        gadgets.power,
        lambda x: {"p": x * x - 1, "z": x},
        lambda x, s: {"z": x / _base(x, s)},
        {"a": -1.0},
        lowest=1e-7,
        limit=1e150,
    ),
    Named(
        "x^y",
        gadgets.variable_power,
        lambda x: {"p": x - 1, "q": 3.5 * (x - 1), "z": 1.0},
        lambda x, s: {"z": _base(x, s) ** (mpf(s["q"]) / mpf(s["p"])) if s["p"] else mpf(1)},
        positive=True,
        lowest=1e-15,
        limit=1e30,
        accuracy=1e-13,  # the exponent y ln x rounds
    ),
    Named("sin, cos", gadgets.sin_cos, lambda x: {"v": 1.0, "x": x}, lambda x, _: {"u": mp.sin(x), "v": mp.cos(x)}),
    Named(
        "sinh, cosh", gadgets.sinh_cosh, lambda x: {"v": 1.0, "x": x}, lambda x, _: {"u": mp.sinh(x), "v": mp.cosh(x)}
    ),
    Named(
        "arctan",
        gadgets.arctan,
        lambda x: {"v": x},
        lambda x, _: {"y": mp.atan(x), "v": x / (1 + x * x), "w": x * x / (1 + x * x)},
    ),
    Named(
        "asinh",
        gadgets.asinh,
        lambda x: {"v": x, "u": x},
        lambda x, _: {"y": mp.asinh(x), "v": x / mp.sqrt(1 + x * x), "u": x / (1 + x * x), "w": x * x / (1 + x * x)},
    ),
    Named(
        "softplus",
        gadgets.softplus,
        lambda x: {"s": x / 2, "y": math.log(2), "x": x},
        lambda x, _: {"s": x * _sigmoid(x), "y": _softplus(x)},
        sums=("y",),
    ),
    Named("SiLU", gadgets.silu, lambda x: {"s": x / 2, "x": x}, lambda x, _: {"s": x * _sigmoid(x)}),
    Named(
        "sigmoid",
        gadgets.sigmoid,
        lambda x: {"s": x / 2, "g": 0.5, "x": x},
        lambda x, _: {"s": x * _sigmoid(x), "g": _sigmoid(x)},
    ),
    Named(
        "smoothed ReLU",
        gadgets.relu,
        lambda x: {"s": x / 2, "x": x},
        lambda x, _: {"s": x * _sigmoid(8 * x)},
        {"k": 8.0},
    ),
    *(
        Named(
            f"smoothed leaky ReLU of slope {c:g}",
            gadgets.leaky_relu,
            lambda x, c=c: {"s": (1 + c) / 2 * x, "x": x},  # type: ignore[misc]
            lambda x, _, k=k, c=c: {"s": c * x + (1 - mpf(c)) * x * _sigmoid(k * (1 - mpf(c)) * x)},  # type: ignore[misc]
            {"k": k, "c": c},
            sums=("s",),
        )
        for k, c in ((8.0, 0.01), (-8.0, 2.5), (8.0, -0.5))
    ),
    Named(
        "Gaussian",
        gadgets.gaussian,
        lambda x: {"y": 1.0, "x": x},
        lambda x, _: {"w": x * x, "y": mp.exp(-x * x)},
    ),
    Named(
        "erf",
        gadgets.erf,
        lambda x: {"h": 2 * x / math.sqrt(math.pi), "x": x},
        lambda x, _: {"y": _erf(x), "h": 2 * x / mp.sqrt(mp.pi) * mp.exp(-x * x)},
    ),
    Named(
        "GELU",
        gadgets.gelu,
        lambda x: {"h": x / math.sqrt(2 * math.pi), "z": x / 2, "x": x},
        lambda x, _: {"z": x * _normal(x), "h": x / mp.sqrt(2 * mp.pi) * mp.exp(-x * x / 2)},
        sums=("z",),
    ),
    Named("decay", gadgets.decay, lambda x: {"z": x}, lambda x, _: {"z": x * mp.exp(-40)}, {"r": 40.0}),
    *(
        Named(
            f"relaxation at rate {r:g}",
            gadgets.relax,
            lambda x: {"z": x},
            lambda x, _, r=r: {"z": x * mp.exp(-r) - 0.75 * mp.expm1(-r)},  # type: ignore[misc]
            {"r": r, "v": 0.75},
            sums=("z",),
        )
        for r in (40.0, 1500.0)
    ),
    Named("ramp", gadgets.ramp, lambda x: {}, lambda x, _: {"z": mpf(0.75)}, {"b": 0.75}),
)
