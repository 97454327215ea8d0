"""Sums of products over registers that many lanes share, without an array of all lanes times all terms."""

from __future__ import annotations

import math
import string

import numpy as np

from integraph.numbers.arrays import Floats

LETTERS = string.ascii_letters
SMALL = 4096  # terms that may as well be computed one by one


def shared(shape: tuple[int, ...], factors: tuple[Floats, ...]) -> bool:
    """Whether there are many terms of few numbers; axes along which a factor only repeats have stride 0."""
    count = math.prod(shape)
    return count > SMALL and count > 2 * max(compact(factor).size for factor in factors)


def contract(shape: tuple[int, ...], *factors: Floats) -> Floats:
    """Σ over the last axis of the product of factors that broadcast to `shape`. What is not finite makes every sum that
    it has a part in infinite."""
    own = [compact(factor) for factor in factors]
    known = [np.isfinite(factor) for factor in own]
    total = _sum(shape, [f if fine.all() else np.where(fine, f, 0.0) for f, fine in zip(own, known, strict=True)])
    for n in (n for n, fine in enumerate(known) if not fine.all()):
        touched = [1.0 * (~fine if m == n else f != 0) for m, (f, fine) in enumerate(zip(own, known, strict=True))]
        total = np.where(_sum(shape, touched) > 0, np.inf, total)
    return total


def compact(factor: Floats) -> Floats:
    """Without what only repeats: axes of stride 0 are 1 long."""
    return factor[tuple(slice(0, 1) if step == 0 else slice(None) for step in factor.strides)]


def _sum(shape: tuple[int, ...], factors: list[Floats]) -> Floats:
    factors = [np.broadcast_to(factor, shape) for factor in factors]
    axes = range(len(shape))
    kept = [[axis for axis in axes if factor.strides[axis]] for factor in factors]
    own = [f[tuple(slice(None) if axis in keep else 0 for axis in axes)] for f, keep in zip(factors, kept, strict=True)]
    lanes = [axis for axis in axes[:-1] if any(axis in keep for keep in kept)]
    names = ["".join(LETTERS[axis] for axis in keep) for keep in (*kept, lanes)]
    total = np.einsum(f"{','.join(names[:-1])}->{names[-1]}", *own, optimize=True)
    repeats = 1 if any(axes[-1] in keep for keep in kept) else shape[-1]
    spread = np.asarray(total).reshape([shape[axis] if axis in lanes else 1 for axis in axes[:-1]])
    return np.broadcast_to(spread * repeats, shape[:-1])
