"""What float64 functions are trusted with: values and derivatives against Arb, at many points of all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest

from integraph.numbers.models.elementary_functions import TRUST, Power
from integraph.numbers.models.smooth_functions import SMOOTH, Algebraic
from model_truth import POWERS, TRUTH
from slow import mostly_slow

POINTS, BITS, FEW = 100_000, 200, 2000
arb = flint.arb


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


ARB: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda x: x.tanh(), "sigmoid": _sigmoid, "silu": lambda x: x * _sigmoid(x),
    "gelu_tanh": lambda x: x * _sigmoid((8 / arb.pi()).sqrt() * (x + arb(0.044715) * x**3)),
    "softplus": lambda x: x.exp().log1p(), "log_cosh": lambda x: x.cosh().log(), "gaussian": lambda x: (-x * x).exp(),
    "erf": lambda x: x.erf(), "gelu": lambda x: x * (-x / arb(2).sqrt()).erfc() / 2, "atan": lambda x: x.atan(),
    "exp": lambda x: x.exp(), "expm1": lambda x: x.expm1(), "ln": lambda x: x.log(),
    "log2": lambda x: x.log() / arb(2).log(), "log10": lambda x: x.log() / arb(10).log(),
    "log1p": lambda x: x.log1p(), "sqrt": lambda x: x.sqrt(), "sin": lambda x: x.sin(), "cos": lambda x: x.cos(),
    "tan": lambda x: x.tan(), "sinh": lambda x: x.sinh(), "cosh": lambda x: x.cosh(), "asin": lambda x: x.asin(),
    "acos": lambda x: x.acos(), "asinh": lambda x: x.asinh(), "acosh": lambda x: x.acosh(),
    "atanh": lambda x: x.atanh(),
}  # fmt: skip


def arguments(name: str, count: int) -> np.ndarray:
    truth, rng = TRUTH[name], np.random.default_rng([*name.encode()])
    if np.isfinite(truth.low) and np.isfinite(truth.high):
        return rng.choice([-1.0, 1.0], count) * (1.0 - 10.0 ** rng.uniform(-15, 0, count))
    sizes = 10.0 ** rng.uniform(-12, np.log10(truth.far), count)
    sizes[::2] = rng.uniform(0.0, min(truth.far, 40.0), len(sizes[::2]))
    return truth.low + sizes if np.isfinite(truth.low) else rng.choice([-1.0, 1.0], count) * sizes


def worst(name: str, f: Callable[[Any], Any], x: np.ndarray, values: np.ndarray, slack: float) -> float:
    """The largest relative error beyond the slack."""
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        most = 0.0
        for argument, value in zip(x.tolist(), values.tolist(), strict=True):
            true = f(arb(argument))
            off = float((abs(arb(value) - true) - slack).mid())
            most = max(most, off / max(float(abs(true).mid()), 1e-300))
        return most
    finally:
        flint.ctx.prec = before


@mostly_slow("name", SMOOTH, quick=0)
def test_values_at_many_points(name: str) -> None:
    x = arguments(name, POINTS)
    with np.errstate(all="ignore"):
        values = SMOOTH[name].value(x)
    assert worst(name, ARB[name], x, values, SMOOTH[name].slack) <= TRUST


@pytest.mark.parametrize("name", SMOOTH)
def test_values(name: str) -> None:
    x = arguments(name, FEW // 10)
    with np.errstate(all="ignore"):
        values = SMOOTH[name].value(x)
    assert worst(name, ARB[name], x, values, SMOOTH[name].slack) <= TRUST


@mostly_slow("name", [name for name, f in SMOOTH.items() if isinstance(f, Algebraic)], quick=3)
def test_what_derivatives_are_made_of(name: str) -> None:
    """y is as good as a value."""
    f, x = SMOOTH[name], arguments(name, FEW)
    assert isinstance(f, Algebraic)
    made = {
        np.tanh: "tanh", np.exp: "exp",
        **{SMOOTH[other].y: other for other in ("sigmoid", "gaussian")},  # type: ignore[attr-defined]
    }  # fmt: skip
    if f.y in made:
        with np.errstate(all="ignore"):
            assert worst(name, ARB[made[f.y]], x, f.y(x), f.slack) <= TRUST


@pytest.mark.parametrize("a", [*POWERS, 1 / 3, 0.1, -7.3])
def test_powers(a: float) -> None:
    rng = np.random.default_rng(0)
    x = 10.0 ** rng.uniform(-290 / max(1, abs(a)), 290 / max(1, abs(a)), FEW)
    assert worst("power", lambda t: t ** arb(a), x, Power(a).value(x), 0.0) <= TRUST
