"""Formulas in 50 digits: their values and their Taylor coefficients along a line by mpmath, and random smooth ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from hypothesis import strategies as st

from integraph.frontends.formula.parser import parse
from integraph.numbers.arrays import Floats
from integraph.targets.expression import Arithmetic, Expression, Step, Tape, evaluate

MP = mpmath.MPContext()
MP.dps = 50
REAL: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "power": lambda a, b: MP.power(a, b),
    "ln": MP.log,
    "log2": lambda x: MP.log(x) / MP.log(2),
    "log10": lambda x: MP.log(x) / MP.log(10),
    "cbrt": lambda x: -MP.root(-x, 3) if MP.re(x) < 0 else MP.root(x, 3),
    "sigmoid": lambda x: 1 / (1 + MP.exp(-x)),
    "softplus": lambda x: MP.log(1 + MP.exp(x)),
    "abs": lambda x: -x if MP.re(x) < 0 else x,
}


class Multiprecision(Arithmetic):
    """What the steps mean for mpmath's numbers."""

    def number(self, text: str) -> Any:
        return getattr(MP, text) if text in ("pi", "e") else MP.mpf(text)

    def apply(self, step: Step, args: Any) -> Any:
        return (REAL.get(step.op) or getattr(MP, step.op))(*args)


def formula(text: str, variables: str | None = None) -> Expression:
    found = parse(text, variables).expression
    assert found is not None
    return found


def along(expression: Expression, x: Floats, v: Floats, n: int) -> list[Any]:
    """The Taylor coefficients of t → f(x + t v), by mpmath."""

    def on_line(t: Any) -> Any:
        return evaluate(expression, Multiprecision(), [MP.mpf(a) + t * MP.mpf(b) for a, b in zip(x, v, strict=True)])[0]

    return list(MP.taylor(on_line, 0, n - 1))


@st.composite
def tapes(draw: st.DrawFn) -> Expression:
    """Random formulas that are smooth for |x|, |y| ≤ 1: arguments of ln, √ and quotients are kept away from 0."""
    tape = Tape(("x", "y"))
    steps = [tape.add("variable", text="x"), tape.add("variable", text="y"), tape.add("number", text="0.7")]
    steps.append(tape.add("number", text=draw(st.sampled_from(["0.1", "-1.3", "2", "pi", "1e-3"]))))
    for _ in range(draw(st.integers(1, 7))):
        op = draw(st.sampled_from(["add", "sub", "mul", "div", "square", "tanh", "sin", "cos", "atan", "ln", "sqrt"]))
        a, b = draw(st.sampled_from(steps)), draw(st.sampled_from(steps))
        if op in ("div", "ln", "sqrt"):  # of 1.25 + tanh(b)
            b = tape.add("add", tape.add("tanh", b), tape.add("number", text="1.25"))
            steps.append(tape.add("div", a, b) if op == "div" else tape.add(op, b))
        elif op == "square":
            steps.append(tape.add("power", tape.add("atan", a), tape.add("number", text="2"), text="2"))
        else:
            steps.append(tape.add(op, a, b) if op in ("add", "sub", "mul") else tape.add(op, a))
    return tape.expression([steps[-1]])
