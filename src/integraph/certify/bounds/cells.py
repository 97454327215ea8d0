"""Cells of a box: how it is divided at first, and the bounds of all outputs on a batch of cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from integraph.bounds.ranges import propagation
from integraph.certify.bounds.backward import Backward, backward
from integraph.certify.bounds.climb import climbed
from integraph.certify.bounds.graph_models import graph_models
from integraph.certify.bounds.network_models import network_models
from integraph.certify.bounds.program_models import program_models, segment_forms
from integraph.certify.bounds.quadratic_flow import QuadraticFlow
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import SYMBOLS, Models, of_cells
from integraph.numbers.models.monomials import monomials
from integraph.numbers.models.polynomial_ranges import tight_ranges
from integraph.program import Program
from integraph.targets.graph import Graph
from integraph.targets.network import Network

Source = Network | Graph | Program
Ends = tuple[Floats, Floats]  # low and high of cells
FIRST = 64  # cells of the first division
DIVIDED = 6  # inputs up to which there is one
STEPPED = 8  # cells of the first division of a program that needs Taylor steps
MEMORY = 16_000_000  # numbers that the rows of one operation may hold
BACKWARD = 4  # inputs of positive width, beyond which linear bounds from the outputs back are tried on the whole box
DEGREES = ((2, 3), (12, 2))  # of models, for so many inputs of positive width at most; beyond, 1


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Boxes low ≤ x ≤ high, (cells, inputs), and bounds of the outputs on each, (cells, outputs). `influence`, (cells,
    inputs), says how much of the bounds is due to each input; `peaks` and `dips`, (cells, outputs, inputs), are points
    where an output is probably large, and small."""

    low: Floats
    high: Floats
    least: Floats
    most: Floats
    influence: Floats
    peaks: Floats
    dips: Floats

    def __len__(self) -> int:
        return len(self.low)

    def take(self, which: object) -> Cells:
        return Cells(*(getattr(self, name)[which] for name in NAMES))

    def within(self, ranges: Interval) -> Cells:
        """The same where other bounds of the outputs are known, too. Infinite bounds stay: there may be no value."""
        finite = np.isfinite(self.least) & np.isfinite(self.most)
        least = np.where(finite, np.maximum(self.least, ranges.low), self.least)
        return replace(self, least=least, most=np.where(finite, np.minimum(self.most, ranges.high), self.most))

    def join(self, other: Cells) -> Cells:
        return Cells(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in NAMES))


NAMES = ("low", "high", "least", "most", "influence", "peaks", "dips")


def degree_for(source: Source, inputs: int) -> int:
    """The degree of models for so many inputs of positive width; 0, intervals, where linear ones need too much
    memory."""
    linear = 1 if _largest(source) * (inputs + 1) <= MEMORY else 0
    return next((degree for most, degree in DEGREES if inputs <= most), linear)


def _largest(source: Source) -> int:
    """The size of the largest value."""
    if isinstance(source, Program):
        return source.width
    return max(
        source.sizes if isinstance(source, Network) else [n.size for n in source.nodes if n.op != "constant"], default=1
    )


def first_cells(source: Source) -> int:
    """How many cells the first pass may take."""
    stepped = isinstance(source, Program) and any(isinstance(f, QuadraticFlow | None) for f in segment_forms(source))
    return STEPPED if stepped else FIRST


def division(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The box, cut into at most `FIRST` equal cells: the sides in turn, the widest first."""
    wide = np.flatnonzero(high > low)
    if not 0 < len(wide) <= DIVIDED:
        return low[None], high[None]
    order = np.argsort(0.5 * low[wide] - 0.5 * high[wide], kind="stable")
    parts = np.ones(len(wide), np.int64)
    axis = 0
    while parts.prod() * 2 <= FIRST:
        parts[order[axis % len(order)]] *= 2
        axis += 1
    edges = [_edges(*sides) for sides in zip(low[wide].tolist(), high[wide].tolist(), parts.tolist(), strict=True)]
    return _cells(low, wide, edges, slice(-1)), _cells(high, wide, edges, slice(1, None))


def _edges(low: float, high: float, parts: int) -> Floats:
    """The ends of so many equal parts of a side."""
    share = np.arange(parts + 1) / parts
    edges: Floats = np.clip(low * (1 - share) + high * share, low, high)
    edges[0], edges[-1] = low, high
    return edges


def _cells(ends: Floats, wide: Indices, edges: list[Floats], part: slice) -> Floats:
    """The lower or the upper ends of all cells; sides of no width are as they were."""
    grid = np.meshgrid(*(edge[part] for edge in edges), indexing="ij")
    cells = np.tile(ends, (grid[0].size, 1))
    cells[:, wide] = np.stack([side.ravel() for side in grid], 1)
    return cells


def batch_size(source: Source, inputs: int, degree: int) -> int:
    """How many cells are computed at once."""
    if first_cells(source) < FIRST:
        return 1
    size = _largest(source)
    row = monomials(inputs, degree).count + SYMBOLS + min(size, SYMBOLS)
    return int(np.clip(MEMORY // (size * row), 1, 4 * FIRST))


def bounded(source: Source, low: Floats, high: Floats, degree: int, most: int) -> Cells:
    """Bounds of all outputs on these cells, in batches."""
    return joined(map(CellWork(source, degree), batches(low, high, most)))


def batches(low: Floats, high: Floats, most: int) -> list[Ends]:
    """At most so many cells each."""
    return [(low[start : start + most], high[start : start + most]) for start in range(0, len(low), most)]


def joined(parts: Iterable[Cells]) -> Cells:
    return reduce(Cells.join, parts)


@dataclass(frozen=True, slots=True)
class CellWork:
    """The work of a search: bounds on a batch of cells."""

    source: Source
    degree: int

    def __call__(self, ends: Ends) -> Cells:
        check_deadline()
        return _batch(self.source, *ends, self.degree)


def _batch(source: Source, low: Floats, high: Floats, degree: int) -> Cells:
    x = of_cells(low, high, degree)
    wide = np.flatnonzero((high > low).any(0))
    watch = backward(source) if not isinstance(source, Program) and len(wide) > DEGREES[-1][0] else None
    cells = cells_of(_models(source, x, watch), low, high)
    if watch is None or isinstance(source, Program):
        return cells
    dips, peaks = climbed(source, watch, low, high, cells.dips, cells.peaks)
    return replace(cells, dips=dips, peaks=peaks)


@quiet
def cells_of(y: Models, low: Floats, high: Floats) -> Cells:
    """What models of the outputs over cells say."""
    wide = np.flatnonzero((high > low).any(0))
    ranges: Interval = tight_ranges(y)
    table = y.space.monomials
    influence, slopes = np.zeros(low.shape), np.zeros((*y.r.shape, low.shape[1]))
    if table.count > 1:
        influence[:, wide] = np.abs(y.p).sum(0) @ table.exponents
        slopes[..., wide] = y.p[..., 1 : 1 + len(wide)]
    lows, highs = low[None], high[None]
    peaks, dips = (np.where(up, highs, lows).transpose(1, 0, 2) for up in (slopes >= 0, slopes < 0))
    return Cells(low, high, ranges.low.T, ranges.high.T, influence, peaks, dips)


def plain_ranges(source: Source, box: Interval) -> Interval | None:
    """Bounds of all outputs of a graph on a whole box by intervals, which may be narrower where models of many inputs
    have lost what their symbols hold."""
    if not isinstance(source, Graph):
        return None
    known = propagation.ranges(source, box.low, box.high)
    low, high = (np.concatenate([np.ravel(getattr(known[n], end)) for n in source.outputs]) for end in ("low", "high"))
    return Interval(low, high)


def linear_ranges(source: Source, box: Interval) -> Interval | None:
    """Bounds of all outputs on a whole box by linear models, forwards and backwards, where cells have models of higher
    degree alone: these may be wider on a large box. None where either is out of place."""
    wide = int((box.high > box.low).sum())
    if isinstance(source, Program) or not BACKWARD < wide <= DEGREES[-1][0]:
        return None
    ranges = tight_ranges(_models(source, of_cells(box.low[None], box.high[None], 1), backward(source)))
    return Interval(ranges.low[:, 0], ranges.high[:, 0])


def _models(source: Source, x: Models, watch: Backward | None) -> Models:
    if isinstance(source, Program):
        return program_models(source, x)
    return network_models(source, x, watch) if isinstance(source, Network) else graph_models(source, x, watch)
