"""Polynomials of numpy → functions: their coefficients are doubles, and stay exactly these."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from integraph.errors import SourceError
from integraph.frontends.formula.rationals import POWER, exact_number
from integraph.frontends.input_names import names
from integraph.numbers.arrays import numbers
from integraph.targets.expression import NUMBER, VARIABLE, Tape
from integraph.targets.function import Function, from_expression


def is_polynomial(source: Any) -> bool:
    """Whether an object is a polynomial in powers of x; other bases are Python functions."""
    return isinstance(source, Polynomial | np.poly1d)


def read(source: Any, variables: str | Sequence[object] | None = None) -> Function:
    """Σ c_k u^k with u = offset + scale·x, as numpy evaluates it."""
    given = ("x",) if variables is None else names(variables)
    if len(given) != 1:
        raise SourceError(f"variables = {', '.join(given)}: a polynomial of numpy has one input")
    ascending = source.coef if isinstance(source, Polynomial) else source.coeffs[::-1]
    coefficients = numbers(ascending, "the coefficients of the polynomial", SourceError).tolist()
    degree = len(coefficients) - 1
    if not np.isfinite(coefficients).all():
        raise SourceError(f"coefficients {coefficients}: they must be finite")
    if degree > POWER:
        raise SourceError(f"a polynomial of degree {degree}: at most {POWER}")
    offset, scale = source.mapparms() if isinstance(source, Polynomial) else (0.0, 1.0)
    tape = Tape(given)
    x = tape.add(VARIABLE, text=given[0])
    if (offset, scale) != (0.0, 1.0):
        x = tape.add("add", exact(offset, tape), tape.add("mul", exact(scale, tape), x))
    total = exact(coefficients[0], tape)
    for k, c in enumerate(coefficients[1:], 1):
        power = x if k == 1 else tape.add("power", x, tape.add(NUMBER, text=str(k)), text=str(k))
        total = tape.add("add", total, tape.add("mul", exact(c, tape), power)) if c else total
    name = f"polynomial of degree {degree}"
    return from_expression(tape.expression([total], name), name)


def exact(value: float, tape: Tape) -> int:
    return exact_number(Fraction(float(value)), tape)
