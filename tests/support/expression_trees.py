"""Random formulas, as text and in mpmath: what a tree means is said here once more, without our parser."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from mpmath import mp, mpf

VARIABLES = ("x", "y", "z")
BOX = (0.2, 1.0)
LARGEST = 1e6
Tree = str | tuple["Tree", ...]  # a name, a number, or an operation and its operands

FUNCTIONS = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "ln": mp.log,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10,
    "sqrt": mp.sqrt,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "erf": mp.erf,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
}
POSITIVE = ("ln", "log2", "log10", "sqrt")
MARGIN = mpf("1e-3")  # from the edge of a domain, where values are ill-conditioned
BINARY = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}

leaves = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(["2", "3", "0.5", "1.5", "0.1", "7"]))
exponents = st.sampled_from(["2", "3", "4", "-1", "-2", "-3", "0.5", "-0.5", "1.5"])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "*", "/"]), inner, inner),
        st.tuples(st.just("^"), inner, exponents),
        st.tuples(st.just("^"), inner, inner),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner),
    ),
    max_leaves=8,
)


class Undefined(Exception):
    """The value is no real number, or too close to where it is none, or too large."""


def written(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    op, *args = tree
    parts = [written(arg) for arg in args]
    if len(parts) == 1:
        return f"{op}({parts[0]})"
    exponent = f"({parts[1]})" if op == "^" else parts[1]
    return f"({parts[0]}{op}{exponent})"


def value(tree: Tree, x: Mapping[str, mpf]) -> mpf:
    if isinstance(tree, str):
        return x[tree] if tree in x else mpf(tree)
    op, *args = tree
    found = _apply(str(op), [value(arg, x) for arg in args], isinstance(args[-1], str) and args[-1] not in x)
    if not isinstance(found, mpf) or not abs(found) <= LARGEST:
        raise Undefined
    return found


def _apply(op: str, args: list[mpf], fixed: bool) -> mpf:
    if op in BINARY:
        return BINARY[op](*args)
    if op == "/":
        if abs(args[1]) < MARGIN:
            raise Undefined
        return args[0] / args[1]
    if op == "^":
        whole = fixed and args[1] == int(args[1])
        if abs(args[0]) < MARGIN or (args[0] < 0 and not whole):
            raise Undefined
        return args[0] ** (int(args[1]) if whole else args[1])
    edge = {"log1p": 1 + args[0], "acosh": args[0] - 1, "cbrt": abs(args[0]), "tan": abs(mp.cos(args[0]))}
    edge |= dict.fromkeys(("asin", "acos", "atanh"), 1 - abs(args[0])) | dict.fromkeys(POSITIVE, args[0])
    if edge.get(op, MARGIN) < MARGIN:
        raise Undefined
    return FUNCTIONS[op](args[0])
