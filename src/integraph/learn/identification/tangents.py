"""Formulas with their derivatives, many points at once: values (B,) and tangents (B, d)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets.expression import Expression, Step, evaluate
from integraph.targets.float_arithmetic import OPERATIONS, FloatArithmetic


class Tangent(NamedTuple):
    value: Floats
    slope: Any  # (B, d), or 0 for a constant


Slope = Callable[[Floats, Floats], Floats]  # x, f(x) → f'(x)
SLOPES: dict[str, Slope] = {
    "exp": lambda x, y: y,
    "expm1": lambda x, y: y + 1.0,
    "ln": lambda x, y: 1.0 / x,
    "log1p": lambda x, y: 1.0 / (1.0 + x),
    "log2": lambda x, y: 1.0 / (x * math.log(2.0)),
    "log10": lambda x, y: 1.0 / (x * math.log(10.0)),
    "sqrt": lambda x, y: 0.5 / y,
    "cbrt": lambda x, y: 1.0 / (3.0 * y * y),
    "sin": lambda x, y: np.cos(x),
    "cos": lambda x, y: -np.sin(x),
    "tan": lambda x, y: 1.0 + y * y,
    "sinh": lambda x, y: np.cosh(x),
    "cosh": lambda x, y: np.sinh(x),
    "tanh": lambda x, y: 1.0 - y * y,
    "asin": lambda x, y: 1.0 / np.sqrt(1.0 - x * x),
    "acos": lambda x, y: -1.0 / np.sqrt(1.0 - x * x),
    "atan": lambda x, y: 1.0 / (1.0 + x * x),
    "asinh": lambda x, y: 1.0 / np.sqrt(1.0 + x * x),
    "acosh": lambda x, y: 1.0 / np.sqrt(x * x - 1.0),
    "atanh": lambda x, y: 1.0 / (1.0 - x * x),
    "erf": lambda x, y: 2.0 / math.sqrt(math.pi) * np.exp(-x * x),
    "sigmoid": lambda x, y: y * (1.0 - y),
    "softplus": lambda x, y: OPERATIONS["sigmoid"](x),
}


class TangentArithmetic:
    """Forward differentiation; what has a kink has no rule."""

    def number(self, text: str) -> Tangent:
        return Tangent(FloatArithmetic().number(text), 0.0)

    def apply(self, step: Step, args: Sequence[Tangent]) -> Tangent:
        value = FloatArithmetic().apply(step, [arg.value for arg in args])
        a = args[0]
        if step.op in ("add", "sub"):
            return Tangent(value, a.slope + args[1].slope if step.op == "add" else a.slope - args[1].slope)
        if step.op == "neg":
            return Tangent(value, -a.slope)
        if step.op == "mul":
            return Tangent(value, _times(args[1].value, a.slope) + _times(a.value, args[1].slope))
        if step.op == "div":
            b = args[1]
            return Tangent(value, _times(1.0 / b.value, a.slope) - _times(value / b.value, b.slope))
        if step.op == "power" and step.text:
            p = float(Fraction(step.text))
            return Tangent(value, _times(p * np.power(a.value, p - 1.0), a.slope))
        if step.op not in SLOPES:
            raise SourceError(f"{step.op} has a kink or an exponent that varies: give a smooth function")
        return Tangent(value, _times(SLOPES[step.op](a.value, value), a.slope))


def _times(factor: Floats, slope: Any) -> Any:
    return slope if isinstance(slope, float) else np.asarray(factor)[..., None] * slope


def tangents(expression: Expression, x: Floats) -> tuple[Floats, Floats]:
    """Values (B, outputs) and slopes (B, outputs, d) at rows x (B, d)."""
    unit = np.eye(x.shape[1])
    columns = [Tangent(x[:, n], np.broadcast_to(unit[n], x.shape)) for n in range(x.shape[1])]
    with np.errstate(all="ignore"):
        results = evaluate(expression, TangentArithmetic(), columns)
    values = np.stack([np.broadcast_to(one.value, len(x)) for one in results], 1)
    return values, np.stack([np.broadcast_to(one.slope, x.shape) for one in results], 1)
