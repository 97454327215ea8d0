"""A function on a box, as Theorem 1 compiles it: given by values, a formula, a table of its derivatives, or data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.targets import float_arithmetic
from integraph.targets.calls import CallMeter
from integraph.targets.expression import Expression
from integraph.targets.rows import Rows
from integraph.text import DistinctNames, clean, counted

Alpha = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """f^(α), in the units of the box, at the (N + 1)^d nodes that divide its sides equally: α → array (N+1, …, N+1,
    outputs), for all |α| < n."""

    N: int
    order: int
    derivatives: Mapping[Alpha, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """f: ℝ^d → ℝ^m. With an expression errors are proved; with values they are measured at points; with a table
    neither; with rows they are measured on rows that are held out."""

    inputs: int
    outputs: int
    name: str
    variables: tuple[str, ...]
    expression: Expression | None = None
    values: Callable[[Floats], Floats] | None = None  # (B, d) → (B, m); raises SourceError where it is not finite
    derivative: Callable[[Alpha, Floats], Floats] | None = None  # f^(α): (α, (B, d)) → (B, m)
    table: Table | None = None
    meter: CallMeter | None = None  # of the calls of `values`, where they may cost much
    rows: Rows | None = None  # measured values, and nothing between them

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean(self.name))
        object.__setattr__(self, "variables", tuple(map(DistinctNames(), self.variables)))

    def __repr__(self) -> str:
        kind = "formula " if self.expression else "" if self.table else "data " if self.rows else "function "
        inputs, outputs = counted(self.inputs, "input"), counted(self.outputs, "output")
        return f"{kind}{self.name}: {inputs} ({', '.join(self.variables)}), {outputs}"


def metered(function: Function) -> Function:
    """The same, with a meter if it can only be called."""
    if function.values is None or function.expression is not None or function.meter is not None:
        return function
    meter = CallMeter(function.name)
    return replace(function, values=meter.counting(function.values), meter=meter)


def from_expression(expression: Expression, name: str) -> Function:
    """The function that a formula defines."""

    def values(x: Floats) -> Floats:
        return finite(float_arithmetic.values(expression, x), x, name, expression.variables)

    return Function(len(expression.variables), len(expression.outputs), name, expression.variables, expression, values)


def finite(values: Floats, x: Floats, name: str, variables: tuple[str, ...]) -> Floats:
    """The values (B, m) at points (B, d), or a SourceError that names the first point where they are not finite."""
    good = np.isfinite(values)
    if not good.all():
        row, column = (int(n) for n in np.argwhere(~good)[0])
        which = f"output {column + 1} of {name}" if values.shape[1] > 1 else name
        raise SourceError(
            f"{which} is {values[row, column]} at {point(x[row], variables)}: it must be finite on the whole box; "
            "choose another box"
        )
    return values


def point(x: Floats, variables: tuple[str, ...]) -> str:
    """x = 0.5, y = 1"""
    return ", ".join(f"{name} = {value:.12g}" for name, value in zip(variables, x, strict=True))
