"""A controller on rows of the checker: readings, a network, formula, graph or program, scaling and limits."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from integraph.certify.loops.controller import Controller, ControllerGroup, Law
from integraph.certify.loops.replay.formulas import formula
from integraph.certify.loops.replay.functions import kink
from integraph.certify.loops.replay.graphs import graph_rows
from integraph.certify.loops.replay.networks import network_rows
from integraph.certify.loops.replay.programs import program_rows
from integraph.certify.loops.replay.rows import Row
from integraph.numbers.arb.conversion import ZERO
from integraph.targets.expression import Expression
from integraph.targets.graph import Graph
from integraph.targets.network import Network


def inputs_of(controller: Controller | ControllerGroup, rows: Sequence[Row]) -> list[Row]:
    """The inputs of the plant, from the states."""
    if isinstance(controller, ControllerGroup):
        return [row for part in controller.parts for row in inputs_of(part, rows)]
    read = list(rows) if controller.readings is None else formula(controller.readings, rows)
    made = []
    for n, row in enumerate(_law(controller.source, read)):
        u = row.scaled(arb(1), -arb(float(controller.offset[n]))).scaled(arb(float(controller.scale[n])))
        if controller.limits is not None:
            low, high = (arb(float(ends[n])) for ends in (controller.limits.low, controller.limits.high))
            above = kink(u.scaled(arb(1), -low), ZERO).scaled(arb(1), low)
            u = kink(above.scaled(arb(-1), high), ZERO).scaled(arb(-1), high)
        made.append(u)
    return made


def _law(source: Law, rows: Sequence[Row]) -> list[Row]:
    if isinstance(source, Expression):
        return formula(source, rows)
    if isinstance(source, Network):
        return network_rows(source, rows)
    return graph_rows(source, rows) if isinstance(source, Graph) else program_rows(source, rows)
