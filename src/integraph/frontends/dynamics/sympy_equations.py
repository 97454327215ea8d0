"""Systems in symbols of sympy: {x: v, v: -sin(x)}, also with functions x(t), or a list of Eq(x(t).diff(t), v(t)).

A derivative of order n on the left makes the states x, dx, ddx, …, as in text; x(t).diff(t) on the right is dx then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from integraph.errors import SourceError, UsageError
from integraph.frontends.dynamics.equations import TIME, derivative_name
from integraph.frontends.dynamics.smooth_functions import DELAY, advice
from integraph.frontends.extras import need
from integraph.frontends.formula import sympy_tree
from integraph.frontends.formula.parameters import Parameters
from integraph.frontends.formula.sympy_tree import is_sympy
from integraph.targets.dynamical_system import DynamicalSystem

WORDS = "(softplus(z) is log(1 + exp(z)), sigmoid(z) is 1/(1 + exp(-z)))"


def is_sympy_system(source: Any) -> bool:
    """Whether a mapping or a sequence has parts of sympy, or is an equation."""
    if isinstance(source, Mapping):
        return any(map(is_sympy, (*source.keys(), *source.values())))
    return is_sympy(source) or (isinstance(source, list | tuple) and bool(source) and all(map(is_sympy, source)))


def read_sympy(
    source: Any, inputs: tuple[str, ...], positive: tuple[str, ...], parameters: Parameters
) -> DynamicalSystem:
    mapping = isinstance(source, Mapping)
    pairs = list(source.items()) if mapping else [_sides(one) for one in _equations(source)]
    orders = [_left(left, mapping) for left, _ in pairs]
    states = tuple(derivative_name(name, k) for name, order in orders for k in range(order))
    if twice := next((name for name in (*states, *inputs) if (*states, *inputs).count(name) > 1), None):
        raise UsageError(f"{twice} means two things, as a state, the derivative of a state or an input: rename one")
    values = {name: _number(name, value) for name, value in (parameters or {}).items()}
    symbol = need("sympy", "sympy").Symbol
    rights = []
    for (name, order), (_, right) in zip(orders, pairs, strict=True):
        rights += [symbol(derivative_name(name, k)) for k in range(1, order)]
        rights.append(_plain(right, (*states, *inputs), values))
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


def _left(left: Any, mapping: bool) -> tuple[str, int]:
    """The name and the order of dⁿx/dtⁿ; in a mapping x and x(t) stand for dx/dt."""
    if type(left).__name__ == "Derivative" and _is_state(left.expr) and _of_time(left):
        return _name(left.expr), int(left.derivative_count)
    if mapping and _is_state(left):
        return _name(left), 1
    raise SourceError(f"{left} stands on the left: solve for derivatives, Eq(x(t).diff(t), …)", argument="source")


def _is_state(node: Any) -> bool:
    """Whether it is x or x(t)."""
    called = getattr(node, "is_Function", False) and [str(arg) for arg in node.args] == [TIME]
    return isinstance(node, str) or getattr(node, "is_Symbol", False) or called


def _name(node: Any) -> str:
    return str(node.func) if getattr(node, "is_Function", False) else str(node)


def _of_time(derivative: Any) -> bool:
    return {str(variable) for variable in derivative.variables} == {TIME}


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
    derivatives = {}
    for node in sympy.preorder_traversal(right):
        if isinstance(node, sympy.Derivative):
            derivatives[node] = _derivative(node, variables)
        elif isinstance(node, sympy.core.function.AppliedUndef) and str(node.func) in variables:
            if [str(arg) for arg in node.args] != [TIME]:
                raise SourceError(f"{node} is a delay: {DELAY}")
        elif node.free_symbols and (said := advice(type(node).__name__)):
            raise SourceError(f"{node}: {said} {WORDS}")
    right = right.xreplace(derivatives)
    present = {node: sympy.Symbol(str(node.func)) for node in right.atoms(sympy.core.function.AppliedUndef)}
    right = right.xreplace(present)
    return right.xreplace({s: values[str(s)] for s in right.free_symbols if str(s) in values})


def _derivative(node: Any, variables: Sequence[str]) -> Any:
    """x(t).diff(t) as the state dx."""
    if not (_is_state(node.expr) and _of_time(node)):
        raise SourceError(f"{node} stands on a right-hand side: write it out, as sympy's doit() does")
    name = derivative_name(_name(node.expr), int(node.derivative_count))
    if name not in variables:
        raise SourceError(
            f"{node} stands on a right-hand side: put what its equation says there, or solve for the derivatives"
        )
    return need("sympy", "sympy").Symbol(name)
