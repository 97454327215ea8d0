"""Tapes of formulas, and what they give for many inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exact_formulas import FORMULAS
from integraph import Program, compile
from integraph.flow.exact.plan import make
from integraph.flow.exact.rows import Layout, Rows, interpreted
from integraph.flow.exact.schedule import Code
from integraph.flow.exact.trace import trace
from integraph.numbers.arrays import Floats


def rows(code: Code, x: Floats, laid: Callable[[Code], Layout] = interpreted) -> Floats | None:
    """The outputs of a tape, or None if an input fails a guard."""
    outputs = np.empty((len(x), len(code.outputs)))
    with np.errstate(all="ignore"):
        fine = Rows(laid(code), len(x) + 3).run(x, outputs)
    return outputs if fine else None


def traced(name: str, count: int) -> tuple[Program, Code, Floats]:
    """A formula that must have a tape, and points of its box."""
    formula = FORMULAS[name]
    program = compile(formula.text, box=list(formula.box), variables=formula.variables)
    code = trace(make(program, False))
    assert code is not None
    return program, code, formula.points(count)
