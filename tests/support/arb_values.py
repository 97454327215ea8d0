"""From mpmath to balls, and back to a question: is it in there?"""

from __future__ import annotations

from typing import Any

from flint import arb, ctx, fmpz
from mpmath import mpf

DIGITS = 45  # to which references are trusted


def near(value: mpf) -> arb:
    """The ball around a reference value that it is trusted to."""
    mantissa, exponent = value.man_exp
    with ctx.workprec(256):
        middle = arb(fmpz(int(mantissa))) * arb(2) ** int(exponent) * (-1 if value < 0 else 1)
        return arb(middle, abs(middle) * arb(10) ** -DIGITS)


def holds(ball: arb, value: Any) -> bool:
    """Whether a ball that says something has the value inside."""
    exact = value if hasattr(value, "man_exp") else mpf(value)  # of whatever context: mpf would round it
    return bool(ball.is_finite() and ball.overlaps(near(exact)))
