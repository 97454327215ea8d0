"""A quadratic right-hand side y' = b + A z + U((L z)_left ∘ (L z)_right) in factors, z = (y, x) with x frozen.

The linear forms L z are multiplied in pairs. They are single entries of z where Q is sparse, and sums of them where Q
has low rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from integraph.numbers.arrays import Floats, Indices

Matrix = scipy.sparse.csr_array


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticField:
    """m registers y move, z has n of them, and there are P products of F forms."""

    U: Matrix  # (m, P); entries of one place add up
    forms: Matrix  # (F, n)
    left: Indices  # (P,)
    right: Indices
    A: Matrix  # (m, n)
    b: Floats  # (m,)

    def scaled(self, rate: float, scales: Floats | None = None) -> QuadraticField:
        """The field in another time, and in other units ŷ = y/s of z."""
        U, forms, A, b = self.U * rate, self.forms, self.A * rate, self.b * rate
        if scales is not None:
            inverse, read = _diagonal(1.0 / scales[: len(b)]), _diagonal(scales)
            U, forms, A, b = inverse @ U, forms @ read, inverse @ A @ read, b / scales[: len(b)]
        return QuadraticField(Matrix(U), Matrix(forms), self.left, self.right, Matrix(A), b)

    def sizes(self) -> QuadraticField:
        """The field of absolute values."""
        return QuadraticField(abs(self.U), abs(self.forms), self.left, self.right, abs(self.A), np.abs(self.b))


def _diagonal(values: Floats) -> Matrix:
    count = len(values)
    return Matrix((values, np.arange(count), np.arange(count + 1)), shape=(count, count))
