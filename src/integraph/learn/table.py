"""A table to learn from, checked: rows of inputs, and rows of targets that belong to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.learn.scaling import LARGEST
from integraph.numbers.arrays import Floats, numbers
from integraph.program.engine import batch_of
from integraph.text import counted


def table(X: ArrayLike, y: ArrayLike, inputs: int, outputs: int, whose: str) -> tuple[Floats, Floats]:
    """Inputs (n, inputs) and targets (n, outputs); of one output, y may be (n,)."""
    rows, targets = batch_of(X, inputs, whose), numbers(y, "y")
    targets = targets[:, None] if targets.ndim == 1 and outputs == 1 else targets
    if targets.shape != (len(rows), outputs):
        raise UsageError(
            f"y has shape {np.shape(y)}: {counted(len(rows), 'row')} of X and {counted(outputs, 'output')} "
            f"need ({len(rows)}, {outputs})",
            argument="y",
        )
    if not np.isfinite(targets).all():
        row = int(np.argwhere(~np.isfinite(targets))[0][0])
        raise UsageError(f"row {row} of y is {targets[row].tolist()}: leave out rows that are not finite", argument="y")
    largest = float(np.abs(targets).max(initial=0.0))
    if largest > LARGEST:
        raise UsageError(
            f"y has a number of size {largest:.3g}, whose square float64 may not hold: give it in other units",
            argument="y",
        )
    if not len(rows):
        raise UsageError("there are no rows to learn from", argument="X")
    return rows, targets
