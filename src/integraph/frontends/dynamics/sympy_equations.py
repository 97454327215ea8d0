"""Systems in symbols of sympy: {x: v, v: -sin(x)}, also with functions x(t), or a list of Eq(x(t).diff(t), v(t))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics.smooth_functions import DELAY, advice
from integraph.frontends.extras import need
from integraph.frontends.formula import sympy_tree
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.sympy_tree import is_sympy
from integraph.targets.dynamical_system import DynamicalSystem

TIME = "t"
WORDS = "(softplus(z) is log(1 + exp(z)), sigmoid(z) is 1/(1 + exp(-z)))"


def is_sympy_system(source: Any) -> bool:
    """Whether a mapping or a sequence has parts of sympy, or is an equation."""
    if isinstance(source, Mapping):
        return any(map(is_sympy, (*source.keys(), *source.values())))
    return is_sympy(source) or (isinstance(source, list | tuple) and bool(source) and all(map(is_sympy, source)))


def read_sympy(
    source: Any, inputs: tuple[str, ...], positive: tuple[str, ...], parameters: Parameters
) -> DynamicalSystem:
    pairs = list(source.items()) if isinstance(source, Mapping) else [_sides(one) for one in _equations(source)]
    states = tuple(_state(left) for left, _ in pairs)
    values = {name: _number(name, value) for name, value in (parameters or {}).items()}
    rights = [_plain(right, (*states, *inputs), values) for _, right in pairs]
    used = {str(symbol) for right in rights for symbol in right.free_symbols}
    if TIME in used and TIME not in (*states, *inputs):
        states, rights = (*states, TIME), [*rights, 1]
    unknown = sorted(used - {*states, *inputs})
    if unknown:
        raise SourceError(
            f"unknown symbol {unknown[0]}: give it a value in parameters=, or an equation, or name it in inputs=",
            argument="parameters",
        )
    function = sympy_tree.read(rights, (*states, *inputs))
    assert function.expression is not None
    return DynamicalSystem(states, function.expression, inputs, positive, function.name)


def _equations(source: Any) -> Sequence[Any]:
    return source if isinstance(source, list | tuple) else [source]


def _sides(equation: Any) -> tuple[Any, Any]:
    if type(equation).__name__ not in ("Equality", "Eq"):
        raise UsageError("give equations, Eq(x(t).diff(t), …), or a mapping {x: …}", argument="source", value=equation)
    return equation.lhs, equation.rhs


def _state(left: Any) -> str:
    """The name of x, x(t) or dx/dt."""
    if type(left).__name__ == "Derivative":
        if left.derivative_count != 1:
            raise SourceError(f"{left} has order {left.derivative_count}: write x' = v and v' = … with a state v")
        left = left.expr
    return str(left.func) if getattr(left, "is_Function", False) else str(left)


def _number(name: str, value: Any) -> Any:
    try:
        exact = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"the parameter {name} needs a number", argument="parameters", value=value) from None
    return need("sympy", "sympy").Rational(exact.numerator, exact.denominator)


def _plain(right: Any, variables: Sequence[str], values: Mapping[str, Any]) -> Any:
    """A right-hand side with x(t) as x, and numbers for parameters."""
    sympy = need("sympy", "sympy")
    right = sympy.sympify(right) if isinstance(right, int | float) else right
    if not isinstance(right, sympy.Expr):
        raise UsageError("needs an expression of sympy on each right-hand side", argument="source", value=right)
    for node in sympy.preorder_traversal(right):
        if isinstance(node, sympy.core.function.AppliedUndef) and str(node.func) in variables:
            if [str(arg) for arg in node.args] != [TIME]:
                raise SourceError(f"{node} is a delay: {DELAY}")
        elif node.free_symbols and (said := advice(type(node).__name__)):
            raise SourceError(f"{node}: {said} {WORDS}")
    present = {node: sympy.Symbol(str(node.func)) for node in right.atoms(sympy.core.function.AppliedUndef)}
    right = right.xreplace(present)
    return right.xreplace({s: values[str(s)] for s in right.free_symbols if str(s) in values})
