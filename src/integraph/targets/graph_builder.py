"""Builds a graph node by node: checks operands and shapes, makes no equal node twice, and folds constants.

An operation on constants is computed at once; nodes that no output needs are left out of the graph.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats, Indices, immutable
from integraph.targets import folding, graph_rows
from integraph.targets.graph import BINARY, OPERATIONS, ROUNDED, ROWS, Graph, Node
from integraph.targets.graph_evaluation import compute
from integraph.text import counted

LOGARITHMS = {"ln": 1.0, "log2": 1.4426950408889634, "log10": 0.4342944819032518}  # of ln, each rounded once
LARGEST = 1 << 27  # numbers in one array
NODES = 200_000
EXPONENT = 10**6
FEW = 16  # different exponents that are worth a run each
SAMPLE = 64  # numbers of a larger constant that are compared before all are


class Builder:
    """Collects nodes; every method but `graph` returns the number of a node."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self._inputs = 0
        self._variables: list[tuple[str, int | None]] = []  # names of inputs, and how many numbers those with axes have
        self._known: dict[Any, int] = {}
        self._exact: dict[int, folding.Digits] = {}  # constants before they were rounded

    def input(self, name: str, shape: Sequence[int] = ()) -> int:
        start, node = self._inputs, Node("input", (), tuple(shape), (self._inputs,), None, name)
        if not node.size > 0:
            raise SourceError(f"input {name} has shape {tuple(shape)}: it needs at least one number")
        self._inputs = start + node.size
        self._variables.append((name, node.size if node.shape else None))
        return self._append(node)

    def constant(self, value: ArrayLike, text: str = "", data: tuple[str, ...] = ()) -> int:
        """Numbers, or −∞ in a mask. An array that nobody can write any more is not copied."""
        try:
            array = _contiguous(value)
        except (TypeError, ValueError):
            raise SourceError(f"{text or 'a constant'} is {value!r}: constants must be numbers") from None
        if not (largest := array.max(initial=-np.inf)) < np.inf:  # as nan is not
            raise SourceError(f"{text or 'a constant'} holds {largest}: it is not a finite number")
        return self._add(Node("constant", (), array.shape, data, array, text))

    def apply(self, op: str, *args: int, data: tuple[Any, ...] = (), value: Any = None, text: str = "") -> int:
        """Any operation of the table, after its operands were checked."""
        needs = 2 if op in BINARY else 1
        if op not in OPERATIONS or (len(args) != needs and not (op == "concat" and args)):
            raise SourceError(f"{text or op}: there is no operation {op!r} of {len(args)} operands")
        if any(not isinstance(n, int | np.integer) or not 0 <= n < len(self.nodes) for n in args):
            raise SourceError(f"{text or op}: its operands {args} are not numbers of earlier nodes")
        number = graph_rows.logarithm(self, args[0], text) if op in LOGARITHMS else None
        if number is not None:
            return number if op == "ln" else self.apply("mul", number, self.constant(LOGARITHMS[op], data=ROUNDED))
        operands = [self.nodes[n] for n in args]
        if op == "sub" and graph_rows.less_total(self, *args):
            return self.apply("log_softmax", args[0], text=text)
        if op == "variable_power" and operands[1].op == "constant":  # the value of a row of scores is its mask
            exponents = operands[1].value
            assert exponents is not None
            number = entrywise_power(self, args[0], exponents, text)
            if number is not None:
                return number
        return self._add(Node(op, args, _shape(op, operands, data, text), data, value, text))

    def softmax(self, x: int, text: str = "") -> int:
        """Over the last axis."""
        return graph_rows.of_rows(self, "softmax", x, text)

    def logsumexp(self, x: int, text: str = "") -> int:
        """ln Σ exp(x) over the last axis."""
        return graph_rows.of_rows(self, "logsumexp", x, text)

    def log_softmax(self, x: int, text: str = "") -> int:
        """x − ln Σ exp(x) over the last axis."""
        return graph_rows.of_rows(self, "log_softmax", x, text)

    def power(self, base: int, exponent: Fraction | float, text: str = "") -> int:
        if not -EXPONENT <= exponent <= EXPONENT:
            raise SourceError(f"{text or 'power'}: the exponent is {exponent}, at most {EXPONENT:g} can be compiled")
        return self.apply("power", base, data=(Fraction(exponent),), text=text)

    def mean(self, x: int, axes: Sequence[int], text: str = "") -> int:
        count = math.prod(self.nodes[x].shape[axis] for axis in axes)
        total = self.apply("sum", x, data=(tuple(axes),), text=text)
        return self.apply("div", total, self.constant(float(count)), text=text)

    def graph(self, outputs: Iterable[int]) -> Graph:
        """The graph of the nodes that the outputs need."""
        outputs = tuple(outputs)
        needed = {n for n, node in enumerate(self.nodes) if node.op == "input"} | set(outputs)
        for number in range(len(self.nodes) - 1, -1, -1):
            if number in needed:
                needed.update(self.nodes[number].args)
        place = {number: new for new, number in enumerate(sorted(needed))}
        nodes = tuple(replace(self.nodes[n], args=tuple(place[a] for a in self.nodes[n].args)) for n in place)
        names = (
            name if count is None else f"{name}[{n}]" for name, count in self._variables for n in range(count or 1)
        )
        return Graph(self._inputs, nodes, tuple(place[n] for n in outputs), self.name, tuple(names))

    def _add(self, node: Node) -> int:
        self._small(node)
        if node.args and all(self.nodes[n].op == "constant" for n in node.args):
            folded = self._folded(node)
            if folded is not None:
                return folded
        key: tuple[Any, ...] = _key(node)
        if node.value is not None and node.value.size > SAMPLE and key in self._known:
            first = self._known[key]
            other = self.nodes[first].value
            if other is node.value or other is None:
                return first
            self._known[key, _digest(other)] = first
            key = key, _digest(node.value)
        if key not in self._known:
            self._known[key] = self._append(node)
        return self._known[key]

    def _folded(self, node: Node) -> int | None:
        """The value of an operation on constants, rounded once; None where it cannot be computed so."""
        values = [value for n in node.args if (value := self.nodes[n].value) is not None]
        with np.errstate(all="ignore"):
            folded = compute(node, values)
        if not np.isfinite(folded).all():
            raise SourceError(f"{node.text or node.op} of constants is {folded[~np.isfinite(folded)].ravel()[0]}")
        data = ROUNDED if any(self.nodes[n].data for n in node.args) else ()
        if node.op in folding.EXACT and not data:
            return self.constant(folded, node.text)
        exact = folding.fold(node, [self._exact.get(n, value) for n, value in zip(node.args, values, strict=True)])
        if exact is None:
            return None
        value, same = folding.rounded(exact)
        if same:
            return self.constant(value, node.text)
        value.flags.writeable = False
        number = self._append(Node("constant", (), value.shape, ROUNDED, value, node.text))
        self._exact[number] = exact  # another number that is rounded to the same is another constant
        return number

    def _append(self, node: Node) -> int:
        self._small(node)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _small(self, node: Node) -> None:
        """Refuse what is too large, before anything of its size is made."""
        if node.size > LARGEST or len(self.nodes) >= NODES:
            raise SourceError(
                f"{node.text or node.op} makes an array of shape {node.shape}, node {len(self.nodes)}: at most "
                f"{LARGEST} numbers and {NODES} nodes are built"
            )


def _contiguous(value: ArrayLike) -> Floats:
    """Read-only, and the same array if it is so already."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.flags.forc and immutable(value):
        return value
    array = np.array(value, np.float64)
    array.flags.writeable = False
    return array


def _key(node: Node) -> tuple[Any, ...]:
    """What equal nodes have in common, and of a large constant some of its numbers: few others have the same."""
    value = node.value
    if value is None:
        return node.op, node.args, node.shape, node.data, None
    few = value if value.size <= SAMPLE else value.reshape(-1, order="A")[:: value.size // SAMPLE]
    return node.op, node.args, node.shape, node.data, (value.shape, value.flags.fnc, few.tobytes("A"))


def _digest(value: Floats) -> bytes:
    return hashlib.sha256(value.tobytes("A")).digest()


def entrywise_power(b: Builder, base: int, exponents: Floats, text: str) -> int | None:
    """x^c with an exponent c for each entry: the number of the node, or None where this is no better than a power that
    varies. Entries with equal whole exponents form one power each, of any base: x^y for a y that varies is e^(y·ln x)
    and needs x > 0, a whole exponent does not, and x⁻¹ needs only x ≠ 0."""
    shape = np.broadcast_shapes(b.nodes[base].shape, exponents.shape)
    flat = np.broadcast_to(exponents, shape).reshape(-1)
    whole = np.unique(flat[flat == np.rint(flat)])
    if not 0 < len(whole) <= FEW:
        return None
    if len(whole) == 1 and (flat == whole[0]).all():
        power = b.power(base, float(whole[0]), text)
        return power if b.nodes[power].shape == shape else b.apply("broadcast", power, data=(shape,), text=text)
    places = [np.flatnonzero(flat == c) for c in whole]
    rest = np.flatnonzero(flat != np.rint(flat))
    x = b.apply("reshape", b.apply("broadcast", base, data=(shape,), text=text), data=((flat.size,),), text=text)
    parts = [b.power(_taken(b, x, own, text), float(c), text) for c, own in zip(whole, places, strict=True)]
    if len(rest):
        own = _taken(b, x, rest, text)
        parts.append(b.apply("variable_power", own, b.constant(flat[rest], text), text=text))
        places.append(rest)
    joined = b.apply("concat", *parts, data=(0,), text=text)
    back = _taken(b, joined, np.argsort(np.concatenate(places)), text)
    return b.apply("reshape", back, data=(shape,), text=text)


def _taken(b: Builder, x: int, places: Indices, text: str) -> int:
    return b.apply("take", x, data=(0, tuple(int(n) for n in places)), text=text)


def _shape(op: str, operands: Sequence[Node], data: tuple[Any, ...], text: str) -> tuple[int, ...]:
    """The shape of a result, or a SourceError."""
    shapes = [node.shape for node in operands]
    try:
        return _result(op, shapes, data)
    except (ValueError, IndexError, TypeError) as reason:
        shown = " and ".join(map(str, shapes))
        raise SourceError(f"{text or op}: operands of shape {shown} do not fit: {reason}") from None


def _result(op: str, shapes: Sequence[tuple[int, ...]], data: tuple[Any, ...]) -> tuple[int, ...]:
    if op in ("reshape", "broadcast"):
        new = tuple(data[0])
        if op == "broadcast":
            return np.broadcast_to(np.empty(0).reshape(shapes[0]) if 0 in shapes[0] else _blank(shapes[0]), new).shape
        if math.prod(new) != math.prod(shapes[0]):
            raise ValueError(f"{math.prod(shapes[0])} numbers do not fit {new}")
        return new
    if op == "matmul":
        if min(map(len, shapes)) < 2:
            raise ValueError("each needs two axes")
        (m, k), (l, n) = shapes[0][-2:], shapes[1][-2:]
        if k != l:
            raise ValueError(f"{counted(k, 'column')} and {counted(l, 'row')} must agree")
        return (*np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), m, n)
    if op == "sum":
        gone = {range(len(shapes[0]))[axis] for axis in data[0]}
        if len(gone) < len(data[0]):
            raise ValueError(f"axes {data[0]} are not distinct")
        return tuple(n for axis, n in enumerate(shapes[0]) if axis not in gone)
    if op == "transpose":
        if sorted(data) != list(range(len(shapes[0]))):
            raise ValueError(f"{data} is not an order of its axes")
        return tuple(shapes[0][axis] for axis in data)
    if op == "slice":
        for n, (start, step, count) in zip(shapes[0], data, strict=True):
            if count < 1 or not step or not (0 <= start < n and 0 <= start + (count - 1) * step < n):
                raise ValueError(f"entries {start}, {start + step}, … must lie within {n}")
        return tuple(count for _, _, count in data)
    if op == "take":
        axis, indices = data
        if not 0 <= axis < len(shapes[0]):
            raise ValueError(f"there is no axis {axis} among {len(shapes[0])}")
        if not all(0 <= n < shapes[0][axis] for n in indices):
            raise ValueError(f"indices {indices} must be below {shapes[0][axis]}")
        return (*shapes[0][:axis], len(indices), *shapes[0][axis + 1 :])
    if op == "concat":
        return np.concatenate([_blank(shape) for shape in shapes], data[0]).shape
    if op == "leaky_relu" and len(data) != 1:
        raise ValueError("leaky_relu needs its slope")
    if op in ROWS and not math.prod(shapes[0][-1:] or (0,)):
        raise ValueError(f"{op} needs an axis, of one entry at least")
    if op == "logsumexp":
        return shapes[0][:-1]
    return np.broadcast_shapes(*shapes)


def _blank(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """An array of this shape that takes no memory."""
    return np.broadcast_to(np.zeros((), np.int8), shape)
