"""Linear interpolation along one axis, as a matrix: what Resize of ONNX and UpSampling2D of Keras share.

Entry k of an axis stands for the piece from k to k + 1, whose centre is k + 1/2. A place of the result takes shares of
the two entries whose centres it lies between.
"""

from __future__ import annotations

import numpy as np

from integraph.numbers.arrays import Floats


def centres(new: int, scale: float) -> Floats:
    """Where the centres of `new` pieces lie among the entries of an axis that grows by this factor."""
    result: Floats = (np.arange(new, dtype=np.float64) + 0.5) / scale - 0.5
    return result


def linear(old: int, at: Floats) -> Floats:
    """(old, new): the shares of the two entries around each place; beyond the ends, of the last one."""
    inside = np.clip(at, 0, old - 1)
    low = np.minimum(np.floor(inside).astype(int), max(old - 2, 0))
    share = inside - low
    matrix, column = np.zeros((old, len(at))), np.arange(len(at))
    matrix[low, column] = 1 - share
    matrix[np.minimum(low + 1, old - 1), column] += share
    return matrix
