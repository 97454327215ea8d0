"""Check the certificate of a closed loop: compute the tube of every cell again, and what it says of the specification.

No code of the search is used, and no set that the search computed: only the cells, and step by step its length, its
order and a box, which is proved to contain all solutions before it is used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from integraph.certify.certificate.replay import CertificateFault, Checked, Run
from integraph.certify.loops.certificate import PROVED, CertifiedStep, LoopCertificate, Path, fault, loop_digest
from integraph.certify.loops.loop import Loop
from integraph.certify.loops.replay.controller import inputs_of
from integraph.certify.loops.replay.disturbance import Noise, noise_of
from integraph.certify.loops.replay.formulas import formula
from integraph.certify.loops.replay.intervals import Ends
from integraph.certify.loops.replay.sets import StateSet, of_box
from integraph.certify.loops.replay.steps import ReplayedStep, replay_step
from integraph.certify.loops.replay.verdict import Verdict
from integraph.certify.loops.spec import Specification
from integraph.certify.problem import Box, Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import precision

BITS = 64
Flow = Callable[[int, StateSet, Noise | None], Iterator[ReplayedStep]]  # from the number of a period and its start


@dataclass(frozen=True, slots=True, eq=False)
class CellWork:
    """What the tube of a cell says, a function of both: 1, −1 or 0 as `replay` does, and the reason of a 0."""

    loop: Loop
    spec: Specification

    def __call__(self, cell: tuple[Box, int, Path]) -> tuple[int, str]:
        try:
            with precision(BITS):
                return replay(self.loop, self.spec, *cell), ""
        except (CertificateFault, Unprovable, ArithmeticError, MemoryError) as broken:
            return 0, str(broken) or type(broken).__name__


def check(certificate: LoopCertificate, loop: Loop, spec: Specification, run: Run = map) -> Checked:
    """Whether it proves what it claims of this loop; `spec` is the specification that it names. The cells are jobs,
    which others may do; the result is the same."""
    begun, cells = time.monotonic(), 0
    if wrong := fault(certificate):
        return Checked(False, "unknown", "nothing that can be understood", wrong, 0, time.monotonic() - begun)
    reason = ""
    try:
        _need(certificate.loop == loop_digest(loop), "it is about another loop")
        _need(certificate.states == loop.states, "it names other states")
        wanted = 1 if certificate.status == PROVED else -1
        tested = _held(loop, certificate.disturbance)
        jobs = list(zip(certificate.parts, certificate.degrees, certificate.cells, strict=True))
        for cells, (sign, why) in enumerate(run(CellWork(tested, spec), jobs), 1):
            _need(not why, why)
            _need(sign == wanted, f"cell {cells} is not {certificate.status}")
        _need(cells == len(jobs), "not every cell was checked")
    except CertificateFault as broken:
        reason = str(broken)
    status = "unknown" if reason else certificate.status
    return Checked(not reason, status, certificate.claim(), reason, cells, time.monotonic() - begun)


def _held(loop: Loop, values: tuple[float, ...]) -> Loop:
    """The loop with the constant disturbances of a refutation, which must be among its own."""
    if not values:
        return loop
    w = loop.disturbance
    _need(w is not None and len(values) == len(w.names), "it has disturbances that the loop does not have")
    assert w is not None
    _need(
        all(low <= value <= high for low, value, high in zip(w.low, values, w.high, strict=True)),
        "its disturbance is not one of the loop",
    )
    return loop.held(np.array(values))


def replay(loop: Loop, spec: Specification, box: Box, degree: int, path: Path) -> int:
    """What the tube of a cell says of the specification: 1 if all starts meet it, −1 if all fail, else 0."""
    verdict = Verdict(spec, loop.steps)
    for _ in tube(loop, box, degree, path, verdict):
        pass
    return verdict.sign()


def tube(loop: Loop, box: Box, degree: int, path: Path, verdict: Verdict | None = None) -> Iterator[StateSet]:
    """The states at sampling times, all that is between them shown to the verdict; polynomials have this degree."""
    _need(len(path) <= loop.steps, f"it has {len(path)} periods, the loop {loop.steps}")

    def flow(number: int, both: StateSet, noise: Noise | None) -> Iterator[ReplayedStep]:
        total = sum((Fraction(1, 1 << step.halvings) for step in path[number]), Fraction(0))
        _need(total == 1, f"the steps of period {number + 1} are {total} of it")
        for step in path[number]:
            check_deadline()
            yield (last := replayed(loop, both, noise, step))
            both = last.end

    _need(not (loop.discrete and any(path)), "it has steps in discrete time")
    return walk(loop, box, degree, len(path), flow, verdict)


def walk(
    loop: Loop, box: Box, degree: int, count: int, flow: Flow, verdict: Verdict | None = None
) -> Iterator[StateSet]:
    """The states at the start, and after each of so many periods, whose steps `flow` has."""
    states, noise = of_box(box, degree), noise_of(loop.disturbance)
    n = len(loop.states)
    if verdict is not None:
        verdict.see(states.own_rows, 0)
    yield states
    for number in range(count):
        check_deadline()
        rows = inputs_of(loop.controller, states.own_rows)
        if noise is not None:
            rows += noise.rows(states.k, len(states.g[0]), wide=loop.discrete)
        both = states.joined(rows)
        if loop.discrete:
            states = both.image(formula(loop.expression, both.rows))
        else:
            for step in flow(number, both, noise):
                if verdict is not None and verdict.between:
                    for found in step.between():
                        verdict.see(found, number, sample=False)
                both = step.end
            states = StateSet(both.k, both.p[:n], both.g[:n])
        _need(all(row.finite for row in states.rows), "a function is not defined on all states")
        if verdict is not None:
            verdict.see(states.own_rows, number + 1)
        yield states


def replayed(loop: Loop, both: StateSet, noise: Noise | None, step: CertifiedStep) -> ReplayedStep:
    """A step from states, inputs and disturbances, or a CertificateFault."""
    h = arb(loop.period) / (1 << step.halvings)
    sides = [Ends(arb(low), arb(high)) for low, high in zip(step.box.low, step.box.high, strict=True)]
    return replay_step(loop.expression, both, h, step.order, sides, noise)


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CertificateFault(otherwise)
