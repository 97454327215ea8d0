"""dReal (.smt2, logic QF_NRA_ODE): the flows of all segments, and what may be asked of the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from integraph.export.equations import Equations, Term, equations, start_box
from integraph.export.header import commented, header, plain
from integraph.export.notation import decimal

if TYPE_CHECKING:
    from integraph.program import Program

USED = ("time", "assert", "flow", "integral", "and", "or", "not", "ite", "let", "bool", "real", "int")
LARGEST = "1e6"  # registers are searched in [−1e6, 1e6]


def write(program: Program, name: str) -> str:
    eq = equations(program, avoid=USED)
    low, high = start_box(program)
    depth = len(eq.segments)
    lines = ["(set-logic QF_NRA_ODE)", *(f"(declare-fun {one} () Real [-{LARGEST}, {LARGEST}])" for one in eq.names)]
    for number in range(depth):
        lines += _segment(eq, number)
    first = [f"{one}_1_0" for one in eq.names]
    lines += [
        f"(assert (and (>= {one} {_number(a)}) (<= {one} {_number(b)})))"
        for one, a, b in zip(first[: eq.inputs], low, high, strict=True)
    ]
    lines += [f"(assert (= {one} 0.0))" for one in first[eq.inputs :]]
    last = [f"{one}_{depth}_t" for one in eq.names] if depth else first
    for one, (_, terms) in zip(eq.output_names, eq.outputs, strict=True):
        lines += [f"(declare-fun {one} () Real [-{LARGEST}, {LARGEST}])", f"(assert (= {one} {_sum(terms, last)}))"]
    lines.append(f"; ask here, for instance: (assert (>= {eq.output_names[0]} 2.0))" if eq.outputs else "; no outputs")
    return commented(header(program, name, exact=True), ";") + "\n".join([*lines, "(check-sat)", "(exit)", ""])


def _segment(eq: Equations, number: int) -> list[str]:
    moving = dict(eq.segments[number])
    step = number + 1
    rows = " ".join(f"(= d/dt[{one}] {_sum(moving.get(n, []), eq.names)})" for n, one in enumerate(eq.names))
    start, end = ([f"{one}_{step}_{moment}" for one in eq.names] for moment in ("0", "t"))
    duration = decimal(eq.durations[number])
    lines = [f"; {plain(eq.labels[number])}", f"(define-ode flow_{step} ({rows}))"]
    lines += [f"(declare-fun {one} () Real [-{LARGEST}, {LARGEST}])" for one in (*start, *end)]
    lines += [f"(declare-fun time_{step} () Real [{duration}, {duration}])"]
    lines.append(f"(assert (= [{' '.join(end)}] (integral 0. time_{step} [{' '.join(start)}] flow_{step})))")
    if number:
        lines += [f"(assert (= {one}_{step}_0 {one}_{number}_t))" for one in eq.names]
    return lines


def _sum(terms: Sequence[Term], names: Sequence[str]) -> str:
    products = [_product(value, factors, names) for value, factors in terms]
    return products[0] if len(products) == 1 else f"(+ {' '.join(products)})" if products else "0.0"


def _product(value: float, factors: tuple[int, ...], names: Sequence[str]) -> str:
    parts = [_number(value), *(names[factor] for factor in factors)]
    return parts[0] if len(parts) == 1 else f"(* {' '.join(parts)})"


def _number(value: float) -> str:
    return f"(- {decimal(-value)})" if value < 0 else decimal(value)
