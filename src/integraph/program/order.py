"""The registers of a reference in increasing order, and the lane of each, without a list of them where strides tell.

A view whose axes can be nested (each stride longer than all that lies inside it) is sorted by permuting and reversing
its axes; every slice, transpose and reversal of a register group is one. An index array is sorted for real.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.numbers.arrays import Indices
from integraph.program.views import Ref, View, row_major


@dataclass(frozen=True, slots=True)
class NestedOrder:
    """Registers and lanes as two views of one shape, the first increasing."""

    registers: View
    lanes: View

    def rank(self, register: int) -> int:
        """How many of the registers lie below `register`."""
        below, rest, inner = 0, register - self.registers.offset, self.registers.size
        for n, s in zip(self.registers.shape, self.registers.strides, strict=True):
            inner //= n
            whole = min(max(rest, 0) // s, n)
            below += whole * inner
            if whole == n:
                return below
            rest -= whole * s
        return below + (rest > 0)

    def between(self, first: int, last: int) -> Indices:
        """The lanes of the registers of rank first … last − 1."""
        return self.lanes.at(np.arange(first, last, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class ListedOrder:
    """Registers and lanes one by one."""

    registers: Indices
    lanes: Indices

    def rank(self, register: int) -> int:
        return int(np.searchsorted(self.registers, register))

    def between(self, first: int, last: int) -> Indices:
        return self.lanes[first:last]


def ordered(ref: Ref) -> NestedOrder | ListedOrder:
    """For a reference that `distinct` accepts."""
    if isinstance(ref, View):
        order = nested(ref)
        assert order is not None
        return order
    registers = ref.registers.reshape(-1)
    lanes = np.argsort(registers, kind="stable")
    return ListedOrder(registers[lanes], lanes)


def nested(view: View) -> NestedOrder | None:
    """None where no order of the axes will do: some register comes twice, or the axes interleave."""
    offset, lane = view.offset, 0
    axes: list[tuple[int, int, int]] = []
    for n, s, step in zip(view.shape, view.strides, row_major(view.shape), strict=True):
        if n == 1:
            continue
        if s < 0:
            offset, lane = offset + (n - 1) * s, lane + (n - 1) * step
        axes.append((s, n, step) if s >= 0 else (-s, n, -step))
    axes.sort(reverse=True)
    reach = 0
    for s, n, _ in reversed(axes):
        if s <= reach:
            return None
        reach += (n - 1) * s
    shape = tuple(n for _, n, _ in axes)
    return NestedOrder(
        View(offset, shape, tuple(s for s, _, _ in axes)), View(lane, shape, tuple(t for _, _, t in axes))
    )


def distinct(ref: Ref) -> bool:
    """Whether no register comes twice, as far as strides tell; a list is looked through."""
    if isinstance(ref, View):
        return nested(ref) is not None
    return len(np.unique(ref.registers)) == ref.size
