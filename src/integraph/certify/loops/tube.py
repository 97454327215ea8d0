"""The tube of a box of starts: boxes at sampling times and between them, and what they say of a specification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph.certify.loops.loop import Loop, periods
from integraph.certify.loops.rows import degrees
from integraph.certify.loops.spec import Answer, Judgement, Specification
from integraph.numbers.arrays import Floats

LOOSE = 0.05  # errors beside polynomials, beyond which a higher degree is tried
NARROW = 1e-6  # of the widest state: of narrower ones errors do not matter
GAIN = 0.7  # what it must make of them


@dataclass(frozen=True, slots=True, eq=False)
class Tube:
    """All trajectories from low ≤ x(0) ≤ high. `samples` (reached + 1, n, 2) are the states at sampling times, the last
    as tightly as polynomials can be bounded; `spans` (reached, n, 2) over each period, where they were asked for and
    time is continuous. `influence` says how much of the last set is due to each side of the start, `slopes` how far
    its states move from the middle of a side to its end, to first order, `loose` how large its errors are beside its
    polynomials, of a `degree`. `reason` says why it ends before the last step, `clauses` what it says of each clause of
    the specification."""

    low: Floats
    high: Floats
    samples: Floats
    spans: Floats
    answer: Answer
    influence: Floats
    slopes: Floats
    reason: str = ""
    degree: int = 1
    loose: float = 0.0
    clauses: tuple[Answer, ...] = ()

    @property
    def reached(self) -> int:
        return len(self.samples) - 1


def unfinished(low: Floats, high: Floats) -> Tube:
    """The tube of a box that was not looked at."""
    n = len(low)
    start = np.stack([low, high], 1)[None]
    return Tube(
        low, high, start, np.empty((0, n, 2)), Answer.UNKNOWN, np.zeros(n), np.zeros((n, n)), "it was not looked at"
    )


def tube(
    loop: Loop,
    low: Floats,
    high: Floats,
    spec: Specification | None = None,
    spans: bool = False,
    watch: Callable[[int], None] | None = None,
) -> Tube:
    """The tube from a box, and the answer to a specification for all starts in it; it ends where the answer is known
    before. Where errors are large, and nothing is decided, it is computed again with polynomials of a higher degree.
    `watch` is told the number of every period."""
    first, *higher = degrees(int((high > low).sum()))
    best = _tube(loop, low, high, spec, spans, watch, first)
    while higher and best.answer is Answer.UNKNOWN and (best.reached < loop.steps or best.loose > LOOSE):
        if best.reached < loop.steps:
            higher = higher[-1:]
        made = _tube(loop, low, high, spec, spans, watch, higher.pop(0))
        if made.answer is Answer.UNKNOWN and not _better(made, best):
            break
        best = made
    return best


def _better(made: Tube, best: Tube) -> bool:
    """Whether it reaches further, or as far with a narrower last box and much smaller errors."""
    if made.reached != best.reached:
        return made.reached > best.reached
    narrower = np.ptp(made.samples[-1], axis=1) <= np.ptp(best.samples[-1], axis=1)
    return bool(narrower.all()) and made.loose < GAIN * best.loose


def _tube(
    loop: Loop,
    low: Floats,
    high: Floats,
    spec: Specification | None,
    spans: bool,
    watch: Callable[[int], None] | None,
    degree: int,
) -> Tube:
    judgement = None if spec is None else Judgement(spec, loop.steps)
    between = spans or (judgement is not None and judgement.between)
    boxes, over, last, reason = [np.stack([low, high], 1)], [], None, ""
    for period in periods(loop, low, high, degree):
        last = period.start
        if watch is not None:
            watch(period.number)
        if judgement is not None and period.number == 0:
            judgement.see(period.start, 0)
            if judgement.decided:
                break
        if period.end is None:
            reason = period.reason
            break
        if between and period.flow:
            pieces = list(period.between())
            over.append(_hull(np.stack([piece.ranges() for piece in pieces])))
            if judgement is not None:
                for piece in pieces:
                    judgement.see(piece, period.number, sample=False)
        last = period.end
        boxes.append(last.tight_ranges() if period.number == loop.steps - 1 else last.ranges())
        if judgement is not None:
            judgement.see(last, period.number + 1)
            if judgement.decided:
                break
    answer = Answer.UNKNOWN
    clauses: tuple[Answer, ...] = ()
    if judgement is not None:
        if len(boxes) <= loop.steps:
            judgement.stop()
        answer, clauses = judgement.answer, tuple(judgement.answers)
    shape = (len(over), len(low), 2)
    influence, slopes, loose = np.zeros(len(low)), np.zeros((len(low), len(low))), 0.0
    wide = high > low
    if last is not None and wide.any():
        influence[wide] = last.influence()
        slopes[:, wide] = last.values[:, 1 : 1 + wide.sum()]
        scale = np.abs(last.values[:, 1 : last.monomials.count]).sum(1) + 1e-300
        moving = scale > NARROW * scale.max()
        loose = float((last.errors()[moving] / scale[moving]).max())
    samples, spanned = np.stack(boxes), np.array(over).reshape(shape)
    return Tube(low, high, samples, spanned, answer, influence, slopes, reason, degree, loose, clauses)


def _hull(boxes: Floats) -> Floats:
    return np.stack([boxes[..., 0].min(0), boxes[..., 1].max(0)], -1)
