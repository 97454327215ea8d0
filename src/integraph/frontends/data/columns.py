"""Columns of numbers → the function that they are data of: which are inputs, which outputs, which rows have gaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.input_names import names, numbered
from integraph.numbers.arrays import Floats
from integraph.targets.function import Function
from integraph.targets.rows import Rows
from integraph.text import clean, counted, joined

CELLS = 20_000_000  # numbers that data may have
SHOWN = 6  # names in a message
UNIT = re.compile(r"\s*[\[({/].*$")  # of T [K], T (K) or T / K


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Numbers (B, columns), NaN where one is missing. `title` is what the data are called; `names` is None where
    nothing names the columns."""

    title: str
    values: Floats
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    def inputs(self, count: int | None, variables: str | Sequence[object] | None) -> list[int]:
        """Which columns are inputs: those that `variables` names, or the first."""
        columns = self.values.shape[1]
        given = None if variables is None else names(variables)
        if given is not None and count is not None and len(given) != count:
            raise UsageError(f"variables names {counted(len(given), 'input')}", argument="inputs", value=count)
        if given is not None and self.names is not None:
            return [self._find(name) for name in given]
        many = count if given is None else len(given)
        if many is None and columns == 2:
            many = 1
        if many is None:
            raise UsageError(
                f"{self.title} has {counted(columns, 'column')}{self._listed()}: say how many of them are inputs, the "
                "first ones; all others are outputs",
                argument="inputs",
            )
        if isinstance(many, bool) or not 0 < many < columns:
            raise UsageError(
                f"{self.title} has {counted(columns, 'column')} of numbers{self._listed()}: at least one is an input "
                "and at least one an output",
                argument="inputs",
                value=many,
            )
        return list(range(many))

    def function(self, count: int | None, variables: str | Sequence[object] | None) -> Function:
        """The function, of the rows without gaps."""
        chosen = self.inputs(count, variables)
        rest = [n for n in range(self.values.shape[1]) if n not in chosen]
        if not rest:
            raise UsageError(f"it names every column of {self.title}: leave one as output", argument="variables")
        if self.names is None:
            called = numbered(len(chosen)) if variables is None else names(variables)
            outputs = ("y",) if len(rest) == 1 else tuple(f"y{n + 1}" for n in range(len(rest)))
        else:
            called, outputs = (tuple(self.names[n] for n in part) for part in (chosen, rest))
        return data_function(self.title, self.values[:, chosen], self.values[:, rest], called, outputs, self.notes)

    def _find(self, name: str) -> int:
        assert self.names is not None
        for way in (list(self.names), [UNIT.sub("", known) for known in self.names]):
            if way.count(name) == 1:
                return way.index(name)
        raise UsageError(
            f"{self.title} has {'several columns' if name in self.names else 'no column of numbers'} called "
            f"{clean(name, 60)!r}{self._listed()}",
            argument="variables",
        )

    def _listed(self) -> str:
        return "" if self.names is None else f" ({joined((clean(name, 60) for name in self.names), ', ', SHOWN)})"


def data_function(
    title: str, x: Floats, y: Floats, variables: tuple[str, ...], outputs: tuple[str, ...], notes: tuple[str, ...] = ()
) -> Function:
    """Of rows x (B, d), y (B, m); those with a gap are left out, and counted."""
    whole = np.isfinite(x).all(1) & np.isfinite(y).all(1)
    gaps = int(np.count_nonzero(~whole))
    if not whole.any():
        raise SourceError(f"{title}: there is no row without a gap" if gaps else f"{title}: there are no rows")
    if gaps:
        notes = (*notes, f"{counted(gaps, 'row')} with gaps left out")
    about = " → ".join(joined((clean(name, 60) for name in part), ", ", SHOWN) for part in (variables, outputs))
    rows = Rows(x[whole], y[whole], outputs, gaps, notes)
    return Function(x.shape[1], y.shape[1], f"{title}: {about}", variables, rows=rows)


def check_size(title: str, rows: int, columns: int) -> None:
    """Before anything of that size is made."""
    if rows * columns > CELLS:
        raise SourceError(f"{title}: {rows:,} rows of {counted(columns, 'column')} are more than {CELLS:,} numbers: "
                          "take every second row, or fewer")  # fmt: skip
