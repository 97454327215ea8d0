"""Steps of linear bounds backwards: a linear form of a value, bounded from below by linear forms of its operands.

A form L·z has an entry of L for each entry of z: arrays (cells, forms, entries). Every step returns forms of its
operands and a number with L·z ≥ Σ forms·operands + number. The number contains what float64 can lose: `lost` holds that
for forms of size 1, from the largest sizes of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.intervals import MOST, Interval
from integraph.numbers.roundoff import UP, U

Forms = tuple[list[tuple[int, Floats]], Floats]  # (operand, its form) each, and the number


class Step(Protocol):
    @property
    def operands(self) -> tuple[int, ...]: ...

    @property
    def work(self) -> int:
        """Multiplications for one form."""

    def pull(self, form: Floats) -> Forms: ...


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """An operand of an entrywise step: its number, which of its entries each entry of the result reads (all, in order,
    where there is no index), how many it has, and the slopes of the lines below and above, (cells, entries)."""

    number: int
    low: Floats
    high: Floats
    index: Indices | None = None
    size: int = 0

    def pull(self, form: Floats) -> Floats:
        slopes = self.low[:, None]
        if self.low is not self.high:
            slopes = np.where(form >= 0, slopes, self.high[:, None])
        result: Floats = form * slopes
        if self.index is None:
            return result
        columns = (np.ones(len(self.index)), (np.arange(len(self.index)), self.index))
        places = scipy.sparse.csr_array(columns, (len(self.index), self.size))
        placed: Floats = np.asarray(result.reshape(-1, len(self.index)) @ places)
        return placed.reshape(*form.shape[:2], self.size)


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
        return tuple(part.number for part in self.parts)

    @property
    def work(self) -> int:
        return int((2 + 2 * len(self.parts)) * self.below.shape[1])

    def pull(self, form: Floats) -> Forms:
        forms = [(part.number, part.pull(form)) for part in self.parts]
        number = times(np.maximum(form, 0.0), self.below) + times(np.minimum(form, 0.0), self.above)
        return forms, number - (times(np.abs(form), self.lost) * UP + self.faint[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """z = u A + b, or A u + b where `left`: products of matrices with constants, z of this shape."""

    operand: int
    A: Floats
    left: bool
    shape: tuple[int, ...]
    b: Floats | None
    lost: Floats  # (cells, entries)
    faint: Floats

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.operand,)

    @property
    def work(self) -> int:
        return int(self.A.shape[-1 if self.left else -2] * self.lost.shape[1])

    def pull(self, form: Floats) -> Forms:
        number = -(times(np.abs(form), self.lost) * UP + self.faint[:, None])
        result = multiplied(form, self.A.swapaxes(-1, -2), self.left, self.shape)
        return [(self.operand, result)], number if self.b is None else number + form @ self.b


def multiplied(x: Floats, A: Floats, left: bool, shape: tuple[int, ...]) -> Floats:
    """(…, entries) of this shape times A, flat again."""
    if A.ndim == 2 and not left:
        return (x.reshape(-1, len(A)) @ A).reshape(*x.shape[:-1], -1)
    shaped = x.reshape(*x.shape[:-1], *shape)
    product: Floats = np.matmul(A, shaped) if left else np.matmul(shaped, A)
    return product.reshape(*x.shape[:-1], -1)


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """Sums of entries, each of which is in one sum."""

    operand: int
    owner: Indices

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.operand,)

    @property
    def work(self) -> int:
        return len(self.owner)

    def pull(self, form: Floats) -> Forms:
        return [(self.operand, form[..., self.owner])], np.zeros(form.shape[:2])


def times(form: Floats, entries: Floats) -> Floats:
    """Σ form·entries, cell by cell."""
    result: Floats = np.matmul(form, entries[..., None])[..., 0]
    return result


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
        repeated = 1 if part.index is None else len(part.index)  # at most so many are added up
        lost = lost + (repeated + 4) * U * np.maximum(np.abs(part.low), np.abs(part.high)) * size
        faint = faint + TINY * size.sum(1)
    return Entrywise(tuple(parts), below, above, lost, faint)


def product(
    operand: int, A: Floats, left: bool, shape: tuple[int, ...], size: Floats, b: Floats | None = None
) -> Product:
    """A product with a result of this shape, and what is lost, from the sizes of the operand, (cells, entries)."""
    m, n = A.shape[-2:]
    inner = (*shape[:-2], n, shape[-1]) if left else (*shape[:-1], m)
    reach = multiplied(size, np.abs(A), left, inner)
    lost = (m + n + 100) * U * reach
    if b is not None:
        lost = lost + (len(b) + 100) * U * np.abs(b)
    return Product(operand, A, left, shape, b, lost, TINY * (1.0 + size.sum(1)))
