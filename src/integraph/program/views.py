"""Where a block reads and writes: strided views of the register file, an index array only as fallback.

A `View` is to the W registers what a numpy view is to memory: an offset, a shape and strides, no data. Slicing,
transposing and broadcasting (stride 0) make new views; a dense matrix row that reads the same n registers for m
targets is a view of shape (m, n) with strides (0, 1) and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from integraph.errors import SpecError
from integraph.numbers.arrays import Indices, Int32

_ANCHOR = np.zeros(1, np.int8)  # never read: gives numpy an address to do view arithmetic with


@dataclass(frozen=True, slots=True)
class View:
    """Registers `offset + Σ index·stride`, one for each index of `shape`."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def extent(self) -> tuple[int, int]:
        """The lowest and the highest register; (0, -1) if there is none."""
        if self.size == 0:
            return 0, -1
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(min(r, 0) for r in reach), self.offset + sum(max(r, 0) for r in reach)

    def _dummy(self) -> NDArray[np.int8]:
        return as_strided(_ANCHOR, self.shape, self.strides)

    def _from(self, dummy: NDArray[Any]) -> View:
        moved = dummy.ctypes.data - _ANCHOR.ctypes.data if dummy.size else 0
        return View(self.offset + moved, dummy.shape, dummy.strides)

    def _changed(self, change: Callable[[NDArray[np.int8]], NDArray[Any]]) -> View:
        try:
            return self._from(change(self._dummy()))
        except (IndexError, TypeError, ValueError) as error:
            raise SpecError(f"a view of shape {self.shape}: {error}") from None

    def __getitem__(self, key: Any) -> View:
        return self._changed(lambda dummy: dummy[_basic(key)])

    def __iter__(self) -> Iterator[View]:
        return (self[n] for n in range(len(self)))

    def __len__(self) -> int:
        if not self.shape:
            raise SpecError("a view of one register, of shape (), has no length")
        return self.shape[0]

    def transpose(self, *axes: int) -> View:
        return self._changed(lambda dummy: dummy.transpose(*axes))

    def broadcast(self, shape: Sequence[int]) -> View:
        return self._changed(lambda dummy: np.broadcast_to(dummy, tuple(shape)))

    def reshape(self, *shape: int) -> View:
        """A new shape over the same registers, where that is still a strided view."""
        if not self.contiguous:
            raise SpecError(f"cannot reshape the strided view {self}: only a contiguous one; use Index(...)")
        try:
            shape = np.empty(self.size, np.int8).reshape(shape).shape
        except (TypeError, ValueError) as error:
            raise SpecError(f"a view of shape {self.shape}: {error}") from None
        return View(self.offset, shape, row_major(shape))

    @property
    def contiguous(self) -> bool:
        """Row-major without gaps: the registers are one slice."""
        expected = row_major(self.shape)
        return all(s == e or n == 1 for n, s, e in zip(self.shape, self.strides, expected, strict=True))

    def indices(self) -> Indices:
        """The register of every element, in the view's shape."""
        out = np.full(self.shape, self.offset, np.int64)
        for axis, (n, s) in enumerate(zip(self.shape, self.strides, strict=True)):
            out += (np.arange(n, dtype=np.int64) * s).reshape((n,) + (1,) * (len(self.shape) - axis - 1))
        return out

    def at(self, positions: Indices) -> Indices:
        """The registers at flat (row-major) positions."""
        axes = _merged(self.shape, self.strides)
        if len(axes) == 1:
            return self.offset + positions * axes[0][1]
        registers, rest = np.full(positions.shape, self.offset, np.int64), positions
        for n, s in reversed(axes[1:]):
            rest, digit = np.divmod(rest, n)
            registers += digit * s
        return registers + rest * axes[0][1]

    def rows(self, lanes: Indices, lead: int) -> Int32:
        """For flat positions `lanes` of the first `lead` axes: registers of the rest, as (lanes, rest)."""
        first = View(self.offset, self.shape[:lead], self.strides[:lead]).at(lanes).astype(np.int32)
        rest = View(0, self.shape[lead:], self.strides[lead:])
        return first[:, None] + rest.indices().astype(np.int32).reshape(1, -1)

    def of(self, states: NDArray[Any]) -> NDArray[Any]:
        """The view as an array over state-major `states` (W, …): shape + the trailing axes of `states`."""
        if self.contiguous:
            return states[self.offset : self.offset + self.size].reshape(self.shape + states.shape[1:])
        step = states.strides[0]
        return as_strided(
            states[self.offset :],
            self.shape + states.shape[1:],
            tuple(s * step for s in self.strides) + states.strides[1:],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """The fallback: any registers in any order, as an integer array."""

    registers: Indices

    def __post_init__(self) -> None:
        given = np.asarray(self.registers)
        if given.size and given.dtype.kind not in "iu":
            raise SpecError(f"Index(...) takes integers, got {given.dtype}")
        frozen = np.array(given, np.int64)
        frozen.flags.writeable = False
        object.__setattr__(self, "registers", frozen)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.registers.shape

    @property
    def size(self) -> int:
        return self.registers.size

    def extent(self) -> tuple[int, int]:
        return (int(self.registers.min()), int(self.registers.max())) if self.size else (0, -1)

    def indices(self) -> Indices:
        return self.registers

    def at(self, positions: Indices) -> Indices:
        return self.registers.reshape(-1)[positions]

    def rows(self, lanes: Indices, lead: int) -> Int32:
        by_lane = self.registers.reshape(math.prod(self.shape[:lead]), -1)
        return by_lane[lanes].astype(np.int32)

    def of(self, states: NDArray[Any]) -> NDArray[Any]:
        """A copy: an index array cannot alias."""
        return states[self.registers]


Ref = View | Index


def mark(ref: Ref, states: NDArray[Any], value: Any) -> None:
    """Set the registers of `ref` in `states` (W, …)."""
    if isinstance(ref, Index):
        states[ref.registers] = value
    else:
        ref.of(states)[...] = value


def _basic(key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    plain = (p is None or p is Ellipsis or isinstance(p, int | np.integer | slice) for p in parts)
    if any(isinstance(p, bool) for p in parts) or not all(plain):
        raise SpecError(f"registers are sliced with integers and slices, not {key!r}: use Index(...) for a list")
    return parts if any(p is Ellipsis for p in parts) else (*parts, ...)  # so that numpy never looks at a value


def _merged(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """(length, stride) of the fewest axes that give the same registers in the same order."""
    axes = [(1, 0)]
    for n, s in zip(shape, strides, strict=True):
        outer, stride = axes[-1]
        if n == 1:
            continue
        if outer == 1 or stride == n * s:
            axes[-1] = (outer * n, s)
        else:
            axes.append((n, s))
    return axes


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def dense(offset: int, shape: Sequence[int]) -> View:
    """The row-major view of consecutive registers."""
    return View(offset, tuple(shape), row_major(tuple(shape)))
