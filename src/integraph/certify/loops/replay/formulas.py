"""Formulas on rows of the checker."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from integraph.certify.loops.replay import rows as models
from integraph.certify.loops.replay.functions import apply
from integraph.certify.loops.replay.rows import Row
from integraph.certify.loops.replay.series import Ring, Streams, held
from integraph.numbers.arb.conversion import ZERO
from integraph.targets.expression import Expression


def row_ring(k: int, symbols: int) -> Ring:
    """The arithmetic of rows."""

    def function(name: str | Fraction, row: Row) -> Row:
        return apply(name, row)

    return Ring(lambda ball: models.of_ball(ball, k, symbols), models.dot, function)


def formula(expression: Expression, rows: Sequence[Row]) -> list[Row]:
    """The outputs of a formula."""
    ring = row_ring(rows[0].k, len(rows[0].g))
    inputs = [held(row) for row in rows]
    zero = ring.number(ZERO)
    return [zero if (y := stream[0]) is None else y for stream in Streams(ring).formula(expression, inputs)]
