"""What the search for a proof of a closed loop gives: the answer, tubes, a start that fails, a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from integraph.certify.loops.certificate import LoopCertificate
from integraph.certify.loops.certification import certificate
from integraph.certify.loops.division import refined, volume
from integraph.certify.loops.loop import Loop
from integraph.certify.loops.spec import Answer, Specification, conjunction
from integraph.certify.loops.tube import Tube
from integraph.certify.search.work import shared
from integraph.errors import UsageError
from integraph.files import FilePath
from integraph.numbers.arrays import Floats, whole
from integraph.text import counted


@dataclass(frozen=True, slots=True, eq=False)
class LoopResult:
    """The answer; the tubes of cells that are proved, and of those that are not; and a start that fails, as its own
    tube shows, or that of a cell of which every start fails, with constant disturbances if it has them."""

    loop: Loop
    spec: Specification
    answer: Answer
    proved: tuple[Tube, ...]
    open: tuple[Tube, ...]
    failure: Tube | None = None
    interrupted: bool = False  # by Ctrl-C
    constants: Floats | None = None

    @property
    def start(self) -> dict[str, float] | None:
        """The start that fails."""
        return None if self.failure is None else dict(zip(self.loop.states, self.failure.low.tolist(), strict=True))

    @property
    def disturbance(self) -> dict[str, float] | None:
        """The constant disturbances with which that start fails; None if it does with all."""
        w = self.loop.disturbance
        if w is None or self.constants is None:
            return None
        return dict(zip(w.names, self.constants.tolist(), strict=True))

    @property
    def clauses(self) -> tuple[Answer, ...]:
        """Of each clause of the specification whether it is proved of all starts, or refuted by the one that fails."""
        unknown = (Answer.UNKNOWN,) * len(self.spec.clauses)
        if self.failure is not None:
            return tuple(one if one is Answer.REFUTED else Answer.UNKNOWN for one in self.failure.clauses)
        known = [cell.clauses or unknown for cell in self.proved + self.open]
        return tuple(map(conjunction, zip(*known, strict=True)))

    def undecided(self, cell: Tube) -> str:
        """The clauses that an open cell leaves open."""
        return self._quoted(cell.clauses, Answer.UNKNOWN)

    @property
    def share(self) -> float:
        """How much of the start set is proved."""
        sizes = [[volume(cell) for cell in cells] for cells in (self.proved, self.open)]
        return sum(sizes[0]) / (sum(map(sum, sizes)) or 1.0)

    def boxes(self) -> Floats:
        """The states at sampling times, (steps + 1, n, 2): the hull of all cells, as far as all of them got, or of the
        start that fails."""
        cells = (self.failure,) if self.failure else self.proved + self.open
        reached = min(cell.reached for cell in cells)
        samples = np.stack([cell.samples[: reached + 1] for cell in cells])
        return np.stack([samples[..., 0].min(0), samples[..., 1].max(0)], -1)

    def refine(self, cells: int) -> LoopResult:
        """The same proof with the starts in up to so many cells, halved where that makes the last box narrower."""
        whole("cells", cells, 1)
        if self.answer is not Answer.PROVED:
            raise UsageError(f"boxes are refined where the answer is proved, and it is {self.answer.value}")
        return replace(self, proved=tuple(refined(self.loop, self.spec, self.proved, cells)))

    def certificate(self, workers: int | None = None) -> LoopCertificate:
        """The proof, or the refutation, as data that `check` replays. The checker chooses the boxes, which takes as
        long as a check; `workers` processes share the cells."""
        if workers is not None:
            whole("workers", workers, 1)
        if self.answer is Answer.UNKNOWN:
            raise UsageError("an answer that is unknown has no certificate: nothing is proved of all starts")
        fails = self.failure  # or all of a cell does, of which this is one start
        failure = None if fails is None else ((fails.low, fails.low, fails.degree), fails.reached)
        cells = [_ends(cell) for cell in self.proved]
        return certificate(self.loop, self.spec, cells, failure, self.constants, shared(workers))

    def save(self, path: FilePath, workers: int | None = None) -> None:
        """Write the certificate."""
        self.certificate(workers).save(path)

    def __repr__(self) -> str:
        if self.failure is not None and self.start is not None:
            constant = f" with {_point(self.disturbance)} at all times" if self.disturbance else ""
            which, ended = self._quoted(self.clauses, Answer.REFUTED), self.failure.reached
            when = f" by t = {ended * self.loop.period:.4g}" if ended < self.loop.steps else ""
            return f"refuted: the start {_point(self.start)}{constant} fails {which}{when}"
        if self.answer is Answer.PROVED:
            return f"proved for all starts ({counted(len(self.proved), 'cell')})"
        reasons = [cell.reason for cell in self.open if cell.reason]
        why = f"; {reasons[0]}" if reasons else ""
        known = np.floor(1000.0 * self.share) / 1000.0  # 100 % would be proved
        which = f" on {self._quoted(self.clauses, Answer.UNKNOWN)}" if len(self.spec.clauses) > 1 else ""
        return f"unknown: {known:.1%} of the starts are proved, {counted(len(self.open), 'cell')} open{which}{why}"

    def _quoted(self, answers: Sequence[Answer], wanted: Answer) -> str:
        """The clauses with an answer."""
        both = zip(self.spec.clauses, answers, strict=True)
        return ", ".join(f'"{clause.text}"' for clause, answer in both if answer is wanted)


def _point(values: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())


def _ends(cell: Tube) -> tuple[Floats, Floats, int]:
    return cell.low, cell.high, cell.degree
