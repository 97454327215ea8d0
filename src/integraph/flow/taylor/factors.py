"""A low-rank block as lanes of the Taylor kernel: products of linear forms in place of products of registers.

Of rank r, with m = len(y) and n = m + len(x), it needs r Cauchy products and r(m + 2n) multiplications an order, the
terms up to n²/2 and m n²/2. Nothing else writes its targets, and its operands stand still: it is a component.
"""

from __future__ import annotations

import numpy as np

from integraph.flow.taylor.lanes import TaylorLanes
from integraph.flow.taylor.quadratic_forms import Forms, forms
from integraph.gadgets.low_rank import low_rank, registers
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.quadratic_field import Matrix
from integraph.program import ONE, Block


def factored(block: Block) -> bool:
    """Whether the factors of a block are fewer than its terms."""
    if block.op is not low_rank or not block.tensors["U"].any():
        return False
    r, n = block.tensors["V1"].shape
    return bool(r < n * (n + 1) // 2)


def factor_lanes(block: Block, rate: float, scales: Floats | None) -> TaylorLanes:
    """With the controls of rescaled time and states: ŷ = y/s."""
    m, z = block.targets[0].size, registers(block)
    field = low_rank.field(block).scaled(rate, None if scales is None else scales[z])
    count, rank = field.forms.shape[0], len(field.left)
    moving = np.concatenate([field.A.toarray()[:, :m], field.U.toarray()], 1)
    sources = np.concatenate([np.arange(m), m + count + np.arange(rank)])
    row, column = np.nonzero(moving)
    still, read = field.forms[:, m:], field.forms[:, :m].tocsr()
    return TaylorLanes(
        registers=np.ascontiguousarray(z[:m, None]),
        forms=read.indptr.astype(np.int64),
        forms_source=read.indices.astype(np.int64),
        forms_value=read.data,
        forms_start=_still(still, np.zeros(count), z[m:]),
        products=np.stack([m + field.left, m + field.right], 1),
        shared=np.searchsorted(row, np.arange(m + 1)),
        shared_source=sources[column],
        shared_value=moving[row, column],
        own=np.arange(m + 1),
        own_source=np.full(m, m + count + rank),
        own_value=_still(field.A[:, m:], field.b, z[m:]),
    )


def _still(matrix: Matrix, constant: Floats, x: Indices) -> Forms:
    """constant + matrix·x, with x frozen."""
    entries = matrix.tocoo()
    rows = np.concatenate([np.arange(len(constant)), entries.row])
    read = np.concatenate([np.full(len(constant), ONE), x[entries.col]])
    return forms(len(constant), rows, np.full(len(rows), ONE), read, np.concatenate([constant, entries.data]))
