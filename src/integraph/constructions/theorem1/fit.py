"""The sum Σ φ_k P_k of a choice, before it becomes a program: its coefficients, and the largest error at sample points.

For functions that only give values, `trial_choices` fits more and more cells until that error is at most ε/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.constructions.theorem1 import plans
from integraph.constructions.theorem1.derivative_bounds import ladder
from integraph.constructions.theorem1.local_polynomials import LocalPolynomials, local, values
from integraph.constructions.theorem1.monomials import CENTRE
from integraph.constructions.theorem1.plans import Choice
from integraph.constructions.theorem1.samples import Samples
from integraph.constructions.theorem1.task import Task
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import count

SAMPLES, FEWEST = 4096, 64  # points at which the error is looked at; fewer where one costs much,
MOST_WORK = 400_000_000  # products in all
PER_CELL = 16  # in every direction, where nothing but the error that is seen tells how good a fit is,
AT_LEAST = {1: 1024, 2: 128, 3: 32}  # in every direction, however few cells there are,
PER_WAVE, OF_SURROGATE = 2, 20_000  # in every direction, for each degree of a surrogate; but no more than that in all,
WORK = 20_000_000  # products in all
SEED = 0

EVALUATIONS = 300_000  # of a function without a formula, for one fit
ASKED = 20_000_000  # in all
FALLING, STUCK = 0.9, 6  # an error that is not below 0.9 of the best after 6 more tries will not come down
TRIAL = (16.0, 0.55)  # κ and spread where no bound tells


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    local: LocalPolynomials
    seen: float  # the largest error at the sample points, and that of a surrogate; NaN where f has no values
    asked: int  # values of f

    @property
    def likely(self) -> float:
        """The sampled error, and what rounding of the controls can add to it."""
        return self.seen + float(np.max(self.local.powers))


def fit(
    task: Task, n: int, N: int, c: float, spread: float, centre: float = CENTRE, slopes: Floats | None = None
) -> Fit:
    """`slopes` are bounds of sup |f^(α)|/α! on the cube for |α| ≤ n, where they are known."""
    d, outputs = task.function.inputs, task.function.outputs
    known = np.zeros((count(d, n + 1), outputs)) if slopes is None else slopes
    samples = Samples(task.function, task.cube, known)
    reach = max(abs(centre), abs(1.0 - centre))
    polynomials = local(samples, d, N, n, spread, centre, reach)
    seen, points = _seen(task, samples, polynomials, Partition(N, c), n, centre)
    seen += 0.0 if task.surrogate is None else task.surrogate.error
    return Fit(polynomials, seen, points + polynomials.coefficients.size // outputs)


def _seen(
    task: Task, samples: Samples, polynomials: LocalPolynomials, partition: Partition, n: int, centre: float
) -> tuple[float, int]:
    """The largest error at random points, half of them on faces of the cube, where errors tend to be large; and how
    many."""
    if task.function.table is not None:
        return float("nan"), 0
    d = task.function.inputs
    each = polynomials.coefficients.shape[-2] * task.function.outputs
    near = partition.near(np.full((1, d), 0.5)).shape[2] ** d * each  # coefficients that matter at a point
    most = FEWEST if task.function.meter is not None and task.surrogate is None else SAMPLES  # each may cost a call
    size = max(FEWEST, min(most, MOST_WORK // near))
    rng, half = np.random.default_rng(SEED), np.arange(size // 2)
    t = rng.random((size, d))
    t[half, rng.integers(0, d, len(half))] = rng.integers(0, 2, len(half))
    if not task.known.anything:
        t = np.concatenate([t, _in_cells(rng, d, _parts(task, partition.N, near))])
    x = task.cube.back(t)
    exact, _ = samples.at(x)
    at = np.clip(task.cube.forth(x), 0.0, 1.0)
    return float(np.max(np.abs(values(polynomials.coefficients, partition, n, at, centre) - exact))), len(x)


def _parts(task: Task, N: int, near: int) -> int:
    """Of a grid, in every direction: finer than the cells, to find kinks that lie between the nodes; but a polynomial
    has none."""
    d = task.function.inputs
    finest = int((WORK / near) ** (1 / d))
    if task.surrogate is not None:
        parts = max(PER_CELL // 4 * N, int(PER_WAVE * task.surrogate.degree))
        return min(parts, finest, int(OF_SURROGATE ** (1 / d)))
    return min(max(PER_CELL * N, AT_LEAST.get(d, PER_CELL)), finest)


def _in_cells(rng: np.random.Generator, d: int, parts: int) -> Floats:
    """One point in every part of a grid."""
    corners = np.stack(np.unravel_index(np.arange(parts**d), (parts,) * d), -1)
    result: Floats = (corners + rng.random(corners.shape)) / max(parts, 1)
    return result


def trial_choices(task: Task) -> list[Choice]:
    """For every order the fewest cells with a sampled error of at most ε/2, rounding included."""
    d, outputs = task.function.inputs, task.function.outputs
    meter = TrialCounter(task)
    choices: list[Choice] = []
    limit = EVALUATIONS
    for n in (task.order,) if task.order is not None else reversed(ladder(d)):
        most = min(plans.most_cells(d, n, outputs), int((limit / (count(d, n) * outputs)) ** (1 / d)))
        low, high = meter.bracket(n, most)
        if high > most:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if meter.good(n, middle) else (middle, high)
        choices += plans.lean(d, outputs, n, high, TRIAL[0] * max(high, 1), TRIAL[1], task.read_in, math.nan)
        limit = min(limit, choices[-1].coefficients)
    if not choices:
        raise _out_of_sight(task, meter)
    return choices


class TrialCounter:
    """Fits of a function that only gives values, and how often it was evaluated."""

    def __init__(self, task: Task) -> None:
        self.task, self.asked, self.reach = task, 0, math.inf
        self.waves = 0 if task.surrogate is None else task.surrogate.degree  # fewer nodes see nothing of them

    def good(self, n: int, N: int) -> bool:
        """Whether the sampled error is at most ε/2; False once the function was evaluated too often."""
        if self.asked > ASKED:
            return False
        trial = fit(self.task, n, N, TRIAL[0] * max(N, 1), TRIAL[1])
        self.asked += trial.asked
        self.reach = min(self.reach, 2 * trial.likely)
        return 2 * trial.likely <= self.task.eps

    def bracket(self, n: int, most: int) -> tuple[int, int]:
        """(too few, enough) cells, more and more of them; (…, more than `most`) if the error does not come down."""
        low, high, stuck = -1, 0, 0
        while high <= most:
            before = self.reach
            if self.good(n, high):
                return low, high
            stuck = 0 if self.reach < FALLING * before or n * high < self.waves else stuck + 1
            if (stuck >= STUCK and high > STUCK) or self.asked > ASKED:
                break
            low, high = high, max(high + 1, int(1.6 * high))
        return low, most + 1


def _out_of_sight(task: Task, meter: TrialCounter) -> UsageError:
    calls = meter.asked if task.function.meter is None else task.function.meter.spent
    look = f"; it looks like {task.surrogate.note}" if task.surrogate is not None and task.surrogate.note else ""
    return UsageError(
        f"no fit is that close after {calls} values of {task.function.name}; the best one is off by about "
        f"{meter.reach:.2g}{look}: ask for a larger tolerance, or give a formula if there is one",
        argument="eps",
        value=task.eps,
    )
