"""Whether a property is proved on one box, or refuted at a point, in Arb alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from integraph.certify.problem import Box
from integraph.certify.properties.replay import linear_bounds
from integraph.certify.properties.replay.rows import Row, affine, of_box
from integraph.certify.properties.replay.walk import RowArithmetic, outputs
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from integraph.targets.expression import evaluate
from integraph.targets.graph import Graph
from integraph.targets.image import Image, quantity_images
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
    ends = _ranges(source, stated, box, degree, delta)

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


def _ranges(source: Network | Graph, stated: Property, box: Box, degree: int, delta: float) -> list[Ends]:
    """What every quantity is between."""
    linear = [one for one in stated.quantities if one.expression is None and one.outputs]
    lines = degree == 1 and box.low != box.high and isinstance(source, Network) and bool(linear)
    formulas = {}
    if lines and all(one.expression is None for one in stated.quantities):
        assert isinstance(source, Network)
        sides = [_matrix([part(one) for one in linear], count) for part, count in
                 ((_outputs, stated.outputs), (_inputs, stated.inputs))]  # fmt: skip
        made = iter(linear_bounds.ranges(source, box, *sides))
    else:
        x = of_box(box, degree)
        y = outputs(source, x)
        made = iter([row.value() for row in _linear(linear, x, y)])
        for n, one in enumerate(stated.quantities):
            if one.expression is not None:
                given = [(y if name[0] == "y" else x)[int(name[1:])] for name in one.expression.variables]
                formulas[n] = evaluate(one.expression, RowArithmetic(x[0].space), given)[0].value()
    image = quantity_images(source, stated)
    ends: list[Ends] = []
    for n, one in enumerate(stated.quantities):
        if n in formulas:
            ends.append(_ends(formulas[n]))
        elif one.outputs:
            off = arb(delta) * sum(abs(a) for _, a in one.outputs)
            low, high = _ends(next(made), image[n])
            ends.append(((low - off).lower(), (high + off).upper()))
        else:
            ends.append(_input_ends(one, box))
    return ends


def _linear(quantities: Sequence[Quantity], x: list[Row], y: list[Row]) -> list[Row]:
    """Linear quantities of outputs and inputs: one affine map of the rows that occur in them."""
    if not quantities:
        return []
    used = [sorted({n for one in quantities for n, _ in part(one)}) for part in (_outputs, _inputs)]
    rows = [*(y[n] for n in used[0]), *(x[n] for n in used[1])]
    first, second = (
        {n: place for place, n in enumerate(used[0])},
        {n: place for place, n in enumerate(used[1], len(used[0]))},
    )
    terms = [[*((first[n], a) for n, a in one.outputs), *((second[n], a) for n, a in one.inputs)] for one in quantities]
    return affine(_matrix(terms, len(rows)), np.zeros(len(quantities)), rows)


def _matrix(rows: Sequence[Sequence[tuple[int, int]]], columns: int) -> Floats:
    matrix = np.zeros((len(rows), columns))
    for n, terms in enumerate(rows):
        for place, a in terms:
            matrix[n, place] = a
    return matrix


def _outputs(one: Quantity) -> tuple[tuple[int, int], ...]:
    return one.outputs


def _inputs(one: Quantity) -> tuple[tuple[int, int], ...]:
    return one.inputs


def _ends(value: arb, image: Image = (None, None)) -> Ends:
    """Of a value that has an image, too, which says more where it is exact."""
    if not value.is_finite():
        return arb.neg_inf(), arb.pos_inf()
    low, high = value.lower(), value.upper()
    least, most = image
    return (
        low if least is None else low.max(_number(least).lower()),
        high if most is None else high.min(_number(most).upper()),
    )


def _input_ends(one: Quantity, box: Box) -> Ends:
    """A quantity of inputs alone, from the ends of the box, which are exact."""
    low = sum((arb(a) * arb(box.low[n] if a > 0 else box.high[n]) for n, a in one.inputs), arb(0))
    high = sum((arb(a) * arb(box.high[n] if a > 0 else box.low[n]) for n, a in one.inputs), arb(0))
    return low, high


def _number(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator
