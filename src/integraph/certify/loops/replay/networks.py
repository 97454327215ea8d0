"""Networks on rows of the checker: one product of matrices a layer, a symbol for the radius of each neuron."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from integraph.certify.loops.replay import rows as models
from integraph.certify.loops.replay.functions import apply, kink
from integraph.certify.loops.replay.polynomials import CONSTANT
from integraph.certify.loops.replay.rows import Row
from integraph.numbers.arb.conversion import ZERO
from integraph.numbers.arrays import Floats
from integraph.targets.network import Layer, Network


def network_rows(network: Network, rows: Sequence[Row]) -> list[Row]:
    """The outputs; symbols of neurons become part of their radii."""
    symbols, values = len(rows[0].g), list(rows)
    for layer in network.layers:
        values = [_activated(layer, n, row) for n, row in enumerate(affine(layer.A, layer.b, values))]
    return [merged(row, symbols) for row in values]


def merged(row: Row, symbols: int) -> Row:
    """The row with its first symbols alone, the others in its radius."""
    return Row(row.k, row.p, row.g[:symbols], (row.r + sum((abs(x) for x in row.g[symbols:]), ZERO)).upper())


def affine(A: Floats, b: Floats, rows: Sequence[Row]) -> list[Row]:
    """A x + b: one product of matrices, in which every radius is a symbol, after all others."""
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
