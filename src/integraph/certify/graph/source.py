"""The nodes of a graph as atoms: sums and products are names for polynomials, all else is a function of atoms.

Each rule is the definition of an operation, in the functions that gadgets compute: a root is a power, max(x, y) is
y + max(x − y, 0). Identities that need a sign take it from the ranges of the nodes on the box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from integraph.bounds.ranges.interval_functions import FUNCTIONS
from integraph.bounds.ranges.propagation import ranges
from integraph.certify.graph.atoms import Atoms
from integraph.certify.graph.polynomials import Polynomials, constant, of_atoms, polynomials, scaled, times, total
from integraph.certify.problem import Box, PrecisionTooLow, Unprovable
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import U
from integraph.targets.activations import CUBIC
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE

Value = Indices | Floats  # atoms, or numbers
PRODUCTS = 4  # the largest whole power of a positive base that is a product
PLAIN = ("tanh", "sigmoid", "silu", "gelu", "erf", "softplus", "asinh", "expm1", "sinh", "cosh", "sin", "cos", "log_cosh")
HALF = Fraction(1, 2)


def applied(atoms: Atoms, name: str, x: Indices) -> Indices:
    """The atoms of a function of one number."""
    flat = np.ravel(x)
    span = lambda new: FUNCTIONS[name](Interval(atoms.low[flat[new]], atoms.high[flat[new]]))
    return atoms.function(name, flat[:, None], span).reshape(np.shape(x))


def rectified(atoms: Atoms, x: Indices) -> Indices:
    """max(x, 0), which is x or 0 where the sign of x is known."""
    flat = np.ravel(x)
    result = np.where(atoms.low[flat] >= 0, flat, atoms.zero)
    either = (atoms.low[flat] < 0) & (atoms.high[flat] > 0)
    result[either] = applied(atoms, "relu", flat[either])
    return result.reshape(np.shape(x))


def raised(atoms: Atoms, x: Indices, a: Fraction) -> Indices:
    """x^a for positive x; (x^b)^a is x^(ab)."""
    flat = np.ravel(x)
    exponents = [name[1] for name in list(atoms._functions) if isinstance(name, tuple) and name[0] == "power"]
    result = np.full(len(flat), -1)
    for b in exponents:
        bases, powers = atoms.known(("power", b))
        order = np.argsort(powers)
        place = np.minimum(np.searchsorted(powers[order], flat), len(order) - 1)
        inner = (result < 0) & (powers[order][place] == flat)
        if inner.any():
            result[inner] = raised(atoms, bases[order][place[inner], 0], a * b)
    left = np.flatnonzero(result < 0)
    if a == 1:
        result[left] = flat[left]
    elif len(left):
        keys = flat[left]
        span = lambda new: intervals.power(Interval(atoms.low[keys[new]], atoms.high[keys[new]]), a)
        result[left] = atoms.function(("power", a), keys[:, None], span)
    return result.reshape(np.shape(x))


class Source:
    """`values[n]` are the atoms of node n, in its shape, or its numbers."""

    def __init__(self, graph: Graph, box: Box) -> None:
        self.graph, self.atoms = graph, Atoms()
        self.ranges = ranges(graph, np.array(box.low), np.array(box.high))
        self.inputs = self.atoms.base(Interval(np.array(box.low), np.array(box.high)))
        self.values: list[Value] = []
        for number, node in enumerate(graph.nodes):
            args = [self.values[n] for n in node.args]
            self.values.append(self._value(number, node, args))
        self.outputs = np.concatenate([np.ravel(self._atoms(self.values[n])) for n in graph.outputs])

    def text(self, number: int) -> str:
        return self.graph.nodes[number].text or f"{self.graph.nodes[number].op} {number}"

    def _value(self, number: int, node: Node, args: list[Value]) -> Value:
        if node.op == "input":
            return self.inputs[node.data[0] : node.data[0] + node.size].reshape(node.shape)
        if node.op == "constant":
            assert node.value is not None
            return self._rounded(node.value) if node.data == ROUNDED else np.asarray(node.value, np.float64)
        if node.op in STRUCTURE and node.op not in ("sum", "leaky_relu", "power"):
            return STRUCTURE[node.op](args[0], node.data)
        if node.op == "concat":
            return np.concatenate([self._atoms(x) for x in args], node.data[0])
        rule = RULES.get(node.op)
        if rule is None:
            raise Unprovable(f"{self.text(number)}: no proof knows the operation {node.op}")
        return rule(self, number, node, args).reshape(node.shape)

    def _rounded(self, value: Floats) -> Indices:
        """Numbers that are only known to an ulp."""
        flat = np.ravel(value)
        return self.atoms.name(constant(flat, np.spacing(np.abs(flat)))).reshape(np.shape(value))

    def _atoms(self, value: Value) -> Indices:
        return self.atoms.numbers(value) if value.dtype.kind == "f" else value

    def name(self, number: int, p: Polynomials) -> Indices:
        return self.know(number, self.exactly(p))

    def exactly(self, p: Polynomials) -> Indices:
        """Atoms that are these polynomials, not only up to rounding."""
        atoms, off = self.atoms.resolve(p)
        near = np.flatnonzero(off > 0)
        if len(near):
            atoms[near] = self.atoms.name(p.of_rows(near))
        return atoms

    def know(self, number: int, atoms: Indices) -> Indices:
        """Atoms that hold a node have its range."""
        flat, span = np.ravel(atoms), self.ranges[number]
        self.atoms.low[flat] = np.maximum(self.atoms.low[flat], np.ravel(span.low))
        self.atoms.high[flat] = np.minimum(self.atoms.high[flat], np.ravel(span.high))
        return atoms

    def combined(self, node: Node, args: Sequence[Value], weights: Sequence[float]) -> Polynomials:
        """Σ weight·operand, broadcast."""
        parts = [self.flat(x, node.shape) for x in args]
        return total(*(scaled(part, weight) if weight != 1 else part for part, weight in zip(parts, weights, strict=True)))

    def flat(self, value: Value, shape: tuple[int, ...]) -> Polynomials:
        """A value, broadcast, as polynomials."""
        spread = np.broadcast_to(value, shape).reshape(-1)
        return constant(spread) if value.dtype.kind == "f" else of_atoms(spread)

    def positive(self, number: int, argument: int, low: float = 0.0) -> None:
        """What a power or logarithm is taken of must be positive."""
        least = float(np.min(self.ranges[argument].low, initial=np.inf))
        if not least > low:
            raise PrecisionTooLow(
                f"{self.text(number)}: {self.text(argument)} may reach {low:g} on the box, where it has no bound "
                f"(it is at least {least:.3g}): choose a smaller box"
            )


def _linear(*weights: float) -> Callable[..., Indices]:
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
        inverse = raised(s.atoms, opposite, Fraction(-1)).reshape(under.shape)
        product = times(s.flat(over, node.shape), np.broadcast_to(inverse, node.shape).reshape(-1))
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
    x = s._atoms(args[0])
    axes = sorted(range(x.ndim)[axis] for axis in node.data[0])
    moved = np.transpose(x, (*(a for a in range(x.ndim) if a not in axes), *axes)).reshape(-1)
    rows = np.repeat(np.arange(node.size), len(moved) // max(node.size, 1))
    return s.name(n, polynomials(node.size, rows, (moved,), np.ones(len(moved))))


def _function(name: str) -> Callable[..., Indices]:
    return lambda s, n, node, args: s.know(n, applied(s.atoms, name, s._atoms(args[0])))


def _power_of(a: Fraction | None) -> Callable[..., Indices]:
    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        exponent = node.data[0] if a is None else a
        whole = exponent.denominator == 1 and exponent >= 0
        if whole and (exponent <= PRODUCTS or not (s.ranges[node.args[0]].low > 0).all()):
            return s.exactly(_whole(s, np.ravel(args[0]), int(exponent)))
        s.positive(n, node.args[0])
        return s.know(n, raised(s.atoms, args[0], exponent))

    return rule


def _whole(s: Source, x: Indices, n: int) -> Polynomials:
    """x^n by squares."""
    if n < 2:
        return of_atoms(x) if n else constant(np.ones(len(x)))
    half = s.exactly(_whole(s, x, n // 2))
    square = times(of_atoms(half), half)
    return times(of_atoms(s.exactly(square)), x) if n % 2 else square


def _logarithm(base: float, shift: float = 0.0) -> Callable[..., Indices]:
    """ln(x + shift)/base."""

    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        s.positive(n, node.args[0], -shift)
        x = np.ravel(args[0])
        if shift:
            x = s.exactly(total(of_atoms(x), constant(np.full(len(x), shift))))
        ln = applied(s.atoms, "ln", x)
        if base == 1.0:
            return ln
        return s.name(n, scaled(of_atoms(ln), 1.0 / base, 4 * U / base))

    return rule


def _rectifier(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x, slope = np.ravel(args[0]), float(node.data[0]) if node.data else 0.0
    positive = rectified(s.atoms, x)
    if not slope:
        return positive
    rest = total(constant(np.ones(1)), constant(np.array([-slope])))
    rest = s.atoms.canonical(rest)
    weight, off = (rest.weight[0], rest.off[0]) if len(rest) else (0.0, 0.0)
    return s.name(n, total(scaled(of_atoms(positive), weight, off), scaled(of_atoms(x), slope)))


def _abs(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x = np.ravel(args[0])
    return s.name(n, total(scaled(of_atoms(rectified(s.atoms, x)), 2.0), scaled(of_atoms(x), -1.0)))


def _choice(sign: float) -> Callable[..., Indices]:
    """max(x, y) = y + max(x − y, 0), min(x, y) = y − max(y − x, 0)."""

    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        gap = s.exactly(s.combined(node, args, (sign, -sign)))
        return s.name(n, total(s.flat(args[1], node.shape), scaled(of_atoms(rectified(s.atoms, gap)), sign)))

    return rule


def _gaussian(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    x = np.ravel(args[0])
    return s.know(n, applied(s.atoms, "exp", s.exactly(scaled(times(of_atoms(x), x), -1.0))))


def _gelu_tanh(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
    """x/2·(1 + tanh(√(2/π)(x + 0.044715 x³)))."""
    x, root = np.ravel(args[0]), math.sqrt(2.0 / math.pi)
    square = s.exactly(times(of_atoms(x), x))
    cubic = scaled(times(of_atoms(square), x), CUBIC)
    inner = s.exactly(scaled(total(of_atoms(x), cubic), root, 4 * U * root))
    half = scaled(of_atoms(x), 0.5)
    return s.name(n, total(half, times(half, applied(s.atoms, "tanh", inner))))


def rows_function(atoms: Atoms, name: str, scores: Indices, taking: Any) -> Indices:
    """The atoms of a row's softmax, its logarithm or ln Σ exp, (rows, n) or (rows,); 0 for entries that take no part."""
    keys = np.where(taking, scores, -1)
    if name == "logsumexp":
        return atoms.function(name, keys, lambda new: _row_range(atoms, name, scores[new], taking[new]))
    rows, n = scores.shape
    spread = np.concatenate([np.repeat(keys, n, 0), np.tile(-2 - np.arange(n), rows)[:, None]], 1)
    shape = lambda new: (_row_range(atoms, name, scores[new // n], taking[new // n]), (np.arange(len(new)), new % n))

    def span(new: Indices) -> Interval:
        whole, at = shape(new)
        return Interval(whole.low[at], whole.high[at])

    result = atoms.function(name, spread, span).reshape(rows, n)
    return np.where(taking, result, atoms.zero)


def _row_range(atoms: Atoms, name: str, scores: Indices, taking: Any) -> Interval:
    from integraph.bounds.ranges.interval_functions import ROWS

    return ROWS[name](Interval(atoms.low[scores], atoms.high[scores]), taking)


def _rows(name: str) -> Callable[..., Indices]:
    def rule(s: Source, n: int, node: Node, args: list[Value]) -> Indices:
        x = s._atoms(args[0])
        flat = x.reshape(-1, x.shape[-1])
        taking = np.broadcast_to(True if node.value is None else node.value, x.shape).reshape(flat.shape)
        return s.know(n, rows_function(s.atoms, name, flat, taking))

    return rule


RULES: dict[str, Callable[..., Indices]] = {
    "add": _linear(1.0, 1.0),
    "sub": _linear(1.0, -1.0),
    "neg": _linear(-1.0),
    "mul": _mul,
    "div": _div,
    "matmul": _matmul,
    "sum": _sum,
    "power": _power_of(None),
    "sqrt": _power_of(HALF),
    "exp": _function("exp"),
    "atan": _function("atan"),
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
