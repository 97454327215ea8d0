"""Prove a property: search every case, and return the result with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from integraph import clock
from integraph.certify.bounds.point_values import point_values
from integraph.certify.certificate.certificate import Certificate
from integraph.certify.problem import Box
from integraph.certify.properties.certificate import DividedCase, PropertyCertificate
from integraph.certify.properties.margins import margins
from integraph.certify.properties.program_margins import Bounds, program_margins
from integraph.certify.properties.replay import leaf
from integraph.certify.properties.search import Ending, PartWork, Search, SearchResult, Show
from integraph.certify.properties.statement import assumptions
from integraph.certify.properties.truth import decision
from integraph.certify.search.work import team
from integraph.certify.statement import digest, of_program
from integraph.numbers.arrays import Floats
from integraph.program import Program
from integraph.program.notebook import table
from integraph.program.summary import above, at_point, between, inputs_in
from integraph.progress import late_bar
from integraph.targets.graph import Graph
from integraph.targets.network import Network
from integraph.targets.property import Case, Property
from integraph.text import counted

SHOWN = 4  # outputs, boxes and inputs in a text
DIGITS = 12  # of an output there
QUADRATIC = 10  # inputs of positive width up to which the checker's polynomials have degree 2


@dataclass(frozen=True, repr=False, slots=True, eq=False)
class PropertyProof:
    """`status` is proved, refuted or unknown: whether the property holds for every x of the box.

    Refuted: it fails at `point`, where the outputs are between `low` and `high`, proved by Arb. Unknown: it is open on
    the `remaining` boxes, (boxes, 2, inputs), and proved on the share `proved` of the volume. `delta` is what the
    outputs of a program may be off its source by. `ending` is how the search ended; there is a certificate if it was
    decided, but not of a program without a source: no checker knows its flow.
    """

    status: str
    text: str
    boxes: tuple[Box, ...]
    point: Floats | None
    low: Floats | None
    high: Floats | None
    remaining: Floats
    proved: float
    delta: float
    cells: int
    seconds: float
    ending: Ending
    assumed: tuple[str, ...]
    certificate: PropertyCertificate | None = field(repr=False, default=None)
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether it is proved."""
        return self.status == "proved"

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18}{text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        return table("Property", self._rows())

    def _work_left(self) -> str:
        """How far the search came, where it did not end by itself."""
        if self.ending not in (Ending.SECONDS, Ending.CHECK, Ending.INTERRUPTED):
            return ""
        return f" after {counted(self.cells, 'box')}, {len(self.remaining):,} remain"

    def _rows(self) -> list[tuple[str, str]]:
        first = self.boxes[0]
        more = f", and {counted(len(self.boxes) - 1, 'more box')}" if len(self.boxes) > 1 else ""
        rows = [
            ("status", f"{self.status}: {self.ending.value}{self._work_left()}"),
            ("property", self.text),
            ("box", inputs_in(np.array(first.low), np.array(first.high), self.names) + more),
        ]
        if self.delta:
            rows.append(("program", f"outputs within {above(self.delta)} of the source, proved"))
        if self.point is not None and self.low is not None and self.high is not None:
            ends = zip(self.low[:SHOWN], self.high[:SHOWN], strict=True)
            outputs = [f"y{n} in {between(a, b, DIGITS)}" for n, (a, b) in enumerate(ends)]
            rest = [f"… {len(self.low) - SHOWN} more"] if len(self.low) > SHOWN else []
            rows += [
                ("counterexample", _named(self.point.tolist(), self.names)),
                ("outputs there", ", ".join(outputs + rest)),
            ]
        if self.status == "unknown":
            rows += [
                ("proved", _share(self.proved)),
                ("remaining", counted(len(self.remaining), "box")),
                *(
                    ("", inputs_in(low, high, self.names))
                    for low, high in self.remaining[: SHOWN if len(first.low) <= SHOWN else 0]
                ),
            ]
        if self.status != "unknown" and self.certificate is None:
            rows.append(("certificate", "none: its checker knows networks and graphs, not flows of programs"))
        work = f"{counted(self.cells, 'box')}, {self.seconds:.2g} s"
        return [*rows, ("work", work), *(("assumed", text) for text in self.assumed)]


def _named(x: list[float], names: tuple[str, ...]) -> str:
    """A point in words: of a long one the first values."""
    short = at_point(x, names).removeprefix(" at ")
    few = ", ".join(f"{value:.6g}" for value in x[:SHOWN])
    return short or f"x = ({few}, …), {len(x)} inputs; all are in point, and in --json"


def _share(proved: float) -> str:
    """A share of the volume, of which something is open."""
    return f"{'> 99.99' if proved > 0.9999 else f'{100 * proved:.4g}'} % of the volume"


@dataclass(frozen=True, slots=True, eq=False)
class Closeness:
    """A program, and the proof of how far it is from its source."""

    program: Program
    certificate: Certificate


def prove(
    source: Network | Graph | Program,
    cases: Sequence[Case],
    text: str,
    closeness: Closeness | None,
    seconds: float,
    progress: bool,
    names: tuple[str, ...],
    workers: int | None = None,
    scheduler: str | None = None,
) -> PropertyProof:
    """Search case after case, until one is refuted or the time is over. Ctrl-C keeps what has been proved."""
    begun = clock.now()
    delta = 0.0 if closeness is None else closeness.certificate.upper
    wide = max(sum(a < b for a, b in zip(case.low, case.high, strict=True)) for case in cases)
    degree = 2 if wide <= QUADRATIC else 1
    results: list[SearchResult] = []
    with late_bar(progress, "proving") as show, clock.deadline(seconds):
        for case in cases:
            results.append(_searched(source, case, degree, delta, show, workers, scheduler))
            if results[-1].ending in (Ending.REFUTED, Ending.INTERRUPTED):
                break
    last = next((one for one in results if one.ending is not Ending.PROVED), results[-1])
    last = next((one for one in results if one.ending is Ending.REFUTED), last)
    granted = assumptions(source, None if closeness is None else closeness.program)
    boxes = tuple(Box(case.low, case.high) for case in cases)
    certificate = None
    if last.ending in (Ending.PROVED, Ending.REFUTED) and not isinstance(source, Program):
        trees = [one.tree if last.ending is Ending.PROVED else () for one in results]
        trees += [()] * (len(cases) - len(results))
        point = None if last.point is None else tuple(last.point.tolist())
        certificate = PropertyCertificate(
            digest(source), "" if closeness is None else of_program(closeness.program), delta,
            "" if closeness is None else str(closeness.certificate), granted, degree,
            tuple(DividedCase(box, case.property, tree) for box, case, tree in zip(boxes, cases, trees, strict=True)),
            0 if point is None else results.index(last), point,
        ).sealed()  # fmt: skip
    low, high = (None, None) if last.point is None else _outputs(source, last.point, delta)
    untried = [np.array([[box.low, box.high]]) for box in boxes[len(results) :]]
    open_ = [np.stack([one.remaining.low, one.remaining.high], 1) for one in results]
    return PropertyProof(
        {Ending.PROVED: "proved", Ending.REFUTED: "refuted"}.get(last.ending, "unknown"), text, boxes, last.point,
        low, high, np.concatenate(open_ + untried), sum(one.proved for one in results) / len(cases), delta,
        sum(one.cells for one in results), clock.now() - begun, last.ending, granted, certificate, names,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The checker, as the search asks it."""

    source: Network | Graph
    stated: Property
    degree: int
    delta: float

    def holds(self, low: Floats, high: Floats) -> bool:
        box = Box(tuple(low.tolist()), tuple(high.tolist()))
        return leaf.holds(self.source, self.stated, box, self.degree, self.delta)

    def fails(self, x: Floats) -> bool:
        return leaf.fails(self.source, self.stated, x.tolist(), self.delta)


def _searched(
    source: Network | Graph | Program,
    case: Case,
    degree: int,
    delta: float,
    show: Show,
    workers: int | None,
    scheduler: str | None,
) -> SearchResult:
    low, high = np.array(case.low), np.array(case.high)
    chosen, wide = decision(case.property.clause), int((high > low).sum())
    if isinstance(source, Program):
        bounds = program_margins(source, case.property)
        work = PartWork(bounds, bounds.degree(wide), Bounds(bounds, chosen))
    else:
        quantities = margins(source, case.property, delta)
        work = PartWork(quantities, quantities.degree(wide), Replay(source, case.property, degree, delta))
    with (
        closing(team(work, workers, scheduler)) as helpers,
        threadpool_limits(1),  # as in other processes, or sums would be rounded otherwise
    ):
        return Search(work, chosen, low, high, helpers.run).run(show)


def _outputs(source: Network | Graph | Program, point: Floats, delta: float) -> tuple[Floats, Floats]:
    """Ends between which the outputs are at a point."""
    low, high = point_values(source, point)
    if not delta:
        return low, high
    return np.nextafter(low - delta, -np.inf), np.nextafter(high + delta, np.inf)
