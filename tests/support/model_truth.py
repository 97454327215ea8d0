"""The functions that models have rules for, in mpmath, and where their arguments may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath

MP, EXACT = mpmath.MPContext(), mpmath.MPContext()
MP.prec = 200
EXACT.prec = 8000  # more than sums and products of float64 need
CUBIC = MP.mpf(0.044715)  # as float64 has it


def sigmoid(x: Any) -> Any:
    return 1 / (1 + MP.exp(-x))


@dataclass(frozen=True)
class Truth:
    """f, the ends of its domain, and up to which size of an argument float64 has its values."""

    f: Callable[[Any], Any]
    low: float = -float("inf")
    high: float = float("inf")
    far: float = 1e4


def positive(f: Callable[[Any], Any]) -> Truth:
    return Truth(f, 0.0, far=1e280)


TRUTH = {
    "tanh": Truth(MP.tanh),
    "sigmoid": Truth(sigmoid, far=600),
    "silu": Truth(lambda x: x * sigmoid(x), far=600),
    "gelu_tanh": Truth(lambda x: x * sigmoid(2 * MP.sqrt(2 / MP.pi) * (x + CUBIC * x**3)), far=30),
    "softplus": Truth(lambda x: MP.log1p(MP.exp(x)), far=600),
    "log_cosh": Truth(lambda x: MP.log(MP.cosh(x)), far=600),
    "gaussian": Truth(lambda x: MP.exp(-x * x), far=25),
    "erf": Truth(MP.erf, far=25),
    "gelu": Truth(lambda x: x * MP.erfc(-x / MP.sqrt(2)) / 2, far=30),
    "atan": Truth(MP.atan, far=1e15),
    "exp": Truth(MP.exp, far=600),
    "expm1": Truth(MP.expm1, far=600),
    "ln": positive(MP.log),
    "log2": positive(lambda x: MP.log(x) / MP.log(2)),
    "log10": positive(lambda x: MP.log(x) / MP.log(10)),
    "log1p": Truth(MP.log1p, -1.0, far=1e280),
    "sqrt": positive(MP.sqrt),
    "sin": Truth(MP.sin, far=1e17),
    "cos": Truth(MP.cos, far=1e17),
    "tan": Truth(MP.tan, far=1e16),
    "sinh": Truth(MP.sinh, far=600),
    "cosh": Truth(MP.cosh, far=600),
    "asin": Truth(MP.asin, -1.0, 1.0),
    "acos": Truth(MP.acos, -1.0, 1.0),
    "asinh": Truth(MP.asinh, far=1e15),
    "acosh": Truth(MP.acosh, 1.0, far=1e15),
    "atanh": Truth(MP.atanh, -1.0, 1.0),
}
POWERS = (-2.5, -1.0, -0.5, 1.5, 2.0, 3.0, 4.0)


def power(a: float) -> Truth:
    whole = a >= 0 and a.is_integer()
    far = 1e300 ** (1 / (2 * max(1.0, abs(a))))
    return Truth(lambda x: x ** (int(a) if a.is_integer() else MP.mpf(a)), -float("inf") if whole else 0.0, far=far)
