"""Which order, how many cells: by cross-validation, on fitted rows that a trial fit leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.clock import check_deadline
from integraph.constructions.data.least_squares import LeastSquares
from integraph.constructions.data.split import Split
from integraph.constructions.theorem1 import plans
from integraph.constructions.theorem1.derivative_bounds import ladder
from integraph.constructions.theorem1.fit import TRIAL
from integraph.constructions.theorem1.local_polynomials import values
from integraph.constructions.theorem1.monomials import CENTRE
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import count
from integraph.text import counted

CELLS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # each is half of another, or 0
RIDGE = 1.0  # rows: how much a coarser grid counts, where that helps against noise
LOW = (1, 2)  # orders of which all grids are tried: they are cheap, and show how fine the detail is
ORDERS = 4  # and all orders up to that
PATIENCE = 2  # grids, and orders, that are no better before a search ends
BETTER = 0.995  # of an error: by less it is the same
DOUBT = 0.5  # over √rows: by how much an error that so many rows show may be larger than the smallest
ROUNDING = 1e-12  # of the spread of the values: no error is better than that
CHECKED = 8000  # rows of a trial that are looked at
SYSTEMS = 20_000_000  # numbers in the least-squares systems of all cells
WORK = 400_000_000  # products of rows, windows and monomials in one fit


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A fit, and how far it was from rows that it had not seen: for each output, RMS and largest difference."""

    n: int
    N: int
    ridge: float
    coefficients: int
    rows: int
    rms: Floats
    largest: Floats

    def score(self, unit: Floats) -> float:
        """One number for all outputs, each in its own unit."""
        return float(np.sqrt(np.mean((self.rms / unit) ** 2)))


def steepness(N: int) -> float:
    """c of N cells."""
    return TRIAL[0] * max(N, 1)


def fitted_values(coefficients: Floats, n: int, N: int, t: Floats) -> Floats:
    """Σ φ_k P_k at points of the cube."""
    return values(coefficients, Partition(N, steepness(N)), n, t, CENTRE)


def select(
    t: Floats,
    y: Floats,
    split: Split,
    *,
    order: int | None,
    eps: Floats | None,
    narrow_enough: Callable[[int, int], bool] | None,
) -> Trial:
    """The cheapest of the fits that are as good as the best one; with a tolerance of each output, of those that keep
    half of it."""
    unit = np.std(y[split.fitted], axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    trials = list(_trials(t, y, split, order, unit))
    if order is not None and not trials:
        raise UsageError(
            f"it has {count(t.shape[1], order):,} coefficients, too many for {counted(len(t), 'row')}: give a smaller "
            "one, or let it be chosen",
            argument="order",
            value=order,
        )
    if narrow_enough is not None:
        trials = [trial for trial in trials if narrow_enough(trial.n, trial.N)]
    if not trials:
        raise UsageError("no fit is so narrow: allow more registers, or a smaller order", argument="width")
    if eps is not None:
        enough = [trial for trial in trials if (trial.largest <= 0.5 * eps).all()]
        if enough:
            return min(enough, key=lambda trial: (trial.coefficients, trial.score(unit)))
    best = min(trials, key=lambda trial: trial.score(unit))
    most = max(ROUNDING, best.score(unit) * (1.0 + DOUBT / math.sqrt(best.rows)))
    good = [trial for trial in trials if trial.score(unit) <= most]
    return min(good, key=lambda trial: (trial.coefficients, trial.score(unit)))


def _trials(t: Floats, y: Floats, split: Split, order: int | None, unit: Floats) -> Iterator[Trial]:
    """Rising orders, more and more cells, as long as that helps; then the best order with a ridge."""
    best: Trial | None = None
    since = 0
    for n in (order,) if order is not None else _orders(t.shape[1]):
        trials = []
        for trial in _grids(t, y, split, n, 0.0, unit, 0.0 if best is None else 0.5 * best.n * best.N):
            trials.append(trial)
            yield trial
        if not trials:
            break
        reached = min(trials, key=lambda trial: trial.score(unit))
        better = best is None or reached.score(unit) < BETTER * best.score(unit)
        best = reached if best is None or reached.score(unit) < best.score(unit) else best
        since = 0 if better else since + 1
        if since >= PATIENCE:
            break
    if best is not None:
        yield from _grids(t, y, split, best.n, RIDGE, unit, 0.5 * best.n * best.N)


def _orders(d: int) -> tuple[int, ...]:
    return (*range(1, ORDERS + 1), *(n for n in ladder(d) if n > ORDERS))


def _grids(t: Floats, y: Floats, split: Split, n: int, ridge: float, unit: Floats, waves: float) -> Iterator[Trial]:
    """More and more cells, as long as there are rows for their coefficients, and that helps. Grids that are too coarse
    for so many `waves` see nothing of them, and do not count."""
    d, rows = t.shape[1], np.count_nonzero(split.fitted)
    M, best, since = count(d, n), np.inf, 0
    fits = [LeastSquares(t[inside], y[inside], n, ridge) for inside in (split.fitted & ~out for out in split.trials)]
    for N in CELLS if not ridge else CELLS[1:]:
        cells = (N + 1) ** d
        if cells * M > rows and not (n == 1 and N == 0):
            return
        work = rows * M * M * (2**d if N else 1)
        if cells * M * M > SYSTEMS or work > WORK or plans.most_cells(d, n, y.shape[1]) < N:
            return
        check_deadline()
        trial = _trial(t, y, split, fits, n, N, ridge)
        yield trial
        score = trial.score(unit)
        since = 0 if score < BETTER * best or n * N < waves else since + 1
        best = min(best, score)
        if since >= PATIENCE and (n not in LOW or ridge):
            return


def _trial(t: Floats, y: Floats, split: Split, fits: list[LeastSquares], n: int, N: int, ridge: float) -> Trial:
    squares, largest, looked = np.zeros(y.shape[1]), np.zeros(y.shape[1]), 0
    for fit, out in zip(fits, split.trials, strict=True):
        rows = np.flatnonzero(out)
        rows = rows[:: -(-len(rows) // CHECKED)]
        off = np.abs(fitted_values(fit.coefficients(N), n, N, t[rows]) - y[rows])
        squares += (off**2).sum(0)
        largest, looked = np.maximum(largest, off.max(0)), looked + len(rows)
    d = t.shape[1]
    return Trial(n, N, ridge, (N + 1) ** d * count(d, n) * y.shape[1], looked, np.sqrt(squares / looked), largest)
