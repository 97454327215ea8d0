"""Taylor coefficients of a formula, proved: all of degree ≤ n at once, over a point or a whole box."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from integraph.numbers.arb.conversion import ZERO, Balls
from integraph.numbers.arb.jets import Jet, Jets, exponents_of
from integraph.numbers.arb.ranges import UNKNOWN
from integraph.targets.expression import Expression, evaluate


def taylor(expression: Expression, box: Sequence[arb], n: int) -> list[Balls]:
    """f^(α)(ξ)/α! for all ξ in the box: for each output the balls of |α| ≤ n, in the order of `below(d, n + 1)`.

    A ball that is not finite is unknown.
    """
    d, jets = len(box), Jets(len(box), n)
    outputs = evaluate(expression, jets, [jets.variable(i, ball) for i, ball in enumerate(box)])
    return [_listed(jet, d, n) for jet in outputs]


def _listed(jet: Jet, d: int, n: int) -> Balls:
    coefficients = [jet.value if jet.known else UNKNOWN]
    for degree in range(1, n + 1):
        exponents = exponents_of(d, degree, n)
        if degree >= jet.known:
            coefficients += [UNKNOWN] * len(exponents)
        elif degree > len(jet.parts):
            coefficients += [ZERO] * len(exponents)
        else:
            part = jet.parts[degree - 1]
            coefficients += [part[k] for k in exponents]
    return coefficients
