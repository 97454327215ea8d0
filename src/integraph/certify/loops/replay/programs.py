"""A program as a controller: the network that it was compiled from, with a proved distance; or its own formulas."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

from flint import ctx

from integraph.certify.formula.symbolic_flow import output_formulas
from integraph.certify.formula.symbols import SymbolTable
from integraph.certify.loops.replay.formulas import formula
from integraph.certify.loops.replay.networks import network_rows
from integraph.certify.loops.replay.rows import Row
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.network.recovery import recovered
from integraph.certify.problem import Unprovable
from integraph.numbers.arb.conversion import ONE, above, below
from integraph.program import Program
from integraph.targets.expression import Expression

Formulas = tuple[Expression, int]  # the outputs, then what is > 0 as long as the flow exists; and how many are outputs
_FORMS: WeakKeyDictionary[Program, NetworkDifference | Formulas] = WeakKeyDictionary()


def program_rows(program: Program, rows: Sequence[Row]) -> list[Row]:
    """The outputs C y(T), from the inputs."""
    form = _form(program)
    if not isinstance(form, NetworkDifference):
        expression, count = form
        values = formula(expression, rows)
        if not all(row.range()[0] > 0 for row in values[count:]):
            raise Unprovable("the flow of the controller may end before its time")
        return values[:count]
    ends = [row.range() for row in rows]
    low, high = tuple(below(end[0]) for end in ends), tuple(above(end[1]) for end in ends)
    apart = form.outputs(low, high, ctx.prec)
    if not all(ball.is_finite() for ball in apart):
        raise Unprovable("the distance of the controller from its network has no bound")
    return [
        row.scaled(ONE, ball.mid(), ball.rad())
        for row, ball in zip(network_rows(form.network, rows), apart, strict=True)
    ]


def _form(program: Program) -> NetworkDifference | Formulas:
    form = _FORMS.get(program)
    if form is None:
        form = _FORMS[program] = _read(program)
    return form


def _read(program: Program) -> NetworkDifference | Formulas:
    with suppress(Unprovable):
        return NetworkDifference(program, recovered(program))
    book = SymbolTable([f"x{n}" for n in range(program.inputs)])
    try:
        written = output_formulas(program, book)
    except RecursionError:
        raise Unprovable("the flow of the controller has formulas that are nested too deep") from None
    return book.tape.expression([*written.outputs, *written.alive]), len(written.outputs)
