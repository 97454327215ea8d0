"""The dynamical system behind the program of a lifted one, given as it was lifted, or as its equations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from integraph.api.lifting import lift
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import UsageError
from integraph.frontends import Parameters
from integraph.frontends.formula.parser import parse
from integraph.program import Program
from integraph.program.origin import LIFT, Option
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.text import shortened

SHOWN = 60  # characters of a name


def is_lifted(program: Program, source: Any = None) -> bool:
    """Whether the program, or what is given as its source, is of a dynamical system."""
    of_flow = program.origin is not None and program.origin.method == LIFT
    return of_flow or isinstance(source, FlowMap | QuadraticSystem | DynamicalSystem)


def flow_map(program: Program, source: Any, parameters: Parameters = None) -> FlowMap:
    """What the program of a lifted system stands for; equations are lifted again, as they were for the program."""
    if isinstance(source, FlowMap):
        return source
    origin = program.origin
    facts: dict[str, Option] = dict(origin.options) if origin is not None and origin.method == LIFT else {}
    if source is None:
        name = shortened(program.source, SHOWN)
        raise UsageError(
            f"the program stores only the name of its system, {name!r}: give its equations after the program, as text "
            "or as a file (in Python also what lift returned)"
        )
    if not isinstance(source, QuadraticSystem):
        inputs, positive = (str(facts.get(name, "")) for name in ("inputs", "positive"))
        source = lift(source, parameters=parameters, inputs=inputs or (), positive=positive or ())
        rate = facts.get("relax")
        if isinstance(rate, int | float) and rate:
            source = source.relax(rate)
    elif parameters:
        raise UsageError("the system has its parameters: leave them out", argument="parameters")
    output = facts.get("output")
    if output is not None and not isinstance(output, str):
        raise UsageError(f"the read-out {output!r} that the program names is no formula")
    formula = None if output is None else parse(output, list(source.source.states)).expression
    return FlowMap(source, _time(program, len(source.source.states), facts.get("T")), formula)


def _time(program: Program, states: int, given: Option | None) -> Fraction:
    """T as the program names it, else how long its states move."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Fraction(given)
    moving = [
        segment
        for number, segment in enumerate(program.segments)
        if any((part.i < states).any() for part in program.segment_terms(number))
    ]
    return sum((Fraction(segment.duration) for segment in moving), Fraction(0))
