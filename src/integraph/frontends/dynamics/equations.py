"""Differential equations as people write them → a dynamical system.

    x'' = -k*x - c*x'          a derivative of any order; x' on the right is the state dx
    k = 9.81/l                 a definition, used below
    dy/dt = x - y              the same as y' = x - y

Equations end with a semicolon or with the line; what follows # is a comment. The name t, if it is no state, is time: a
state with t' = 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics.smooth_functions import ALLOWED, advice
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.parser import parse_statements
from integraph.frontends.formula.statements import Statement
from integraph.frontends.formula.tokens import LENGTH, NAME, Line, tokens
from integraph.frontends.formula.vocabulary import LETTERS, SERIES, nearest, taken
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.text import FORMULA, shortened

COMMENT, TIME = "#", "t"
ORDER = 9  # the highest derivative
ALL = 4_000_000  # characters of all equations
STEPS = 200_000  # of all right-hand sides
MOST = 100_000  # equations
PRIMES = "'′’"
LEFT = re.compile(
    rf"[ \t]*(?:(?P<primed>{NAME})[ \t]*(?P<primes>[{PRIMES}]+)(?:[ \t]*\([ \t]*t[ \t]*\))?"
    rf"|d(?P<order>\^?[2-9])?[ \t]*(?P<of>{NAME})(?:[ \t]*\([ \t]*t[ \t]*\))?[ \t]*/[ \t]*dt(?:\^?[2-9])?"
    rf"|(?P<name>{NAME}))[ \t]*=(?!=)[ \t]*"
)
PRIMED = re.compile(rf"({NAME})([{PRIMES}]+)")
PRESENT = re.compile(rf"({NAME})([ \t]*\([ \t]*t[ \t]*\))")  # x(t)
START = re.compile(rf"[ \t]*{NAME}[{PRIMES}]*[ \t]*\([ \t]*[0-9.]+[ \t]*\)[ \t]*=(?!=)")
SECOND = re.compile(r"(?<![<>=!])=(?!=)")  # one equals sign too many
MODULES = ("np", "numpy", "math", "sp", "sympy", "jnp", "torch")
USAGE = "write x' = …, x'' = … or dx/dt = … for a state, k = … for a definition"
STARTS = "leave it out: simulate, program and enclose take starts"
SEPARATE = "put a semicolon, or a new line, between equations"


@dataclass(frozen=True, slots=True)
class Equation:
    """`order` derivatives of `name` on the left; 0 for a definition."""

    name: str
    order: int
    line: Line
    at: int
    start: int
    stop: int

    def mistake(self, reason: str, fix: str) -> SourceError:
        return self.line.mistake(self.at, self.at + len(self.name), reason, fix)

    def at_present(self, states: Collection[str]) -> Equation:
        """With x for x(t), which is as long with blanks."""
        text = self.line.text
        present = PRESENT.sub(
            lambda m: m[1] + " " * len(m[2]) if m[1] in states else m[0], text[self.start : self.stop]
        )
        if present == text[self.start : self.stop]:
            return self
        line = Line(text[: self.start] + present + text[self.stop :], self.line.number, self.line.written or text)
        return replace(self, line=line)


def read_equations(
    lines: Sequence[Line],
    inputs: Sequence[str] = (),
    positive: Sequence[str] = (),
    parameters: Parameters = None,
    name: str = "",
) -> DynamicalSystem:
    """The system of lines of text."""
    _check_size(lines)
    equations = [equation for line in lines for equation in _equations(_plain(line))]
    if len(equations) > MOST:
        raise SourceError(f"{len(equations):,} equations: at most {MOST:,}")
    orders: dict[str, int] = {}
    for one in equations:
        if one.order:
            if one.name in orders:
                raise one.mistake(f"{one.name} has two equations", "keep one of them")
            if what := taken(one.name):
                raise one.mistake(f"{one.name!r} is the {what}", "choose another name")
            orders[one.name] = one.order
    if not orders:
        raise SourceError(f"there is no differential equation: {USAGE}")
    states = [derivative_name(each, n) for each, order in orders.items() for n in range(order)]
    of_time = frozenset(states)
    equations = [one.at_present(of_time) for one in equations]
    words = set()
    unknown = []
    defined = {*states, *inputs, TIME, *LETTERS, *(one.name for one in equations), *(parameters or {})}
    for one in equations:
        bar = one.line.text.find("|", one.start, one.stop)
        if bar >= 0:
            raise one.line.mistake(bar, bar + 1, "the bars of |x|", advice("abs"))
        if (second := SECOND.search(one.line.text, one.start, one.stop)) is not None:
            raise one.line.mistake(second.start(), second.end(), "a second = in one equation", SEPARATE)
        for token in tokens(one.line, one.start, one.stop):
            words.add(token.name)
            if token.kind == "call" and token.name not in {*defined, *ALLOWED} and (said := advice(token.name)):
                raise one.line.mistake(token.start, token.end, f"a function {token.name}", said)
            if token.kind == "name" and token.name not in defined and not taken(token.name):
                unknown.append((one, token))
            if token.kind == "call" and token.name in states:
                reason = f"{token.name}(…) would be a delay or a product"
                fix = f"an ODE has no delays: write {token.name} for its present value, {token.name}*(…) for a product"
                raise one.line.mistake(token.start, token.end, reason, fix)
    if unknown and not words & SERIES.keys():  # a sum has an index of its own
        one, token = unknown[0]
        near = nearest(token.name, defined)
        hint = f"did you mean {near}? " if near else ""
        if one.line.text.startswith(".", token.end) and token.name in MODULES:
            reason, fix = f"{token.name}. is of Python", "functions have no prefix: write sin(x), exp(x)"
            raise one.line.mistake(token.start, token.end + 1, reason, fix)
        if (one.line.written or one.line.text)[token.start : token.end].endswith(tuple(PRIMES)):
            reason = "a derivative on the right that is no state"
            raise one.line.mistake(token.start, token.end, reason, "put what its equation says there")
        fix = f"{hint}give it a value as a parameter, or an equation, or name it among the inputs"
        mistake = one.line.mistake(token.start, token.end, f"unknown name {token.name!r}", fix)
        mistake.argument = "parameters"
        raise mistake
    if idle := next((one for one in equations if not one.order and one.name not in words), None):
        raise idle.mistake(f"{idle.name!r} is defined and not used", f"if it is a start, {STARTS}")
    known = {*states, *inputs, *(one.name for one in equations), *(parameters or {})}
    if TIME in words and TIME not in known:
        clock = Line("t' = 1")
        equations.append(Equation(TIME, 1, clock, 0, 5, 6))
        orders[TIME] = 1
        states.append(TIME)
    _check_clash(states, inputs, equations)
    parts = [Statement(one.line, one.start, one.stop, one.name, one.at) for one in equations if not one.order]
    chained = [Line(derivative_name(each, n + 1)) for each, order in orders.items() for n in range(order - 1)]
    sides = {one.name: one for one in equations if one.order}
    outputs = []
    for each, order in orders.items():
        for _ in range(order - 1):
            line = chained.pop(0)
            outputs.append(Statement(line, 0, len(line.text)))
        outputs.append(Statement(sides[each].line, sides[each].start, sides[each].stop))
    variables = (*states, *inputs)
    expression = parse_statements([*parts, *outputs], variables, parameters, length=ALL, steps=STEPS)
    if len(expression.outputs) != len(states):
        raise SourceError(f"there are {len(expression.outputs)} formulas for {len(states)} states: {USAGE}")
    title = name or "; ".join(dict.fromkeys(line.text.strip() for line in lines if line.text.strip()))
    return DynamicalSystem(tuple(states), expression, tuple(inputs), tuple(positive), shortened(title, FORMULA))


def _check_size(lines: Sequence[Line]) -> None:
    if (size := sum(len(line.text) for line in lines)) > ALL:
        raise SourceError(f"equations of {size:,} characters: at most {ALL:,}; give a function written in jax instead")
    for line in lines:
        if len(line.text) > LENGTH:
            where = f"line {line.number}" if line.number else "an equation"
            raise SourceError(
                f"{where} has {len(line.text):,} characters: at most {LENGTH:,}; write one equation on each line, and "
                "define parts of long ones"
            )


def _plain(line: Line) -> Line:
    return Line(line.text.partition(COMMENT)[0].rstrip(), line.number)


def _equations(line: Line) -> list[Equation]:
    """The equations of a line, with x' on the right written as dx, which is as long."""
    parts, start = [], 0
    for piece in line.text.split(";"):
        stop = start + len(piece)
        if piece.strip():
            match = LEFT.match(line.text, start, stop)
            if match is None:
                first = start + len(piece) - len(piece.lstrip())
                if (begin := START.match(line.text, start, stop)) is not None:
                    raise line.mistake(first, begin.end() - 1, "a start is no equation", STARTS)
                raise line.mistake(first, stop, "this is no equation", USAGE)
            name = match["primed"] or match["of"] or match["name"]
            order = len(match["primes"]) if match["primed"] else int((match["order"] or "1").lstrip("^"))
            order = 0 if match["name"] else order
            if order > ORDER:
                raise line.mistake(start, match.end(), f"a derivative of order {order}", f"at most {ORDER}")
            right = PRIMED.sub(lambda m: derivative_name(m[1], len(m[2])), line.text[match.end() : stop])
            plain = Line(line.text[: match.end()] + right + line.text[stop:], line.number, line.text)
            group = "primed" if match["primed"] else "of" if match["of"] else "name"
            parts.append(Equation(name, order, plain, match.start(group), match.end(), stop))
        start = stop + 1
    return parts


def derivative_name(name: str, order: int) -> str:
    """x, dx, ddx, …"""
    return "d" * order + name


def _check_clash(states: Sequence[str], inputs: Sequence[str], equations: Sequence[Equation]) -> None:
    """A name means one thing: dx is the derivative of x where x has a second one."""
    seen: set[str] = set()
    for name in inputs:
        if what := taken(name):
            raise UsageError(f"{name!r} is the {what}: choose another name", argument="inputs", value=name)
    for name in (*states, *inputs, *(one.name for one in equations if not one.order)):
        if name in seen:
            raise UsageError(
                f"{name} means two things, as a state, the derivative of a state, a definition or an input: rename one"
            )
        seen.add(name)
