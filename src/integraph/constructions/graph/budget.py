"""The error of a graph program, by cause: what is smoothed, what decay leaves, what rounding of the controls costs.

The segments are walked in the order of time. Of every register the range of its right values is known, and a bound of
how far it is off: sums and starts by arithmetic of intervals, gadgets by what they make of a wrong start. A register
that was left to decay starts at e^−r of what it held, one that was cleaned at what cleaning could not take away: nothing
of a sum, which is subtracted by the controls that added it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from integraph.bounds.balls import quiet
from integraph.bounds.intervals import UP, Interval, U
from integraph.bounds.perturbation import RELU
from integraph.bounds.range_arithmetic import both, interval
from integraph.bounds.range_functions import relu
from integraph.bounds.wrong_start import GRAPH_WRONG, ends
from integraph.constructions.budget import Parts
from integraph.constructions.graph.allocation import DECAY, Lot
from integraph.constructions.graph.enclosure import State, empty, enclose, squares
from integraph.constructions.graph.exact import Layout
from integraph.constructions.graph.forms import Form
from integraph.constructions.graph.rules import Lowered
from integraph.constructions.graph.runs import INPUT, Run, Start
from integraph.program import Block
from integraph.program.views import Floats, mark


@quiet
def bound(chosen: Layout, found: Lowered, cube: Interval, r: float) -> Parts:
    """What the outputs of the flow of the stored controls can differ from the source on the box; infinite where nothing
    can be said. A cause is charged with what it adds to those before it."""
    smooth = _Walk(chosen, cube, approximation=True).worst() if found.smoothed else 0.0
    left = _Walk(chosen, cube, approximation=True, rate=r).worst() if chosen.free == DECAY else smooth
    whole = _Walk(chosen, cube, approximation=True, rate=r, rounding=True).worst()
    return Parts(smooth, _more(left, smooth), _more(whole, left))


def _more(x: float, y: float) -> float:
    return max(x - y, 0.0) if math.isfinite(x) else math.inf


@dataclass(slots=True, eq=False)
class _Walk:
    """One pass through the segments, with some of the causes."""

    chosen: Layout
    cube: Interval
    approximation: bool = False
    rate: float = math.inf
    rounding: bool = False
    state: State = None  # type: ignore[assignment]
    before: dict[int, Floats] = None  # type: ignore[assignment]
