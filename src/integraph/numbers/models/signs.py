"""Signs of affine maps: a sum of nothing negative is not negative, whatever rounding makes of its lower end.

Without it √(x² + y²) would have no value that is known to exist: the sum would begin at −1e−16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP


@quiet
def signed(y: Interval, rounding: Floats, A: Any, b: Floats, x: Interval, off: tuple[Any, Floats] | None) -> Interval:
    """y, which contains A x + b and is too wide by so much, without what is beyond 0 by rounding alone. `off` bounds
    the errors of A, a dense or a sparse matrix, and of b."""
    low, high = (y.low < 0) & (y.low >= -rounding), (y.high > 0) & (y.high <= rounding)
    rows = np.flatnonzero((low | high).any(1))
    if not len(rows):
        return y
    A, b, least = A[rows], b[rows][:, None], np.zeros((len(rows), 1))
    wrong = np.zeros((len(rows), 1))  # how many weights have no sign that is sure
    if off is not None:
        wrong = np.asarray((off[0][rows] * UP > abs(A)).sum(1)).reshape(-1, 1)
        least = off[1][rows][:, None] * UP
    negative, positive = (x.low < 0).astype(np.float64), (x.high > 0).astype(np.float64)
    up, down = (A > 0).astype(np.float64), (A < 0).astype(np.float64)
    below, above = up @ negative + down @ positive + wrong, up @ positive + down @ negative + wrong
    made = Interval(y.low.copy(), y.high.copy())
    made.low[rows] = np.where(low[rows] & (below == 0) & (b >= least), 0.0, y.low[rows])
    made.high[rows] = np.where(high[rows] & (above == 0) & (-b >= least), 0.0, y.high[rows])
    return made
