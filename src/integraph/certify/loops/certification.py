"""The certificate of a result: the steps of every cell that is proved, or of the start that fails.

The checker's sets are not those of the search. So its tube is computed here too, and every box is made around its sets,
and taken when the checker finds that no solution leaves it: what is written passes the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from integraph.certify.certificate.replay import CertificateFault, Run
from integraph.certify.certificate.tree import Division, Split
from integraph.certify.loops.box_kernels import enclose
from integraph.certify.loops.certificate import (
    FINEST,
    PROVED,
    REFUTED,
    CertifiedStep,
    LoopCertificate,
    Path,
    loop_digest,
)
from integraph.certify.loops.loop import Loop, periods
from integraph.certify.loops.replay.check import BITS, replayed, walk
from integraph.certify.loops.replay.disturbance import Noise
from integraph.certify.loops.replay.sets import StateSet
from integraph.certify.loops.replay.steps import ReplayedStep
from integraph.certify.loops.replay.verdict import Verdict
from integraph.certify.loops.spec import Specification
from integraph.certify.problem import Box, Unprovable
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import above, below, precision
from integraph.numbers.arrays import Floats

SLACKS = (0.002, 0.05, 0.2, 0.5)  # of a box: intervals in Arb are not exactly those of the search
HALVINGS = 4  # of a step of the search, where it has no box for the checker's sets
Cell = tuple[Floats, Floats, int]  # ends, and the degree of its polynomials


@dataclass(frozen=True, slots=True, eq=False)
class PathWork:
    """The steps of a cell in so many periods, a function of both, as `path` has them; or the reason why none are
    known."""

    loop: Loop
    spec: Specification
    status: str

    def __call__(self, job: tuple[Cell, int]) -> tuple[Path, str]:
        cell, reached = job
        verdict = Verdict(self.spec, self.loop.steps)
        try:
            taken = path(self.loop, *cell, reached, verdict)
        except Unprovable as why:
            return (), f"the checker cannot follow the controller: {why}"
        except (CertificateFault, ArithmeticError) as broken:
            return (), self._wide(str(broken) or type(broken).__name__)
        wanted = 1 if self.status == PROVED else -1
        return taken, "" if verdict.sign() == wanted else self._wide(f"they are not all on one side of {self.text}")

    @property
    def text(self) -> str:
        return "; ".join(clause.text for clause in self.spec.clauses)

    def _wide(self, why: str) -> str:
        fix = "; make cells smaller, by `refine`" if self.status == PROVED else ""
        return f"the checker's sets are wider than those of the search, and {why}{fix}"


def certificate(
    loop: Loop,
    spec: Specification,
    cells: Sequence[Cell],
    failure: tuple[Cell, int] | None,
    disturbance: Floats | None = None,
    run: Run = map,
) -> LoopCertificate:
    """Of the cells that are proved; or of a start that fails, in so many periods, with a constant disturbance if one is
    given. Cells are jobs, which others may do."""
    asked = loop if disturbance is None else loop.held(disturbance)
    work = PathWork(asked, spec, PROVED if failure is None else REFUTED)
    head = loop_digest(loop), loop.states, work.text, work.status
    if failure is not None:
        (low, high, degree), _ = failure
        constants = () if disturbance is None else tuple(disturbance.tolist())
        taken = _paths(work, [failure], run)
        return LoopCertificate(*head, _box(low, high), (None,), (degree,), taken, constants).sealed()
    low, high = np.min([cell[0] for cell in cells], 0), np.max([cell[1] for cell in cells], 0)
    tree, order = _divisions(low, high, list(cells))
    degrees = tuple(degree for _, _, degree in order)
    taken = _paths(work, [(cell, loop.steps) for cell in order], run)
    return LoopCertificate(*head, _box(low, high), tree, degrees, taken).sealed()


def _paths(work: PathWork, jobs: list[tuple[Cell, int]], run: Run) -> tuple[Path, ...]:
    taken = []
    for number, (steps, why) in enumerate(run(work, jobs), 1):
        if why:
            raise UsageError(f"cell {number} has no certificate: {why}")
        taken.append(steps)
    return tuple(taken)


def _divisions(low: Floats, high: Floats, cells: list[Cell]) -> tuple[Division, list[Cell]]:
    """How a box was bisected into cells, in preorder, and the cells in that order."""
    if len(cells) == 1:
        return (None,), cells
    for axis in np.flatnonzero(high > low):
        at = 0.5 * low[axis] + 0.5 * high[axis]
        below = [cell for cell in cells if cell[1][axis] <= at]
        above = [cell for cell in cells if cell[0][axis] >= at]
        if below and above and len(below) + len(above) == len(cells):
            upper, lower = high.copy(), low.copy()
            upper[axis] = lower[axis] = at
            first, second = _divisions(low, upper, below), _divisions(lower, high, above)
            return (Split(int(axis), float(at)), *first[0], *second[0]), first[1] + second[1]
    raise AssertionError("cells come from bisections")


def path(loop: Loop, low: Floats, high: Floats, degree: int, reached: int, verdict: Verdict | None = None) -> Path:
    """The steps of so many periods from a box, of which the checker finds that no solution leaves their boxes; fewer
    where the verdict is known before. A CertificateFault or Unprovable where there are none."""
    walked = [period for period in islice(periods(loop, low, high, degree), reached) if period.end is not None]
    taken: list[tuple[CertifiedStep, ...]] = [() for _ in walked]

    def flow(number: int, both: StateSet, noise: Noise | None) -> Iterator[ReplayedStep]:
        for step in walked[number].flow:
            for certified, last in _steps(loop, both, noise, round(-np.log2(step.share)), step.order, HALVINGS):
                taken[number] += (certified,)
                yield last
                both = last.end

    with precision(BITS):
        for number, _ in enumerate(walk(loop, _box(low, high), degree, len(walked), flow, verdict)):
            if verdict is not None and verdict.sign():
                return tuple(taken[:number])
    return tuple(taken)


def _steps(
    loop: Loop, both: StateSet, noise: Noise | None, halvings: int, order: int, more: int
) -> Iterator[tuple[CertifiedStep, ReplayedStep]]:
    """One step; or two of half its length, and so on, where solutions may leave every box."""
    why = CertificateFault(f"no box holds all solutions over {2.0**-halvings * loop.period:.3g} units of time")
    for box in _boxes(loop, both, halvings):
        step = CertifiedStep(halvings, order, box)
        try:
            last = replayed(loop, both, noise, step)
        except CertificateFault as fault:
            why = fault
            continue
        yield step, last
        return
    if not more or halvings == FINEST:
        raise why
    for _ in range(2):
        for step, last in _steps(loop, both, noise, halvings + 1, order, more - 1):
            yield step, last
            both = last.end


def _boxes(loop: Loop, both: StateSet, halvings: int) -> Iterator[Box]:
    """Boxes around sets of the checker that solutions may not leave, from narrow to wide."""
    plant, w, n = loop.plant, loop.disturbance, len(loop.states)
    start = np.array([[below(low), above(high)] for low, high in (row.range() for row in both.rows)])
    if w is not None:
        start[-len(w.names) :] = np.stack([w.low, w.high], 1)
    held = plant.code, plant.numbers, plant.held, plant.outputs
    h = loop.period * 2.0**-halvings
    sides = np.zeros(n)
    for slack in (0.0, *SLACKS):
        wider = start.copy()
        wider[:n] += slack * sides[:, None] * (-1.0, 1.0)
        inside, box = enclose(*held, wider, h)
        if not inside or not np.isfinite(box).all():
            return
        if slack:
            yield _box(*box[:n].T)
        else:
            sides = box[:n, 1] - box[:n, 0]


def _box(low: Floats, high: Floats) -> Box:
    return Box(tuple(low.tolist()), tuple(high.tolist()))
