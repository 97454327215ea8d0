"""The largest size of a quantity at sample points: sampling, and then hill climbing from the best samples.

Samples are the centre, the corners and a sequence that fills the box evenly, always the same. A climb goes along the
axes, with steps that halve when none leads up. Every value is an enclosure, so that the largest value found is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf

from integraph.certify.problem import Box, Point, Problem
from integraph.certify.search.bisection import sizes
from integraph.clock import DeadlineError, deadline
from integraph.errors import UsageError
from integraph.numbers.arb.conversion import MOST

CLIMBS = 4  # from so many samples
HALVINGS = 24  # of a step, from an eighth of the box
PROBES = 8  # samples that choose the precision
TIGHT = 1.01  # high/low of a value that is known well enough


@dataclass(frozen=True, slots=True)
class LargestSample:
    """low ≤ |q(point)| ≤ high; of the points that were tried, `unknown` have no value."""

    low: float
    high: float
    point: Point
    points: int
    unknown: int


def sample_largest(
    problem: Problem,
    box: Box,
    samples: int,
    bits: int,
    quantity: int = 0,
    starts: Iterable[Point] = (),
    seconds: float = inf,
) -> LargestSample:
    """The largest |q| at so many samples, `starts` first, and at most as many points above them.

    With at least `bits`, and more where they do not separate the values from 0. After `seconds` no more points are
    evaluated.
    """
    if samples < 1:
        raise UsageError("must be at least 1", argument="samples", value=samples)
    places = list(islice(dict.fromkeys([*starts, *_places(box, samples)]), samples))
    look = _Sampler(problem, quantity, bits)
    look(places[0])  # what a problem prepares when it is first asked, once for all, is not part of `seconds`
    first = look.known
    with deadline(seconds):
        look.bits = _enough(problem, places[:PROBES], bits, quantity)
        look.known = {} if look.bits > bits else first
        for place in places:
            look(place)
        look.known = look.known or first
        return _climbed(look, box, samples)


def _climbed(look: _Sampler, box: Box, samples: int) -> LargestSample:
    if not look.known:
        return LargestSample(0.0, inf, box.centre, 0, 0)
    best = sorted(look.known, key=lambda place: -look.known[place][0])[:CLIMBS]
    point = max([_climb(look, box, place, samples // CLIMBS) for place in best], key=lambda place: look.known[place][0])
    low, high = look.known[point]
    return LargestSample(low, high, point, len(look.known), sum(not high < inf for _, high in look.known.values()))


class _Sampler:
    """Values, each point once; (0, ∞) where nothing is known, and for all points after the deadline."""

    def __init__(self, problem: Problem, quantity: int, bits: int) -> None:
        self.problem, self.quantity, self.bits, self.late = problem, quantity, bits, False
        self.known: dict[Point, tuple[float, float]] = {}

    def __call__(self, point: Point) -> float:
        if point not in self.known and not self.late:
            try:
                self.known[point] = sizes(self.problem, point, self.bits)[self.quantity]
            except DeadlineError:
                self.late = True
        return self.known.get(point, (0.0, inf))[0]


def _enough(problem: Problem, places: list[Point], bits: int, quantity: int) -> int:
    """A precision that determines the largest of a few values well; the first one if there is none."""
    tried = bits
    while tried <= MOST:
        try:
            bounds = [sizes(problem, place, tried)[quantity] for place in places]
        except DeadlineError:
            break
        finite = [high for _, high in bounds if high < inf]
        if finite and max(finite) <= TIGHT * max(low for low, _ in bounds):
            return tried
        tried *= 2
    return bits


def _places(box: Box, samples: int) -> Iterator[Point]:
    """The centre, corners (a quarter of the samples at most), and multiples of powers of the golden ratio of d."""
    yield box.centre
    sides = list(zip(box.low, box.high, strict=True))
    corners = 1 << len(sides)
    stride = corners * 618034 // 1000000 | 1  # odd, so that every corner has its turn
    for number in range(min(corners, max(1, samples // 4))):
        code = number * stride % corners
        yield tuple(side[code >> axis & 1] for axis, side in enumerate(sides))
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (len(sides) + 1))  # ratio^(d+1) = ratio + 1
    for number in range(1, 2 * samples + 1):
        yield tuple(_between(low, high, number / ratio ** (axis + 1) % 1) for axis, (low, high) in enumerate(sides))


def _between(low: float, high: float, share: float) -> float:
    return min(max(low * (1 - share) + high * share, low), high)


def _climb(look: _Sampler, box: Box, place: Point, points: int) -> Point:
    steps = [high / 8 - low / 8 for low, high in zip(box.low, box.high, strict=True)]
    last, halved = len(look.known) + points, 0
    while halved < HALVINGS:
        start = look(place)
        for axis, step in enumerate(steps):
            if look.late or len(look.known) + 2 > last:
                return place
            place = max(place, _moved(place, axis, step, box), _moved(place, axis, -step, box), key=look)
        if not look(place) > start:
            steps, halved = [step / 2 for step in steps], halved + 1
    return place


def _moved(place: Point, axis: int, step: float, box: Box) -> Point:
    to = min(max(place[axis] + step, box.low[axis]), box.high[axis])
    return (*place[:axis], to, *place[axis + 1 :])
