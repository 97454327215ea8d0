"""The proof of a program: search, and what it found, as a result and as a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from integraph.certify.arbs import FIRST
from integraph.certify.certificate import Certificate, rounded
from integraph.certify.problem import Box, Point, Unprovable
from integraph.certify.problems import assumed, digests, problem
from integraph.certify.search import Found, search
from integraph.certify.seen import Seen, seen
from integraph.certify.tree import Leaf
from integraph.program import Program
from integraph.program.notebook import table
from integraph.program.summary import above, named_box
from integraph.targets import Function, Network

LOOKING = 0.25  # of the time budget, to look for a large difference
BLUR = 1e-3  # by which a value at a point may be uncertain
SAMPLES, MORE = 24, 128  # points that are looked at, if float64 said where, and if it could not


@dataclass(frozen=True, repr=False, slots=True)
class Proof:
    """`status` is proved, refuted or unknown: whether |target − program| ≤ eps for every x of the box.

    lower ≤ sup |target − program| ≤ upper is proved in any case; lower is at `point`. `promised` is what the
    construction says, `proven` is upper, `seen` the largest difference that was found. Without a certificate nothing is
    proved, and `reason` says why.
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
    certificate: Certificate | None = field(repr=False, default=None)

    @property
    def proven(self) -> float:
        return self.upper

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10}{text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        return table("Proof", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        low, high = np.array(self.box.low), np.array(self.box.high)
        rows = [
            ("status", self.status + (f": {self.reason}" if self.reason else "")),
            ("box", f"x in {named_box(low, high)}"),
            ("asked", self._asked()),
            ("promised", "nothing" if self.promised is None else f"≤ {above(self.promised)}"),
            ("proven", f"≤ {above(self.upper)}" if math.isfinite(self.upper) else "nothing"),
            ("seen", "nothing" if self.seen is None else f"{self.seen:.4g}{_where(self.point)}"),
        ]
        if self.boxes:
            work = f"{self.boxes} box{'es' * (self.boxes != 1)}, {self.precision} bits, {self.seconds:.2g} s"
            rows += [("work", work), *(("assumed", text) for text in self.assumed)]
        return rows

    def _asked(self) -> str:
        parts = [] if self.eps is None else [f"≤ {above(self.eps)}"]
        if self.gap is not None:
            parts.append(f"within {100 * self.gap:.3g} % of what is there")
        return ", ".join(parts) or "nothing"


def _where(point: Point | None) -> str:
    if point is None or len(point) > 8:
        return ""
    return f" at x = ({', '.join(f'{x:.6g}' for x in point)})"


def prove(
    program: Program,
    target: Network | Function,
    box: Box,
    *,
    eps: float | None,
    gap: float | None,
    promised: float | None,
    boxes: int,
    seconds: float,
    workers: int | None,
    scheduler: str | None,
    progress: bool,
    starts: Sequence[Point] = (),
) -> Proof:
    """Bound the difference, and look for the largest there is, at `starts` first."""
    granted = assumed(program, target)

    def nothing(reason: str) -> Proof:
        return Proof("unknown", box, eps, gap, math.inf, 0.0, None, promised, None, 0, 0, 0.0, granted, reason)

    try:
        solved = problem(program, target, box)
        hashes = digests(program, target)
    except Unprovable as why:
        return nothing(str(why))
    largest = seen(solved, box, SAMPLES if starts else MORE, FIRST, starts=starts, seconds=LOOKING * seconds)
    goal, closer, blurred = eps, gap, False
    if gap is not None and (1 + max(gap, BLUR)) * largest.low < largest.high < math.inf:
        blurred = True  # no box around that point can be bounded by less than what is not known of it
        goal, closer = min((1 + gap) * largest.high, math.inf if eps is None else eps), None
    found = search(
        solved, box, goal=goal, gap=closer, boxes=boxes, seconds=seconds, workers=workers, scheduler=scheduler,
        progress=progress, known=[largest.point],
    )  # fmt: skip
    tree = rounded(found.tree, eps)
    upper = max(leaf.uppers[0] for leaf in tree if isinstance(leaf, Leaf))
    (lower,), (point,) = found.lower, found.points
    if not lower <= upper:
        return nothing(f"the bounds {lower!r} and {upper!r} contradict each other: a defect, please report it")
    certificate = Certificate(*hashes, box, eps, upper, lower, point, granted, tree).sealed()
    reason = _reason(found, certificate, largest if blurred else None)
    return Proof(
        certificate.status, box, eps, gap, upper, lower, point, promised, max(largest.low, lower), found.boxes,
        found.bits, found.seconds, granted, reason, certificate if upper < math.inf or lower > 0 else None,
    )  # fmt: skip


ENDS = {
    "boxes": "the budget of boxes is exhausted",
    "seconds": "the budget of time is exhausted",
    "interrupted": "it was interrupted",
    "stuck": "the boxes cannot be divided further",
}


def _reason(found: Found, certificate: Certificate, blurred: Seen | None) -> str:
    """Why the search ended where it did, if that needs a reason."""
    parts = []
    if blurred is not None:
        parts.append(
            f"rounded controls blur the difference, which at its largest is only known to be between {blurred.low:.3g} "
            f"and {blurred.high:.3g}"
        )
    if found.stopped in ENDS:
        parts.append(("the gap is not reached, " if certificate.status == "proved" else "") + ENDS[found.stopped])
    if not found.upper[0] < math.inf:
        parts.append(found.why)
    return ", ".join(part for part in parts if part)
