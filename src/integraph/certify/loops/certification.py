"""The certificate of a result: the steps of every cell that is proved, or of the start that fails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.certificate.tree import Split
from integraph.certify.loops.box_kernels import enclose
from integraph.certify.loops.certificate import (
    PROVED,
    REFUTED,
    CertifiedStep,
    LoopCertificate,
    Parts,
    Path,
    loop_digest,
)
from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.loops.loop import Loop, periods
from integraph.certify.loops.replay.check import BITS, tube
from integraph.certify.loops.spec import Specification
from integraph.certify.loops.steps import FlowStep
from integraph.certify.problem import Box, Unprovable
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.targets.graph import Graph

SLACKS = (0.1, 0.4)  # of a box: the checker's sets are not exactly those of the search,
LOOSE = 3.0  # times more where they are errors for the most part
Cell = tuple[Floats, Floats, int]  # ends, and the degree of its polynomials


def certificate(
    loop: Loop,
    spec: Specification,
    cells: Sequence[Cell],
    failure: tuple[Cell, int] | None,
    disturbance: Floats | None = None,
) -> LoopCertificate:
    """Of the cells that are proved; or of a start that fails, in so many periods, with a constant disturbance if one is
    given."""
    text = "; ".join(clause.text for clause in spec.clauses)
    head = loop_digest(loop), loop.states, text
    if failure is not None:
        (low, high, degree), reached = failure
        taken = path(loop if disturbance is None else loop.held(disturbance), low, high, degree, reached)
        constants = () if disturbance is None else tuple(disturbance.tolist())
        return LoopCertificate(*head, REFUTED, _box(low, high), (None,), (degree,), (taken,), constants).sealed()
    low, high = np.min([cell[0] for cell in cells], 0), np.max([cell[1] for cell in cells], 0)
    tree, order = _divisions(low, high, list(cells))
    paths = tuple(path(loop, *cell, loop.steps) for cell in order)
    degrees = tuple(degree for _, _, degree in order)
    return LoopCertificate(*head, PROVED, _box(low, high), tree, degrees, paths).sealed()


def _divisions(low: Floats, high: Floats, cells: list[Cell]) -> tuple[Parts, list[Cell]]:
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


def path(loop: Loop, low: Floats, high: Floats, degree: int, reached: int) -> Path:
    """The steps of so many periods from a box. The checker knows a program as a network and a distance, and bounds
    graphs in its own way, so its sets may be wider: then the boxes are made larger until they hold them."""
    walked = list(islice(periods(loop, low, high, degree), reached))
    for slack in SLACKS:
        steps = tuple(tuple(_step(loop, step, slack) for step in period.flow) for period in walked)
        if not _approximate(loop.controller) or _holds(loop, _box(low, high), degree, steps):
            break
    return steps


def _approximate(controller: Controller | ControllerGroup) -> bool:
    parts = controller.parts if isinstance(controller, ControllerGroup) else (controller,)
    return any(isinstance(part.source, Program | Graph) for part in parts)


def _holds(loop: Loop, box: Box, degree: int, steps: Path) -> bool:
    with precision(BITS):
        try:
            return all(True for _ in tube(loop, box, degree, steps))
        except CertificateFault:
            return False
        except Unprovable as why:
            raise UsageError(f"there is no certificate with this controller: {why}") from None


def _step(loop: Loop, step: FlowStep, most: float) -> CertifiedStep:
    """A step with a larger box, which sets that are larger do not leave either: by as much as there is a box for."""
    plant, start, w = loop.plant, step.rows.ranges(), loop.disturbance
    errors = step.rows.errors()
    loose = 1 + LOOSE * errors / (errors + step.rows.polynomial_radii() + 1e-300)
    box, sides = step.box, loose * (step.box[:, 1] - step.box[:, 0])
    for share in (most, 0.25 * most, 0.05 * most):
        wider = np.stack([start[:, 0] - share * sides, start[:, 1] + share * sides], 1)
        if w is not None:
            wider[-len(w.names) :] = np.stack([w.low, w.high], 1)
        inside, larger = enclose(plant.code, plant.numbers, plant.held, plant.outputs, wider, loop.period * step.share)
        if inside:
            box = larger
            break
    low, high = box[: len(loop.states)].T
    return CertifiedStep(round(-np.log2(step.share)), step.order, _box(low, high))


def _box(low: Floats, high: Floats) -> Box:
    return Box(tuple(low.tolist()), tuple(high.tolist()))
