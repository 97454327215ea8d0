"""Networks on rows of the checker: a whole layer at once, in floats, with a symbol for the radius of each neuron.

A neuron depends on the symbols of its inputs only by the inputs' errors e_i = Σ_n g_in ε_n. So layers carry one symbol
for each of these, e_i/|e_i|₁, and the shares g_in/|e_i|₁ say how far Σ_i s_i e_i/|e_i|₁ is from 0 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flint import arb, arb_mat

from integraph.certify.loops.replay.activations import activated
from integraph.certify.loops.replay.layers import UNIT, Neurons, affine, lost, settled, up
from integraph.certify.loops.replay.rows import Row, of_values
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, above
from integraph.numbers.arrays import Floats
from integraph.targets.network import Network


@np.errstate(all="ignore")
def network_rows(network: Network, rows: Sequence[Row]) -> list[Row]:
    """The outputs; symbols of neurons become part of their radii."""
    totals = [above(sum(map(abs, row.g), ZERO)) for row in rows]
    shares = _shares(rows, totals)
    near = np.array([float(ball) for ball in shares.entries()]).reshape(len(rows), -1)
    missed = UNIT + above(sum(shares.entries(), ZERO).rad())  # as no share is more than 1
    x = _of_rows(rows, totals)
    for layer in network.layers:
        check_deadline()
        x = activated(layer, _together(affine(layer.A, layer.b, x), near, missed))
    own = x.g[:, len(rows) :]
    r = up(np.abs(own).sum(1) + x.r, own.shape[1] + 1)
    return _rows(x, shares, r)


def _shares(rows: Sequence[Row], totals: Sequence[float]) -> arb_mat:
    """The shares of all symbols in the errors of the rows."""
    table = [x / total if total else ZERO for row, total in zip(rows, totals, strict=True) for x in row.g]
    return arb_mat(len(rows), len(rows[0].g), table)


def _of_rows(rows: Sequence[Row], totals: Sequence[float]) -> Neurons:
    """The rows in floats, with their errors as symbols."""
    d = max(row.variables for row in rows)
    flat = [row.over(d) for row in rows]
    r = np.array([above(row.r + p.missed) for row, p in zip(rows, flat, strict=True)])
    p, g = np.stack([p.values for p in flat]), np.diag(totals)
    return settled(Neurons(d, rows[0].k, p, g, r, r), p, g, r)


def _together(x: Neurons, shares: Floats, missed: float) -> Neurons:
    """Neurons whose errors are bounded by what the inputs' symbols are together; these shares miss so much at most."""
    n, count = shares.shape
    size = np.abs(x.g[:, :n]).sum(1)
    both = up(np.abs(x.g[:, :n] @ shares).sum(1), count) + count * (missed * up(size, n) + lost(n, size))
    rest = np.abs(x.g[:, n:]).sum(1) + x.r
    return replace(x, errors=np.minimum(x.errors, up(both + rest, x.g.shape[1] + 4)))


def _rows(x: Neurons, shares: arb_mat, r: Floats) -> list[Row]:
    """Rows over the symbols of the inputs, with these radii."""
    n, count = shares.nrows(), shares.ncols()
    entries = (arb_mat(len(r), n, x.g[:, :n].ravel().tolist()) * shares).entries()
    symbols: list[Balls] = [entries[i * count : (i + 1) * count] for i in range(len(r))]
    lines = zip(x.p, symbols, r.tolist(), strict=True)
    return [of_values(values, x.d, x.k, g, arb(radius)) for values, g, radius in lines]
