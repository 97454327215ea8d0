"""Steps of linear bounds backwards: a linear form of a value, bounded from below by linear forms of its operands.

A form L·z has an entry of L for each entry of z. Every step returns forms of its operands and a number with
L·z ≥ Σ forms·operands + number. The number contains what float64 can lose: `lost` holds that for forms of size 1, from
the largest sizes of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from integraph.certify.bounds.forms import count, gathered, least, mapped, multiplications, sizes, sloped, times
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.intervals import MOST, Interval
from integraph.numbers.roundoff import UP, U

if TYPE_CHECKING:
    from integraph.certify.bounds.forms import Form
    from integraph.certify.bounds.sparse_maps import Matrix

    Forms = tuple[list[tuple[int, Form]], Floats]  # (operand, its form) each, and the number


class Step(Protocol):
    @property
    def operands(self) -> tuple[int, ...]: ...

    def work(self, form: Form) -> float:
        """Multiplications of `pull`, about."""

    def pull(self, form: Form) -> Forms: ...


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Entries of a value: its number, which entries (all, in order, where there is no index), and how many it has."""

    number: int
    index: Indices | None = None
    size: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """An operand of an entrywise step: what each entry reads, and the slopes of the lines below and above, (cells,
    entries)."""

    read: Read
    low: Floats
    high: Floats

    def pull(self, form: Form) -> Form:
        result = sloped(form, self.low, self.high)
        return result if self.read.index is None else gathered(result, self.read.index, self.read.size)


@dataclass(frozen=True, slots=True, eq=False)
class Entrywise:
    """Σ low·operand + below ≤ z ≤ Σ high·operand + above, entry by entry. Without operands: what is known of z."""

    parts: tuple[Operand, ...]
    below: Floats  # (cells, entries)
    above: Floats
    lost: Floats
    faint: Floats  # (cells,): what underflow can lose

    @property
    def operands(self) -> tuple[int, ...]:
        return tuple(part.read.number for part in self.parts)

    def work(self, form: Form) -> float:
        return 2.0 * (1 + len(self.parts)) * count(form)

    def pull(self, form: Form) -> Forms:
        number = least(form, self.below, self.above) - (times(sizes(form), self.lost) * UP + self.faint[:, None])
        return [(part.read.number, part.pull(form)) for part in self.parts], number


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """z = Σ A u + b, of operands u and matrices A."""

    parts: tuple[tuple[int, Matrix], ...]
    b: Floats
    lost: Floats  # (cells, entries)
    faint: Floats

    @property
    def operands(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.parts)

    def work(self, form: Form) -> float:
        return sum(multiplications(form, A) for _, A in self.parts)

    def pull(self, form: Form) -> Forms:
        number = times(form, np.broadcast_to(self.b, self.lost.shape))
        number = number - (times(sizes(form), self.lost) * UP + self.faint[:, None])
        return [(operand, mapped(form, A)) for operand, A in self.parts], number


def known(z: Interval) -> Entrywise:
    """All that an interval (entries, cells) says."""
    return entrywise((), (), z.low.T, z.high.T)


def entrywise(
    parts: Sequence[Operand], sizes: Sequence[Floats], below: Floats, above: Floats, extra: Floats | float = 0.0
) -> Entrywise:
    """Lines with all that is lost; `sizes` are those of the operands as they are read, (cells, entries), and `extra` is
    lost besides."""
    gamma = (below.shape[1] + 100) * U
    below, above = np.maximum(below, -MOST), np.minimum(above, MOST)
    lost = gamma * np.maximum(np.abs(below), np.abs(above)) + extra
    faint = np.full(len(below), TINY * below.shape[1])
    for part, size in zip(parts, sizes, strict=True):
        repeated = 1 if part.read.index is None else len(part.read.index)  # at most so many are added up
        lost = lost + (repeated + 4) * U * np.maximum(np.abs(part.low), np.abs(part.high)) * size
        faint = faint + TINY * size.sum(1)
    return Entrywise(tuple(parts), below, above, lost, faint)


def affine(parts: Sequence[tuple[int, Matrix]], b: Floats, size: Sequence[Floats], off: Floats | float = 0.0) -> Affine:
    """A map with all that is lost, from the sizes of the operands, (entries, cells); `off`, (entries, cells), is how
    far A and b are from what is meant, at most."""
    lost: Floats = (len(b) + 100) * U * np.abs(b)[:, None] + off
    faint = np.full(size[0].shape[1], TINY)
    for (_, A), reach in zip(parts, size, strict=True):
        absolute: Any = abs(A)
        lost = lost + (sum(A.shape) + 100) * U * (absolute @ reach)
        faint = faint + TINY * reach.sum(0)
    return Affine(tuple(parts), b, lost.T, faint)
