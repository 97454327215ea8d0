"""The quantities of a property as outputs of one source, so that bounds of them come from one computation.

Differences of outputs are formed before their ranges are taken: what two outputs have in common cancels. Of a network
linear quantities of outputs are one more layer; quantities of inputs too, and formulas, are nodes of a graph.
Quantities of inputs alone need no source: their ranges follow from the cell. If there are no others, the first of them
is computed by the source, which has one output at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.certify.bounds.cells import Cells, batch_size, bounded, degree_for
from integraph.certify.properties.truth import between
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP, U
from integraph.targets.graph import Graph, Node
from integraph.targets.graph_conversion import network_graph, to_graph
from integraph.targets.image import quantity_images
from integraph.targets.network import Layer, Network
from integraph.targets.property import Property, Quantity, Terms

if TYPE_CHECKING:
    Sparse = scipy.sparse.csr_array[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """`source` computes the quantities number `rows`; the others are `inputs`·x, mostly bounds of single inputs, as
    many as there are inputs. `slack` is what every quantity may be off by besides: a program is not exactly its source.
    `image` is what every quantity of the source is in anyway."""

    source: Network | Graph
    rows: Indices
    inputs: Sparse
    slack: Floats
    image: Interval

    def cells(self, low: Floats, high: Floats, degree: int) -> Cells:
        """Bounds of all quantities on cells; points only for those of the source."""
        most = batch_size(self.source, int((high > low).any(0).sum()), degree)
        part = bounded(self.source, low, high, degree, most)
        least, largest = _linear_ranges(self.inputs, low, high)
        least[:, self.rows], largest[:, self.rows] = part.least, part.most
        finite = np.isfinite(least) & np.isfinite(largest)  # else there may be no value
        least = np.where(finite, np.maximum(least, self.image.low), least)
        largest = np.where(finite, np.minimum(largest, self.image.high), largest)
        least, largest = _widened(least, largest, self.slack)
        return replace(part, least=least, most=largest)

    def degree(self, wide: int) -> int:
        return degree_for(self.source, wide)

    def values(self, x: Floats) -> Floats:
        """All quantities at points (B, inputs), in float64: (B, quantities)."""
        values: Floats = (self.inputs @ x.T).T
        with np.errstate(all="ignore"):
            values[:, self.rows] = self.source(x) if isinstance(self.source, Network) else self.source.values(x)
        return values


def margins(source: Network | Graph, stated: Property, delta: float = 0.0) -> Margins:
    """The quantities of a property of a source whose outputs may each be off by delta."""
    quantities = stated.quantities
    rows = [n for n, one in enumerate(quantities) if one.outputs or one.expression is not None] or [0]
    inputs = _sparse([() if n in rows else one.inputs for n, one in enumerate(quantities)], stated.inputs)
    weights = np.array([float(sum(abs(a) for _, a in one.outputs)) for one in quantities])
    chosen = [quantities[n] for n in rows]
    plain = all(one.expression is None and not one.inputs for one in chosen)
    if isinstance(source, Network) and plain:
        last = Layer(_matrix([one.outputs for one in chosen], stated.outputs), np.zeros(len(chosen)))
        whole: Network | Graph = replace(source, layers=(*source.layers, last))
    else:
        whole = _appended(network_graph(source) if isinstance(source, Network) else source, stated, chosen)
    return Margins(whole, np.array(rows), inputs, delta * weights * UP, _images(source, stated))


def _images(source: Network | Graph, stated: Property) -> Interval:
    """In float64, rounded outward where it must be."""
    images = quantity_images(source, stated)
    low = [-np.inf if least is None else between(least)[0] for least, _ in images]
    high = [np.inf if most is None else between(most)[1] for _, most in images]
    return Interval(np.array(low), np.array(high))


def _sparse(rows: Sequence[Terms], columns: int) -> Sparse:
    ends = np.cumsum([0, *map(len, rows)])
    terms = np.array([term for row in rows for term in row], np.int64).reshape(-1, 2)
    return scipy.sparse.csr_array((terms[:, 1].astype(float), terms[:, 0], ends), (len(rows), columns))


def _matrix(rows: Sequence[Terms], columns: int) -> Floats:
    matrix: Floats = _sparse(rows, columns).toarray()
    return matrix


def _appended(graph: Graph, stated: Property, quantities: Sequence[Quantity]) -> Graph:
    """The graph whose outputs are these quantities."""
    nodes = list(graph.nodes)

    def add(op: str, args: Sequence[int], shape: tuple[int, ...], data: tuple[object, ...] = ()) -> int:
        nodes.append(Node(op, tuple(args), shape, data))
        return len(nodes) - 1

    def flat(numbers: Sequence[int], size: int) -> int:
        parts = [add("reshape", [n], (graph.nodes[n].size,), ((graph.nodes[n].size,),)) for n in numbers]
        return parts[0] if len(parts) == 1 else add("concat", parts, (size,), (0,))

    entries = [n for n, node in enumerate(graph.nodes) if node.op == "input"]
    y = flat(graph.outputs, stated.outputs)
    x = flat(sorted(entries, key=lambda n: graph.nodes[n].data[0]), stated.inputs)
    results = []
    for one in quantities:
        if one.expression is not None:
            made = to_graph(one.expression, "margin")
            place: list[int] = []
            for node in made.nodes:
                if node.op == "input":
                    name = one.expression.variables[node.data[0]]
                    of = y if name[0] == "y" else x
                    taken = add("slice", [of], (1,), ((int(name[1:]), 1, 1),))
                    place.append(add("reshape", [taken], (), ((),)))
                else:
                    nodes.append(replace(node, args=tuple(place[n] for n in node.args)))
                    place.append(len(nodes) - 1)
            results.append(place[made.outputs[0]])
            continue
        parts = []
        for of, terms, size in ((y, one.outputs, stated.outputs), (x, one.inputs, stated.inputs)):
            if terms:
                weights = _matrix([terms], size).T
                weights.flags.writeable = False
                nodes.append(Node("constant", (), weights.shape, (), weights))
                constant = len(nodes) - 1
                row = add("reshape", [of], (1, size), ((1, size),))
                parts.append(add("matmul", [row, constant], (1, 1)))
        results.append(parts[0] if len(parts) == 1 else add("add", parts, (1, 1)))
    return replace(graph, nodes=tuple(nodes), outputs=tuple(results))


def _widened(low: Floats, high: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Both ends farther out by at least `off`; as they are where that is 0."""
    out = np.nextafter(low - off, -np.inf), np.nextafter(high + off, np.inf)
    return np.where(off > 0, out[0], low), np.where(off > 0, out[1], high)


def _linear_ranges(weights: Sparse, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Of weights·x over cells, (cells, rows) each; exact where a row has a single 1."""
    up, down = weights.maximum(0.0), weights.minimum(0.0)
    least, most = up @ low.T + down @ high.T, up @ high.T + down @ low.T
    size = abs(weights)
    count, total = np.diff(weights.indptr), np.asarray(size.sum(1))
    lost = np.where(total <= 1.0, 0.0, (count + 4) * U * UP)[:, None]
    off = lost * (size @ np.maximum(np.abs(low), np.abs(high)).T) + np.where(lost > 0, TINY, 0.0)
    return (least - off).T, (most + off).T
