"""A picture for plotly: each panel is a figure of its own, so that a narrow page can put them below each other.

Plain mappings, as plotly.js takes them; plotly's Python classes are slow to import and only a test needs them. Colours
are those on white; the page swaps them on dark ground.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.plot import colours
from integraph.plot.picture import DASHED, LINE, POINTS, STEPS, Bars, Frame, Heat, Mark, Panel, Picture
from integraph.report.decimation import digits, stride, subsampled
from integraph.report.panel_layout import SPAN, layout, words

LINES: dict[str, dict[str, Any]] = {
    LINE: {"mode": "lines", "line": {"width": 1.8}},
    DASHED: {"mode": "lines", "line": {"width": 1.8, "dash": "dash"}},
    STEPS: {"mode": "lines", "line": {"width": 1.8, "shape": "hv"}},
    POINTS: {"mode": "markers", "marker": {"size": 6}},
}
STACKED = 76  # pixels for numbers and names at the left of a stack
DOTS = {"mode": "markers", "marker": {"size": 5, "symbol": "square"}}  # of a matrix


def frames(picture: Picture) -> list[dict[str, Any]]:
    """What the page draws at each position of the slider."""
    return [{"label": frame.label, "panels": _row(frame, picture.stacked)} for frame in picture.frames]


def _row(frame: Frame, stacked: bool) -> list[dict[str, Any]]:
    """In a stack only the first panel names the spans, and only the last the x-axis; their axes begin at one place."""
    figures = [figure(panel) for panel in frame.panels]
    if stacked:
        for panel in figures:
            panel["layout"]["yaxis"]["automargin"] = False
            panel["layout"]["margin"]["l"] = STACKED
        for panel in figures[1:]:
            panel["layout"]["annotations"] = [a for a in panel["layout"]["annotations"] if a.get("name") != SPAN]
        for panel in figures[:-1]:
            panel["layout"]["xaxis"]["title"]["text"] = ""
    return figures


def figure(panel: Panel) -> dict[str, Any]:
    """`data` and `layout` are plotly's; `title` and `legend` are for the page, which writes both around the figure."""
    return {
        "title": panel.title,
        "alt": f"{panel.title or 'Picture'}: {panel.y or 'values'} over {panel.x or 'names'}",
        "legend": panel.legend,
        "data": [_trace(mark, panel) for mark in panel.marks],
        "layout": layout(panel),
    }


def _trace(mark: Mark, panel: Panel) -> dict[str, Any]:
    if isinstance(mark, Heat):
        return _heat(mark)
    colour = colours.PALETTE[mark.colour % len(colours.PALETTE)][0]
    named = {"name": words(mark.name), "meta": getattr(mark, "group", "") or mark.name}  # meta: in the legend
    if isinstance(mark, Bars):
        bars = {"type": "bar", "x": list(range(len(mark.names))), "y": digits(mark.values), "marker": {"color": colour}}
        return bars | named | {"hovertext": [words(name) for name in mark.names], "hoverinfo": "text+y+name"}
    kept = np.arange(len(mark.y)) if mark.style == POINTS else subsampled(mark.y)
    look = DOTS if panel.matrix and mark.style == POINTS else LINES[mark.style]
    trace = {"type": "scatter", "x": digits(mark.x[kept]), "y": digits(mark.y[kept]), **_coloured(look, colour)} | named
    if mark.text:
        trace["text"] = [words(mark.text[n]) for n in kept]
        trace["hoverinfo"] = "text+name" if panel.matrix else "x+y+text+name"
    return trace


def _coloured(look: dict[str, Any], colour: str) -> dict[str, Any]:
    return {key: value | {"color": colour} if isinstance(value, dict) else value for key, value in look.items()}


def _heat(mark: Heat) -> dict[str, Any]:
    rows, columns = stride(len(mark.y)), stride(len(mark.x))
    trace = {
        "type": "heatmap",
        "x": digits(mark.x[columns]),
        "y": digits(mark.y[rows]),
        "z": [digits(row) for row in np.ascontiguousarray(mark.z[rows, columns])],
        "colorscale": colours.scale(colours.DIVERGING if mark.diverging else colours.SEQUENTIAL),
        "colorbar": {"thickness": 12, "outlinewidth": 0, "exponentformat": "e"},
        "name": words(mark.label),
        "meta": mark.label,
    }
    return trace | ({"zmid": 0} if mark.diverging else {})
