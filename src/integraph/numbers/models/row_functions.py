"""Softmax, its logarithm and ln Σ exp over the last axis of an array of rows.

They are computed as they are defined, after a shift that changes none of them: by a number for each sum, or by the mean
of what is summed where that leaves shorter ranges, because scores move together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load when they are first used

from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.functions import apply, reciprocal
from integraph.numbers.models.models import Models, joined, of_interval
from integraph.numbers.models.smooth_functions import SMOOTH


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The entries that take part, `group` the number of the sum of each, of so many."""

    x: Models
    group: Indices
    groups: int

    @property
    def incidence(self) -> scipy.sparse.csr_array:
        """(groups, entries): which entries a sum has."""
        entries = np.arange(len(self.group))
        return scipy.sparse.csr_array((np.ones(len(entries)), (self.group, entries)), (self.groups, len(entries)))

    def totals(self, y: Models) -> Models:
        return y.affine(self.incidence, np.zeros(self.groups))

    @quiet
    def centred(self) -> tuple[Scores, Models]:
        """The scores less the mean of their group, and these means."""
        each = self.incidence
        counts = np.asarray(each.sum(1))
        mean = scipy.sparse.diags_array(1.0 / counts) @ each
        shared = self.x.with_symbols()
        means = shared.affine(mean, np.zeros(self.groups))
        return Scores(shared + -means.take(self.group), self.group, self.groups), means

    @quiet
    def grown(self) -> tuple[Models, Models, Floats]:
        """e^(x − c), their sums, and c, a number for each sum and cell."""
        top = np.full((self.groups, self.x.space.cells), -np.inf)
        np.maximum.at(top, self.group, 0.5 * self.x.known.low + 0.5 * self.x.known.high)
        top = np.where(np.isfinite(top), top, 0.0)
        y = apply(SMOOTH["exp"], self.x.scale(np.ones((1, 1)), -top[self.group])).with_symbols()
        return y, self.totals(y), top


def _scores(x: Models, shape: tuple[int, ...], mask: Any) -> tuple[Scores, Indices]:
    """The scores, and their places among all entries."""
    taking = np.flatnonzero(np.broadcast_to(True if mask is None else mask, shape))
    scores = Scores(x.take(taking), taking // shape[-1], len(x) // shape[-1])
    return scores, taking


@quiet
def _shorter(scores: Scores) -> tuple[Scores, Models | None]:
    """Less their means, which come with them, if that is shorter."""
    centred, means = scores.centred()
    lengths = [float(np.square(s.x.known.high - s.x.known.low).sum()) for s in (scores, centred)]
    return (centred, means) if lengths[1] < lengths[0] else (scores, None)


def softmax(x: Models, shape: tuple[int, ...], mask: Any) -> Models:
    """What is masked is 0."""
    scores, places = _scores(x, shape, mask)
    scores, _ = _shorter(scores)
    y, totals, _ = scores.grown()
    return _replaced(x, places, y * reciprocal(totals).take(scores.group))


def logsumexp(x: Models, shape: tuple[int, ...], mask: Any) -> Models:
    return _log_sums(_scores(x, shape, mask)[0])


def log_softmax(x: Models, shape: tuple[int, ...], mask: Any) -> Models:
    """What is masked is 0 here: it has no value, and nobody reads it."""
    scores, places = _scores(x, shape, mask)
    scores, _ = _shorter(Scores(scores.x.with_symbols(), scores.group, scores.groups))
    return _replaced(x, places, scores.x + -_log_sums(scores).take(scores.group))


def _log_sums(scores: Scores) -> Models:
    shifted, means = _shorter(scores)
    _, totals, top = shifted.grown()
    sums = apply(SMOOTH["ln"], totals).scale(np.ones((1, 1)), top)
    return sums if means is None else sums + means


def _replaced(x: Models, places: Indices, rows: Models) -> Models:
    """These rows at their places, 0 elsewhere."""
    if len(places) == len(x):
        return rows
    order = np.full(len(x), len(places))
    order[places] = np.arange(len(places))
    zero = np.zeros((1, x.space.cells))
    return joined([rows, of_interval(x.space, Interval(zero, zero))]).take(order)


ROWS: dict[str, Callable[[Models, tuple[int, ...], Any], Models]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
}
