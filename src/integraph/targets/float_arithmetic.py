"""Formulas in float64: the arithmetic of plain values, many points at once. Values that are not real are NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats
from integraph.targets.expression import CONDITION, CONSTANTS, Expression, Step, evaluate

VALUES = dict(zip(CONSTANTS, (math.pi, math.e), strict=True))

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    CONDITION: lambda g, a, b: np.where(np.isnan(g), np.nan, np.where(g < 0, a, b)),
    "ln": np.log,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": lambda x: scipy.special.erf(x),
    "sigmoid": lambda x: scipy.special.expit(x),
    "softplus": lambda x: np.logaddexp(0.0, x),
    **{name: getattr(np, name) for name in ("exp", "expm1", "log1p", "log2", "log10", "sqrt", "cbrt")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}


class FloatArithmetic:
    """Values are arrays (B,), constants are arrays ()."""

    def number(self, text: str) -> Floats:
        return np.array(VALUES[text] if text in VALUES else float(text))

    def apply(self, step: Step, args: Sequence[Floats]) -> Floats:
        result: Floats = _power(step, *args) if step.op == "power" else OPERATIONS[step.op](*args)
        return result


def _power(step: Step, base: Floats, exponent: Floats) -> Floats:
    """x^p. A negative base has integer powers only; with an exponent that varies it is e^(p ln x), for x ≥ 0."""
    if step.text:
        power: Floats = np.power(base, float(Fraction(step.text)))
        return power
    power = np.power(np.where(base < 0, np.nan, base), exponent)
    return power


def values(expression: Expression, x: Floats) -> Floats:
    """(B, d) → (B, m)."""
    with np.errstate(all="ignore"):
        columns = evaluate(expression, FloatArithmetic(), list(x.T))
    return np.stack([np.broadcast_to(column, len(x)) for column in columns], 1)
