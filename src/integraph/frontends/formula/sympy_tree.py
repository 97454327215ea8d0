"""Expressions of sympy → functions. The tree is walked without recursion; numbers stay exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError
from integraph.frontends.extras import need
from integraph.frontends.formula.rationals import POWER, exact_number
from integraph.frontends.formula.shunting_yard import STEPS
from integraph.frontends.formula.statements import COMMA
from integraph.frontends.formula.tokens import DIGITS
from integraph.frontends.input_names import names, natural
from integraph.targets.expression import CHOICES, FUNCTIONS, NUMBER, VARIABLE, Tape
from integraph.targets.function import Function, from_expression
from integraph.text import FORMULA, shortened

OPERATIONS = {"Add": "add", "Mul": "mul", "Pow": "power", "Abs": "abs", "log": "ln", "Min": "min", "Max": "max"} | {
    name: name for name in FUNCTIONS if name not in ("abs", "ln", "sqrt", "cbrt")
}
RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan", "sech": "cosh", "csch": "sinh", "coth": "tanh"}
FOLDED = ("add", "mul", *CHOICES)  # of two or more arguments
CONSTANTS = {"Pi": "pi", "Exp1": "e"}
ROOTS = ("Basic", "MatrixBase", "NDimArray")
ACCEPTED = "numbers, symbols, + - * / **, pi, E, exp, log, trigonometric and hyperbolic functions, erf, Abs, Min, Max"


def is_sympy(source: Any) -> bool:
    """Whether an object is sympy's, without importing it. Classes made by Function('f') have no module."""
    classes = type(source).__mro__
    return any(cls.__name__ in ROOTS and str(cls.__module__).split(".")[0] == "sympy" for cls in classes)


def read(source: Any, variables: str | Sequence[object] | None = None) -> Function:
    """The function of an expression, or of a list or matrix of them. Without `variables`, symbols in natural order."""
    if _ours(source) and _name(source) == "Poly":
        source, variables = source.as_expr(), source.gens if variables is None else variables
    elif _ours(source) and _name(source) == "Lambda":
        source, variables = source.expr, source.variables if variables is None else variables
    several = isinstance(source, Sequence) or hasattr(source, "tolist") or _name(source) == "Tuple"
    outputs = [_sympified(output) for output in source] if several else [source]
    if not outputs:
        raise SourceError("a list without expressions: a function needs at least one output")
    for output in outputs:
        _check(output)
    given = None if variables is None else names(variables)
    tape = Tape(given or ())
    known: dict[Any, int] = {}
    for output in outputs:
        for node in _bottom_up(output, known):
            known[node] = _step(node, [known[arg] for arg in node.args], tape)
            if len(tape.steps) > STEPS:
                raise SourceError(f"an expression of more than {STEPS:,} steps: give a Python function instead")
    tape.variables = _inputs(known, given)
    text = _text(outputs)  # not always a formula: symbols may be called e, binary numbers are cut
    return from_expression(
        tape.expression([known[output] for output in outputs], text), f"sympy {shortened(text, FORMULA)}"
    )


def _sympified(output: Any) -> Any:
    """Numbers of Python may stand among the outputs."""
    if isinstance(output, int | float) and not isinstance(output, bool):
        return need("sympy", "sympy").Number(output)
    return output


def _bottom_up(root: Any, known: dict[Any, int]) -> Iterator[Any]:
    """The nodes that are not known yet, arguments before what is made of them."""
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready and node not in known:
            yield node
        elif not ready and node not in known:
            _check(node)
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.args)]


def _check(node: Any) -> None:
    """Only what we know has arguments that are worth looking at."""
    known = _name(node) in (*OPERATIONS, *RECIPROCALS, *CONSTANTS)
    if not (_ours(node) and (known or _is_number(node) or _is_symbol(node))):
        raise SourceError(f"{_name(node)} is not read from sympy ({node}): accepted are {ACCEPTED}")


def _ours(node: Any) -> bool:
    """Whether it is sympy's own class: Function('sin') is not its sine."""
    return str(type(node).__module__).split(".")[0] == "sympy"


def _name(node: Any) -> str:
    return type(node).__name__


def _is_number(node: Any) -> bool:
    return bool(getattr(node, "is_Rational", False) or getattr(node, "is_Float", False))


def _is_symbol(node: Any) -> bool:
    return _name(node) in ("Symbol", "Dummy")


def _step(node: Any, args: list[int], tape: Tape) -> int:
    """Writes a node onto the tape."""
    if _is_number(node):
        return exact_number(_exact(node), tape)
    if _is_symbol(node):
        return tape.add(VARIABLE, text=str(node.name))
    name = _name(node)
    if name in CONSTANTS:
        return tape.add(NUMBER, text=CONSTANTS[name])
    if name in RECIPROCALS:
        return tape.add("div", exact_number(Fraction(1), tape), tape.add(RECIPROCALS[name], *args))
    op = OPERATIONS[name]
    if op == "power":
        return _power(node, args, tape)
    if op == "mul" and node.args[0] == -1:
        return tape.add("neg", _folded(op, args[1:], tape))
    if op in FOLDED:
        return _folded(op, args, tape)
    if len(args) != 1:
        raise SourceError(f"{node} has {len(args)} arguments: {name} is read with one")
    return tape.add(op, *args)


def _folded(op: str, args: list[int], tape: Tape) -> int:
    """((a op b) op c) op …"""
    total, *rest = args
    for arg in rest:
        total = tape.add(op, total, arg)
    return total


def _power(node: Any, args: list[int], tape: Tape) -> int:
    exponent = node.args[1]
    if not _is_number(exponent):
        return tape.add("power", *args)
    p = _exact(exponent)
    if abs(p) > POWER:
        raise SourceError(f"the exponent of {node} is too large: at most {POWER}; use exp and log")
    if p == -1:
        return tape.add("div", tape.add(NUMBER, text="1"), args[0])
    return tape.add("power", *args, text=str(p))


def _exact(node: Any) -> Fraction:
    """The number that an Integer, a Rational or a binary Float is."""
    sympy = need("sympy", "sympy")
    size = abs(node)
    if size != 0 and not (sympy.Integer(10) ** -DIGITS < size < sympy.Integer(10) ** DIGITS):
        raise SourceError(f"a number of size 1e±{DIGITS} or beyond: float64 ends at 1e308 and 1e-308")
    exact = sympy.Rational(node)
    return Fraction(int(exact.p), int(exact.q))


def _inputs(known: dict[Any, int], given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The names of the inputs, in order."""
    used = sorted((str(node.name) for node in known if _is_symbol(node)), key=natural)
    twice = [name for name in used if used.count(name) > 1]
    if twice:
        raise SourceError(f"two different symbols are called {twice[0]} (their assumptions differ): rename one")
    if given is None:
        return tuple(used) or ("x",)
    unknown = [name for name in used if name not in given]
    if unknown:
        raise SourceError(f"the symbol {unknown[0]} is not among variables = {', '.join(given)}: add it there")
    return given


def _text(outputs: list[Any]) -> str:
    try:
        return COMMA.join(map(str, outputs))
    except RecursionError:  # sympy's printer is recursive
        return "a deep sympy expression"
