"""The error of a graph program, by cause: what is smoothed, what decay leaves, what rounding of the controls costs."""

from __future__ import annotations

import math

from integraph.bounds.intervals import Interval
from integraph.constructions.budget import Parts
from integraph.constructions.graph.exact import Layout
from integraph.constructions.graph.rules import Lowered


def bound(chosen: Layout, found: Lowered, cube: Interval, r: float) -> Parts:
    """Infinite where nothing can be said."""
    return Parts(math.inf, math.inf, math.inf)
