"""Networks on rows of the checker: one product of matrices a layer, a symbol for the radius of each neuron.

A neuron depends on the symbols of its inputs only by the inputs' errors e_i = Σ_n g_in ε_n. So layers carry one symbol
for each of these, e_i/|e_i|₁, and the shares g_in/|e_i|₁ say how far Σ_i s_i e_i/|e_i|₁ is from 0 at most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from integraph.certify.loops.replay.functions import apply, kink
from integraph.certify.loops.replay.products import combined, sizes_of_combinations, vector
from integraph.certify.loops.replay.rows import Row, of_values
from integraph.numbers.arb.conversion import ZERO, Balls
from integraph.numbers.arrays import Floats
from integraph.targets.network import Layer, Network


def network_rows(network: Network, rows: Sequence[Row]) -> list[Row]:
    """The outputs; symbols of neurons become part of their radii."""
    shares, values = _errors_as_symbols(rows)
    entries, count, n = shares.entries(), shares.ncols(), len(rows)
    vectors = [vector(entries[i * count : (i + 1) * count]) for i in range(n)]
    for layer in network.layers:
        read = affine(layer.A, layer.b, values)
        together = sizes_of_combinations([vector(row.g[:n]) for row in read], vectors)
        for row, size in zip(read, together, strict=True):
            row.errors = row.errors.min(sum(map(abs, row.g[n:]), row.r + size).upper())
        values = [_activated(layer, n, row) for n, row in enumerate(read)]
    made = [merged(row, n) for row in values]
    return [Row(row.k, row.p, g, row.r) for row, g in zip(made, _symbols(made, shares), strict=True)]


def _errors_as_symbols(rows: Sequence[Row]) -> tuple[arb_mat, list[Row]]:
    """The shares of all symbols in the errors of the rows, and the rows with their errors as symbols."""
    table: Balls = []
    values = []
    for n, row in enumerate(rows):
        total = sum(map(abs, row.g), ZERO).upper()
        table += [ZERO if total.is_zero() else x / total for x in row.g]
        values.append(Row(row.k, row.p, [total if m == n else ZERO for m in range(len(rows))], row.r))
    return arb_mat(len(rows), len(rows[0].g), table), values


def _symbols(rows: Sequence[Row], shares: arb_mat) -> list[Balls]:
    """The coefficients of the inputs' symbols in rows over their errors."""
    n, count = shares.nrows(), shares.ncols()
    entries = (arb_mat(len(rows), n, [x for row in rows for x in row.g[:n]]) * shares).entries()
    return [entries[i * count : (i + 1) * count] for i in range(len(rows))]


def merged(row: Row, symbols: int) -> Row:
    """The row with its first symbols alone, the others in its radius."""
    return Row(row.k, row.p, row.g[:symbols], (row.r + sum((abs(x) for x in row.g[symbols:]), ZERO)).upper())


def affine(A: Floats, b: Floats, rows: Sequence[Row]) -> list[Row]:
    """A x + b, in which every radius is a symbol, after all others."""
    k, d = rows[0].k, max(row.variables for row in rows)
    values, missed = combined(A, [row.over(d) for row in rows], b)
    count, own = len(rows[0].g), [n for n, row in enumerate(rows) if not row.r.is_zero()]
    table = arb_mat(len(rows), count, [x for row in rows for x in row.g])
    entries = (arb_mat(len(A), len(rows), A.ravel().tolist()) * table).entries()
    made = []
    for n, weights in enumerate(A.tolist()):
        g = entries[n * count : (n + 1) * count] + [rows[m].r * weights[m] for m in own]
        made.append(of_values(values[n], d, k, g, missed[n]))
    return made


def _activated(layer: Layer, unit: int, row: Row) -> Row:
    if layer.activation == "identity":
        return row
    if layer.activation in ("relu", "leaky_relu"):
        slope = layer.slope if layer.activation == "leaky_relu" else 0.0
        return kink(row, arb(float(np.broadcast_to(slope, (len(layer.A),))[unit])))
    return apply(layer.activation, row)
