"""Tables of derivatives on the nodes of a grid → functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.input_names import names, numbered
from integraph.numbers.arrays import Floats, numbers
from integraph.numbers.multi_index import of_degree
from integraph.program import tensor
from integraph.targets.function import Alpha, Function, Table
from integraph.text import counted

HIGHEST = 40  # degree of a derivative, in one dimension
EXAMPLE = "{(0, 0): f, (1, 0): df/dx, (0, 1): df/dy} with arrays (N+1, N+1)"


def read_table(given: Mapping[Any, Any], variables: str | Sequence[object] | None = None) -> Function:
    """The function of {α: array (N+1,)*d or (N+1,)*d + (m,)}, with all α of |α| < n."""
    arrays = {_alpha(key): numbers(array, f"the derivative {key}", SourceError) for key, array in given.items()}
    if not arrays:
        raise SourceError(f"an empty table: give the derivatives at the nodes, as {EXAMPLE}")
    d = len(next(iter(arrays)))
    if any(len(alpha) != d for alpha in arrays):
        raise SourceError(f"the table has multi-indices of different lengths: {', '.join(map(str, arrays))}")
    order = 1 + max(map(sum, arrays))
    if order - 1 > HIGHEST:
        raise SourceError(f"the table has a derivative of degree {order - 1}: at most {HIGHEST} are supported")
    every = (tuple(int(n) for n in row) for degree in range(order) for row in of_degree(d, degree))
    missing = next((alpha for alpha in every if alpha not in arrays), None)
    if missing is not None:
        raise SourceError(f"the table has derivatives of degree {order - 1}, but {missing} is missing: give all")
    shapes = {array.shape for array in arrays.values()}
    shape = next(iter(shapes))
    if len(shapes) > 1:
        raise SourceError(f"the arrays of the table differ in shape: {', '.join(map(str, sorted(shapes)))}")
    if len(shape) not in (d, d + 1) or len(set(shape[:d])) != 1 or shape[0] < 2 or 0 in shape:
        raise SourceError(
            f"arrays of shape {shape} in a table of {counted(d, 'input')}: needed are {EXAMPLE}, N at least 1"
        )
    for alpha, array in arrays.items():
        if not np.isfinite(array).all():
            where = tuple(int(n) for n in np.argwhere(~np.isfinite(array))[0])
            raise SourceError(f"the derivative {alpha} is {array[where]} at node {where[:d]}: it must be finite")
    table = Table(shape[0] - 1, order, {alpha: _with_outputs(array, d) for alpha, array in arrays.items()})
    called = numbered(d) if variables is None else names(variables)
    if len(called) != d:
        raise SourceError(f"the table has {counted(d, 'input')}, variables names {len(called)}: {', '.join(called)}")
    return Function(
        d, shape[d] if len(shape) > d else 1, f"table of derivatives up to order {order - 1}", called, table=table
    )


def _alpha(key: Any) -> Alpha:
    alpha = key if isinstance(key, tuple) else (key,)
    if not alpha or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 0 for n in alpha):
        raise SourceError(f"{key!r} names no derivative: keys of a table are multi-indices, as {EXAMPLE}")
    return tuple(int(n) for n in alpha)


def _with_outputs(array: Floats, d: int) -> Floats:
    return tensor(array if array.ndim > d else array[..., None])
