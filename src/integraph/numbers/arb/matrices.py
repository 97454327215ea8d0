"""Products of matrices of balls, in parts that take a moment each: between them the clock is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_mat, ctx

from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import FIRST

PART = 150_000_000  # products of balls of FIRST bits, half a second
GROWTH = 1.5  # of the cost with the bits


def product(A: arb_mat, B: arb_mat) -> arb_mat:
    """A·B, by rows of A."""
    rows, inner, columns = A.nrows(), A.ncols(), B.ncols()
    cost = inner * columns * max(ctx.prec / FIRST, 1.0) ** GROWTH
    some = max(1, int(PART / max(cost, 1.0)))
    check_deadline()
    if rows <= some:
        return A * B
    entries, out = A.entries(), []
    for first in range(0, rows, some):
        check_deadline()
        last = min(first + some, rows)
        out += (arb_mat(last - first, inner, entries[first * inner : last * inner]) * B).entries()
    return arb_mat(rows, columns, out)


def scaled_rows(factors: Sequence[arb], A: arb_mat) -> arb_mat:
    """Every row of A times its factor."""
    columns, entries, out = A.ncols(), A.entries(), []
    for row, factor in enumerate(factors):
        check_deadline()
        out += [factor * entry for entry in entries[row * columns : (row + 1) * columns]]
    return arb_mat(A.nrows(), columns, out)
