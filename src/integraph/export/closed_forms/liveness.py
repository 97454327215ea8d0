"""What is worth writing of the recorded operations: what outputs and guards need, and guards that say something new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from integraph.export.closed_forms.operations import ELEMENTWISE, REDUCTIONS, ClosedForms, Operation


def prune(operations: Sequence[Operation], outputs: int, positive: Iterable[int], ends: Iterable[int]) -> ClosedForms:
    """The operations that matter. `ends` must be finite where anything depends on them."""
    needed = _needed(operations, [outputs, *positive])
    covered = _covered(operations, needed, outputs)
    finite = sorted({end for end in ends if needed[end] and not covered[end]})
    kept = [number for number in range(len(operations)) if needed[number]]
    new = {old: number for number, old in enumerate(kept)}
    renamed = [
        Operation(own.op, tuple(new[a] if isinstance(a, int) else a for a in own.arguments), own.lanes, own.indices)
        for own in (operations[old] for old in kept)
    ]
    return ClosedForms(tuple(renamed), new[outputs], tuple(new[n] for n in positive), tuple(new[n] for n in finite))


def _needed(operations: Sequence[Operation], roots: Iterable[int]) -> list[bool]:
    needed = [False] * len(operations)
    for root in roots:
        needed[root] = True
    for number in range(len(operations) - 1, -1, -1):
        if needed[number]:
            for argument in operations[number].arguments:
                if isinstance(argument, int):
                    needed[argument] = True
    return needed


def _covered(operations: Sequence[Operation], needed: list[bool], outputs: int) -> list[bool]:
    """Whether the outputs are infinite or NaN whenever a number of this operation is."""
    covered = [False] * len(operations)
    covered[outputs] = True
    for number in range(len(operations) - 1, -1, -1):
        own = operations[number]
        if covered[number] and needed[number]:
            for position, argument in enumerate(own.arguments):
                if isinstance(argument, int) and _carries(own, position, operations[argument].size):
                    covered[argument] = True
    return covered


def _carries(own: Operation, position: int, size: int) -> bool:
    if own.op in ELEMENTWISE:
        return ELEMENTWISE[own.op].carries[position]
    if own.op == "gather":
        return own.indices is not None and len(np.unique(own.indices)) == size
    if own.op == "matmul":  # a weight 0 does not hide what it multiplies: 0·∞ is NaN
        return True
    return REDUCTIONS.get(own.op, True)
