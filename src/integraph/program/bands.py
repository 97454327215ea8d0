"""Cuts the registers that a segment writes into bands of about as many terms as fit in the cache.

A band is a range of registers, so all terms of a register are in one band. The range is halved until it is small
enough; a block is only asked about the bands in which it writes. A lane without terms costs as much as one term.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from integraph.errors import SpecError
from integraph.numbers.arrays import Indices
from integraph.program.block import Block
from integraph.program.order import ListedOrder, NestedOrder, ordered

MAX_ROW = 1 << 24  # terms of one register: they are sorted together, in about 1 GB

Band = list[tuple[Block, int, Indices]]  # block, role, lanes


@dataclass(frozen=True, slots=True, eq=False)
class _Writer:
    """One target of a block, its registers in increasing order."""

    block: Block
    role: int
    order: NestedOrder | ListedOrder
    reached: int | Indices  # cost of each lane, or of all lanes before it

    def cost(self, first: int, last: int) -> int:
        if isinstance(self.reached, int):
            return self.reached * (last - first)
        return int(self.reached[last] - self.reached[first])


_Span = tuple[_Writer, int, int]  # the registers of rank first … last − 1


def bound(block: Block) -> int:
    """An upper bound of the number of terms."""
    costs = [(block.op.per_lane(block, role), ref.size) for role, ref in enumerate(block.targets)]
    return sum(cost * size if isinstance(cost, int) else int(cost.sum()) for cost, size in costs)


def bands(blocks: Iterable[Block], batch: int) -> Iterator[Band]:
    """In order of registers, each of at most `batch` terms unless one register alone has more."""
    blocks, batch = tuple(blocks), min(batch, MAX_ROW)
    if sum(max(bound(b), *(ref.size for ref in b.targets)) for b in blocks) <= batch:
        yield [(b, role, np.arange(ref.size, dtype=np.int64)) for b in blocks for role, ref in enumerate(b.targets)]
        return
    extents = [ref.extent() for block in blocks for ref in block.targets]
    low, high = min(first for first, _ in extents), max(last for _, last in extents) + 1
    todo = [(low, high, [_span(block, role) for block in blocks for role in range(len(block.targets))])]
    while todo:
        low, high, spans = todo.pop()
        terms = sum(writer.cost(first, last) for writer, first, last in spans)
        if high - low > 1 and terms > batch:
            middle = (low + high) // 2
            cuts = [(writer, first, writer.order.rank(middle), last) for writer, first, last in spans]
            todo.append((middle, high, [(writer, cut, last) for writer, _, cut, last in cuts if cut < last]))
            todo.append((low, middle, [(writer, first, cut) for writer, first, cut, _ in cuts if first < cut]))
        elif terms > MAX_ROW:
            raise SpecError(f"register {low} has {terms} terms in one segment: the limit is {MAX_ROW}; split the sum")
        else:
            yield [(writer.block, writer.role, writer.order.between(first, last)) for writer, first, last in spans]


def _span(block: Block, role: int) -> _Span:
    size, order, terms = block.targets[role].size, ordered(block.targets[role]), block.op.per_lane(block, role)
    if isinstance(terms, int):
        return _Writer(block, role, order, max(terms, 1)), 0, size
    reached = np.zeros(size + 1, np.int64)
    np.cumsum(np.maximum(terms, 1)[order.between(0, size)], out=reached[1:])
    return _Writer(block, role, order, reached), 0, size
