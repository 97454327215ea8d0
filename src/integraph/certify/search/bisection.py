"""One step of a search: halve a box and bound both halves. A step depends only on its job, so it can run anywhere,
in any order, and be repeated.

Where halving does not help, more bits may: the halves are bounded again with the next precision, and the better
bound is kept. Where there is no bound (Unprovable, NaN, a negative "bound") it is ∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from integraph.certify.problem import Box, Point, Problem, Unprovable
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import MOST

Values = tuple[float, ...]
BETTER = 0.99  # a bound this much smaller is worth its bits


@dataclass(frozen=True, slots=True)
class BoxPart:
    """What is known of one box: bounds with `bits`, no better ones with up to `tried`, values at its centre."""

    bits: int
    tried: int
    uppers: Values
    centre: Values | None  # lower bounds of the sizes there, where they can matter


@dataclass(frozen=True, slots=True)
class Job:
    """Halve this box; `enough` are the bounds to reach, `floor` the values that matter only if exceeded."""

    box: Box
    axis: int
    at: float
    part: BoxPart
    enough: Values
    floor: Values


@dataclass(frozen=True, slots=True)
class BisectionResult:
    lower: BoxPart
    upper: BoxPart
    boxes: int  # evaluated for this
    why: str  # the reason of the first bound that was refused


def is_settled(upper: float, enough: float) -> bool:
    """Whether a bound is small enough; ∞ and NaN never are."""
    return upper <= enough and upper < inf


def goal_reached(bounds: Values, enough: Values) -> bool:
    return all(map(is_settled, bounds, enough))


def is_tighter(new: Values, old: Values, enough: Values) -> bool:
    """Whether a bound that is not small enough yet has become clearly smaller."""
    return any(not is_settled(b, e) and a < BETTER * b for a, b, e in zip(new, old, enough, strict=True))


def uppers(problem: Problem, box: Box, bits: int) -> tuple[Values, str]:
    """Upper bounds, and the reason if there are none."""
    check_deadline()
    try:
        bounds = problem.upper(box, bits)
    except (Unprovable, ArithmeticError) as error:
        return (inf,) * problem.quantities, str(error)
    if len(bounds) != problem.quantities:
        raise ValueError(f"{len(bounds)} bounds for {problem.quantities} quantities")
    return tuple(float(u) if u >= 0 else inf for u in bounds), ""


def sizes(problem: Problem, point: Point, bits: int) -> tuple[tuple[float, float], ...]:
    """Enclosures of the sizes at a point; (0, ∞) where nothing is known or the enclosure is impossible."""
    check_deadline()
    try:
        bounds = problem.at(point, bits)
    except (Unprovable, ArithmeticError):
        bounds = ()
    if len(bounds) != problem.quantities:
        return ((0.0, inf),) * problem.quantities
    return tuple((abs(float(a)), abs(float(b))) if 0 <= a <= b and a < inf else (0.0, inf) for a, b in bounds)


def centre(problem: Problem, box: Box, bits: int, above: Values, floor: Values) -> Values | None:
    """Lower bounds at the centre, if a value there could exceed the floor."""
    if all(u <= f for u, f in zip(above, floor, strict=True)):
        return None
    return tuple(low for low, _ in sizes(problem, box.centre, bits))


def next_bits(part: BoxPart) -> int | None:
    """The next precision to try: twice the last one tried, or, once all were tried, twice the one in use."""
    return next((bits for bits in (2 * part.tried, 2 * part.bits) if bits <= MOST), None)


@dataclass(frozen=True, slots=True)
class Bisection:
    """The work of a search: jobs of one problem."""

    problem: Problem

    def __call__(self, job: Job) -> BisectionResult:
        return divide(self.problem, job)


def divide(problem: Problem, job: Job) -> BisectionResult:
    old, bits = job.part, next_bits(job.part)
    boxes = job.box.split(job.axis, job.at)
    measured = [uppers(problem, box, old.bits) for box in boxes]
    helped = any(is_tighter(bounds, old.uppers, job.enough) for bounds, _ in measured)
    reasons, evaluated, parts = [why for _, why in measured], 2, []
    for box, (bounds, _) in zip(boxes, measured, strict=True):
        used = tried = old.bits
        if bits is not None and not (goal_reached(bounds, job.enough) or (helped and max(bounds) < inf)):
            again, why = uppers(problem, box, bits)
            evaluated, tried = evaluated + 1, bits
            reasons.append(why)
            if is_tighter(again, bounds, job.enough):
                bounds, used = again, bits
        parts.append(BoxPart(used, tried, bounds, centre(problem, box, used, bounds, job.floor)))
    return BisectionResult(parts[0], parts[1], evaluated, next(filter(None, reasons), ""))
