"""A Python function as (B, d) → (B, m), called with a batch where it takes one, else point by point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats, numbers
from integraph.numbers.low_discrepancy import kronecker
from integraph.targets.calls import CallMeter
from integraph.targets.function import finite, point
from integraph.text import counted

POINTS = 5  # of the box, where a function is tried
AGREE = 1e-9  # of the largest value: how far a batch may be from its points, taken alone
AGAIN = 3  # calls at one point that tell a random function from one that mixes points
FAR = 6.0  # times the spread of these calls another one may be away
RANDOM = 0.1  # of the largest value: what is more random than that has no value
SEVERAL = "; if its parameter holds several inputs, say how many"


class PointwiseFunction:
    """How f takes a batch, if it does, is found out on the box (2, d). Every later batch gets one more row, a point
    whose value is known: a function that mixes its rows gives another one there."""

    def __init__(self, f: Callable[..., Any], name: str, variables: tuple[str, ...], apart: bool, box: Floats) -> None:
        self.f, self.name, self.variables, self.apart, self.box = f, name, variables, apart, box
        self.meter = CallMeter(name)
        self.outputs, self.noise, self.batch_failed = 0, 0.0, ""
        self.control: tuple[Floats, Floats] | None = None  # a point and its value, where f takes batches
        ways = (False, True) if len(variables) == 1 else (not apart,)
        self.matrix = ways[0]  # whether f gets a batch as (B, d), not as d columns
        x = interior(box, POINTS)
        values = self._at_once(x)
        if values is None and len(ways) > 1:
            self.matrix = ways[1]
            values = self._at_once(x)
        self.matrix = self.matrix if values is not None else ways[0]
        first = values if values is not None else self._each(x)
        self.outputs = finite(first, x, name, variables).shape[1]
        if values is not None:
            self.control = x[:1], self._alone(x[0])
            for n, alone in ((0, self.control[1]), (-1, self._alone(x[-1]))):
                self._compare(alone[0], values[n], x[n], np.abs(values).max(0), len(x))
        self.meter.trial = self.meter.calls

    def __call__(self, x: Floats) -> Floats:
        """The values, or a SourceError that names a point: where f raises, or is not finite, or changes its mind."""
        if not len(x):
            return np.zeros((0, self.outputs))
        values = self._each(x) if self.control is None else self._batch(x, *self.control)
        if values.shape[1] != self.outputs:
            raise SourceError(
                f"{self.name} has {counted(self.outputs, 'output')} in one place and {values.shape[1]} in another"
            )
        return finite(values, x, self.name, self.variables)

    def _at_once(self, x: Floats) -> Floats | None:
        """The values of a batch; None if that raises, or gives something else than an array with as many rows."""
        self.meter.spend(len(x))
        try:
            return self._rows(self._call(x), len(x))
        except Exception as reason:  # any reason is good enough to go point by point, where it is reported
            self.batch_failed = self.batch_failed or f"; at many points at once, {type(reason).__name__}: {reason}"
            return None

    def _batch(self, x: Floats, place: Floats, value: Floats) -> Floats:
        every = np.concatenate([x, place])
        self.meter.spend(len(every))
        returned = self._reported(every)
        rows = self._rows(returned, len(every))
        if rows is None:
            raise SourceError(
                f"{self.name} gives shape {np.shape(returned)} for {len(every)} points: it must have as many rows"
            )
        scale = np.abs(finite(rows, every, self.name, self.variables)).max(0)
        self._compare(value[0], rows[-1], place[0], scale, len(every))
        return rows[:-1]

    def _compare(self, alone: Floats, among: Floats, x: Floats, scale: Floats, count: int) -> None:
        """A SourceError if f mixes rows, or is random but for a little noise."""
        if alone.shape != among.shape:
            raise self._other_outputs()
        if (np.abs(alone - among) <= AGREE * scale + self.noise).all():
            return
        again = np.concatenate([alone[None], *(self._alone(x) for _ in range(AGAIN))])
        spread = float(np.ptp(again, axis=0).max())
        if 0 < spread <= RANDOM * float(scale.max()) and (np.abs(alone - among) <= FAR * spread).all():
            self.noise = max(self.noise, FAR * spread)
            return
        raise SourceError(
            f"{self.name} at {point(x, self.variables)} is {alone} alone and {among} among {count} points: it mixes "
            "points, or is random; make each row depend on its own point only"
        )

    def _alone(self, row: Floats) -> Floats:
        """(1, m): a batch of one."""
        self.meter.spend(1)
        values = self._rows(self._reported(row[None]), 1)
        if values is None:
            raise self._other_outputs()
        return values

    def _other_outputs(self) -> SourceError:
        return SourceError(f"{self.name} has other outputs for one point than for many: give them the same shape")

    def _each(self, x: Floats) -> Floats:
        """Point by point, (B, m)."""
        rows: list[Floats] = []
        for row in x:
            self.meter.spend(1)
            values = np.atleast_1d(self._numbers(self._reported(row)))
            if values.ndim != 1 or not values.size:
                where = point(row, self.variables)
                raise SourceError(f"{self.name} gives shape {values.shape} at {where}: it must be a number or (m,)")
            if rows and len(values) != len(rows[0]):
                raise SourceError(f"{self.name} has {len(rows[0])} outputs in one place and {len(values)} in another")
            rows.append(values)
        return np.stack(rows)

    def _reported(self, x: Floats) -> Any:
        """f(x), and an exception of f as one of ours, which names the point."""
        try:
            return self._call(x)
        except Exception as reason:
            where = point(x if x.ndim == 1 else self._culprit(x), self.variables)
            several = len(self.variables) == 1 and isinstance(reason, IndexError)
            raise SourceError(
                f"{self.name} fails at {where}: {type(reason).__name__}: {reason}"
                f"{self.batch_failed if x.ndim == 1 else ''}{SEVERAL if several else ''}",
                argument="inputs" if several else "",
            ) from reason

    def _culprit(self, x: Floats) -> Floats:
        """A row of a failing batch for which f fails, by halving; the first one if f fails only for all together."""
        first = x[0]
        while len(x) > 1:
            half = x[: len(x) // 2]
            x = half if self._fails(half) else x[len(half) :]
        culprit: Floats = x[0] if self._fails(x) else first
        return culprit

    def _fails(self, x: Floats) -> bool:
        try:
            self._call(x)
        except Exception:
            return True
        return False

    def _call(self, x: Floats) -> Any:
        """f at a batch (B, d) or a point (d,). It gets a copy, so that it may write into it."""
        with np.errstate(all="ignore"):
            return self.f(x.copy()) if self.matrix else self.f(*x.T.copy())

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
    part = 0.05 + 0.9 * kronecker(count, len(low))
    inside: Floats = (1.0 - part) * low + part * high
    return inside
