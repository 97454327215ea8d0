"""The definition of each operation of a graph, in sums, products and the functions that gadgets compute: a root is a
power, max(x, y) is y + max(x − y, 0). Identities that need a sign take it from the ranges of the nodes on the box.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from integraph.bounds.ranges.deviations import row_ranges
from integraph.certify.graph.functions import applied, of_rows, raised, rectified
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, polynomials, scaled, times, total
from integraph.certify.graph.source import Source, Value
from integraph.certify.problem import Box, Unprovable
from integraph.numbers.arrays import Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import U
from integraph.targets.activations import CUBIC
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

PRODUCTS = 4  # the largest whole power of a positive base that is a product
PLAIN = (
    "tanh", "sigmoid", "silu", "gelu", "erf", "softplus", "asinh", "expm1", "sinh", "cosh", "sin", "cos", "log_cosh",
    "exp", "atan",
)  # fmt: skip

Rule = Callable[[Source, int, Node, list[Value]], Indices]


def _linear(*weights: float) -> Rule:
    return lambda s, n, node, args: s.name(n, s.combined(node, args, weights))


def _product(s: Source, n: int, left: Value, right: Value, shape: tuple[int, ...]) -> Indices:
    if left.dtype.kind == "f":
        left, right = right, left
    x, y = s.flat(left, shape), np.broadcast_to(right, shape).reshape(-1)
    return s.name(n, scaled(x, y) if right.dtype.kind == "f" else times(x, y))


def _mul(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    return _product(s, n, args[0], args[1], node.shape)


def _div(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    over, under = args
    if under.dtype.kind == "f":
        if not under.all():
            raise Unprovable(f"{s.text(n)}: a division by the constant 0")
        divisor = np.broadcast_to(under, node.shape).reshape(-1)
        inverse = 1.0 / divisor
        off = np.where(np.abs(np.frexp(divisor)[0]) == 0.5, 0.0, U * np.abs(inverse))
        return s.name(n, scaled(s.flat(over, node.shape), inverse, off))
    span = s.ranges[node.args[1]]
    if (span.high < 0).all():
        opposite = s.exactly(scaled(of_atoms(np.ravel(under)), -1.0))
        opposites = raised(s.atoms, opposite, Fraction(-1)).reshape(under.shape)
        product = times(s.flat(over, node.shape), np.broadcast_to(opposites, node.shape).reshape(-1))
        return s.name(n, scaled(product, -1.0))
    s.positive(n, node.args[1])
    return _product(s, n, over, raised(s.atoms, under, Fraction(-1)), node.shape)


def _matmul(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    """Σ_k f[…, i, k] g[…, k, j]."""
    f, g = args[0][..., :, None, :], np.swapaxes(args[1], -1, -2)[..., None, :, :]
    shape = np.broadcast_shapes(f.shape, g.shape)
    rows = np.repeat(np.arange(math.prod(shape[:-1])), shape[-1])
    parts = [np.broadcast_to(x, shape).reshape(-1) for x in (f, g)]
    weights = [x for x in parts if x.dtype.kind == "f"]
    factors = [x for x in parts if x.dtype.kind != "f"]
    return s.name(n, polynomials(node.size, rows, factors, weights[0] if weights else np.ones(len(rows))))


def _sum(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x = s.atoms_of(args[0])
    axes = sorted(range(x.ndim)[axis] for axis in node.data[0])
    moved = np.transpose(x, (*(a for a in range(x.ndim) if a not in axes), *axes)).reshape(-1)
    rows = np.repeat(np.arange(node.size), len(moved) // max(node.size, 1))
    return s.name(n, polynomials(node.size, rows, (moved,), np.ones(len(moved))))


def _function(name: str) -> Rule:
    return lambda s, n, node, args: s.know(n, applied(s.atoms, name, s.atoms_of(args[0])))


def _power_of(a: Fraction | None) -> Rule:
    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        exponent = node.data[0] if a is None else a
        whole = exponent.denominator == 1 and exponent >= 0
        if whole and (exponent <= PRODUCTS or not (s.ranges[node.args[0]].low > 0).all()):
            return s.exactly(_whole(s, np.ravel(s.atoms_of(args[0])), int(exponent)))
        s.positive(n, node.args[0])
        return s.know(n, raised(s.atoms, s.atoms_of(args[0]), exponent))

    return rule


def _whole(s: Source, x: Indices, n: int) -> Polynomials:
    """x^n by squares."""
    if n < 2:
        return of_atoms(x) if n else constant(np.ones(len(x)))
    half = s.exactly(_whole(s, x, n // 2))
    square = times(of_atoms(half), half)
    return times(of_atoms(s.exactly(square)), x) if n % 2 else square


def _logarithm(base: float, shift: float = 0.0) -> Rule:
    """ln(x + shift)/base."""

    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        s.positive(n, node.args[0], 0.0 - shift)
        x = np.ravel(s.atoms_of(args[0]))
        if shift:
            x = s.exactly(total(of_atoms(x), constant(np.full(len(x), shift))))
        ln = applied(s.atoms, "ln", x)
        if base == 1.0:
            return ln
        return s.name(n, scaled(of_atoms(ln), 1.0 / base, 4 * U / base))

    return rule


def _rectifier(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x, slope = np.ravel(s.atoms_of(args[0])), float(node.data[0]) if node.data else 0.0
    positive = rectified(s.atoms, x)
    if not slope:
        return positive
    rest = total(constant(np.ones(1)), constant(np.array([-slope])))
    rest = s.atoms.canonical(rest)
    weight, off = (rest.weight[0], rest.off[0]) if len(rest) else (0.0, 0.0)
    return s.name(n, total(scaled(of_atoms(positive), weight, off), scaled(of_atoms(x), slope)))


def _abs(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x = np.ravel(s.atoms_of(args[0]))
    return s.name(n, total(scaled(of_atoms(rectified(s.atoms, x)), 2.0), scaled(of_atoms(x), -1.0)))


def _choice(sign: float) -> Rule:
    """max(x, y) = y + max(x − y, 0), min(x, y) = y − max(y − x, 0)."""

    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        gap = s.exactly(s.combined(node, args, (sign, -sign)))
        return s.name(n, total(s.flat(args[1], node.shape), scaled(of_atoms(rectified(s.atoms, gap)), sign)))

    return rule


def _gaussian(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x = np.ravel(s.atoms_of(args[0]))
    return s.know(n, applied(s.atoms, "exp", s.exactly(scaled(times(of_atoms(x), x), -1.0))))


def _gelu_tanh(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    """x/2·(1 + tanh(√(2/π)(x + 0.044715 x³)))."""
    x, root = np.ravel(s.atoms_of(args[0])), math.sqrt(2.0 / math.pi)
    square = s.exactly(times(of_atoms(x), x))
    cubic = scaled(times(of_atoms(square), x), CUBIC)
    inner = s.exactly(scaled(total(of_atoms(x), cubic), root, 4 * U * root))
    half = scaled(of_atoms(x), 0.5)
    return s.name(n, total(half, times(half, applied(s.atoms, "tanh", inner))))


def _rows(name: str) -> Rule:
    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        x = s.atoms_of(args[0])
        flat = x.reshape(-1, x.shape[-1])
        taking = np.broadcast_to(True if node.value is None else node.value, x.shape).reshape(flat.shape)
        return s.know(n, of_rows(s.atoms, name, flat, taking))

    return rule


RULES: dict[str, Rule] = {
    "add": _linear(1.0, 1.0),
    "sub": _linear(1.0, -1.0),
    "neg": _linear(-1.0),
    "mul": _mul,
    "div": _div,
    "matmul": _matmul,
    "sum": _sum,
    "power": _power_of(None),
    "sqrt": _power_of(Fraction(1, 2)),
    **{name: _function(name) for name in PLAIN},
    "ln": _logarithm(1.0),
    "log2": _logarithm(math.log(2.0)),
    "log10": _logarithm(math.log(10.0)),
    "log1p": _logarithm(1.0, 1.0),
    "relu": _rectifier,
    "leaky_relu": _rectifier,
    "abs": _abs,
    "max": _choice(1.0),
    "min": _choice(-1.0),
    "gaussian": _gaussian,
    "gelu_tanh": _gelu_tanh,
    **{name: _rows(name) for name in ("softmax", "log_softmax", "logsumexp")},
}
PLACES = ("reshape", "broadcast", "transpose", "slice", "take")


def read(graph: Graph, box: Box, ranges: list[Interval] | None = None) -> Source:
    """The atoms of all nodes of a graph, on a box; `ranges` of its nodes, if some are known already."""
    source = Source(graph, box, ranges or row_ranges(graph, np.array(box.low), np.array(box.high)))
    for number, node in enumerate(graph.nodes):
        source.values.append(_value(source, number, node, [source.values[n] for n in node.args]))
    return source


def _value(s: Source, number: int, node: Node, args: list[Value]) -> Value:
    if node.op == "input":
        return s.inputs[node.data[0] : node.data[0] + node.size].reshape(node.shape)
    if node.op == "constant":
        assert node.value is not None
        return s.rounded(node.value) if node.data == ROUNDED else np.asarray(node.value, np.float64)
    if node.op in PLACES:
        return STRUCTURE[node.op](args[0], node.data)
    if node.op == "concat":
        return np.concatenate([s.atoms_of(x) for x in args], node.data[0])
    rule = RULES.get(node.op)
    if rule is None:
        raise Unprovable(f"{s.text(number)}: no proof knows the operation {node.op}")
    return np.reshape(rule(s, number, node, args), node.shape)
