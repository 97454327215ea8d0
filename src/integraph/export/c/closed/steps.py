"""Operations in the order of the code: runs of elementwise operations of one size are one loop.

A reshape is no code, and a gather of neighbours is none: both are other names for what is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from integraph.flow.closed_forms import ClosedForms, Operation
from integraph.flow.closed_forms.operations import ELEMENTWISE

LOOPED = {*ELEMENTWISE, "broadcast"}


@dataclass(slots=True, eq=False)
class Step:
    """Numbers of operations: those of a loop over their elements, or one alone."""

    numbers: list[int]
    size: int  # of the loop; 1 for what is no loop over elements
    members: set[int] = field(default_factory=set)


def first_place(operation: Operation) -> int | None:
    """Where neighbours begin, if a gather takes them in order."""
    if operation.op != "gather" or operation.size == 1 or operation.indices is None:
        return None
    row = operation.indices.reshape(-1)
    return int(row[0]) if (row == row[0] + np.arange(len(row))).all() else None


def roots(forms: ClosedForms) -> list[tuple[int, int]]:
    """For each operation the one that computes its numbers, and where in it they begin."""
    known: list[tuple[int, int]] = []
    for number, own in enumerate(forms.operations):
        begin = 0 if own.op == "reshape" else None if number in forms.positive else first_place(own)
        if begin is None:
            known.append((number, 0))
        else:
            root, offset = known[own.arguments[0]]
            known.append((root, offset + begin))
    return known


def steps(forms: ClosedForms, root: list[tuple[int, int]]) -> list[Step]:
    order: list[Step] = []
    for number, own in enumerate(forms.operations):
        if root[number][0] != number:
            continue
        last = order[-1] if order else None
        if own.op in LOOPED and own.size > 1:
            if last is None or last.size != own.size or not _fits(forms, root, own, last):
                order.append(last := Step([], own.size))
            last.numbers.append(number)
            last.members.add(number)
        else:
            order.append(Step([number], 1))
    return order


def _fits(forms: ClosedForms, root: list[tuple[int, int]], own: Operation, loop: Step) -> bool:
    """Whether all that an operation reads of the loop is of the same element."""
    read = [argument for argument in own.arguments if isinstance(argument, int)]
    return all(forms.operations[n].size == loop.size for n in read if root[n][0] in loop.members)
