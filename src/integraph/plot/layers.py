"""A network and its program, layer by layer: where a difference begins and how it grows."""

from __future__ import annotations

import numpy as np

from integraph.api.comparison import compare
from integraph.errors import FlowError
from integraph.plot.labels import bounds
from integraph.plot.picture import Bars, Level, Panel, Picture, alone
from integraph.plot.subject import EPSILON, Subject
from integraph.program.summary import above
from integraph.targets import Network

INPUTS = 256


def layers(s: Subject) -> Picture | str:
    """The largest difference of each layer that the program lets see, and of the outputs."""
    if not isinstance(s.target, Network):
        return "there is no network to compare with, layer by layer"
    assert s.seen is not None
    points = s.seen.points[:INPUTS]
    try:
        comparison = compare(s.program, s.target, points)
    except FlowError as error:
        return str(error)
    names = tuple(row.label for row in comparison.rows)
    sizes = np.array([row.difference for row in comparison.rows])
    floors = np.array([EPSILON * max(abs(row.network), EPSILON) for row in comparison.rows])
    drawn = np.where(np.isnan(sizes), np.nan, np.maximum(sizes, floors))
    bars = Bars(names, drawn, "largest difference")
    levels = (Level(s.promised, f"promised ≤ {above(s.promised)}, of the outputs"),) if s.promised else ()
    lost = " Some have no number: the source or the flow fails." if np.isnan(sizes).any() else ""
    says = f"The largest difference at {len(points):,} inputs. {bounds(s)}{lost}"
    panel = Panel("", "", "largest difference", (bars,), levels=levels, log_y=True, legend=False)
    return alone("layers", "Network and program, layer by layer", says, panel)
