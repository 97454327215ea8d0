"""Data as people hold them: a path to a CSV file, a frame of pandas or polars, a pair (X, y) of arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from integraph.errors import SourceError, UsageError
from integraph.frontends.data.columns import Columns, check_size, data_function
from integraph.frontends.data.csv_file import read_csv
from integraph.frontends.input_names import names, numbered
from integraph.numbers.arrays import Floats, numbers
from integraph.targets.function import Function
from integraph.text import clean, counted

SUFFIXES = (".csv", ".tsv")
PACKAGES = ("pandas", "polars")
FRAME = "DataFrame"


def is_data(source: Any) -> bool:
    """Whether a source is meant as data."""
    if isinstance(source, str | os.PathLike):
        return Path(source).suffix.lower() in SUFFIXES
    if isinstance(source, tuple):
        return len(source) == 2 and all(_is_array(part) for part in source)
    return _class(source) in (FRAME, "LazyFrame")


def read(source: Any, inputs: int | None = None, variables: str | Sequence[object] | None = None) -> Function:
    """The function that rows are data of. `inputs` is how many of the first columns are its inputs, `variables` their
    names, where columns have names, in any order; all other columns are outputs."""
    if isinstance(source, str | os.PathLike):
        return read_csv(Path(source)).function(inputs, variables)
    if not isinstance(source, tuple):
        frame = _frame(source)
        if frame.values.shape[1] < 2:
            many = counted(frame.values.shape[1], "column")
            raise SourceError(f"the frame has {many} of numbers: data need an input and an output")
        return frame.function(inputs, variables)
    x, y = (_part(part, name) for part, name in zip(source, ("X", "y"), strict=True))
    if len(x.values) != len(y.values):
        raise SourceError(f"X has {counted(len(x.values), 'row')}, y {len(y.values):,}: both need as many")
    count = x.values.shape[1]
    given = x.names or numbered(count) if variables is None else names(variables)
    for said, argument in ((inputs, "inputs"), (len(given), "variables")):
        if said is not None and said != count:
            raise UsageError(f"X has {counted(count, 'column')}, all of them inputs", argument=argument, value=said)
    outputs = y.names or (("y",) if y.values.shape[1] == 1 else tuple(f"y{n + 1}" for n in range(y.values.shape[1])))
    check_size("the data", len(x.values), count + y.values.shape[1])
    return data_function("data", x.values, y.values, given, outputs)


def _is_array(part: Any) -> bool:
    """Whether something is an array, a frame, or nested lists of numbers."""
    while isinstance(part, list) and part:
        part = part[0]
        if isinstance(part, int | float | np.number) and not isinstance(part, bool):
            return True
    return hasattr(part, "__array__") and not callable(part)


def _class(source: Any) -> str:
    """The name of a class of pandas or polars; empty for anything else."""
    for cls in type(source).__mro__:
        if str(cls.__module__).split(".")[0] in PACKAGES and cls.__name__ in (FRAME, "LazyFrame", "Series"):
            return cls.__name__
    return ""


def _part(part: Any, name: str) -> Columns:
    """X or y, as columns."""
    if _class(part) == FRAME:
        frame = _frame(part)
        if frame.notes:
            raise SourceError(f"{name}: {'; '.join(frame.notes)}: give columns of numbers only")
        return frame
    named = getattr(part, "name", None) if _class(part) else None
    values = _column(part) if _class(part) else numbers(part, name, SourceError)
    if values is None:
        raise SourceError(f"{name} is text: give numbers")
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise SourceError(f"{name} has shape {values.shape}: needs (rows,) or (rows, columns)")
    return Columns(name, values if values.ndim == 2 else values[:, None], (str(named),) if named else None)


def _frame(source: Any) -> Columns:
    """A frame; columns that are no numbers are left out, and noted."""
    if _class(source) == "LazyFrame":
        raise SourceError("this frame is lazy: pass frame.collect()")
    called = [str(name) for name in source.columns]
    check_size("the frame", len(source), len(called))
    columns = (
        source.get_columns() if hasattr(source, "get_columns") else [source.iloc[:, n] for n in range(len(called))]
    )
    kept: dict[int, Floats] = {}
    notes = []
    for n, column in enumerate(columns):
        values = _column(column)
        if values is None:
            notes.append(f"{clean(called[n], 60)} is no column of numbers, and left out")
        else:
            kept[n] = values
    values = np.stack(list(kept.values()), 1) if kept else np.zeros((len(source), 0))
    return Columns("data", values, tuple(called[n] for n in kept), tuple(notes))


def _column(series: Any) -> Floats | None:
    """A column as float64, NaN where a number is missing; None if it holds anything else."""
    array = np.asarray(series.to_numpy())
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O":
        return None
    missing = np.asarray(series.isna() if hasattr(series, "isna") else series.is_null().to_numpy(), bool)
    rest = array[~missing]
    if not len(rest) or not all(isinstance(cell, int | float | np.number) for cell in rest.tolist()):
        return None
    values = np.full(len(array), np.nan)
    values[~missing] = rest.astype(np.float64)
    return values
