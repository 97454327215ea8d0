"""From blocks to the terms of eq. (1): a lazy stream of canonical batches, exact counts and a hash of the stream.

The registers of a segment are cut into bands of about `batch` terms; only one band exists at a time, so a program of
1e9 terms is streamed in a few tens of megabytes. Bands are by target register, and all terms of a register are in one
band, so the concatenated stream does not depend on the batch size nor on how the work is divided into blocks.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from integraph.program.block import Block
from integraph.program.segment import Segment
from integraph.program.terms import ONE, Terms, canonical, positions
from integraph.program.views import Floats, Index, Indices

if TYPE_CHECKING:
    from integraph.program.program import Program

BATCH = 1 << 18  # terms in a batch: about 5 MB, stays near the cache
Progress = Callable[[int], None]


def stream_segment(segment: Segment, width: int, scales: Floats | None, batch: int = BATCH) -> Iterator[Terms]:
    """The canonical terms of one segment, in batches of about `batch` terms."""
    parts = [(block, role, ref.size) for block in segment.blocks for role, ref in enumerate(block.targets)]
    bound = sum(block.op.per_lane(block, role) * size for block, role, size in parts)
    bands = _whole(parts) if bound <= batch else _bands(parts, batch)
    for band in bands:
        pieces = [block.op.lower(block, role, lanes) for block, role, lanes in band if len(lanes)]
        found = _scaled(canonical(pieces, width), segment.rate, scales)
        if len(found):
            yield found


Part = tuple[Block, int, int]
Band = list[tuple[Block, int, Indices]]


def _whole(parts: list[Part]) -> Iterator[Band]:
    yield [(block, role, positions(size)) for block, role, size in parts]


def _bands(parts: list[Part], batch: int) -> Iterator[Band]:
    """Cut the target registers where the number of terms passes multiples of `batch`."""
    sorted_parts: list[tuple[Block, int, Indices, Indices]] = []
    for block, role, _ in parts:
        registers = block.targets[role].indices().ravel()
        order = positions(len(registers)) if (np.diff(registers) > 0).all() else np.argsort(registers, kind="stable")
        sorted_parts.append((block, role, registers[order], order))
    registers = np.concatenate([r for _, _, r, _ in sorted_parts])
    costs = np.concatenate([np.full(len(r), b.op.per_lane(b, role)) for b, role, r, _ in sorted_parts])
    order = np.argsort(registers, kind="stable")
    registers, reached = registers[order], np.cumsum(costs[order])
    cuts = np.searchsorted(reached, np.arange(batch, int(reached[-1]) + batch, batch))
    limits = np.unique(registers[np.minimum(cuts, len(registers) - 1)]) + 1
    low = 0
    for high in limits.tolist():
        band: Band = []
        for block, role, found, lanes in sorted_parts:
            a, b = np.searchsorted(found, (low, high))
            band.append((block, role, lanes[a:b]))
        low = high
        yield band


def _scaled(terms: Terms, rate: float, scales: Floats | None) -> Terms:
    """Controls of the rescaled time and states: ŷ = y/s turns q y_j y_k into (q s_j s_k / s_i) ŷ_j ŷ_k."""
    value = terms.value if rate == 1.0 else terms.value * rate
    if scales is not None:
        extended = np.append(scales, 1.0)  # index −1 is the constant 1
        value = value * extended[terms.j] * extended[terms.k] / extended[terms.i]
    return terms if value is terms.value else Terms(terms.i, terms.j, terms.k, value)


def count(program: Program) -> int:
    """How many canonical terms a program has; analytic unless blocks share targets or list registers one by one."""
    return sum(_count_segment(segment, program) for segment in program.segments)


def _count_segment(segment: Segment, program: Program) -> int:
    counts = [block.op.count(block) for block in segment.blocks]
    if None not in counts and not _share_targets(segment):
        return sum(c for c in counts if c is not None)
    return sum(len(batch) for batch in stream_segment(segment, program.width, None))


def _share_targets(segment: Segment) -> bool:
    additive = [ref for block in segment.blocks if block.op.additive for ref in block.targets]
    if len(additive) < 2:
        return False
    extents = sorted(ref.extent() for ref in additive)
    apart = all(a[1] < b[0] for a, b in zip(extents, extents[1:], strict=False))
    if apart and not any(isinstance(ref, Index) for ref in additive):
        return False
    registers = np.concatenate([ref.indices().ravel() for ref in additive])
    return len(np.unique(registers)) < len(registers)


def digest(program: Program, progress: Progress | None = None) -> str:
    """SHA-256 over everything that eq. (1) says: sizes, durations, canonical terms and read-out. No names, no blocks."""
    whole = hashlib.sha256(struct.pack("<4q", program.width, program.inputs, program.outputs, program.depth))
    readout = program.readout
    for array in (readout.indptr.astype("<i8"), readout.indices.astype("<i8"), readout.data.astype("<f8")):
        whole.update(np.ascontiguousarray(array).data)
    for segment in program.segments:
        columns = [hashlib.sha256() for _ in range(4)]
        for batch in stream_segment(segment, program.width, program.scales):
            for column, array in zip(columns, (batch.i, batch.j, batch.k, batch.value), strict=True):
                column.update(np.ascontiguousarray(array).data)
            if progress is not None:
                progress(len(batch))
        whole.update(struct.pack("<d", segment.duration))
        for column in columns:
            whole.update(column.digest())
    return whole.hexdigest()


__all__ = ["BATCH", "ONE", "Progress", "count", "digest", "stream_segment"]
