"""Measured values: rows of inputs and outputs, with nothing known between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Floats, Indices
from integraph.program import tensor


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """y (B, m) at x (B, d), sorted: the order in which they came does not matter. `notes` say what reading them left
    out or assumed."""

    x: Floats
    y: Floats
    names: tuple[str, ...]  # of the outputs
    gaps: int = 0  # rows that were left out, because a number is missing
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        order = np.lexsort([*self.y.T[::-1], *self.x.T[::-1]])
        for name in ("x", "y"):  # + 0.0: one zero, not two
            object.__setattr__(self, name, tensor(getattr(self, name)[order] + 0.0))

    @property
    def places(self) -> Indices:
        """The number of the place x of each row: rows at one place have the same."""
        moved = np.any(self.x[1:] != self.x[:-1], axis=1)
        return np.concatenate([[0], np.cumsum(moved)]).astype(np.int64)
