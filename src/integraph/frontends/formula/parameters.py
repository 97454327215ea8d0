"""Values of parameters as texts: a formula reads 1.5 for a where a = 1.5, and (pi/4) where a = "pi/4"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

from integraph.errors import UsageError
from integraph.frontends.formula.tokens import TOKEN
from integraph.frontends.formula.vocabulary import taken
from integraph.text import shortened

Parameters = Mapping[str, object] | None
LARGEST = 10**400  # whole number
SHOWN = 80  # characters of what is no value


def texts(parameters: Parameters) -> dict[str, str]:
    """Name → its value as it is written in a formula: floats by their shortest decimals, everything else exactly."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise UsageError('give names and values, as in {"a": 1.5}', argument="parameters", value=parameters)
    return {_name(name): _text(name, value) for name, value in parameters.items()}


def _name(name: object) -> str:
    match = TOKEN.fullmatch(name) if isinstance(name, str) else None
    if match is None or match.lastgroup != "name":
        raise UsageError(
            f"{name!r} cannot name a parameter: use letters, digits and _, as in a1", argument="parameters"
        )
    if what := taken(match[0]):
        raise UsageError(
            f"{name!r} cannot name a parameter: in a formula it is the {what}; choose another name",
            argument="parameters",
        )
    return match[0]


def _text(name: object, value: object) -> str:
    long = isinstance(value, Rational) and max(abs(int(value.numerator)), int(value.denominator)) > LARGEST
    said = None if long else _words(value)
    if said is None:
        shown = "a number of more than 400 digits" if long else shortened(repr(value), SHOWN)
        raise UsageError(
            f"{name} = {shown} is no value: give a finite number, a Fraction, or a text such as 'pi/4'",
            argument="parameters",
        )
    return said


def grouped(text: str) -> str:
    """A value in parentheses, unless it is one word."""
    match = TOKEN.fullmatch(text)
    return text if match is not None and match.lastgroup in ("number", "name") else f"({text})"


def _words(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    return repr(float(value)) if math.isfinite(value) else None
