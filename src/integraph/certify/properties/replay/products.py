"""Sums of products with constant matrices, such as convolutions, on rows of the checker.

A₁x₁ + … + A_K x_K is one affine map of all x, for every row of the products: no row is settled but those of the sum,
and no number of the matrices is rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.certify.properties.replay.rows import Row, affine, folded, shared
from integraph.numbers.arrays import Floats
from integraph.targets.graph import ROUNDED, Graph, Node


@dataclass(frozen=True, slots=True)
class Products:
    """Nodes whose values are added, all with their constant on the same side."""

    nodes: tuple[int, ...]
    left: bool


def products(graph: Graph) -> tuple[dict[int, Products], set[int]]:
    """The sums by the numbers of their nodes, and the nodes that are computed with them alone. A single product is left
    out where it is one of two matrices."""
    uses = Counter([*(n for node in graph.nodes for n in node.args), *graph.outputs])
    sums, inner = dict[int, Products](), set[int]()
    for number, node in enumerate(graph.nodes):
        if node.op == "matmul" and (side := _constant_side(graph, node)) is not None:
            sums[number] = Products((number,), side == 0)
        elif node.op == "add" and all(n in sums and uses[n] == 1 for n in node.args):
            first, second = (sums[n] for n in node.args)
            if first.left == second.left and {graph.nodes[n].shape for n in node.args} == {node.shape}:
                sums[number] = Products(first.nodes + second.nodes, first.left)
                inner.update(node.args)
    kept = {n: one for n, one in sums.items() if len(one.nodes) > 1 or len(graph.nodes[n].shape) > 2}
    return {n: one for n, one in kept.items() if n not in inner}, inner


def _constant_side(graph: Graph, node: Node) -> int | None:
    """Which operand of a product is a constant that is meant as it is stored."""
    operands = [graph.nodes[n] for n in node.args]
    if min(len(one.shape) for one in operands) < 2:
        return None
    exact = [one.op == "constant" and one.data != ROUNDED for one in operands]
    return exact.index(True) if any(exact) else None


def total(graph: Graph, one: Products, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The rows of the sum. Radii become symbols first, which all places share."""
    side = 0 if one.left else 1
    nodes = [graph.nodes[n] for n in one.nodes]
    matrices = [graph.nodes[node.args[side]].value for node in nodes]
    rows = [values[node.args[1 - side]] for node in nodes]
    known = {id(row): row for part in rows for row in part.ravel()}
    symbols = dict(zip(known, folded([shared(row) for row in known.values()]), strict=True))
    made = np.empty(shape, object)
    facing = np.swapaxes(made, -1, -2) if one.left else made
    pairs = [(_facing(a, one.left, shape), _facing(x, one.left, shape)) for a, x in zip(matrices, rows, strict=True)]
    for batch in np.ndindex(*shape[:-2]):
        A: Floats = np.concatenate([a[batch].T for a, _ in pairs], 1)
        for place in range(facing.shape[-2]):
            line: list[Row] = [symbols[id(row)] for _, x in pairs for row in x[batch][place]]
            for n, row in enumerate(affine(A, np.zeros(len(A)), line)):
                facing[(*batch, place, n)] = row
    return made


def _facing(x: Any, turned: bool, shape: tuple[int, ...]) -> Any:
    """An operand of all batches, turned where the constant is on the left: Ax is (xᵀAᵀ)ᵀ."""
    x = np.swapaxes(x, -1, -2) if turned else x
    return np.broadcast_to(x, (*shape[:-2], *x.shape[-2:]))
