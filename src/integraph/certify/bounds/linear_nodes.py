"""Operations of a graph that are affine in one operand: moves, sums, and products with constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.bounds.ranges.patterns import MOVES
from integraph.certify.bounds.sparse_maps import LEAST, MOST, SparseMap, of_constant, stacked
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.roundoff import U
from integraph.targets.graph import ROUNDED, Node
from integraph.targets.graph_evaluation import STRUCTURE

if TYPE_CHECKING:
    from integraph.certify.bounds.sparse_maps import Sparse

LARGEST = 8_000_000  # entries of one matrix
LINEAR = frozenset(("constant", "add", "sub", "neg", "mul", "div", "matmul", "sum", "concat", *MOVES))


def linear(node: Node, maps: Sequence[SparseMap], sources: Sequence[Node]) -> SparseMap | None:
    """The node as a map of what its operands are maps of; None if it is not affine, or too large."""
    if node.op == "constant":
        assert node.value is not None
        return of_constant(np.ravel(node.value).astype(np.float64), _error(node))
    if node.op in MOVES:
        return maps[0].take(np.ravel(STRUCTURE[node.op](_numbers(sources[0].shape), node.data)))
    if node.op == "concat":
        starts = np.cumsum([0, *(source.size for source in sources)])
        parts = [start + _numbers(source.shape) for start, source in zip(starts, sources, strict=False)]
        return stacked(maps).take(np.ravel(np.concatenate(parts, node.data[0])))
    if node.op == "neg":
        return -maps[0]
    if node.op == "sum":
        kept = np.expand_dims(_numbers(node.shape), tuple(axis % len(sources[0].shape) for axis in node.data[0]))
        into = np.ravel(np.broadcast_to(kept, sources[0].shape))
        return maps[0].times(_matrix(np.ones(len(into)), into, np.arange(len(into)), node.size, len(into)), 0.0)
    if node.op in ("add", "sub"):
        a, b = (_placed(own, source.shape, node.shape) for own, source in zip(maps, sources, strict=True))
        return a + (b if node.op == "add" else -b)
    return _scaled(node, maps, sources)


def _scaled(node: Node, maps: Sequence[SparseMap], sources: Sequence[Node]) -> SparseMap | None:
    """A product with a constant, or a quotient by one."""
    sides = [n for n, source in enumerate(sources) if _weights(source) is not None]
    side = sides[-1] if sides else -1
    if side < 0 or (node.op == "div" and side == 0):
        return None
    value, x, shape = _weights(sources[side]), maps[1 - side], sources[1 - side].shape
    assert value is not None
    lost = _error(sources[side])
    if node.op == "matmul":
        return _product(node, x, shape, value, lost, left=side == 0)
    factors = np.ravel(np.broadcast_to(1.0 / value if node.op == "div" else value, node.shape))
    at = np.arange(node.size)
    return _placed(x, shape, node.shape).times(_matrix(factors, at, at, node.size, node.size), lost + 2 * U)


def _product(
    node: Node, x: SparseMap, shape: tuple[int, ...], value: Floats, lost: float, left: bool
) -> SparseMap | None:
    """A product of matrices with a constant one: (…, i, k) times (…, k, j)."""
    inner = shape[-2] if left else shape[-1]
    if node.size * inner > LARGEST:
        return None
    out = _numbers(node.shape)[..., :, None, :]
    own = _numbers(shape)[..., None, :, :] if left else _numbers(shape)[..., :, :, None]
    weights = value[..., :, :, None] if left else value[..., None, :, :]
    values, rows, columns = (np.ravel(grid) for grid in np.broadcast_arrays(weights, out, own))
    return x.times(_matrix(values, rows, columns, node.size, len(x.b)), lost)


def _weights(node: Node) -> Floats | None:
    """The value of a constant that is neither 0 in all nor near the ends of float64."""
    if node.op != "constant" or node.value is None:
        return None
    sizes = np.abs(node.value[node.value != 0])
    moderate = len(sizes) and sizes.min() >= LEAST and sizes.max() <= MOST
    return np.asarray(node.value, np.float64) if moderate else None


def _error(node: Node) -> float:
    """Of the entries of a constant, relatively."""
    return 4 * U if node.data == ROUNDED else 0.0


def _placed(x: SparseMap, shape: tuple[int, ...], into: tuple[int, ...]) -> SparseMap:
    return x if shape == into else x.take(np.ravel(np.broadcast_to(_numbers(shape), into)))


def _numbers(shape: tuple[int, ...]) -> Indices:
    return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)


def _matrix(values: Floats, rows: Indices, columns: Indices, m: int, n: int) -> Sparse:
    kept = np.flatnonzero(values)
    return scipy.sparse.csr_array((values[kept], (rows[kept], columns[kept])), (m, n))
