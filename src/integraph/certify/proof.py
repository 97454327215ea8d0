"""Prove a bound for a program: run the search, and return its result with a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from integraph import clock
from integraph.certify.certificate.certificate import Certificate, rounded
from integraph.certify.certificate.tree import Leaf
from integraph.certify.problem import Box, Point, Problem, Unprovable
from integraph.certify.search.branch_and_bound import SearchResult, search
from integraph.certify.search.sampling import LargestSample, sample_largest
from integraph.certify.search.stop import Stop
from integraph.certify.statement import Target, assumptions, digests, problem
from integraph.constructions.lifting.flow_map import FlowMap
from integraph.numbers.arb.conversion import FIRST
from integraph.program import Program
from integraph.program.notebook import table
from integraph.program.summary import above, at_point, inputs_in
from integraph.targets import Function
from integraph.text import counted

LOOKING = 0.25  # of the time that is left, to look for a large difference
LAST = 0.1  # of the time budget, for a bound, however long float64 took to say where to look
SOON = 1e-9  # seconds, of a search that has none left
BLUR = 1e-3  # by which a value at a point may be uncertain
DIGITS, EXACT = 3, 17  # of a bound in a text, and of a float64
SAMPLES, MORE = 24, 128  # points that are looked at, if float64 said where, and if it could not


@dataclass(frozen=True, repr=False, slots=True)
class Proof:
    """`status` is proved, refuted or unknown: whether |target − program| ≤ eps for every x in the box.

    lower ≤ sup |target − program| ≤ upper is proved in any case; lower is at `point`. `promised` is the bound of
    the construction, `proven` is upper, `seen` is the largest difference found, by samples and a local search, or None
    where no point could be evaluated. Without a certificate nothing is proved, and `reason` says why. `stopped` is how
    the search ended, and `stopped.message` says it in a sentence.
    """

    status: str
    box: Box
    eps: float | None
    gap: float | None
    upper: float
    lower: float
    point: Point | None
    promised: float | None
    seen: float | None
    boxes: int
    precision: int
    seconds: float
    assumed: tuple[str, ...]
    reason: str
    stopped: Stop
    certificate: Certificate | None = field(repr=False, default=None)
    names: tuple[str, ...] = ()  # of the inputs of a formula

    @property
    def proven(self) -> float:
        return self.upper

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18}{text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        return table("Proof", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        low, high = np.array(self.box.low), np.array(self.box.high)
        remarks = filter(None, (self.reason, self._beside_promise()))
        rows = [
            ("status", ": ".join(filter(None, (self.status, "; ".join(remarks))))),
            ("box", inputs_in(low, high, self.names)),
            ("asked", self._asked()),
            ("promised", "nothing" if self.promised is None else f"≤ {above(self.promised, self._digits)}"),
            ("proven", f"≤ {above(self.upper, self._digits)}" if math.isfinite(self.upper) else "nothing"),
            ("difference found", self._largest_seen()),
        ]
        if self.boxes:
            work = f"{counted(self.boxes, 'box')}, {self.precision} bits, {self.seconds:.2g} s"
            rows += [("work", work), *(("assumed", text) for text in self.assumed)]
        return rows

    def _largest_seen(self) -> str:
        return "not measured" if self.seen is None else f"{self.seen:.4g}{at_point(self.point, self.names)}"

    @property
    def _digits(self) -> int:
        """In how many digits the bound that is proved and the promise differ, if they do."""
        if self.promised is None or self.promised == self.upper:
            return DIGITS
        texts = ((above(self.promised, n), above(self.upper, n)) for n in range(DIGITS, EXACT))
        return DIGITS + next((n for n, (a, b) in enumerate(texts) if a != b), EXACT - DIGITS)

    def _beside_promise(self) -> str:
        """Which number is proved, where it is not the promise: both stand below."""
        if self.status != "proved" or self.eps is None or self.promised is None or self.upper <= self.promised:
            return ""
        asked = f"the error is at most {above(self.eps)}, which was asked for"
        return (
            f"{asked}; the smaller number that is promised, {above(self.promised, self._digits)}, is not proved by this"
        )

    def _asked(self) -> str:
        parts = [] if self.eps is None else [f"≤ {above(self.eps)}"]
        if self.gap is not None:
            parts.append(f"within {100 * self.gap:.3g} % of the difference found")
        return ", ".join(parts) or "nothing"


@dataclass(frozen=True, slots=True)
class Work:
    """What a proof may cost: boxes, seconds in all, and who does it."""

    boxes: int
    seconds: float
    workers: int | None
    scheduler: str | None
    progress: bool


def prove(
    program: Program,
    target: Target,
    box: Box,
    *,
    eps: float | None,
    gap: float | None,
    promised: float | None,
    work: Work,
    starts: Callable[[], Sequence[Point]],
) -> Proof:
    """Bound the difference, and search for the largest one, at `starts` first. Ctrl-C keeps what has been proved."""
    granted, begun = assumptions(program, target), clock.now()
    names = target.variables if isinstance(target, Function | FlowMap) else ()

    def nothing(stopped: Stop, reason: str = "") -> Proof:
        said = reason or stopped.message
        return Proof(
            "unknown",
            box,
            eps,
            gap,
            math.inf,
            0.0,
            None,
            promised,
            None,
            0,
            0,
            0.0,
            granted,
            said,
            stopped,
            names=names,
        )

    try:
        with clock.deadline(LOOKING * work.seconds):
            near = starts()
        with clock.deadline(max(begun + work.seconds - clock.now(), LAST * work.seconds)):
            solved = problem(program, target, box)
            hashes = digests(program, target)
            samples = SAMPLES if near else MORE
            largest = sample_largest(solved, box, samples, FIRST, starts=near, seconds=LOOKING * clock.seconds_left())
            result, largest, blurred = _tightened(solved, box, eps, gap, largest, work)
    except Unprovable as why:
        return nothing(Stop.REFUSED, str(why))
    except clock.DeadlineError:
        return nothing(Stop.SECONDS)
    except KeyboardInterrupt:
        return nothing(Stop.INTERRUPTED)
    tree = rounded(result.tree, eps)
    upper = max(leaf.uppers[0] for leaf in tree if isinstance(leaf, Leaf))
    lower, point = max([(result.lower[0], result.points[0]), (largest.low, largest.point)], key=lambda value: value[0])
    point = point if lower > 0 else None
    seen = None if lower == 0 and largest.unknown == largest.points else lower
    if not lower <= upper:
        return nothing(Stop.CONTRADICTION, f"{Stop.CONTRADICTION.message} ({lower!r} > {upper!r})")
    certificate = Certificate(*hashes, box, eps, upper, lower, point, granted, tree).sealed()
    reason = _reason(result, certificate, largest if blurred else None)
    return Proof(
        certificate.status, box, eps, gap, upper, lower, point, promised, seen, result.boxes, result.bits,
        clock.now() - begun, granted, reason, result.stopped, certificate if upper < math.inf or lower > 0 else None,
        names,
    )  # fmt: skip


def _tightened(
    solved: Problem, box: Box, eps: float | None, gap: float | None, largest: LargestSample, work: Work
) -> tuple[SearchResult, LargestSample, bool]:
    """The search, the largest difference before it, and whether that is blurred: known to within more than the gap.

    No box around such a point can have a bound below its uncertainty, which then becomes the goal. A value above
    that goal is a new largest difference, and the search continues from there.
    """
    boxes = 0
    while True:
        goal, closer = eps, gap
        blurred = gap is not None and (1 + max(gap, BLUR)) * largest.low < largest.high < math.inf
        if gap is not None and blurred:
            goal, closer = min((1 + gap) * largest.high, math.inf if eps is None else eps), None
        result = search(
            solved, box, goal=goal, gap=closer, boxes=work.boxes - boxes, seconds=clock.seconds_left() or SOON,
            workers=work.workers, scheduler=work.scheduler, progress=work.progress, known=[largest.point],
        )  # fmt: skip
        boxes += result.boxes
        result = replace(result, boxes=boxes)
        beyond = blurred and result.stopped is Stop.REFUTED and not (eps is not None and result.lower[0] > eps)
        if not beyond:
            return result, largest, blurred
        if boxes >= work.boxes:
            return replace(result, stopped=Stop.BOXES), largest, blurred
        point = result.points[0]
        assert point is not None
        largest = sample_largest(solved, Box(point, point), 1, FIRST)


def _reason(result: SearchResult, certificate: Certificate, blurred: LargestSample | None) -> str:
    """Why the search ended early, if it did."""
    parts = []
    high = math.inf if blurred is None else min(blurred.high, certificate.upper)
    if blurred is not None and blurred.low < high:
        parts.append(
            f"rounded controls blur the difference, which at its largest is only known to be between {blurred.low:.3g} "
            f"and {high:.3g}"
        )
    if result.stopped.early:
        parts.append(("the gap is not reached, " if certificate.status == "proved" else "") + result.stopped.message)
    if result.stopped.early and certificate.status == "unknown" and certificate.upper < math.inf:
        parts.append(f"what is proved is ≤ {above(certificate.upper)}")
    if not result.upper[0] < math.inf and certificate.status != "refuted":
        parts.append(result.why or "no bound was found")
    return "; ".join(parts)
