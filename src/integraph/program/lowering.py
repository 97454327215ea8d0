"""From blocks to the terms of eq. (1): a lazy stream of canonical batches, exact counts and a hash of the stream.

The registers of a segment are cut into bands of about `batch` terms; only one band exists at a time, so a program of
1e9 terms is streamed in a few tens of megabytes. Bands are by target register, and all terms of a register are in one
band, so the concatenated stream does not depend on the batch size nor on how the work is divided into blocks.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import SpecError
from integraph.numbers.arrays import Floats
from integraph.program.bands import bands
from integraph.program.segment import Segment
from integraph.program.terms import ONE, Terms, canonical, without_zeros
from integraph.program.views import mark

if TYPE_CHECKING:
    from integraph.program.program import Program

BATCH = 1 << 18  # terms in a batch: about 5 MB, stays near the cache
WARM = 1 << 24  # bytes: more than the arrays of a batch together
Progress = Callable[[int], None]


def stream_segment(segment: Segment, width: int, scales: Floats | None, batch: int = BATCH) -> Iterator[Terms]:
    """The canonical terms of one segment, in batches of about `batch` terms."""
    extended = None if scales is None else np.append(scales, 1.0)  # index −1 is the constant 1
    np.empty(WARM, np.int8)  # freed at once; else glibc returns each batch's memory and faults it in again: 3× slower
    for band in bands(segment.blocks, batch):
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            pieces = [block.op.lower(block, role, lanes) for block, role, lanes in band]
            terms = _scaled(canonical(pieces, width), segment.rate, extended)
        finite = np.isfinite(terms.value)
        if not finite.all():
            term = terms[~finite]
            raise SpecError(
                f"segment {segment.label!r}: the control of registers ({term.i[0]}, {term.j[0]}, {term.k[0]}) is "
                f"{term.value[0]}: every control must be finite; make weights, rate or state scales smaller"
            )
        if len(terms):
            yield terms


def _scaled(terms: Terms, rate: float, scales: Floats | None) -> Terms:
    """Controls of the rescaled time and states: ŷ = y/s turns q y_j y_k into (q s_j s_k / s_i) ŷ_j ŷ_k."""
    value = terms.value if rate == 1.0 else terms.value * rate
    if scales is not None:
        wide = np.longdouble(1.0) * scales  # a product of four factors leaves float64 more often than it should
        value = (value * wide[terms.j] * wide[terms.k] / wide[terms.i]).astype(np.float64)
    return terms if value is terms.value else without_zeros(Terms(terms.i, terms.j, terms.k, value))


def count(program: Program) -> int:
    """How many canonical terms a program has; analytic unless blocks share targets or list registers one by one."""
    return sum(count_segment(segment, program) for segment in program.segments)


def count_segment(segment: Segment, program: Program) -> int:
    """The same of one segment."""
    counts = [block.op.count(block) for block in segment.blocks]
    vanishing = abs(segment.rate) < 1 or program.scales is not None  # may round a control to 0
    if None in counts or vanishing or _share_targets(segment, program.width):
        return sum(len(batch) for batch in stream_segment(segment, program.width, program.scales))
    return sum(c for c in counts if c is not None)


def _share_targets(segment: Segment, width: int) -> bool:
    additive = [ref for block in segment.blocks if block.op.additive for ref in block.targets]
    if len(additive) < 2:
        return False
    written = np.zeros(width, np.bool_)
    for ref in additive:
        mark(ref, written, True)
    return int(np.count_nonzero(written)) < sum(ref.size for ref in additive)


def digest(program: Program, progress: Progress | None = None) -> str:
    """SHA-256 over all that eq. (1) says: sizes, durations, canonical terms and read-out. No names, no blocks."""
    whole = hashlib.sha256(struct.pack("<4q", program.width, program.inputs, program.outputs, program.depth))
    readout = program.readout
    for array in (readout.indptr.astype("<i8"), readout.indices.astype("<i8"), readout.data.astype("<f8")):
        whole.update(np.ascontiguousarray(array).data)
    for segment in program.segments:
        columns = [hashlib.sha256() for _ in range(4)]
        for batch in stream_segment(segment, program.width, program.scales):
            _absorb(columns, batch)
            if progress is not None:
                progress(len(batch))
        whole.update(struct.pack("<d", segment.duration))
        for column in columns:
            whole.update(column.digest())
    return whole.hexdigest()


def _absorb(columns: Sequence[hashlib._Hash], t: Terms) -> None:
    """Hash terms compactly: (register, terms, of them linear) for each register; j; k; values."""
    starts = np.flatnonzero(np.concatenate([[True], t.i[1:] != t.i[:-1]]))
    linear = t.j == ONE
    rows = np.stack([t.i[starts], np.diff(starts, append=len(t)), np.add.reduceat(linear, starts, dtype=np.int64)], 1)
    j = t.j[:0] if linear.all() else t.j[~linear]
    for column, array, kind in zip(columns, (rows, j, t.k, t.value), ("<i4", "<i4", "<i4", "<f8"), strict=True):
        column.update(np.ascontiguousarray(array, kind).data)
