"""A free-form block: y' = b + A z + Q(z, z) with z = (y, x), for trained and hand-written models. No closed form."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.free_form import FreeForm
from integraph.numbers.arrays import Floats, Indices, numbers
from integraph.numbers.quadratic_field import Matrix, QuadraticField
from integraph.program import ONE, Block, Ref, Terms, register
from integraph.program.terms import terms
from integraph.program.views import dense
from integraph.text import counted


class Raw(FreeForm):
    """Stored as sorted triples: `index` (n, 3) holds (row of y, j, k), j and k positions in z, −1 for the 1."""

    name = "raw"
    tensors = ("index", "value")
    integers = ("index",)

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """`raw(y, x, A=A, Q=Q, b=b)` with dense A (m, n) and Q (m, n, n), n = len(y) + len(x), each optional."""
        if len(refs) == 1:
            refs = (refs[0], dense(0, (0,)))
        if "index" not in tensors and len(refs) == 2:
            unknown = set(tensors) - {"A", "Q", "b"}
            if unknown:
                raise SpecError(f"raw takes A, Q and b, not {sorted(unknown)}")
            tensors = _triples(refs[0].size, refs[0].size + refs[1].size, **tensors)
        return super().__call__(*refs, **tensors)

    def check(self, block: Block) -> None:
        y, x = block.targets[0], block.operands[0]
        if set(block.tensors) != {"index", "value"}:
            raise SpecError(
                "raw needs the tensors 'index' and 'value': call raw(y, x, A=…, Q=…, b=…), which makes them"
            )
        index, value = block.tensors["index"], block.tensors["value"]
        if len(y.shape) != 1 or len(x.shape) != 1:
            raise SpecError(f"raw: y and x must be one-dimensional, got shapes {y.shape} and {x.shape}")
        if index.ndim != 2 or index.shape[1] != 3 or value.shape != (len(index),):
            raise SpecError(f"raw: index {index.shape} and value {value.shape} must be (n, 3) and (n,)")
        rows, columns = index[:, 0], index[:, 1:]
        if len(index) and (rows.min() < 0 or rows.max() >= y.size or (np.diff(rows) < 0).any()):
            raise SpecError(f"raw: rows must be sorted and within 0 … {y.size - 1}")
        if len(index) and (columns.min() < ONE or columns.max() >= y.size + x.size):
            raise SpecError(f"raw: factors must be within −1 … {y.size + x.size - 1}")

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        index, value = block.tensors["index"], block.tensors["value"]
        rows = index[:, 0]
        near = slice(bisect_left(rows, lanes.min()), bisect_right(rows, lanes.max()))
        index, value, rows = index[near], value[near], rows[near]
        if not (np.diff(lanes) == 1).all():
            first, last = np.searchsorted(rows, lanes), np.searchsorted(rows, lanes, side="right")
            lengths = last - first
            before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            where = np.repeat(first - before, lengths) + np.arange(lengths.sum())
            index, value = index[where], value[where]
        i, j, k = (_registers(block, index[:, column]) for column in range(3))
        return terms(i, j, k, value)

    def per_lane(self, block: Block, role: int) -> Indices:
        return np.bincount(block.tensors["index"][:, 0], minlength=block.targets[0].size)

    def count(self, block: Block) -> int | None:
        return None

    def field(self, block: Block) -> QuadraticField:
        index, value = block.tensors["index"], block.tensors["value"]
        m, n = block.targets[0].size, block.targets[0].size + block.operands[0].size
        bent, pairs, column = products(index)
        high = index[:, 1:].max(1)
        constant, linear = high == ONE, ~bent & (high != ONE)
        b = np.zeros(m)
        np.add.at(b, index[constant, 0], value[constant])
        read, place = np.unique(pairs, return_inverse=True)
        left, right = place.reshape(2, -1)
        forms = _matrix(np.arange(len(read)), read, np.ones(len(read)), (len(read), n))
        U = _matrix(index[bent, 0], column, value[bent], (m, len(left)))
        return QuadraticField(U, forms, left, right, _matrix(index[linear, 0], high[linear], value[linear], (m, n)), b)

    def words(self, block: Block) -> str:
        size, terms = counted(block.targets[0].size, "register"), counted(len(block.tensors["value"]), "term")
        return f"raw, {size}, {terms}: any quadratic right-hand side"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        z = "(y, x)" if block.operands[0].size else "y"
        return [("y", f"b + A·{z} + Q({z}, {z})")]


def products(index: Indices) -> tuple[Indices, Indices, Indices]:
    """Which triples have two factors, their distinct pairs (2, R), and which of these each has."""
    low, high = np.sort(index[:, 1:], 1).T
    bent = low != ONE
    pairs, column = np.unique(np.stack([low[bent], high[bent]]), axis=1, return_inverse=True)
    return bent, pairs, column.reshape(-1)


def _registers(block: Block, index: Indices) -> Indices:
    """From positions in z = (y, x), −1 for the constant 1, to registers."""
    y, x = block.targets[0], block.operands[0]
    registers = y.at(np.minimum(index, y.size - 1))
    if x.size:
        registers = np.where(index < y.size, registers, x.at(np.maximum(index - y.size, 0)))
    return np.where(index == ONE, ONE, registers)


def _matrix(rows: Indices, columns: Indices, values: Floats, shape: tuple[int, int]) -> Matrix:
    """From entries by sorted rows; those of one place are not added, which would round."""
    return Matrix((values, columns, np.searchsorted(rows, np.arange(shape[0] + 1))), shape=shape)


def _triples(m: int, n: int, A: Any = None, Q: Any = None, b: Any = None) -> dict[str, Any]:
    """Sorted triples of the nonzeros of dense A, Q and b."""
    parts: list[tuple[Any, Any]] = []
    for name, given, shape in (("b", b, (m,)), ("A", A, (m, n)), ("Q", Q, (m, n, n))):
        if given is None:
            continue
        array = numbers(given, f"raw: {name}", SpecError)
        if array.shape != shape:
            raise SpecError(f"raw: {name} has shape {array.shape}, needs {shape}")
        if name == "Q":  # q_jk y_j y_k and q_kj y_k y_j are one term
            array = np.triu(array) + np.triu(array.transpose(0, 2, 1), 1)
        where = np.argwhere(array)
        padding = np.full((len(where), 3 - where.shape[1]), ONE)
        parts.append((np.concatenate([where[:, :1], padding, where[:, 1:]], 1), array[tuple(where.T)]))
    index = np.concatenate([p[0] for p in parts]) if parts else np.zeros((0, 3), np.int64)
    value = np.concatenate([p[1] for p in parts]) if parts else np.zeros(0)
    order = np.lexsort(index.T[::-1])
    return {"index": index[order], "value": value[order]}


raw = Raw()
register(raw)
