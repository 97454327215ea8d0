"""Convolutions, pooling and padding as sums, maxima and matrix products of strided views: graphs have no operation of
their own for them.

x has shape (N, C, …space). A kernel with K places is K products of matrices, one for each place of the window, with the
view of x that this place sees while the window moves: no weight and no entry of x is copied for a position.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from integraph.errors import SourceError
from integraph.numbers.arrays import Floats, Indices
from integraph.targets.graph_builder import Builder

PLACES = 4096  # of one window


@dataclass(frozen=True, slots=True)
class Axis:
    """A window along one axis of space: how many places it has, how far they lie apart, how far it moves at a time,
    and how many zeros are put before and after the axis. With `ceil` the last window may reach beyond that."""

    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    ceil: bool = False

    def positions(self, n: int) -> int:
        """How often it fits."""
        room = n + self.before + self.after - (self.size - 1) * self.dilation - 1
        if min(self.size, self.stride, self.dilation) < 1 or min(self.before, self.after) < 0 or room < 0:
            raise SourceError(
                f"a window of size {self.size}, stride {self.stride}, dilation {self.dilation} does not fit an axis of "
                f"{n} with {self.before} and {self.after} zeros around it"
            )
        count = 1 + (-(-room // self.stride) if self.ceil else room // self.stride)
        return count - (self.ceil and (count - 1) * self.stride >= n + self.before)

    def places(self, n: int) -> Indices:
        """(positions, size): the entries that it sees, those of zeros below 0, or n and above."""
        starts = self.stride * np.arange(self.positions(n)) - self.before
        return starts[:, None] + self.dilation * np.arange(self.size)

    def zeros(self, n: int) -> tuple[int, int]:
        """How many of them it needs on either side."""
        return self.before, max(0, int(self.places(n).max()) - n + 1)


def padded(b: Builder, x: int, zeros: Sequence[tuple[int, int]], value: float = 0.0, text: str = "") -> int:
    """With this many entries `value` before and after each axis; negative numbers cut off."""
    shape = b.nodes[x].shape
    cut = tuple((max(-low, 0), 1, n + min(low, 0) + min(high, 0)) for n, (low, high) in zip(shape, zeros, strict=True))
    if any(count < 1 for _, _, count in cut):
        raise SourceError(f"{text or 'pad'}: nothing is left of shape {shape}, padded by {tuple(zeros)}")
    x = b.apply("slice", x, data=cut, text=text) if cut != tuple((0, 1, n) for n in shape) else x
    for axis in range(len(shape) - 1, -1, -1):
        sides = [max(n, 0) for n in zeros[axis]]
        if any(sides):
            now = b.nodes[x].shape
            edges = [
                b.constant(np.broadcast_to(value, (*now[:axis], n, *now[axis + 1 :])), text) if n else None
                for n in sides
            ]
            parts = [n for n in (edges[0], x, edges[1]) if n is not None]
            x = b.apply("concat", *parts, data=(axis,), text=text)
    return x


def convolve(b: Builder, x: int, kernel: Floats, axes: Sequence[Axis], groups: int = 1, text: str = "") -> int:
    """Σ kernel[o, c, …]·x[n, c, …], the kernel (O, C/groups, …sizes); output o reads the channels of its group."""
    samples, channels, *space = b.nodes[x].shape
    outputs, own = kernel.shape[:2]
    if groups < 1 or channels != own * groups or outputs % groups:
        raise SourceError(
            f"{text or 'convolution'}: a kernel of shape {kernel.shape} in {groups} groups does not fit {channels} "
            "channels"
        )
    counts = _positions(axes, space, text)
    x = _surrounded(b, x, axes, text)
    if groups == 1 and math.prod(counts) == 1:
        flat = b.apply("reshape", _window(b, x, axes, text), data=((samples, kernel[0].size),), text=text)
        total = b.apply("matmul", flat, b.constant(kernel.reshape(outputs, -1).T, text), text=text)
        return b.apply("reshape", total, data=((samples, outputs, *counts),), text=text)
    grouped = b.apply("reshape", x, data=((samples, groups, own, *b.nodes[x].shape[2:]),), text=text)
    turned = b.apply("transpose", grouped, data=(0, 1, *range(3, 3 + len(space)), 2), text=text)
    weights = kernel.reshape(groups, outputs // groups, own, -1).transpose(3, 0, 2, 1)
    weights = weights.reshape(-1, groups, *(1,) * (len(space) - 1), *weights.shape[2:])
    parts = [
        b.apply("matmul", view, b.constant(matrix, text), text=text)
        for matrix, view in zip(weights, _views(b, turned, axes, counts, text), strict=True)
    ]
    back = (0, 1, len(space) + 2, *range(2, 2 + len(space)))
    total = b.apply("transpose", _folded(b, "add", parts, text), data=back, text=text)
    return b.apply("reshape", total, data=((samples, outputs, *counts),), text=text)


def transposed(
    b: Builder,
    x: int,
    kernel: Floats,
    axes: Sequence[Axis],
    extra: Sequence[int],
    groups: int = 1,
    text: str = "",
) -> int:
    """The transposed convolution: every entry of x puts the kernel (C, O/groups, …sizes) into the result, `stride`
    apart. As a convolution it sees zeros between the entries, and the kernel from behind. `before` and `after` are cut
    off the result, which is longer by `extra`."""
    channels, own, *sizes = kernel.shape
    if groups < 1 or channels % groups or b.nodes[x].shape[1] != channels or len(axes) != len(b.nodes[x].shape) - 2:
        raise SourceError(
            f"{text or 'transposed convolution'}: a kernel of shape {kernel.shape} in {groups} groups does not fit "
            f"shape {b.nodes[x].shape}"
        )
    for number, axis in enumerate(axes, 2):
        x = spaced(b, x, number, axis.stride, text)
    reaches = [(axis.size - 1) * axis.dilation for axis in axes]
    around = [(n - axis.before, n - axis.after + more) for n, axis, more in zip(reaches, axes, extra, strict=True)]
    x = padded(b, x, [(0, 0)] * 2 + around, 0.0, text)
    turned = kernel.reshape(groups, channels // groups, own, *sizes).swapaxes(1, 2)
    behind = np.flip(turned.reshape(groups * own, channels // groups, *sizes), tuple(range(2, kernel.ndim)))
    return convolve(b, x, behind, [Axis(axis.size, 1, axis.dilation) for axis in axes], groups, text)


def spaced(b: Builder, x: int, axis: int, step: int, text: str = "") -> int:
    """`step` − 1 zeros between the entries along an axis."""
    shape = b.nodes[x].shape
    if step == 1 or shape[axis] == 1:
        return x
    column = b.apply("reshape", x, data=((*shape[: axis + 1], 1, *shape[axis + 1 :]),), text=text)
    wide = padded(b, column, [(0, step - 1 if k == axis + 1 else 0) for k in range(len(shape) + 1)], 0.0, text)
    long = b.apply("reshape", wide, data=((*shape[:axis], shape[axis] * step, *shape[axis + 1 :]),), text=text)
    return padded(b, long, [(0, 1 - step if k == axis else 0) for k in range(len(shape))], 0.0, text)


def sum_pool(b: Builder, x: int, axes: Sequence[Axis], text: str = "") -> int:
    """The sum of each window."""
    samples, channels, *space = b.nodes[x].shape
    counts = _positions(axes, space, text)
    x = _surrounded(b, x, axes, text)
    if math.prod(counts) > 1:
        return _folded(b, "add", list(_views(b, x, axes, counts, text)), text)
    flat = b.apply("reshape", _window(b, x, axes, text), data=((samples, channels, _places(axes)),), text=text)
    total = b.apply("sum", flat, data=((2,),), text=text)
    return b.apply("reshape", total, data=((samples, channels, *counts),), text=text)


def mean_pool(b: Builder, x: int, axes: Sequence[Axis], count_zeros: bool, text: str = "") -> int:
    """The mean of each window: of all of its places, or of those that are in x."""
    space, shares = b.nodes[x].shape[2:], np.ones(())
    _positions(axes, space, text)
    for axis, n in zip(axes, space, strict=True):
        places = axis.places(n)
        low, high = (-axis.before, n + axis.after) if count_zeros else (0, n)
        shares = shares[..., None] * ((places >= low) & (places < high)).sum(1)
    if not shares.all():
        raise SourceError(f"{text or 'pooling'}: a window lies outside of {tuple(space)} and has no mean")
    total = sum_pool(b, x, axes, text)
    return b.apply("div", total, b.constant(shares if np.ptp(shares) else shares.flat[0], text), text=text)


def max_pool(b: Builder, x: int, axes: Sequence[Axis], text: str = "") -> int:
    """The largest entry of each window, axis by axis. Places outside of x repeat one that is in it."""
    _positions(axes, b.nodes[x].shape[2:], text)
    for number, axis in enumerate(axes, 2):
        n = b.nodes[x].shape[number]
        places = axis.places(n)
        inside = (places >= 0) & (places < n)
        if not inside.any(1).all():
            raise SourceError(f"{text or 'pooling'}: a window lies outside of an axis of {n} and has no maximum")
        first = np.take_along_axis(places, inside.argmax(1)[:, None], 1)
        views = [_along(b, x, number, column, text) for column in np.where(inside, places, first).T]
        while len(views) > 1:
            views = [_folded(b, "max", views[k : k + 2], text) for k in range(0, len(views), 2)]
        x = views[0]
    return x


def _along(b: Builder, x: int, axis: int, entries: Indices, text: str) -> int:
    """Entries along one axis: a slice where they are equally far apart."""
    shape, steps = b.nodes[x].shape, np.diff(entries)
    if len(entries) > 1 and (not steps[0] or (steps != steps[0]).any()):
        return b.apply("take", x, data=(axis, tuple(entries.tolist())), text=text)
    whole = [(0, 1, n) for n in shape]
    whole[axis] = (int(entries[0]), int(steps[0]) if len(steps) else 1, len(entries))
    return b.apply("slice", x, data=tuple(whole), text=text)


def _positions(axes: Sequence[Axis], space: Sequence[int], text: str) -> list[int]:
    if len(axes) != len(space):
        raise SourceError(f"{text or 'a window'} has {len(axes)} axes, and moves over {tuple(space)}")
    if _places(axes) > PLACES and math.prod(axis.positions(n) for axis, n in zip(axes, space, strict=True)) > 1:
        raise SourceError(f"{text or 'a window'} has {_places(axes)} places: at most {PLACES} are read")
    return [axis.positions(n) for axis, n in zip(axes, space, strict=True)]


def _places(axes: Sequence[Axis]) -> int:
    return math.prod(axis.size for axis in axes)


def _surrounded(b: Builder, x: int, axes: Sequence[Axis], text: str) -> int:
    """x with the zeros that windows see."""
    space = b.nodes[x].shape[2:]
    return padded(b, x, [(0, 0)] * 2 + [axis.zeros(n) for axis, n in zip(axes, space, strict=True)], 0.0, text)


def _window(b: Builder, x: int, axes: Sequence[Axis], text: str) -> int:
    """What the only window sees."""
    shape = b.nodes[x].shape
    entries = (
        *((0, 1, n) for n in shape[:2]),
        *((0, axis.dilation if axis.size > 1 else 1, axis.size) for axis in axes),
    )
    return x if entries == tuple((0, 1, n) for n in shape) else b.apply("slice", x, data=entries, text=text)


def _views(b: Builder, x: int, axes: Sequence[Axis], counts: Sequence[int], text: str) -> Iterator[int]:
    """What each place of the window sees in all positions; space begins with the third axis of x."""
    shape = b.nodes[x].shape
    rest = [(0, 1, n) for n in shape]
    for place in itertools.product(*(range(axis.size) for axis in axes)):
        moving = [(k * axis.dilation, axis.stride, n) for k, axis, n in zip(place, axes, counts, strict=True)]
        yield b.apply("slice", x, data=(*rest[:2], *moving, *rest[2 + len(axes) :]), text=text)


def _folded(b: Builder, op: str, parts: Sequence[int], text: str) -> int:
    return functools.reduce(lambda one, other: b.apply(op, one, other, text=text), parts)
