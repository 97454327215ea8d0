"""A controller on rows of the checker: readings, a network or a formula, scaling and limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.loops.replay import rows as models
from integraph.certify.loops.replay.functions import apply, kink
from integraph.certify.loops.replay.polynomials import CONSTANT
from integraph.certify.loops.replay.rows import Row
from integraph.certify.loops.replay.series import Ring, Streams, held
from integraph.certify.problem import Unprovable
from integraph.numbers.arb.conversion import ZERO
from integraph.numbers.arrays import Floats
from integraph.targets.expression import Expression
from integraph.targets.network import Layer, Network


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


def inputs_of(controller: Controller | ControllerGroup, rows: Sequence[Row]) -> list[Row]:
    """The inputs of the plant, from the states."""
    if isinstance(controller, ControllerGroup):
        return [row for part in controller.parts for row in inputs_of(part, rows)]
    read = list(rows) if controller.readings is None else formula(controller.readings, rows)
    source = controller.source
    if not isinstance(source, Expression | Network):
        raise Unprovable("a controller is checked if it is a formula of smooth functions or a network")
    out = formula(source, read) if isinstance(source, Expression) else _network(source, read)
    made = []
    for n, row in enumerate(out):
        u = row.scaled(arb(1), -arb(float(controller.offset[n]))).scaled(arb(float(controller.scale[n])))
        if controller.limits is not None:
            low, high = (arb(float(ends[n])) for ends in (controller.limits.low, controller.limits.high))
            above = kink(u.scaled(arb(1), -low), ZERO).scaled(arb(1), low)
            u = kink(above.scaled(arb(-1), high), ZERO).scaled(arb(-1), high)
        made.append(u)
    return made


def _network(network: Network, rows: list[Row]) -> list[Row]:
    symbols = len(rows[0].g)
    for layer in network.layers:
        rows = [_activated(layer, n, row) for n, row in enumerate(_affine(layer.A, layer.b, rows))]
    return [
        Row(row.k, row.p, row.g[:symbols], (row.r + sum((abs(x) for x in row.g[symbols:]), ZERO)).upper())
        for row in rows
    ]


def _affine(A: Floats, b: Floats, rows: list[Row]) -> list[Row]:
    """A x + b: one product of matrices, in which every radius is a symbol."""
    monomials = sorted({monomial for row in rows for monomial in row.p})
    own = {n: place for place, n in enumerate(n for n, row in enumerate(rows) if not row.r.is_zero())}
    table = []
    for n, row in enumerate(rows):
        fresh = [ZERO] * len(own)
        if n in own:
            fresh[own[n]] = row.r
        table += [*(row.p.get(monomial, ZERO) for monomial in monomials), *row.g, *fresh]
    width = len(table) // len(rows)
    entries = (arb_mat(len(A), len(rows), A.ravel().tolist()) * arb_mat(len(rows), width, table)).entries()
    made = []
    for n, shift in enumerate(b.tolist()):
        line = entries[n * width : (n + 1) * width]
        p = dict(zip(monomials, line[: len(monomials)], strict=True))
        p[CONSTANT] = p.get(CONSTANT, ZERO) + shift
        made.append(models.trimmed(Row(rows[0].k, p, line[len(monomials) :], ZERO)))
    return made


def _activated(layer: Layer, unit: int, row: Row) -> Row:
    if layer.activation == "identity":
        return row
    if layer.activation in ("relu", "leaky_relu"):
        slope = layer.slope if layer.activation == "leaky_relu" else 0.0
        return kink(row, arb(float(np.broadcast_to(slope, (len(layer.A),))[unit])))
    return apply(layer.activation, row)
