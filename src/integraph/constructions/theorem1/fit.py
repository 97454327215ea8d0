"""The sum Σ φ_k P_k of a choice, before it becomes a program: its coefficients, and the error that is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from integraph.bounds.paper.partition_of_unity import Partition
from integraph.constructions.theorem1.local_polynomials import LocalPolynomials, local, values
from integraph.constructions.theorem1.monomials import CENTRE
from integraph.constructions.theorem1.samples import Samples
from integraph.constructions.theorem1.task import Task
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import count

SAMPLES, FEWEST = 4096, 64  # points at which the error is looked at; fewer where one costs much,
MOST_WORK = 400_000_000  # products in all
PER_CELL = 16  # in every direction, where nothing but the error that is seen tells how good a fit is,
AT_LEAST = {1: 1024, 2: 128, 3: 32}  # in every direction, however few cells there are,
WORK = 20_000_000  # but no more products than that
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    local: LocalPolynomials
    seen: float  # the largest error at the sample points, NaN where f has no values
    asked: int  # values of f

    @property
    def likely(self) -> float:
        """What is seen, and what rounding of the controls can add to it."""
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
    return Fit(polynomials, seen, points + polynomials.coefficients.size // outputs)


def _seen(
    task: Task, samples: Samples, polynomials: LocalPolynomials, partition: Partition, n: int, centre: float
) -> tuple[float, int]:
    """Random points, half of them on faces of the cube, where errors like to be large; and how many."""
    if task.function.table is not None:
        return float("nan"), 0
    d = task.function.inputs
    each = polynomials.coefficients.shape[-2] * task.function.outputs
    near = partition.near(np.full((1, d), 0.5)).shape[2] ** d * each  # coefficients that matter at a point
    size = max(FEWEST, min(SAMPLES, MOST_WORK // near))
    rng, half = np.random.default_rng(SEED), np.arange(size // 2)
    t = rng.random((size, d))
    t[half, rng.integers(0, d, len(half))] = rng.integers(0, 2, len(half))
    if not task.known.anything:
        t = np.concatenate([t, _in_cells(rng, d, partition, near)])
    x = task.cube.back(t)
    exact, _ = samples.at(x)
    at = np.clip(task.cube.forth(x), 0.0, 1.0)
    return float(np.max(np.abs(values(polynomials.coefficients, partition, n, at, centre) - exact))), len(x)


def _in_cells(rng: np.random.Generator, d: int, partition: Partition, near: int) -> Floats:
    """One point in every part of a grid that is finer than the cells: a kink that no node sees is in one of them."""
    parts = min(max(PER_CELL * partition.N, AT_LEAST.get(d, PER_CELL)), int((WORK / near) ** (1 / d)))
    corners = np.stack(np.unravel_index(np.arange(parts**d), (parts,) * d), -1)
    result: Floats = (corners + rng.random(corners.shape)) / max(parts, 1)
    return result
