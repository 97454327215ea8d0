"""Products of two matrices of rows: sums of products without a row for each summand.

All bounds of a product of two rows are products of norms, so that those of a product of matrices are products of
matrices of norms.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models, row_norms, settled, together
from integraph.numbers.roundoff import UP, U

Shape = tuple[int, ...]


@quiet
def matrix_product(left: Models, shape: Shape, right: Models, other: Shape) -> Models:
    """The matrices of rows of the first shape times those of the other, in their last two axes, as in numpy."""
    batch = np.broadcast_shapes(shape[:-2], other[:-2])
    a, b = together(*(placed(x, s, (*batch, *s[-2:])) for x, s in ((left, shape), (right, other))))
    (n, inner), m, table = shape[-2:], other[-1], a.space.monomials
    first, second = (n, inner), (inner, m)
    ap, bp, ag, bg = (_turned(x, s) for x, s in ((a.p, first), (b.p, second), (a.g, first), (b.g, second)))
    p = _times_constant(ap[..., 0], bp, ap[..., 1:], bp[..., 0])
    for number in np.flatnonzero((table.degrees > 0) & (table.degrees < table.k)):
        pairs = np.flatnonzero((table.first == number) & (table.second > 0))
        p[..., table.product[pairs]] += _spread(ap[..., number], bp[..., table.second[pairs]])
    g = _spread(ap[..., 0], bg) + _spread_left(ag, bp[..., 0])
    r = _radius(a, b, first, second)
    known = intervals.matmul(_ends(a.known, first), _ends(b.known, second))
    rows = math.prod(batch) * n * m
    return settled(
        a.space, _back(p, rows), _back(g, rows), a.names, _back(r, rows),
        Interval(_back(known.low, rows), _back(known.high, rows)),
    )  # fmt: skip


def _radius(a: Models, b: Models, first: Shape, second: Shape) -> Floats:
    """What is truncated, what errors are multiplied by, and what is rounded, (batch, cells, n, m)."""
    table = a.space.monomials
    norms = [
        [_turned(row_norms(x.p[..., table.degrees == i]) * UP, s) for i in range(table.k + 1)]
        for x, s in ((a, first), (b, second))
    ]
    (ea, ra), (eb, rb) = ((_turned(x.errors, s), _turned(x.r, s)) for x, s in ((a, first), (b, second)))
    above = [np.zeros_like(ea), np.zeros_like(eb)]  # norms without the constants
    r = ea @ eb + norms[0][0] @ rb + ra @ norms[1][0]
    for i in range(1, table.k + 1):
        for j in range(table.k + 1 - i, table.k + 1):
            r += norms[0][i] @ norms[1][j]
        above = [above[0] + norms[0][i], above[1] + norms[1][i]]
    r += above[0] @ eb + ea @ above[1]
    gamma = (first[1] * (table.count + 1) + 100) * U
    sizes = norms[0][0] + above[0] + ea, norms[1][0] + above[1] + eb
    return (r + gamma * (sizes[0] @ sizes[1])) * UP + first[1] * TINY


def placed(x: Models, shape: Shape, into: Shape) -> Models:
    """Rows of an array of the first shape as they are broadcast."""
    if shape == into:
        return x
    return x.take(np.ravel(np.broadcast_to(np.arange(len(x)).reshape(shape), into)))


def _turned(values: Floats, shape: Shape) -> Floats:
    """(rows, cells, …) as (batch, cells, *shape, …)."""
    grid = values.reshape(len(values) // (shape[0] * shape[1]), *shape, *values.shape[1:])
    return np.ascontiguousarray(np.moveaxis(grid, 3, 1))


def _ends(x: Interval, shape: Shape) -> Interval:
    return Interval(_turned(x.low, shape), _turned(x.high, shape))


def _back(values: Floats, rows: int) -> Floats:
    """(batch, cells, n, m, …) as (rows, cells, …)."""
    return np.ascontiguousarray(np.moveaxis(values, 1, 3)).reshape(rows, values.shape[1], *values.shape[4:])


def _times_constant(a0: Floats, b: Floats, a: Floats, b0: Floats) -> Floats:
    """The products of the constants with everything."""
    p = _spread(a0, b)
    p[..., 1:] += _spread_left(a, b0)
    return p


def _spread(a: Floats, b: Floats) -> Floats:
    """Σ_k a[…, i, k] b[…, k, j, :]."""
    *_, inner, m, count = b.shape
    return (a @ b.reshape(*b.shape[:-3], inner, m * count)).reshape(*a.shape[:-1], m, count)


def _spread_left(a: Floats, b: Floats) -> Floats:
    """Σ_k a[…, i, k, :] b[…, k, j]."""
    turned = np.ascontiguousarray(a.swapaxes(-1, -2))  # (…, i, :, k)
    *_, n, count, inner = turned.shape
    product = turned.reshape(*a.shape[:-3], n * count, inner) @ b
    return product.reshape(*a.shape[:-3], n, count, b.shape[-1]).swapaxes(-1, -2)
