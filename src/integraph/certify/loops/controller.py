"""A controller on rows: what it reads of the states, a network, formula, graph or program, a scaling, and limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.network_models import network_models
from integraph.certify.bounds.program_models import program_models
from integraph.certify.loops.flow_kernels import row_values
from integraph.certify.loops.network_kernels import compilable, network_rows
from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import Operations, operations
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import kink
from integraph.numbers.models.models import Models
from integraph.program import Program
from integraph.targets.expression import Expression
from integraph.targets.float_arithmetic import values
from integraph.targets.graph import Graph
from integraph.targets.network import Network

Law = Network | Expression | Graph | Program


@dataclass(frozen=True, slots=True, eq=False)
class Controller:
    """u = scale·(N(y) − offset), clipped to the limits, where y are `readings`, formulas of the states, or the states
    themselves."""

    source: Law
    scale: Floats
    offset: Floats
    limits: Interval | None = None
    readings: Expression | None = None
    tapes: dict[str, Operations] = field(init=False)  # of what is a formula

    def __post_init__(self) -> None:
        parts = {"source": self.source, "readings": self.readings}
        tapes = {name: operations(part, ()) for name, part in parts.items() if isinstance(part, Expression)}
        object.__setattr__(self, "tapes", tapes)

    def models(self, rows: ModelRows) -> ModelRows | None:
        """The inputs of the plant as rows, from those of the states; None where a formula is not defined."""
        read = rows if self.readings is None else _formula(self.tapes["readings"], rows)
        if read is None:
            return None
        out = self._law(read)
        return None if out is None else self._scaled(out)

    def _law(self, read: ModelRows) -> ModelRows | None:
        if isinstance(self.source, Expression):
            return _formula(self.tapes["source"], read)
        if isinstance(self.source, Network) and compilable(self.source):
            return read.with_values(network_rows(self.source, read.values, read.table))
        if isinstance(self.source, Network):
            return read.of_models(network_models(self.source, read.models()))
        if isinstance(self.source, Graph):
            return read.of_models(graph_models(self.source, read.models()))
        return read.of_models(program_models(self.source, read.models()))

    def _scaled(self, rows: ModelRows) -> ModelRows:
        if self.limits is None and (self.scale == 1.0).all() and (self.offset == 0.0).all():
            return rows
        u = rows.models()
        zero = np.zeros((len(u), 1))
        u = u.scale(np.ones_like(zero), -self.offset[:, None]).scale(self.scale[:, None], zero)
        return rows.of_models(u if self.limits is None else _clipped(u, self.limits))

    def __call__(self, x: Floats) -> Floats:
        """The inputs at states (B, n), in float64."""
        y = x if self.readings is None else values(self.readings, x)
        u = self.scale * (_values(self.source)(y) - self.offset)
        return u if self.limits is None else np.clip(u, self.limits.low, self.limits.high)


@dataclass(frozen=True, slots=True, eq=False)
class ControllerGroup:
    """Several controllers, of the plant's inputs in order."""

    parts: tuple[Controller, ...]

    def models(self, rows: ModelRows) -> ModelRows | None:
        """The inputs of the plant as rows; None where one of the controllers is not defined."""
        results = [result for part in self.parts if (result := part.models(rows)) is not None]
        if len(results) < len(self.parts):
            return None
        return rows.with_values(np.concatenate([result.values for result in results]))

    def __call__(self, x: Floats) -> Floats:
        return np.concatenate([part(x) for part in self.parts], 1)


def _values(source: Law) -> Callable[[Floats], Floats]:
    if isinstance(source, Expression):
        return lambda y: values(source, y)
    return source.values if isinstance(source, Graph) else source


def _formula(tape: Operations, rows: ModelRows) -> ModelRows | None:
    failed, out = row_values(tape.code, tape.numbers, tape.held, tape.outputs, rows.values, rows.table)
    return None if failed >= 0 else rows.with_values(out)


def _clipped(u: Models, limits: Interval) -> Models:
    """max(u, low), then min of that and high."""
    one, zero = np.ones((len(u), 1)), np.zeros((len(u), 1))
    low, high = limits.low[:, None], limits.high[:, None]
    above = kink(u.scale(one, -low), zero).scale(one, low)
    return kink(above.scale(-one, high), zero).scale(-one, high)
