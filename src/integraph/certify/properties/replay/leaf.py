"""Whether a property is proved on one box, or refuted at a point, in Arb alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from integraph.certify.problem import Box
from integraph.certify.properties.replay.rows import Row, affine, of_box
from integraph.certify.properties.replay.walk import RowArithmetic, outputs
from integraph.numbers.arb.conversion import precision
from integraph.targets.expression import evaluate
from integraph.targets.graph import Graph
from integraph.targets.network import Network
from integraph.targets.property import Comparison, Property, Quantity, fold

BITS, MORE = 64, 192  # on a box, and at a point
Ends = tuple[arb, arb]


def holds(source: Network | Graph, stated: Property, box: Box, degree: int, delta: float) -> bool:
    """Whether the property is proved for every x of the box and all outputs within delta of those of the source."""
    with precision(BITS):
        return _truth(source, stated, box, degree, delta)[0]


def fails(source: Network | Graph, stated: Property, point: Sequence[float], delta: float) -> bool:
    """Whether the property is refuted at a point, for all outputs within delta of those of the source."""
    with precision(MORE):
        return _truth(source, stated, Box(tuple(point), tuple(point)), 1, delta)[1]


def _truth(source: Network | Graph, stated: Property, box: Box, degree: int, delta: float) -> tuple[bool, bool]:
    x = of_box(box, degree)
    ends = _quantities(stated.quantities, box, x, outputs(source, x), delta)

    def one(c: Comparison) -> tuple[bool, bool]:
        threshold = _number(c.threshold)
        low, high = ends[c.quantity]
        if c.sense in (">=", "<"):
            yes, no = low >= threshold, high < threshold
        else:
            yes, no = low > threshold, high <= threshold
        return (bool(yes), bool(no)) if c.sense in (">=", ">") else (bool(no), bool(yes))

    return fold(
        stated.clause,
        one,
        lambda parts: (all(p[0] for p in parts), any(p[1] for p in parts)),
        lambda parts: (any(p[0] for p in parts), all(p[1] for p in parts)),
    )


def _quantities(quantities: Sequence[Quantity], box: Box, x: list[Row], y: list[Row], delta: float) -> list[Ends]:
    linear = [one for one in quantities if one.expression is None and one.outputs]
    used = [sorted({n for one in linear for n, _ in part(one)}) for part in (_outputs, _inputs)]
    rows = [*(y[n] for n in used[0]), *(x[n] for n in used[1])]
    matrix = np.zeros((len(linear), len(rows)))
    for n, one in enumerate(linear):
        for k, part in enumerate((one.outputs, one.inputs)):
            for place, a in part:
                matrix[n, k * len(used[0]) + used[k].index(place)] = a
    made = iter(affine(matrix, np.zeros(len(linear)), rows) if linear else ())
    ends: list[Ends] = []
    for one in quantities:
        if one.expression is not None:
            given = [(y if name[0] == "y" else x)[int(name[1:])] for name in one.expression.variables]
            ends.append(_ends(evaluate(one.expression, RowArithmetic(x[0].space), given)[0], arb(0)))
        elif one.outputs:
            ends.append(_ends(next(made), arb(delta) * sum(abs(a) for _, a in one.outputs)))
        else:
            ends.append(_input_ends(one, box))
    return ends


def _outputs(one: Quantity) -> tuple[tuple[int, int], ...]:
    return one.outputs


def _inputs(one: Quantity) -> tuple[tuple[int, int], ...]:
    return one.inputs


def _ends(row: Row, off: arb) -> Ends:
    value = row.value()
    if not value.is_finite():
        return arb.neg_inf(), arb.pos_inf()
    return (value.lower() - off).lower(), (value.upper() + off).upper()


def _input_ends(one: Quantity, box: Box) -> Ends:
    """A quantity of inputs alone, from the ends of the box, which are exact."""
    low = sum((arb(a) * arb(box.low[n] if a > 0 else box.high[n]) for n, a in one.inputs), arb(0))
    high = sum((arb(a) * arb(box.high[n] if a > 0 else box.low[n]) for n, a in one.inputs), arb(0))
    return low, high


def _number(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator
