"""Atoms: the values that a graph and its program have in common, each a function of the inputs.

An atom is an input, a function of other atoms (`functions`: the same function of the same atoms is the same atom), or
a name for a polynomial of other atoms. Of each the range on the box is known, and a *trace*: the value at made-up
numbers for the inputs and the functions. Polynomials with different traces are different, so a trace says which atom a
polynomial may be; `distance` then proves how far from it it can be, by writing out names until nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from integraph.certify.graph.polynomials import (
    DEGREE,
    ONE,
    Polynomials,
    by_row,
    canonical,
    fitting,
    most_by_row,
    of_atoms,
    product,
    scaled,
    sum_margin,
    total,
)
from integraph.clock import check_deadline
from integraph.numbers import intervals
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.roundoff import UP

TRACES = 3
NEAR = 1e-9  # traces that are that close, relative to the terms, may be of the same value
ALIKE = 1e-6  # a difference that is no larger, relative to the terms, is one of rounding
LARGEST = 20_000_000  # terms of polynomials that are written out
STEPS = 64  # of writing out
TRIES = 4  # atoms of the same trace that are looked at


class Atoms:
    """Grows; numbers of atoms stay. 0 is the constant 1."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.count = 0
        self.trace = np.zeros((0, TRACES))
        self.low, self.high, self.number = np.zeros(0), np.zeros(0), np.zeros(0)  # NaN where it is no constant
        self.level = np.zeros(0, np.int64)
        self.marks = np.zeros(0, np.uint64)
        self.first, self.length = np.zeros(0, np.int64), np.zeros(0, np.int64)  # of its terms; −1 where it has none
        self._parts: list[Polynomials] = []  # terms of names, not yet joined
        self.terms = Polynomials(0, *(np.zeros(0, np.int64), np.zeros((0, DEGREE), np.int64)), np.zeros(0), np.zeros(0))
        self._order = np.zeros(0, np.int64)  # of the first traces
        self._functions: dict[object, tuple[Indices, Indices]] = {}
        self._numbers: dict[float, int] = {}
        self.asked: list[bool] = []  # of functions that were asked for: whether some were new
        self.numbers(np.array([1.0, 0.0]))

    # making atoms

    def _append(self, trace: Floats, low: Floats, high: Floats, level: Indices, number: Floats) -> Indices:
        atoms = np.arange(self.count, self.count + len(trace))
        self.count += len(trace)
        self.trace = np.concatenate([self.trace, trace])
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.level, self.number = np.concatenate([self.level, level]), np.concatenate([self.number, number])
        new = self.random.integers(0, 2**64, len(trace), np.uint64)
        self.marks = np.concatenate([self.marks, new])
        none = np.full(len(trace), -1)
        self.first, self.length = np.concatenate([self.first, none]), np.concatenate([self.length, none * 0])
        return atoms

    def base(self, span: Interval, level: Indices | int = 0) -> Indices:
        """New atoms that are no polynomials."""
        low, high = (np.ravel(end).astype(np.float64) for end in (span.low, span.high))
        trace = self.random.uniform(0.5, 1.5, (len(low), TRACES))
        return self._append(trace, low, high, np.broadcast_to(level, low.shape), np.full(len(low), np.nan))

    def numbers(self, values: Floats) -> Indices:
        """The atoms of constants."""
        distinct, where = np.unique(np.ravel(values), return_inverse=True)
        new = np.array([x for x in distinct.tolist() if x not in self._numbers])
        trace = np.repeat(new[:, None], TRACES, 1) if len(new) else np.zeros((0, TRACES))
        if len(new) and not self.count:
            new, trace = new[::-1], trace[::-1]  # 1 before 0: its number is 0
        atoms = self._append(trace, new, new, np.zeros(len(new), np.int64), new)
        self._numbers |= dict(zip(new.tolist(), atoms.tolist(), strict=True))
        return np.array([self._numbers[x] for x in distinct.tolist()], np.int64)[where].reshape(np.shape(values))

    @property
    def zero(self) -> int:
        return self._numbers[0.0]

    def function(self, name: object, keys: Indices, span: Callable[[Indices], Interval]) -> Indices:
        """The atoms of function `name`, one for each row of `keys`: the atoms that it is a function of, and the like.
        `span` gives the ranges of those at some positions that are new."""
        known, results = self._functions.get(name, (np.zeros((0, keys.shape[1]), np.int64), np.zeros(0, np.int64)))
        joined = np.concatenate([known, keys])
        _, first, where = np.unique(joined, axis=0, return_index=True, return_inverse=True)
        where = where.reshape(-1)
        new = first[first >= len(known)]
        fresh = new - len(known)
        args = np.where(keys[fresh] >= 0, keys[fresh], ONE)
        level = self.level[args].max(1, initial=0) + 1 if len(fresh) else np.zeros(0, np.int64)
        made = self.base(span(fresh), level)
        self.asked.append(len(fresh) > 0)
        atom_of = np.concatenate([results, np.full(len(keys), -1)])
        atom_of[new] = made
        self._functions[name] = np.concatenate([known, keys[fresh]]), np.concatenate([results, made])
        return atom_of[first[where]][len(known) :]

    def known(self, name: object) -> tuple[Indices, Indices]:
        """What a function was taken of so far, and the atoms of it."""
        return self._functions.get(name, (np.zeros((0, 1), np.int64), np.zeros(0, np.int64)))

    def exponents(self) -> list[Fraction]:
        """Those of the powers that were taken so far."""
        return [name[1] for name in self._functions if isinstance(name, tuple)]

    def span(self, atoms: Indices) -> Interval:
        return Interval(self.low[atoms], self.high[atoms])

    def name(self, p: Polynomials) -> Indices:
        """New atoms for polynomials."""
        p = self.canonical(p)
        span = self.range(p)
        level = np.zeros(p.count, np.int64)
        np.maximum.at(level, p.row, self.level[p.atoms].max(1, initial=0) + 1)
        atoms = self._append(self.traces(p)[0], span.low, span.high, level, np.full(p.count, np.nan))
        length = np.bincount(p.row, minlength=p.count)
        begin = len(self.terms) + sum(map(len, self._parts))
        self.first[atoms], self.length[atoms] = begin + np.cumsum(length) - length, length
        self._parts.append(p)
        return atoms

    def _joined(self) -> Polynomials:
        if self._parts:
            self.terms, self._parts = total(self.terms, *self._parts), []
        return self.terms

    # polynomials of atoms

    def canonical(self, p: Polynomials) -> Polynomials:
        """With constants multiplied out."""
        atoms, weight, off = p.atoms, p.weight, p.off
        fixed = ~np.isnan(self.number[atoms]) & (atoms != ONE)
        if fixed.any():
            for place in range(DEGREE):
                here = np.flatnonzero(fixed[:, place])
                number = self.number[atoms[here, place]]
                if not len(here):
                    continue
                weight, off = weight.copy(), off.copy()
                weight[here], off[here] = product(weight[here], off[here], number, np.zeros(len(here)))
            atoms = -np.sort(-np.where(fixed, ONE, atoms), 1)
        return canonical(Polynomials(p.count, p.row, atoms, weight, off), self.marks)

    def size(self) -> Floats:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @quiet
    def bound(self, p: Polynomials) -> Floats:
        """Σ |terms| at most, for each row."""
        size = self.size()[p.atoms]
        largest = np.abs(p.weight) + p.off
        each = np.where((size == 0).any(1) | (largest == 0), 0.0, largest * size.prod(1))
        return UP * most_by_row(p.row, each, p.count)

    @quiet
    def range(self, p: Polynomials) -> Interval:
        """The range of each row, as its terms say; squares are not negative."""
        span = Interval(self.low[p.atoms[:, 0]], self.high[p.atoms[:, 0]])
        for place in range(1, DEGREE):
            other = Interval(self.low[p.atoms[:, place]], self.high[p.atoms[:, place]])
            same = (p.atoms[:, place] == p.atoms[:, 0]) & (p.atoms[:, 0] != ONE) & (place == 1)
            span = intervals.mul(span, other)
            span = Interval(np.where(same, np.maximum(span.low, 0.0), span.low), span.high)
        span = intervals.mul(span, Interval(p.weight - p.off, p.weight + p.off).widened(0.0))
        low, high = (by_row(p.row, end, p.count) for end in (span.low, span.high))
        length = np.bincount(p.row, minlength=p.count)
        lost = (sum_margin(length) - 1) * by_row(p.row, np.maximum(np.abs(span.low), np.abs(span.high)), p.count)
        return intervals.interval(low - lost, high + lost)

    def traces(self, p: Polynomials) -> tuple[Floats, Floats]:
        """The trace of each row, and how large its terms are."""
        each = p.weight[:, None] * self.trace[p.atoms].prod(1)
        sums = np.stack([by_row(p.row, each[:, n], p.count) for n in range(TRACES)], 1)
        return sums, by_row(p.row, np.abs(each).max(1), p.count)

    # which atom a polynomial is

    def resolve(self, p: Polynomials) -> tuple[Indices, Floats]:
        """For each row an atom, and how far from it it can be at most; names for rows that are no atom yet."""
        p = self.canonical(p)
        atoms, off = np.full(p.count, -1), np.zeros(p.count)
        length = np.bincount(p.row, minlength=p.count)
        first = np.cumsum(length) - length
        atoms[length == 0] = self.zero
        single = np.flatnonzero(length == 1)
        head = p.chosen(first[single])
        plain = (head.weight == 1) & (head.atoms[:, 1] == ONE)
        atoms[single[plain]], off[single[plain]] = (
            head.atoms[plain, 0],
            UP * head.off[plain] * self.size()[head.atoms[plain, 0]],
        )
        fixed = (head.atoms[:, 0] == ONE) & ~plain
        atoms[single[fixed]], off[single[fixed]] = self.numbers(head.weight[fixed]), head.off[fixed]
        rest = np.flatnonzero(atoms < 0)
        if len(rest):
            part = p.of_rows(rest)
            matched, distance = self.match(part)
            missing = np.flatnonzero(matched < 0)
            if len(missing):
                matched[missing], distance[missing] = self.name(part.of_rows(missing)), 0.0
            atoms[rest], off[rest] = matched, distance
        return atoms, off

    def match(self, p: Polynomials) -> tuple[Indices, Floats]:
        """Atoms that the rows of canonical polynomials are, up to rounding; −1 where there is none."""
        trace, size = self.traces(p)
        atoms, off = np.full(p.count, -1), np.zeros(p.count)
        values = self._sorted()
        tolerance = NEAR * size
        at = np.searchsorted(values, trace[:, 0] - tolerance)
        for step in range(TRIES):
            open_ = np.flatnonzero((atoms < 0) & (at + step < len(values)))
            guess = self._order[at[open_] + step]
            near = (np.abs(self.trace[guess] - trace[open_]) <= tolerance[open_, None]).all(1)
            rows, guess = open_[near], guess[near]
            if len(rows):
                distance, alike = self.distance(p.of_rows(rows), guess)
                atoms[rows[alike]], off[rows[alike]] = guess[alike], distance[alike]
        return atoms, off

    def _sorted(self) -> Floats:
        """The first traces in order: two runs, those that were in order before and the new ones, are merged."""
        if len(self._order) < self.count:
            new = np.arange(len(self._order), self.count)
            runs = np.concatenate([self._order, new[np.argsort(self.trace[new, 0], kind="stable")]])
            self._order = runs[np.argsort(self.trace[runs, 0], kind="stable")]
        values: Floats = self.trace[self._order, 0]
        return values

    def distance(self, p: Polynomials, atoms: Indices) -> tuple[Floats, NDArray[np.bool_]]:
        """How far the rows are from these atoms at most, and where that is no more than rounding."""
        whole = self.bound(p)
        return self.vanishing(total(p, scaled(of_atoms(atoms), -1.0)), whole)

    def vanishing(self, p: Polynomials, whole: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """A bound of each row, names written out until it is small beside `whole`, and where it is."""
        best = np.full(p.count, np.inf)
        p, rows = self.canonical(p), np.arange(p.count)
        for _ in range(STEPS):
            check_deadline()
            bound = self.bound(p)
            best[rows] = np.minimum(best[rows], bound)
            large = np.flatnonzero(~(bound <= ALIKE * whole[rows]))
            expanded = self._expanded(p.of_rows(large)) if len(large) else None
            if expanded is None:
                break
            p, rest = expanded
            rows = rows[large[rest]]
        return best, best <= ALIKE * whole

    def _expanded(self, p: Polynomials) -> tuple[Polynomials, Indices] | None:
        """The rows with their atoms of the highest level written out, and which rows those are: the others have none,
        or get too large."""
        terms = self._joined()
        level = np.where(self.first[p.atoms] >= 0, self.level[p.atoms], 0)
        top = np.zeros(p.count, np.int64)
        np.maximum.at(top, p.row, level.max(1, initial=0))
        place = level.argmax(1)
        here = np.arange(len(p))
        chosen = p.atoms[here, place]
        open_ = (level[here, place] == top[p.row]) & (top[p.row] > 0)
        length = np.where(open_, self.length[chosen], 1)
        if length.sum() > LARGEST:
            return None
        source = np.repeat(here, length)
        within = np.arange(len(source)) - np.repeat(np.cumsum(length) - length, length)
        out = open_[source]
        others = p.atoms.copy()
        others[here[open_], place[open_]] = ONE
        wide = np.zeros((len(source), 2 * DEGREE), np.int64)
        wide[:, :DEGREE] = others[source]
        inside = self.first[chosen[source[out]]] + within[out]
        wide[out, DEGREE:] = terms.atoms[inside]
        weight, off = p.weight[source].copy(), p.off[source].copy()
        weight[out], off[out] = product(weight[out], off[out], terms.weight[inside], terms.off[inside])
        tall = (wide != ONE).sum(1) > DEGREE
        good = top > 0
        good[p.row[source[tall]]] = False
        rows = np.flatnonzero(good)
        if not len(rows):
            return None
        keep = good[p.row[source]]
        grown = Polynomials(p.count, p.row[source[keep]], fitting(wide[keep]), weight[keep], off[keep])
        return self.canonical(grown.of_rows(rows)), rows
