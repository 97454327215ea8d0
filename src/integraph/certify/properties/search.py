"""Bisection of a box until a property is decided on every part, the parts first where it is farthest from holding.

A part on which the bounds prove the clause is settled once the checker proves it too, and divided further where that
needs it: a certificate that is issued checks. A point where the clause fails ends the search. Open and settled parts
cover the box at any time, so that the search may be stopped at any time. Which parts a round bisects, and in which
batches, depends on the parts alone: the result is the same whoever computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from integraph.certify.bounds.cells import Cells, Ends, batch_size, batches, joined
from integraph.certify.certificate.tree import Split
from integraph.certify.properties.counterexample import Suspects
from integraph.certify.properties.divisions import Divisions
from integraph.certify.properties.margins import Margins
from integraph.certify.properties.program_margins import ProgramMargins
from integraph.certify.properties.truth import Decision, Truths
from integraph.clock import DeadlineError, check_deadline
from integraph.numbers.arrays import Floats, Indices

MOST = 2_000_000  # numbers in the ends of the parts that are kept
SHARE = 1e-3  # of the largest influence, that an input has by its width alone
QUARTER, BATCHES = 4, 8  # a round bisects a quarter of the open parts, but one batch at least and so many at most

Show = Callable[[float, str], None]
Job = tuple["Kind", Ends]
Run = Callable[[Sequence[Job]], Iterable[Cells | bool]]  # in the order of the jobs, whoever does them


class Kind(Enum):
    """What is to be done with ends of parts."""

    BOUND = "bounds of the quantities on a batch of parts"
    CHECK = "whether the checker proves the clause on one part"


class Checker(Protocol):
    """What decides in the end."""

    def holds(self, low: Floats, high: Floats) -> bool:
        """Whether the clause is proved for low ≤ x ≤ high."""

    def fails(self, x: Floats) -> bool:
        """Whether it is refuted at a point."""


@dataclass(frozen=True, slots=True, eq=False)
class PartWork:
    """The work of a search, a function of a job."""

    margins: Margins | ProgramMargins
    degree: int
    checker: Checker

    def __call__(self, job: Job) -> Cells | bool:
        check_deadline()
        kind, (low, high) = job
        return self.margins.cells(low, high, self.degree) if kind is Kind.BOUND else self.checker.holds(low, high)


class Ending(Enum):
    """Why a search ended; the value is a sentence for people."""

    PROVED = "the property holds on every part of the box"
    REFUTED = "it does not hold at the counterexample"
    SECONDS = "the time is over"
    CHECK = "the bounds prove the property, but the checker had not confirmed it when the time was over"
    MEMORY = "more parts would not fit into memory"
    SMALL = "the parts where it is open cannot be divided further"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Boxes low ≤ x ≤ high, (parts, inputs); their numbers in the tree, margins, and the influence of each input."""

    low: Floats
    high: Floats
    node: Indices
    margin: Floats
    influence: Floats

    def __len__(self) -> int:
        return len(self.low)

    def take(self, which: object) -> Parts:
        return Parts(*(getattr(self, name)[which] for name in NAMES))

    def join(self, other: Parts) -> Parts:
        return Parts(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in NAMES))


NAMES = ("low", "high", "node", "margin", "influence")


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """`remaining` is empty if the property is proved; `proved` is the share of the volume on which it is."""

    ending: Ending
    tree: tuple[Split | None, ...]
    point: Floats | None
    remaining: Parts
    proved: float
    cells: int


class Search:
    """The search on one box; `run_jobs` has the work done."""

    def __init__(self, work: PartWork, decision: Decision, low: Floats, high: Floats, run_jobs: Run) -> None:
        self.decision, self.low, self.high, self.run_jobs = decision, low, high, run_jobs
        self.suspects = Suspects(work.margins, decision, low, high, work.checker.fails)
        self.most = batch_size(work.margins.source, int((high > low).sum()), work.degree)
        self.tree = Divisions()
        self.cells, self.proved = 0, 0.0
        self.open = Parts(low[None], high[None], np.zeros(1, np.int64), np.full(1, -np.inf), np.ones((1, len(low))))
        self.settled = self.open.take(slice(0))  # proved by bounds, not yet by the checker

    def run(self, show: Show) -> SearchResult:
        """Search until the property is decided, or something ends it."""
        point = None
        try:
            point = self.suspects.first()
            if point is None:
                point = self._first(show)
            while point is None and (len(self.open) or len(self.settled)):
                if not len(self.open):
                    self._check(show)
                    continue
                if (ending := self._end()) is not None:
                    return self._result(ending)
                point = self._step(show)
        except DeadlineError:
            return self._result(Ending.SECONDS)
        except KeyboardInterrupt:
            return self._result(Ending.INTERRUPTED)
        return self._result(Ending.PROVED if point is None else Ending.REFUTED, point)

    def _first(self, show: Show) -> Floats | None:
        """The whole box; a counterexample if there is one."""
        whole = self.open
        try:
            self.open = whole.take(slice(0))
            return self._bounded(whole, show)
        except BaseException:  # it stays open
            self.open = whole
            raise

    def _end(self) -> Ending | None:
        if self.open.low.size + self.settled.low.size > MOST:
            return Ending.MEMORY
        return None if divisible(self.open).any() else Ending.SMALL

    def _step(self, show: Show) -> Floats | None:
        """One round of bisections; a counterexample if there is one."""
        able = np.flatnonzero(divisible(self.open).any(1))
        batch = max(self.most // 2, 1)
        count = min(max(len(able) // QUARTER, batch), BATCHES * batch)
        chosen = able[np.argsort(self.open.margin[able], kind="stable")[:count]]
        parents = self.open.take(chosen)
        rest = self.open.take(np.delete(np.arange(len(self.open)), chosen))
        before = self.open, self.settled
        try:
            self.open = rest
            return self._bounded(self._halves(parents), show)
        except BaseException:  # the parents stay open
            self.open, self.settled = before
            raise

    def _halves(self, parents: Parts) -> Parts:
        axes, at = cuts(parents)
        rows = np.arange(len(parents))
        first_high, second_low = parents.high.copy(), parents.low.copy()
        first_high[rows, axes], second_low[rows, axes] = at, at
        less = parents.influence.copy()
        less[rows, axes] *= 0.5
        numbers = self.tree.bisect(parents.node, axes, at)
        first = Parts(parents.low, first_high, numbers[0], parents.margin, less)
        return first.join(Parts(second_low, parents.high, numbers[1], parents.margin, less))

    def _bounded(self, parts: Parts, show: Show) -> Floats | None:
        """Sort parts into open and settled ones; a counterexample if there is one."""
        check_deadline()
        jobs = [(Kind.BOUND, ends) for ends in batches(parts.low, parts.high, self.most)]
        cells = joined(made for made in self.run_jobs(jobs) if isinstance(made, Cells))
        holds, _ = self.decision.holds(cells.least, cells.most)
        margin = self.decision.margin(cells.least, cells.most)
        known = Parts(parts.low, parts.high, parts.node, margin, np.nan_to_num(cells.influence, posinf=0.0))
        self.cells += len(parts)
        point = self._suspected(cells, np.flatnonzero(~holds), margin)
        if point is not None:
            return point
        self.settled = self.settled.join(known.take(holds))
        self.open = self.open.join(known.take(~holds))
        show(1 - self._volume(self.open), f"proving: {self.cells} boxes, {len(self.open)} open")
        return None

    def _suspected(self, cells: Cells, at: Indices, margin: Floats) -> Floats | None:
        """A counterexample among the likely points of those cells that are worst."""
        if not len(at):
            return None
        worst = at[np.argsort(margin[at], kind="stable")[: max(self.suspects.few // (8 * cells.peaks.shape[1]), 1)]]
        chosen = cells.take(worst)
        middle = np.clip(0.5 * chosen.low + 0.5 * chosen.high, chosen.low, chosen.high)
        d = len(self.low)
        points = np.concatenate([middle, chosen.peaks.reshape(-1, d), chosen.dips.reshape(-1, d)])
        return self.suspects.among(np.unique(points, axis=0))

    def _check(self, show: Show) -> None:
        """Let the checker prove what the bounds have proved, and divide what it cannot."""
        parts, self.settled = self.settled, self.settled.take(slice(0))
        good = np.zeros(len(parts), np.bool_)
        jobs = [(Kind.CHECK, ends) for ends in zip(parts.low, parts.high, strict=True)]
        try:
            for number, proved in enumerate(self.run_jobs(jobs)):
                good[number] = proved
                check_deadline()
                show(self.proved + self._volume(parts.take(good)), f"checking: {number + 1} of {len(parts)} boxes")
        except BaseException:
            later = ~good
            self.proved += self._volume(parts.take(good))
            self.settled = parts.take(later)
            raise
        self.proved += self._volume(parts.take(good))
        failed = parts.take(~good)
        able = divisible(failed).any(1)
        self.open = failed.take(~able)
        if able.any():
            self.settled = self._halves(failed.take(able))

    def _volume(self, parts: Parts) -> float:
        """Which share of the box these parts are."""
        wide = self.high > self.low
        shares = (parts.high[:, wide] - parts.low[:, wide]) / (self.high[wide] - self.low[wide])
        return float(shares.prod(1).sum())

    def _result(self, ending: Ending, point: Floats | None = None) -> SearchResult:
        """What is known now. Parts that wait for the checker alone are open, parts that others are open beside are not:
        their bounds are proofs too."""
        waiting = not len(self.open)
        if ending is Ending.SECONDS and waiting and len(self.settled):
            ending = Ending.CHECK
        remaining = self.settled if waiting else self.open
        proved = self.proved + (0.0 if waiting else self._volume(self.settled))
        return SearchResult(ending, self.tree.preorder(), point, remaining, min(proved, 1.0), self.cells)


def divisible(parts: Parts) -> Truths:
    """Which sides have a number between their ends, (parts, inputs)."""
    middle = 0.5 * parts.low + 0.5 * parts.high
    return (parts.low < middle) & (middle < parts.high)


def cuts(parts: Parts) -> tuple[Indices, Floats]:
    """Across which input each part is bisected, and where: the input that causes most of what is not known."""
    middle = 0.5 * parts.low + 0.5 * parts.high
    width = parts.high - parts.low
    relative = width / np.maximum(width.max(1, keepdims=True), np.finfo(float).tiny)
    score = parts.influence + SHARE * relative * np.maximum(parts.influence.max(1, keepdims=True), 1e-300)
    axes = np.where(divisible(parts), score, -1.0).argmax(1)
    return axes, middle[np.arange(len(parts)), axes]
