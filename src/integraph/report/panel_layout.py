"""The layout of a panel for plotly: axes, bands of segments with their names, lines of bounds with theirs.

Plotly reads a little HTML in its texts, and TeX, so they are escaped.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.plot import colours
from integraph.plot.picture import Bars, Level, Panel, Tick

FONT = {"family": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif", "size": 12}
TITLE, TICK = 44, 26  # letters of the name of an axis, and of a name on it
FEW, MANY = 2, 6  # decades: below, 2 and 5 are ticks too; from there on, plotly chooses
SPAN = "span"  # what the page knows the names of spans by
SIDES = ((1.0, "right"), (0.0, "left"), (0.5, "center"))  # where the names of levels stand, in turn


def words(text: str, most: int = 200) -> str:
    """A text that plotly shows as it is, neither HTML nor TeX, without its end where there is no room for it."""
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def layout(panel: Panel) -> dict[str, Any]:
    """As plotly.js takes it; the page adds the size."""
    return {
        "font": FONT | {"color": colours.TEXT[0]},
        "paper_bgcolor": colours.GROUND[0],
        "plot_bgcolor": colours.GROUND[0],
        "hovermode": "closest",
        "hoverlabel": {"namelength": -1, "bgcolor": colours.GROUND[0], "font": {"color": colours.TEXT[0]}},
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)", "color": colours.MUTED[0], "activecolor": colours.TEXT[0],
        },
        "showlegend": False,
        "barmode": "group",
        "margin": {"l": 56, "r": 16, "t": 28, "b": 44},
        "xaxis": _axis(panel, panel.x, panel.log_x)
        | _columns(panel)
        | _ticks(panel.x_ticks or _names(panel))
        | _length(panel)
        | (_decades(_values(panel, "x")) if panel.log_x else {}),
        "yaxis": _axis(panel, panel.y, panel.log_y) | _rows(panel) | _ticks(panel.y_ticks)
        | (_decades(_values(panel, "y")) if panel.log_y else {}),
        "shapes": [*_bands(panel), *_levels(panel)],
        "annotations": [*_band_names(panel), *_level_names(panel)],
    }  # fmt: skip


def _axis(panel: Panel, title: str, log: bool) -> dict[str, Any]:
    return {
        "title": {"text": words(title, TITLE), "standoff": 8, "font": {"color": colours.MUTED[0]}},
        "automargin": True,
        "type": "log" if log else "linear",
        "exponentformat": "e",
        "minexponent": 5,
        "gridcolor": colours.GRID[0],
        "linecolor": colours.GRID[0],
        "showgrid": not panel.matrix,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "tickfont": {"color": colours.MUTED[0]},
    } | ({"tickformat": "d", "constrain": "domain"} if panel.matrix else {})  # fmt: skip


def _names(panel: Panel) -> tuple[Tick, ...]:
    """Bars stand at 0, 1, 2 …, whatever their names are."""
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    return tuple((float(n), name) for n, name in enumerate(bars[0].names)) if bars else ()


def _rows(panel: Panel) -> dict[str, Any]:
    """Row 0 of a matrix is on top; ticks say where it begins and ends, also if there is nothing in it."""
    if not panel.matrix:
        return {}
    ends: dict[str, Any] = {"range": [panel.y_ticks[-1][0] + 0.5, panel.y_ticks[0][0] - 0.5]} if panel.y_ticks else {}
    return {"scaleanchor": "x"} | (ends or {"autorange": "reversed"})


def _columns(panel: Panel) -> dict[str, Any]:
    if not panel.matrix or not panel.x_ticks:
        return {}
    return {"range": [panel.x_ticks[0][0] - 0.5, panel.x_ticks[-1][0] + 0.5]}


def _ticks(ticks: tuple[Tick, ...]) -> dict[str, Any]:
    """Words in the place of numbers."""
    if not ticks:
        return {}
    return {
        "tickmode": "array",
        "tickvals": [at for at, _ in ticks],
        "ticktext": [words(text, TICK) for _, text in ticks],
        "ticklabeloverflow": "allow",  # plotly loses count of what it hides
    }


def _length(panel: Panel) -> dict[str, Any]:
    """Spans fill the axis from end to end."""
    return {"range": [panel.spans[0].start, panel.spans[-1].end]} if panel.spans else {}


def _values(panel: Panel, which: str) -> Floats:
    """All numbers that a logarithmic axis shows; bars have none along x."""
    levels = [level.y for level in panel.levels] if which == "y" else []
    arrays = [getattr(mark, "values" if isinstance(mark, Bars) else which) for mark in panel.marks]
    return np.concatenate([*arrays, levels])


def _decades(values: Floats) -> dict[str, Any]:
    """A logarithmic axis: powers of ten as ticks, or 1, 2, 5 of each where there are few, and never less than a decade,
    for what is nearly constant shall look so."""
    decades = np.log10(values[(values > 0) & np.isfinite(values)])
    if not decades.size:
        return {}
    low, high = float(decades.min()), float(decades.max())
    near: dict[str, Any] = {} if high - low >= 1 else {"range": [low - 0.5, high + 0.5]}
    if high - low >= MANY:
        return near
    if high - low >= FEW:
        return near | {"dtick": 1}
    at = [digit * 10.0**power for power in range(math.floor(low) - 1, math.ceil(high) + 2) for digit in (1, 2, 5)]
    return near | {"tickmode": "array", "tickvals": at, "ticktext": [f"{value:g}" for value in at]}


def _bands(panel: Panel) -> list[dict[str, Any]]:
    return [
        {
            "type": "rect", "xref": "x", "yref": "paper", "x0": span.start, "x1": span.end, "y0": 0, "y1": 1,
            "fillcolor": colours.BANDS[number % 2][0], "line": {"width": 0}, "layer": "below",
        }
        for number, span in enumerate(panel.spans)
    ]  # fmt: skip


def _band_names(panel: Panel) -> list[dict[str, Any]]:
    """Above the axes. The page writes them across or upwards, as there is room."""
    return [
        {
            "name": SPAN, "text": words(span.label), "hovertext": words(span.label), "x": (span.start + span.end) / 2,
            "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 3, "showarrow": False,
            "font": {"size": 11, "color": colours.MUTED[0]},
        }
        for span in panel.spans
    ]  # fmt: skip


def _levels(panel: Panel) -> list[dict[str, Any]]:
    line = {"color": colours.LEVEL[0], "width": 1.5, "dash": "dash"}
    return [
        {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": level.y, "y1": level.y, "line": line}
        for level in _drawn(panel)
    ]


def _drawn(panel: Panel) -> list[Level]:
    """A logarithmic axis has no 0."""
    return [level for level in panel.levels if np.isfinite(level.y) and (level.y > 0 or not panel.log_y)]


def _level_names(panel: Panel) -> list[dict[str, Any]]:
    """Plotly takes the place of a text on a logarithmic axis as a logarithm."""
    return [
        {
            "text": words(level.label, TITLE), "bgcolor": colours.GROUND[0], "showarrow": False,
            "x": x, "xref": "paper", "xanchor": anchor,
            "y": float(np.log10(level.y)) if panel.log_y else level.y, "yref": "y", "yanchor": "bottom",
            "font": {"size": 11, "color": colours.LEVEL[0]},
        }
        for level, (x, anchor) in zip(_drawn(panel), SIDES * len(panel.levels), strict=False)
    ]  # fmt: skip
