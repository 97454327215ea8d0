"""A Python function as (B, d) → (B, m), called with a batch where it takes one, else point by point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats, numbers
from integraph.targets.function import finite, point
from integraph.text import counted

POINTS = 11  # of the box, where a function is tried
AGREE = 1e-9  # of the largest value: how far a batch may be from its points, taken alone
SEVERAL = "; if its parameter holds several inputs, say how many"
GOLDEN = 0.6180339887498949  # steps of this size fill the unit interval evenly


class PointwiseFunction:
    """Whether f takes a batch is found out on the box (2, d); that rows are not mixed is checked at each batch."""

    def __init__(self, f: Callable[..., Any], name: str, variables: tuple[str, ...], apart: bool, box: Floats) -> None:
        self.f, self.name, self.variables, self.apart, self.box = f, name, variables, apart, box
        x = interior(box, POINTS)
        self.batch_failed = ""
        self.batched = self._takes(x)
        self.outputs = 0
        self.outputs = self(x).shape[1]

    def __call__(self, x: Floats) -> Floats:
        """The values, or a SourceError that names a point: where f raises, or is not finite, or changes its mind."""
        if not len(x):
            return np.zeros((0, self.outputs))
        with np.errstate(all="ignore"):
            values = self._batch(x) if self.batched else np.concatenate([self._one(row) for row in x])
        if self.outputs and values.shape[1] != self.outputs:
            once = counted(self.outputs, "output")
            raise SourceError(f"{self.name} has {once} in one place and {values.shape[1]} in another")
        return finite(values, x, self.name, self.variables)

    def _takes(self, x: Floats) -> bool:
        """Whether a batch gives an array with as many rows."""
        try:
            with np.errstate(all="ignore"):
                return self._rows(self._call(x), len(x)) is not None
        except Exception as reason:  # any reason is good enough to go point by point, where it is reported
            self.batch_failed = f"; at many points at once, {type(reason).__name__}: {reason}"
            return False

    def _batch(self, x: Floats) -> Floats:
        returned = self._tried(x, x[0])
        rows = self._rows(returned, len(x))
        if rows is None:
            raise SourceError(
                f"{self.name} gives shape {np.shape(returned)} for {counted(len(x), 'point')}: "
                "it must have as many rows"
            )
        scale = np.max(np.abs(finite(rows, x, self.name, self.variables)), 0)
        for n in {0, len(x) - 1}:
            alone = self._rows(self._tried(x[n : n + 1], x[n]), 1)
            if alone is None or alone.shape[1] != rows.shape[1]:
                raise SourceError(
                    f"{self.name} has other outputs for one point than for many: give them the same shape"
                )
            if not (np.abs(alone[0] - rows[n]) <= AGREE * scale).all():
                raise SourceError(
                    f"{self.name} at {point(x[n], self.variables)} is {alone[0]} alone and {rows[n]} among "
                    f"{counted(len(x), 'point')}: it mixes points, or is random; make each row depend on its own point "
                    "only"
                )
        return rows

    def _one(self, row: Floats) -> Floats:
        """(1, m)"""
        values = np.atleast_1d(self._numbers(self._tried(row, row)))
        if values.ndim != 1 or not values.size:
            raise SourceError(
                f"{self.name} gives shape {values.shape} at {point(row, self.variables)}: it must be a number or (m,)"
            )
        return values[None]

    def _tried(self, x: Floats, where: Floats) -> Any:
        """f(x), and an exception of f as one of ours."""
        try:
            return self._call(x)
        except Exception as reason:
            several = len(self.variables) == 1 and isinstance(reason, IndexError)
            raise SourceError(
                f"{self.name} fails at {point(where, self.variables)}: {type(reason).__name__}: {reason}"
                f"{self.batch_failed if x.ndim == 1 else ''}{SEVERAL if several else ''}",
                argument="inputs" if several else "",
            ) from reason

    def _call(self, x: Floats) -> Any:
        """f at a batch (B, d) or a point (d,). It gets a copy, so that it may write into it."""
        columns = x.T.copy()
        return self.f(*columns) if self.apart or len(columns) == 1 else self.f(x.copy())

    def _rows(self, returned: Any, count: int) -> Floats | None:
        """What f gave for `count` points, as (count, m); None if it has another shape."""
        if isinstance(returned, tuple | list):
            columns = [self._numbers(column) for column in returned]
            good = bool(columns) and all(column.shape == (count,) for column in columns)
            return np.stack(columns, 1) if good else None
        array = self._numbers(returned)
        if array.shape == (count,):
            return array[:, None]
        return array if array.ndim == 2 and len(array) == count and array.size else None

    def _numbers(self, returned: Any) -> Floats:
        return numbers(returned, f"the values of {self.name}", SourceError)


def interior(box: Floats, count: int) -> Floats:
    """Points inside the box (2, d), spread evenly and always the same."""
    low, high = box
    steps = np.arange(1, count + 1)[:, None] * GOLDEN ** np.arange(1, len(low) + 1)
    part = 0.05 + 0.9 * (steps % 1.0)
    inside: Floats = (1.0 - part) * low + part * high
    return inside
