"""New variables for units, as those of recurrent nets: functions g of sums s of the states, whose rates r = s' are
affine in the states and in such functions again.

A derivative g' = p(g)·r, with p of degree 2 at most, needs g²·r and g·r; theirs need g², r', and nothing else: r' is
affine in the terms of all g'. So four variables for each unit always do, whatever the number of units. Fewer may.
"""

from __future__ import annotations

from integraph.constructions.lifting.polynomials import Monomial, times
from integraph.constructions.lifting.ring import Ring


def unit_variables(ring: Ring, forced: tuple[int, ...]) -> list[Monomial]:
    """g², g·r and g²·r of every function g among `forced`, in a ring with generators for rates; those of degree 2 only
    where g' has them, and the cosine of a sine."""
    chosen: list[Monomial] = []
    for number in forced:
        for monomial in ring.derivatives[number]:
            exponents = dict(monomial)
            own = exponents.pop(number, 0)
            if own == 0:  # the derivative of a sine is its cosine, times r
                chosen += [((n, 1),) for n in exponents if n not in (ring.rates or ()) and n not in forced]
            if own not in (1, 2) or len(exponents) != 1:
                continue
            rate: Monomial = tuple(exponents.items())
            powers: list[Monomial] = [((number, e),) for e in range(1, int(own) + 1)]
            chosen += [*powers[1:], *(times(each, rate) for each in powers)]
    return list(dict.fromkeys(chosen))
