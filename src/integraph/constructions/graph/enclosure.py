"""The values that registers and forms should have, and how far off they can be.

A form is right if its atoms and its numbers are. Its value then changes by |w|·(what x is off), and for a product by
|x|·off_v + |v|·off_x + off_x·off_v; numbers that are off by ops·U·size add ops·U·Σ size·|x|.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from integraph.bounds.perturbation.case import point, times
from integraph.constructions.graph.forms import GraphForm, Term
from integraph.constructions.graph.runs import Where
from integraph.constructions.theorem2.budget import SMALLEST
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval, add, interval, mul, power, total
from integraph.numbers.roundoff import UP, U
from integraph.program import Ref

LETTERS = string.ascii_letters
SMALL = 4096  # terms that may as well be computed one by one


class Enclosure(NamedTuple):
    """The range of right values, how far actual ones can be off, and which part of that is rounding of numbers."""

    right: Interval
    off: Floats
    rounded: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RegisterState:
    """Of every register the range of its right values, and how far it can be off: in all, from what it should be given
    the actual values of what it was loaded from, and, for p, relative to 1 + p, where that is known better."""

    low: Floats
    high: Floats
    off: Floats
    own: Floats
    share: Floats

    def right(self, ref: Ref) -> Interval:
        return Interval(ref.of(self.low), ref.of(self.high))


def empty(width: int) -> RegisterState:
    low, high, off, own = np.zeros((4, width))
    return RegisterState(low, high, off, own, np.full(width, np.inf))


@quiet
def enclose(form: GraphForm, where: Where, state: RegisterState, rounding: bool) -> Enclosure:
    """`rounding`: whether that of numbers counts. The range of right values always allows for it."""
    size = np.abs(form.b) if form.size is None else form.size
    lost = np.broadcast_to(form.ops * (U * size + SMALLEST), form.shape)
    right = Interval(np.broadcast_to(form.b, form.shape), np.broadcast_to(form.b, form.shape))
    off = np.zeros(form.shape)
    for term in form.terms:
        part = _term(term, form.shape, where, state)
        right, off, lost = add(right, part.right), off + part.off, lost + part.rounded
    lost = UP * lost
    widened = right.widened(UP * lost) if lost.any() else right
    return Enclosure(widened, UP * (off + lost if rounding else off), lost if rounding else np.zeros(form.shape))


def squares(form: GraphForm, where: Where, state: RegisterState) -> Floats | None:
    """Σ w·off² of a form Σ w x² + b with w ≥ 0 and b > −1: by Cauchy and Schwarz, 1 + it is off by at most
    2·√(1 + it)·√(Σ w·off²) + Σ w·off²."""
    large = np.abs(form.b) if form.size is None else form.size
    if not form.terms or not (form.b + 1.0 > 2 * (form.ops + 1) * U * (1.0 + large)).all():
        return None
    if any(len(t.atoms) != 2 or not _square(t) or t.size is not None or not (t.w >= 0).all() for t in form.terms):
        return None
    parts = []
    for term in form.terms:
        off = where(term.atoms[0], term.refs[0]).of(state.off)
        parts.append(times(np.broadcast_to(term.w, off.shape), times(off, off)).sum(-1))
    result: Floats = UP * np.sum(parts, 0)
    return result


def _square(term: Term) -> bool:
    return term.atoms[0] == term.atoms[-1] and term.refs[0] == term.refs[-1]


def _term(term: Term, lanes: tuple[int, ...], where: Where, state: RegisterState) -> Enclosure:
    shape = (*lanes, term.reads)
    refs = [where(atom, ref) for atom, ref in zip(term.atoms, term.refs, strict=True)]
    right, off = [state.right(ref) for ref in refs], [ref.of(state.off) for ref in refs]
    if not (len(refs) == 2 and _square(term)) and shared(shape, tuple(x.low for x in right)):
        return _contracted(term, shape, right, off)
    size = np.abs(term.w) if term.size is None else term.size
    if len(refs) == 1:
        value, moved, large = right[0], off[0], right[0].size
    else:
        x, v = right
        value = power(x, Fraction(2)) if _square(term) else mul(x, v)
        moved = times(x.size, off[1]) + times(off[0], v.size) + times(off[0], off[1])
        large = times(x.size, v.size)
    weighted = mul(point(np.broadcast_to(term.w, shape)), value)
    lost = times(np.array(float(term.ops)), (U * times(size, large) + SMALLEST * (1.0 + large)).sum(-1))
    return Enclosure(total(weighted, (-1,)), times(np.abs(term.w), moved).sum(-1), lost)


def _contracted(term: Term, shape: tuple[int, ...], right: list[Interval], off: list[Floats]) -> Enclosure:
    """The same by products of matrices, with middles and radii."""
    right = [Interval(compact(x.low), compact(x.high)) for x in right]
    off = [compact(each) for each in off]
    w, large = np.abs(term.w), [x.size for x in right]
    middle = [0.5 * x.low + 0.5 * x.high for x in right]
    radius = [0.5 * x.high - 0.5 * x.low for x in right]
    whole = contract(shape, w, *large)
    if len(right) == 1:
        spread, moved = contract(shape, w, radius[0]), contract(shape, w, off[0])
    else:
        spread = contract(shape, w, np.abs(middle[0]), radius[1]) + contract(shape, w, radius[0], large[1])
        moved = contract(shape, w, large[0], off[1]) + contract(shape, w, off[0], large[1] + off[1])
    spread = spread + 4 * (shape[-1] + 8) * U * whole + SMALLEST * shape[-1]
    known = np.isfinite(spread)
    centre = np.where(known, contract(shape, term.w, *middle), 0.0)
    rounded = whole if term.size is None else contract(shape, term.size, *large)
    lost = U * rounded + SMALLEST * shape[-1] * (1.0 + sum(float(np.max(x)) for x in large))
    lost = times(np.array(float(term.ops)), lost)
    return Enclosure(interval(centre - spread, centre + spread, known), moved, lost)


def shared(shape: tuple[int, ...], factors: tuple[Floats, ...]) -> bool:
    """Whether many lanes share few numbers, so that `contract` saves an array of all lanes times all terms; axes along
    which a factor only repeats have stride 0."""
    count = math.prod(shape)
    return count > SMALL and count > 2 * max(compact(factor).size for factor in factors)


def contract(shape: tuple[int, ...], *factors: Floats) -> Floats:
    """Σ over the last axis of the product of factors that broadcast to `shape`. A factor that is not finite makes
    every sum it enters infinite."""
    own = [compact(factor) for factor in factors]
    known = [np.isfinite(factor) for factor in own]
    total = _sum(shape, [f if fine.all() else np.where(fine, f, 0.0) for f, fine in zip(own, known, strict=True)])
    for n in (n for n, fine in enumerate(known) if not fine.all()):
        touched = [1.0 * (~fine if m == n else f != 0) for m, (f, fine) in enumerate(zip(own, known, strict=True))]
        total = np.where(_sum(shape, touched) > 0, np.inf, total)
    return total


def compact(factor: Floats) -> Floats:
    """Without repetition: axes of stride 0 get length 1."""
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
