"""How many inputs to carry through a program at once.

Large chunks make better matrix products, until the registers of a step no longer fit the cache. A program for which one
input already means matrices, such as a transformer of many tokens, gains nothing from a small chunk: it takes one input
at a time, in rows, which are faster in BLAS than a few columns.
"""

from __future__ import annotations

import math
from functools import lru_cache

from integraph.flow.exact.plan import ExactPlan, once
from integraph.program import Block

CHUNK = 512  # a net of 64 neurons a layer then mostly stays in the second-level cache
LARGEST = 2048
CACHE = 1 << 20  # bytes of all states of a chunk that is larger, because it costs little beside its calls
STATES = 1 << 22  # bytes of all states of a chunk that are no trouble
STEP = 1 << 21  # bytes of the registers of one step that are no trouble
MEMORY = 1 << 28  # bytes that no chunk should take
SMALLEST = 16
REUSED = 8  # products with each weight in one input, from which on it is matrices


def chunk(plan: ExactPlan) -> int:
    """The number of inputs, a power of 2."""
    width = max(plan.program.width, 1)
    busiest = max((sum(once(ref).size for ref in p.block.refs()) for p in plan.planned), default=1)
    size = _power_of_two(max(STATES // (8 * width), STEP // (8 * busiest)))
    if size < SMALLEST:
        size = 1 if _reuse(plan) >= REUSED else SMALLEST
    largest = max(CHUNK, min(LARGEST, _power_of_two(CACHE // (8 * width))))
    return min(size, largest, _power_of_two(MEMORY // (8 * width)))


@lru_cache(maxsize=4096)
def padded(count: int) -> int:
    """Columns of the workspace for so many inputs: few sizes, little waste."""
    step = max((1 << (count - 1).bit_length()) // 16, 1)
    return -(-count // step) * step


def _power_of_two(number: int) -> int:
    """The largest that is not larger, at least 1."""
    return 1 << max(number, 1).bit_length() - 1


def _reuse(plan: ExactPlan) -> float:
    """Products with weights for one input, for each weight."""
    matrices = [p.block for p in plan.planned if _is_matrix(p.block)]
    weights = sum(block.tensors["w"].size for block in matrices)
    return sum(block.operands[0].size for block in matrices) / weights if weights else math.inf


def _is_matrix(block: Block) -> bool:
    return block.op.additive and "w" in block.tensors and block.tensors["w"].size > 1
