"""Any source of a function → `Function`. As for networks, no package is imported to find out what a source is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.frontends.formula import parser, sympy_tree
from integraph.frontends.python import callables, polynomials, table
from integraph.numbers.arrays import Floats, numbers
from integraph.targets.function import Function

ACCEPTED = (
    "a formula or a list of formulas, a sympy expression or a list or matrix of them, a polynomial of numpy, a Python "
    "function, "
    "a table {α: array} of derivatives, or a Function"
)


def function(
    source: Any,
    *,
    variables: str | Sequence[object] | None = None,
    inputs: int | None = None,
    derivatives: callables.Derivative | None = None,
    box: tuple[ArrayLike, ArrayLike] | None = None,
) -> Function:
    """The function in a formula, a sympy expression, a Python function or a table.

    `variables` names the inputs in order. `inputs`, `derivatives` and `box` are for Python functions: how many inputs a
    single parameter holds, what is known of f^(α), and where f is tried (by default on the unit cube).
    """
    if is_python(source):
        low, high = (None, None) if box is None else _box(*box)
        return callables.read(source, low, high, inputs=inputs, variables=variables, derivatives=derivatives)
    if derivatives is not None:
        raise UsageError(f"derivatives are for Python functions: a {type(source).__name__} has its own")
    target = _read(source, variables)
    if inputs is not None and inputs != target.inputs:
        raise UsageError(
            f"the source is the {target!r}: name all inputs in `variables`", argument="inputs", value=inputs
        )
    return target


def is_python(source: Any) -> bool:
    """Whether a source is a Python function, and nothing that knows its own formula."""
    formula_like = sympy_tree.is_sympy(source) or polynomials.is_polynomial(source)
    return callable(source) and not formula_like and not isinstance(source, type)


def _read(source: Any, variables: str | Sequence[object] | None) -> Function:
    if isinstance(source, Function):
        if variables is not None:
            raise UsageError(f"variables are for sources: a Function has its own, {', '.join(source.variables)}")
        return source
    if isinstance(source, Mapping):
        return table.read_table(source, variables)
    if polynomials.is_polynomial(source):
        return polynomials.read(source, variables)
    parts = list(source) if isinstance(source, list | tuple | np.ndarray) else [source]
    if any(map(sympy_tree.is_sympy, parts)):
        return sympy_tree.read(source, variables)
    if parts and all(isinstance(part, str) for part in parts):
        return parser.parse(source if isinstance(source, str) else parts, variables)
    raise UsageError(f"cannot read a function from {type(source).__name__}: accepted are {ACCEPTED}")


def _box(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    ends = np.atleast_1d(numbers(low, "the box")), np.atleast_1d(numbers(high, "the box"))
    if ends[0].shape != ends[1].shape or ends[0].ndim != 1 or not (ends[0] < ends[1]).all():
        raise UsageError(f"box = {low!r}, {high!r}: needed are a lower and an upper end of each input, lower < upper")
    return ends
