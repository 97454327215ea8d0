"""Forms without terms are numbers: how many of their digits are known, and powers of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from integraph.constructions.graph.forms import GraphForm, constant
from integraph.constructions.graph.rounding import CONSTANT
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.roundoff import U

HALF = 2.0**-26  # of the digits of float64


def relative(form: GraphForm) -> int | None:
    """Roundings of a number, each of them relative to it; none if half of its digits have cancelled."""
    if form.size is None:
        return form.ops
    lost = form.ops * form.size
    return math.ceil(np.max(lost / np.abs(form.b))) if (lost * U < HALF * np.abs(form.b)).all() else None


def power_of_number(x: GraphForm, base: Floats, a: Fraction, text: str) -> GraphForm | None:
    """base^a, where base is a form x without terms, or |x|; none if its digits cancelled: how far it is off is then not
    known relative to it."""
    known = relative(x)
    if known is None:
        return None
    return constant(x.shape, _power(base, a, text), math.ceil(known * abs(a)) + CONSTANT if base.any() else 0)


def _power(base: Floats, a: Fraction, text: str) -> Floats:
    with np.errstate(all="ignore"):
        power: Floats = np.power(base, float(a))
    if not np.isfinite(power).all() or (power == 0).any() != (base == 0).any():
        bad = base.ravel()[~(np.isfinite(power) & (power != 0)).ravel()][0]
        why = (
            "its base is 0 for every input"
            if bad == 0
            else f"{bad:g} to the power {a} is not a number that float64 can hold"
        )
        raise SourceError(f"{text}: {why}")
    return power
