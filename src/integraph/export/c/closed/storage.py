"""Where the arrays of a C function lie: places in one workspace, taken again when nobody reads them any more."""

from __future__ import annotations

from integraph.export.c.closed.steps import Step
from integraph.flow.closed_forms import ClosedForms


def places(forms: ClosedForms, root: list[tuple[int, int]], order: list[Step]) -> tuple[dict[int, int], int]:
    """The first number of each operation that needs a place, and how many numbers there are. A value that is read only
    inside its own loop needs none, nor does a single number."""
    last = _last_use(forms, root, order)
    offsets: dict[int, int] = {}
    free: list[tuple[int, int]] = []  # (begin, size), in order
    end = 0
    leaving: dict[int, list[int]] = {}
    for position, step in enumerate(order):
        for number in step.numbers:
            size = forms.operations[number].size
            if number not in last or size == 1 or forms.operations[number].op == "input":
                continue
            hole = next((hole for hole in free if hole[1] >= size), None)
            if hole is None:
                offsets[number], end = end, end + size
            else:
                free.remove(hole)
                offsets[number] = hole[0]
                if hole[1] > size:
                    free.append((hole[0] + size, hole[1] - size))
            leaving.setdefault(last[number], []).append(number)
        for number in leaving.pop(position, ()):
            free = _merged([*free, (offsets[number], forms.operations[number].size)])
    return offsets, end


def _last_use(forms: ClosedForms, root: list[tuple[int, int]], order: list[Step]) -> dict[int, int]:
    """For values that are read in a later step, or are outputs, the last step that does."""
    step_of = {number: position for position, step in enumerate(order) for number in step.numbers}
    last: dict[int, int] = {root[forms.outputs][0]: len(order)}
    for position, step in enumerate(order):
        for number in step.numbers:
            for argument in forms.operations[number].arguments:
                if isinstance(argument, int):
                    read = root[argument][0]
                    if step_of[read] != position:
                        last[read] = max(last.get(read, 0), position)
    return last


def _merged(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, size in sorted(holes):
        if merged and sum(merged[-1]) == begin:
            merged[-1] = (merged[-1][0], merged[-1][1] + size)
        else:
            merged.append((begin, size))
    return merged
