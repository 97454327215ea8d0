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
    U, V1, V2 = (block.tensors[name] for name in ("U", "V1", "V2"))
    A, b = block.tensors.get("A", np.zeros((m, len(z)))), block.tensors.get("b", np.zeros(m))
    U, A, b = (rate * part for part in (U, A, b))
    if scales is not None:
        own, read = scales[z[:m]], scales[z]
        U, A, b, V1, V2 = U / own[:, None], A * read / own[:, None], b / own, V1 * read, V2 * read
    rows, which = np.unique(np.concatenate([V1, V2]), axis=0, return_inverse=True)  # a form that is used twice is one
    V1_form, V2_form = which.reshape(2, -1)
    count, rank = len(rows), len(V1)
    moving = np.concatenate([A[:, :m], U], 1)
    sources = np.concatenate([np.arange(m), m + count + np.arange(rank)])
    row, column = np.nonzero(moving)
    form, read_by_form = np.nonzero(rows[:, :m])
    return TaylorLanes(
        registers=z[:m, None],
        forms=np.searchsorted(form, np.arange(count + 1)),
        forms_source=np.ascontiguousarray(read_by_form),
        forms_value=rows[:, :m][form, read_by_form],
        forms_start=_still(rows[:, m:], np.zeros(count), z[m:]),
        products=np.stack([m + V1_form, m + V2_form], 1),
        shared=np.searchsorted(row, np.arange(m + 1)),
        shared_source=sources[column],
        shared_value=moving[row, column],
        own=np.arange(m + 1),
        own_source=np.full(m, m + count + rank),
        own_value=_still(A[:, m:], b, z[m:]),
    )


def _still(matrix: Floats, constant: Floats, x: Indices) -> Forms:
    """constant + matrix·x, with x frozen."""
    row, column = np.nonzero(matrix)
    rows = np.concatenate([np.arange(len(constant)), row])
    one = np.full(len(rows), ONE)
    read = np.concatenate([np.full(len(constant), ONE), x[column]])
    return forms(len(constant), rows, one, read, np.concatenate([constant, matrix[row, column]]))
