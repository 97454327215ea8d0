"""Specifications of closed loops as text.

    clause    = condition [when] | avoid condition [at samples]
    when      = at end | by TIME | always | at samples
    condition = part {and part}
    part      = formula in [number, number] | formula < formula, with <, <=, > or >=

Clauses have semicolons between them; one without `when` is `at end`. `always` and `avoid` hold at all times, with `at
samples` at sampling times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from integraph.certify.loops.spec import Clause, Specification, When
from integraph.certify.loops.tape import operations
from integraph.errors import UsageError
from integraph.frontends.formula.parser import parse

TIMING = re.compile(r"\s+(at\s+end|at\s+samples|always|by\s+(?P<time>\S+))\s*$")
AVOID = re.compile(r"\s*avoid\s+")
AND = re.compile(r"\s+and\s+")
WITHIN = re.compile(r"(?P<formula>.*\S)\s+in\s+\[(?P<low>[^,\]]*),(?P<high>[^,\]]*)\]\s*$")
COMPARISON = re.compile(r"(?P<left>[^<>=]+)(?P<sign><=|>=|<|>)(?P<right>[^<>=]+)$")
USAGE = 'write conditions such as "x in [0, 0.2] and v <= 0.3 at end", "x <= 1 always" or "avoid x in [1, 2]"'


def read_spec(text: str, states: Sequence[str], period: float, steps: int) -> Specification:
    """The specification of a text over the states."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(USAGE, argument="spec", value=text)
    margins: list[tuple[str, bool]] = []
    clauses = tuple(_clause(part, margins, period, steps) for part in text.split(";") if part.strip())
    expression = parse([formula for formula, _ in margins], ",".join(states)).expression
    assert expression is not None
    return Specification(clauses, expression, operations(expression, ()), tuple(strict for _, strict in margins))


def _clause(text: str, margins: list[tuple[str, bool]], period: float, steps: int) -> Clause:
    body, when, samples, last = text.strip(), When.END, False, steps
    if timing := TIMING.search(text):
        body, word = text[: timing.start()].strip(), " ".join(timing[1].split())
        samples = word == "at samples"
        when = When.ALWAYS if samples or word == "always" else When.END
        if timing["time"]:
            when, last = When.BY, _period(timing["time"], period, steps)
    if avoid := AVOID.match(body):
        if timing and not samples:
            raise UsageError(f"{text.strip()}: avoid is at all times, or at samples", argument="spec")
        body, when = body[avoid.end() :], When.NEVER
    first = len(margins)
    for part in AND.split(body):
        margins.extend(_margins(part))
    return Clause(text.strip(), when, tuple(range(first, len(margins))), samples, last)


def _period(text: str, period: float, steps: int) -> int:
    """The last sampling time that is not after this time."""
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if not time >= 0:
        raise UsageError("a time is a number ≥ 0, as in by 3.5", argument="spec", value=text)
    return min(steps, math.floor(time / period * (1 + 1e-12)))


def _margins(part: str) -> list[tuple[str, bool]]:
    """Formulas that must be ≥ 0, and whether 0 is too little."""
    if within := WITHIN.match(part):
        return [
            (f"({within['formula']}) - ({within['low']})", False),
            (f"({within['high']}) - ({within['formula']})", False),
        ]
    if comparison := COMPARISON.match(part):
        left, right = comparison["left"], comparison["right"]
        less = comparison["sign"].startswith("<")
        formula = f"({right}) - ({left})" if less else f"({left}) - ({right})"
        return [(formula, "=" not in comparison["sign"])]
    raise UsageError(USAGE, argument="spec", value=part)
