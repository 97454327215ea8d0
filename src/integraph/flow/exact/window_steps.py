"""Fast steps of sums that move a window over their lanes, as convolutions do: several affine blocks as one.

Each block is a matrix product of the same lanes with another place of the window. What all places see is copied side by
side, a few rows of lanes at a time, so that one large product takes the place of many small ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from integraph.flow.exact.affine_steps import Compute, Step, accumulate, times
from integraph.numbers.arrays import Floats
from integraph.program import Block, View

COPY = 1 << 16  # numbers that are copied at a time


def matrix_axis(block: Block) -> int | None:
    """The axis of lanes along which weights vary and the same registers are read, if it is the only one of its kind
    with others after it: along these all lanes have the same weights."""
    if block.op.name != "affine":
        return None
    target, x = block.targets[0], block.operands[0]
    if not (isinstance(target, View) and target.contiguous and isinstance(x, View)):
        return None
    w = block.tensors["w"]
    sizes = ((1,) * (len(x.shape) - w.ndim) + w.shape)[:-1]
    axes = [k for k, n in enumerate(x.shape[:-1]) if n > 1 and x.strides[k] == 0 and sizes[k] > 1]
    axis = axes[0] if len(axes) == 1 else len(sizes)
    return axis if axis + 1 < len(sizes) and all(n == 1 for n in sizes[axis + 1 :]) else None


def alike(block: Block, other: Block) -> bool:
    """Whether two blocks add products along the same axis to the same registers."""
    return (
        block.targets == other.targets and matrix_axis(block) is not None and matrix_axis(block) == matrix_axis(other)
    )


def window_step(blocks: Sequence[Block], states: Floats, t: float, fresh: bool) -> Step:
    """One step of blocks that are `alike`."""
    axis = matrix_axis(blocks[0])
    assert axis is not None
    target = blocks[0].targets[0].of(states)
    bias = sum((t * block.tensors["b"][..., None] for block in blocks if "b" in block.tensors), np.zeros(1))
    compute = _products(blocks, states, t, axis, target.shape)
    return accumulate(target, compute, np.asarray(bias) if np.any(bias) else None, fresh)


def _products(blocks: Sequence[Block], states: Floats, t: float, axis: int, shape: tuple[int, ...]) -> Compute:
    """What writes the sum of all products."""
    weights, sources = [], []
    for block in blocks:
        x, w = block.operands[0], times(t, block.tensors["w"])
        wide = np.broadcast_to(w, x.shape)[(slice(None),) * (axis + 1) + (0,) * (len(x.shape) - axis - 2)]
        weights.append(wide)
        seen = x.of(states)[(slice(None),) * axis + (0,)]  # lead + tail + (reads, inputs)
        sources.append(np.moveaxis(seen, -2, axis))
    matrix = np.ascontiguousarray(np.concatenate(weights, -1))
    reads, tail = matrix.shape[-1], shape[axis + 1 :]
    rows = max(1, COPY // (reads * math.prod(tail[1:])))
    copies = np.empty((reads, min(rows, tail[0]), *tail[1:]))
    ends = list(itertools.accumulate(source.shape[axis] for source in sources))
    places = [slice(end - source.shape[axis], end) for end, source in zip(ends, sources, strict=True)]
    work = []
    for lead in np.ndindex(shape[:axis]):
        for first in range(0, tail[0], rows):
            here = slice(first, min(first + rows, tail[0]))
            copy = copies[:, : here.stop - first]
            pairs = [(copy[place], source[lead][:, here]) for place, source in zip(places, sources, strict=True)]
            work.append((lead, here, pairs, copy.reshape(reads, -1), matrix[lead]))

    def compute(out: Floats) -> None:
        for lead, here, pairs, copy, factors in work:
            for into, source in pairs:
                np.copyto(into, source)
            part = out[lead][:, here]
            np.matmul(factors, copy, out=part.reshape(len(part), -1))

    return compute
