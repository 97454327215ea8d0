"""SBML L3V2: a parameter and a rate rule for each register, an event between segments.

Every segment takes one unit of the model's time, because COPASI skips a segment of 1e-4 between two of 100. The
duration is a factor of the right-hand side instead: y' = run__1 (...) + run__2 (...), where run__n is the duration of
segment n while it runs, and else 0. So no number is rounded. Numbers are values of parameters, since COPASI reads
`<cn type="e-notation">` one unit in the last place off. No name of a
register has two underscores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from integraph.export.amplitude import centre
from integraph.export.biology.sbml_document import (
    MATH,
    TIMING,
    Constants,
    apply,
    document,
    events,
    listed,
    parameter,
    product,
    runs,
)
from integraph.export.equations import Equations, Term, equations
from integraph.export.header import header

if TYPE_CHECKING:
    from integraph.program import Program

SIZE, BOUND, LARGEST = "size__", "bound__", 1e100  # the sum of all |y|, and what it may be
ESCAPE = (
    f"Where a solution ends before its time, some tools go on with the last numbers they had. So outputs are NaN once "
    f"{SIZE}, the sum of all |y|, is {LARGEST:g} or more."
)


def write(program: Program, name: str) -> str:
    eq, constants = equations(program, avoid=(name,)), Constants()
    rules = "".join(_rate_rule(eq, constants, *row) for row in _moving(eq))
    rules += "".join(
        f'<assignmentRule variable="{output}">{MATH.format(_guarded(sum_of(eq, constants, terms)))}</assignmentRule>\n'
        for output, (_, terms) in zip(eq.output_names, eq.outputs, strict=True)
    )
    rules += _size_rule(eq.names)
    start = [*centre(program).tolist(), *[0.0] * (len(eq.names) - eq.inputs)]
    registers = "".join(parameter(*row, constant=False) for row in zip(eq.names, start, strict=True))
    registers += "".join(parameter(output, 0.0, constant=False) for output in (*eq.output_names, SIZE))
    lists = (
        listed("Parameters", registers + parameter(BOUND, LARGEST) + runs(eq) + constants.parameters())
        + listed("Rules", rules)
        + listed("Events", events(eq))
    )
    about = [*header(program, name, exact=True), TIMING.format(len(eq.durations)), ESCAPE]
    return document(name, about, lists)


def sum_of(eq: Equations, constants: Constants, terms: Sequence[Term]) -> str:
    """The sum of the terms; a coefficient 1 is left out."""
    parts = [
        product([*([] if value == 1 and factors else [constants.name(value)]), *(eq.names[f] for f in factors)])
        for value, factors in terms or [(0.0, ())]
    ]
    return apply("plus", parts)


def _guarded(value: str) -> str:
    """The value while all registers are of a size that solutions have, else NaN: the logarithm of a negative number,
    because libSBML misses the unit of `<notanumber/>`."""
    small = f"<apply><lt/><ci>{SIZE}</ci><ci>{BOUND}</ci></apply>"
    nan = f"<apply><ln/><apply><minus/><ci>{BOUND}</ci></apply></apply>"
    return f"<piecewise><piece>{value}{small}</piece><otherwise>{nan}</otherwise></piecewise>"


def _size_rule(names: Sequence[str]) -> str:
    size = apply("plus", [f"<apply><abs/><ci>{name}</ci></apply>" for name in names])
    return f'<assignmentRule variable="{SIZE}">{MATH.format(size)}</assignmentRule>\n'


def _moving(eq: Equations) -> Iterator[tuple[int, list[tuple[int, list[Term]]]]]:
    """Each register that moves, with its terms in the segments (from 1) where it does."""
    rows: dict[int, list[tuple[int, list[Term]]]] = {}
    for number, segment in enumerate(eq.segments, 1):
        for register, terms in segment:
            rows.setdefault(register, []).append((number, terms))
    yield from sorted(rows.items())


def _rate_rule(eq: Equations, constants: Constants, register: int, parts: list[tuple[int, list[Term]]]) -> str:
    rates = [apply("times", [f"<ci>run__{n}</ci>", sum_of(eq, constants, terms)]) for n, terms in parts]
    return f'<rateRule variable="{eq.names[register]}">{MATH.format(apply("plus", rates))}</rateRule>\n'
