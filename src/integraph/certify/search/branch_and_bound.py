"""Branch and bound, best first: halve the box of a problem where its bounds are worst until they are good enough.

One tree serves all quantities. The search goes in rounds: the worst boxes, a number of them that depends on the tree
alone, are halved together, and the results are taken in a fixed order. So the tree does not depend on who bisects or
how long that takes; only a time budget that is exhausted, or clearly will be, and Ctrl-C cut it short. Whenever it
ends, the tree covers the box and its bounds hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from math import inf, isfinite, log, log2

from integraph import clock
from integraph.certify.certificate.tree import Leaf, Split, Tree
from integraph.certify.problem import Box, Point, Problem
from integraph.certify.search.bisection import (
    Bisection,
    BisectionResult,
    BoxPart,
    Job,
    Values,
    goal_reached,
    is_settled,
    is_tighter,
    sizes,
    uppers,
)
from integraph.certify.search.search_tree import SearchNode, harvest, middle, over
from integraph.certify.search.stop import Stop
from integraph.certify.search.work import Workers, team
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import FIRST, MOST
from integraph.progress import Show, search_bar

ROUND, SHARE = 32, 8  # a round halves 32 boxes, or an eighth of all where that is more
LOOKS = 4  # boxes of a round in which values are looked at
COSTS = 4  # boxes evaluated at most to halve one: both halves, and both with more bits
TIGHT = 1.01  # high/low of a value that more bits would not tell more of
EARLY = 16  # after this part of the budget it is asked whether the rest can do
FASTER = 4.0  # than so far bounds may fall later


@dataclass(frozen=True, slots=True)
class SearchResult:
    """For each quantity lower ≤ sup |q| ≤ upper; the tree proves `upper`, the points prove `lower`."""

    upper: Values
    lower: Values
    points: tuple[Point | None, ...]
    tree: Tree
    boxes: int  # evaluated
    bits: int  # the most that the tree needs
    seconds: float
    stopped: Stop
    why: str  # what the problem said where it gave no bound


def search(
    problem: Problem,
    box: Box,
    *,
    goal: float | None = None,
    gap: float | None = None,
    boxes: int = 100_000,
    seconds: float = 60.0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = True,
    known: Iterable[Point] = (),
) -> SearchResult:
    """Bounds of sup |q| over the box: at most `goal`, then within a factor 1 + `gap` of a value; with neither, one box.

    A value above the goal refutes it. `known` are points in the box where values are large. The first second is spent
    in this process, since most proofs need less; then, if boxes take long enough, one process per core helps
    (`workers`; 1: none does), or from the start the cluster of a dask `scheduler`.
    """
    known = tuple(known)
    _valid(box, goal, gap, boxes, seconds, workers, known)
    begun = clock.now()
    run = _Search(problem, box, goal, gap, boxes)
    stopped = Stop.INTERRUPTED
    try:
        with (
            clock.deadline(seconds),
            closing(team(Bisection(problem), workers, scheduler)) as helpers,
            search_bar(progress, boxes, seconds) as show,
        ):
            stopped = run.root(known) or run.grow(helpers, show)
    except clock.DeadlineError:
        stopped = Stop.SECONDS
    except KeyboardInterrupt:
        pass  # what is done is done
    tree = harvest(run.nodes)
    ends = [node for node in tree if isinstance(node, Leaf)]
    return SearchResult(
        over([leaf.uppers for leaf in ends]),
        run.lower,
        tuple(point for _, point in run.best),
        tree,
        run.boxes,
        max(leaf.bits for leaf in ends),
        clock.now() - begun,
        stopped,
        run.why,
    )


class _Search:
    """The state of a search; at any moment `nodes` is a tree that covers the box."""

    def __init__(self, problem: Problem, box: Box, goal: float | None, gap: float | None, budget: int) -> None:
        self.problem, self.box, self.goal, self.gap, self.budget = problem, box, goal, gap, budget
        self.nodes = [SearchNode(box, BoxPart(FIRST, FIRST, (inf,) * problem.quantities, None))]
        self.best: list[tuple[float, Point | None]] = [(0.0, None)] * problem.quantities
        self.boxes, self.why = 0, ""
        self.phase = Stop.ONE_BOX if goal is None and gap is None else Stop.GAP if goal is None else Stop.GOAL
        self.heap: list[tuple[tuple[float, float], int]] = []  # the most urgent first
        self.stuck = False  # is there a box that should be halved and cannot be?
        self.begun = clock.now()

    @property
    def lower(self) -> Values:
        return tuple(low for low, _ in self.best)

    @property
    def enough(self) -> Values:
        """The bound to reach now."""
        if self.phase is Stop.GOAL and self.goal is not None:
            return (self.goal,) * len(self.best)
        return tuple((1 + (self.gap or 0.0)) * low for low in self.lower)

    @property
    def floor(self) -> Values:
        """The value that a new one has to exceed to matter."""
        return self.lower if self.gap is not None else tuple(max(low, self.goal or 0.0) for low in self.lower)

    @property
    def refuted(self) -> bool:
        return self.goal is not None and any(low > self.goal for low in self.lower)

    def root(self, known: Sequence[Point]) -> Stop | None:
        """Bound the whole box, with as many bits as help; return the reason to stop here."""
        bits, hopeless = FIRST, False
        while bits <= MOST and self.boxes < self.budget:
            bounds, why, hopeless = uppers(self.problem, self.box, bits)
            self.boxes, self.why = self.boxes + 1, self.why or why
            old = self.nodes[0].part.uppers
            if bits == FIRST or is_tighter(bounds, old, self.enough):
                self.nodes[0].part = BoxPart(bits, bits, bounds, None)
            elif max(old) < inf:
                break
            if hopeless or goal_reached(bounds, self.enough):
                break
            bits *= 2
        for point in (self.box.centre, *known):
            self._look(point)
        if self.refuted:
            return Stop.REFUTED
        return Stop.ONE_BOX if self.phase is Stop.ONE_BOX else Stop.MISMATCH if hopeless else None

    def _look(self, point: Point) -> None:
        """Evaluate at a point; where bounds still have to fall, with more bits while the value could be a new
        largest."""
        bits = self.nodes[0].part.bits
        while bits <= MOST:
            bounds = sizes(self.problem, point, bits)
            self._learn(point, tuple(low for low, _ in bounds))
            tight = all(high <= TIGHT * low for (_, high), low in zip(bounds, self.lower, strict=True))
            if tight or goal_reached(self.nodes[0].part.uppers, self.enough):
                return
            bits *= 2

    def _learn(self, point: Point, lows: Values) -> None:
        for quantity, low in enumerate(lows):
            if low > self.best[quantity][0]:
                self.best[quantity] = low, point

    def grow(self, helpers: Workers[Job, BisectionResult], show: Show) -> Stop:
        """Run rounds until there is a reason to stop."""
        self._enter(self.phase)
        while True:
            room = (self.budget - self.boxes) // COSTS
            batch = self._worst(min(max(ROUND, len(self.nodes) // (2 * SHARE)), room))
            if not batch and not self.heap:
                if self.stuck or self.phase is Stop.GAP or self.gap is None:
                    return Stop.STUCK if self.stuck else self.phase
                self._enter(Stop.GAP)
                continue
            if not batch:
                return Stop.BOXES
            jobs = self._jobs(batch)
            for halves, (number, split) in zip(helpers.run(jobs), batch, strict=True):
                self._take(number, split, halves)
                if self.refuted:
                    return Stop.REFUTED
            worst = self.nodes[batch[0][0]].part
            show(worst.uppers, self.lower, self.boxes)
            if self._out_of_reach():
                return Stop.SIDES

    def _out_of_reach(self) -> bool:
        """Whether the boxes that can still be bounded halve less than half of the sides once, and would not do even if
        bounds fell faster than so far."""
        past, left = clock.now() - self.begun, clock.seconds_left()
        boxes = min(float(self.budget), self.boxes * (1.0 + left / past) if past > 0 else inf)
        sides = sum(a < b for a, b in zip(self.box.low, self.box.high, strict=True))
        if not self.heap or self.boxes * EARLY < boxes or sides < 2.0 * log2(boxes):
            return False
        first, now = urgency(self.nodes[0].part.uppers, self.enough), self.heap[0][0]
        if first is None:  # values that came later settle the whole box
            return False
        far, worst = -first[0], -now[0]
        if worst == inf or far == inf:
            return worst == inf
        fallen = max(log(far / worst), 0.0) / log2((len(self.nodes) + 1) / 2)  # in each generation
        return log(worst) > FASTER * fallen * log2(boxes / self.boxes)

    def _jobs(self, batch: Sequence[tuple[int, Split]]) -> list[Job]:
        """Only the worst boxes are evaluated at their centres: values cost as much as bounds and are seldom new."""
        floors, enough = [self.floor] * LOOKS + [(inf,) * len(self.best)] * len(batch), self.enough
        return [
            Job(self.nodes[n].box, cut.axis, cut.at, self.nodes[n].part, enough, floor)
            for (n, cut), floor in zip(batch, floors, strict=False)
        ]

    def _enter(self, phase: Stop) -> None:
        self.phase, self.stuck = phase, False
        self.heap = []
        for number, node in enumerate(self.nodes):
            if node.halves is None:
                self._push(number)

    def _push(self, number: int) -> None:
        if (key := urgency(self.nodes[number].part.uppers, self.enough)) is not None:
            heappush(self.heap, (key, number))

    def _worst(self, count: int) -> list[tuple[int, Split]]:
        """The boxes to halve next; those on the heap had their urgency when they were put there, or less now."""
        splits: list[tuple[int, Split]] = []
        while self.heap:
            then, number = self.heap[0]
            node = self.nodes[number]
            now = urgency(node.part.uppers, self.enough)
            if now is None:
                heappop(self.heap)
            elif now > then:
                heapreplace(self.heap, (now, number))
            elif len(splits) == count:
                break
            else:
                heappop(self.heap)
                if (split := middle(node.box, self.box)) is None:
                    self.stuck = True
                else:
                    splits.append((number, split))
        return splits

    def _take(self, number: int, split: Split, halves: BisectionResult) -> None:
        node, count = self.nodes[number], len(self.nodes)
        self.boxes, self.why = self.boxes + halves.boxes, self.why or halves.why
        for box, part in zip(node.box.split(split.axis, split.at), (halves.lower, halves.upper), strict=True):
            self.nodes.append(SearchNode(box, part))
            if part.centre is not None:
                self._learn(box.centre, part.centre)
        node.halves = split, count, count + 1  # last and at once: an interrupt leaves it whole or divided
        self._push(count)
        self._push(count + 1)


def urgency(bounds: Values, enough: Values) -> tuple[float, float] | None:
    """(−ratio, −bound) of the quantity farthest from being settled, None where all are; the smallest comes first."""
    ratios = [
        (-(u / e if u < inf and e > 0 else inf), -u)
        for u, e in zip(bounds, enough, strict=True)
        if not is_settled(u, e)
    ]
    return min(ratios, default=None)


def _valid(
    box: Box,
    goal: float | None,
    gap: float | None,
    boxes: int,
    seconds: float,
    workers: int | None,
    known: Sequence[Point],
) -> None:
    if not all(isfinite(a) and isfinite(b) and a <= b for a, b in zip(box.low, box.high, strict=True)):
        raise UsageError(f"a box needs finite ends, low ≤ high, not {box.low} to {box.high}")
    for name, value in (("goal", goal), ("gap", gap)):
        if value is not None and not 0 <= value < inf:
            raise UsageError("needs a finite number, at least 0", argument=name, value=value)
    for name, count in (("boxes", boxes), ("workers", workers)):
        if count is not None and not count >= 1:
            raise UsageError("must be at least 1", argument=name, value=count)
    if not seconds > 0:
        raise UsageError("must be more than 0", argument="seconds", value=seconds)
    for point in known:
        if not all(a <= x <= b for a, x, b in zip(box.low, point, box.high, strict=True)):
            raise UsageError(f"the known point {point} is not in the box {box.low} to {box.high}")
