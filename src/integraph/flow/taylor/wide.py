"""One solution of a wide component: by Taylor steps, or by collocation where these would be many.

Taylor steps of order p are stable up to about 0.4 p over the fastest rate of decay. A bound of the rates is the norm of
the Jacobian; what is fast and what is slow of a solution is not known before it is computed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from integraph.numbers.arrays import Floats, Indices

if TYPE_CHECKING:
    from integraph.flow.taylor.sparse_field import SparseField
    from integraph.flow.taylor.wide_series import WideField

WIDE = 100  # registers
SPARSE = 32  # terms for each register
LARGEST = 2e6  # registers times bandwidth: about the numbers that factors hold for each shift
STIFF = 1500.0  # norm of the Jacobian times the span from which collocation is quicker
FINEST = 1e-13  # tolerance that Newton's iteration reaches


class WideSystem:
    """y_i' = Σ coefficient · source, a source being a register, a product of two, or 1, numbered in this order."""

    def __init__(self, count: int, products: Indices, row: Indices, source: Indices, known: Floats) -> None:
        """From terms: row and source of each, and its coefficient, 0 where it depends on the solution."""
        self.count, self.products, self.row, self.source, self.known = count, products, row, source, known

    @cached_property
    def field(self) -> WideField:
        from integraph.flow.taylor.wide_series import wide_field

        return wide_field(self.count, self.products, self.row, self.source, self.known)

    @cached_property
    def sparse(self) -> SparseField | None:
        """None if factors would be too large."""
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        from integraph.flow.taylor.sparse_field import sparse_field

        factors = np.concatenate([np.tile(np.arange(self.count)[:, None], 2), self.products])
        reads = self.source < len(factors)
        rows, by = np.tile(self.row[reads], 2), factors[self.source[reads]].T.ravel()
        pattern = scipy.sparse.coo_array((np.ones(len(rows)), (rows, by)), shape=(self.count,) * 2)
        place = np.argsort(reverse_cuthill_mckee(scipy.sparse.csr_array(pattern + pattern.T), symmetric_mode=True))
        if self.count * (1.0 + np.abs(place[rows] - place[by]).max(initial=0)) > LARGEST:
            return None
        return sparse_field(self.count, self.products, self.row, self.source)

    def norm(self, value: Floats, y: Floats) -> float:
        """The largest sum of a row of the Jacobian."""
        size = np.abs(y)
        slope = np.concatenate([np.ones(self.count), size[self.products].sum(1), [0.0]])
        return float(np.bincount(self.row, np.abs(value) * slope[self.source], minlength=self.count).max())

    def stiff(self, value: Floats, y: Floats, span: float, rtol: float) -> bool:
        return rtol >= FINEST and self.norm(value, y) * span > STIFF and self.sparse is not None

    def collocate(
        self, value: Floats, y: Floats, rtol: float, span: float, duration: float, max_steps: int
    ) -> tuple[Floats, int] | None:
        """y after `span`, and the number of steps; None if it must be computed otherwise."""
        from integraph.flow.taylor.collocation import Collocation
        from integraph.flow.taylor.kernel import SHORTEST

        assert self.sparse is not None
        solution = Collocation(self.sparse, value, y, rtol)
        if not solution.run(span, SHORTEST * duration, max_steps):
            return None
        end = np.empty_like(y)
        end[self.sparse.order] = solution.y
        return end, solution.steps

    def expand(
        self, value: Floats, y: Floats, order: int, rtol: float, span: float, duration: float, max_steps: int
    ) -> tuple[Floats, int] | None:
        """The same by Taylor steps."""
        from integraph.flow.taylor.kernel import SHORTEST
        from integraph.flow.taylor.wide_series import integrate_wide

        field, end = self.field, np.empty_like(y)
        moving = y[field.order]
        constant = np.bincount(field.rows, value[field.constant], minlength=self.count)
        products = (field.left, field.right, field.pairs, field.squares)
        runs = (field.into, field.source, field.starts, value[field.term])
        steps = integrate_wide(
            moving, *products, *runs, constant.astype(float), order, rtol, span, SHORTEST * duration, max_steps
        )
        if steps < 0:
            return None
        end[field.order] = moving
        return end, steps
