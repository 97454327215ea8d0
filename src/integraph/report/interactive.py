"""A picture for plotly: each panel is a figure of its own, so that a narrow page can put them below each other.

Plain mappings, as plotly.js takes them; plotly's Python classes are slow to import and only a test needs them. Colours
are those on white; the page swaps them on dark ground. Plotly reads a little HTML in its texts, so they are escaped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.plot.picture import DASHED, LINE, POINTS, STEPS, Bars, Frame, Heat, Mark, Panel, Picture, Tick
from integraph.report import colours
from integraph.report.numbers import digits, every, some

FONT = {"family": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif", "size": 12}
LINES: dict[str, dict[str, Any]] = {
    LINE: {"mode": "lines", "line": {"width": 1.8}},
    DASHED: {"mode": "lines", "line": {"width": 1.8, "dash": "dash"}},
    STEPS: {"mode": "lines", "line": {"width": 1.8, "shape": "hv"}},
    POINTS: {"mode": "markers", "marker": {"size": 6}},
}
SPAN = "span"  # what the page knows the names of spans by
DOTS = {"mode": "markers", "marker": {"size": 5, "symbol": "square"}}  # of a matrix
SIDES = ((1.0, "right"), (0.0, "left"), (0.5, "center"))  # where the names of levels stand, in turn


def frames(picture: Picture) -> list[dict[str, Any]]:
    """What the page draws at each position of the slider."""
    return [{"label": frame.label, "panels": _row(frame, picture.stacked)} for frame in picture.frames]


def _row(frame: Frame, stacked: bool) -> list[dict[str, Any]]:
    """In a stack only the first panel names the spans, and only the last the x-axis."""
    found = [figure(panel) for panel in frame.panels]
    if stacked:
        for panel in found[1:]:
            panel["layout"]["annotations"] = [a for a in panel["layout"]["annotations"] if a.get("name") != SPAN]
        for panel in found[:-1]:
            panel["layout"]["xaxis"]["title"]["text"] = ""
    return found


def figure(panel: Panel) -> dict[str, Any]:
    """`data` and `layout` are plotly's; `title` and `legend` are for the page, which writes both around the figure."""
    return {
        "title": panel.title,
        "alt": f"{panel.title or 'Picture'}: {panel.y or 'values'} over {panel.x or 'names'}",
        "legend": panel.legend,
        "data": [_trace(mark, panel) for mark in panel.marks],
        "layout": _layout(panel),
    }


def words(text: str) -> str:
    """A text that plotly shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _trace(mark: Mark, panel: Panel) -> dict[str, Any]:
    if isinstance(mark, Heat):
        return _heat(mark)
    colour = colours.PALETTE[mark.colour % len(colours.PALETTE)][0]
    named = {"name": words(mark.name), "meta": getattr(mark, "group", "") or mark.name}  # meta: in the legend
    if isinstance(mark, Bars):
        names = [words(name) for name in mark.names]
        return {"type": "bar", "x": names, "y": digits(mark.values), "marker": {"color": colour}} | named
    kept = some(mark.y)
    look = DOTS if panel.matrix and mark.style == POINTS else LINES[mark.style]
    trace = {"type": "scatter", "x": digits(mark.x[kept]), "y": digits(mark.y[kept]), **_coloured(look, colour)} | named
    if mark.text:
        trace["text"] = [words(mark.text[n]) for n in kept]
        trace["hoverinfo"] = "text+name" if panel.matrix else "x+y+text+name"
    return trace


def _coloured(look: dict[str, Any], colour: str) -> dict[str, Any]:
    return {key: value | {"color": colour} if isinstance(value, dict) else value for key, value in look.items()}


def _heat(mark: Heat) -> dict[str, Any]:
    rows, columns = every(len(mark.y)), every(len(mark.x))
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


def _layout(panel: Panel) -> dict[str, Any]:
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
        "xaxis": _axis(panel, panel.x, panel.log_x) | _names(panel) | _ticks(panel.x_ticks) | _length(panel),
        "yaxis": _axis(panel, panel.y, panel.log_y) | _square(panel) | _ticks(panel.y_ticks) | _decade(panel),
        "shapes": [*_bands(panel), *_levels(panel)],
        "annotations": [*_band_names(panel), *_level_names(panel)],
    }  # fmt: skip


def _axis(panel: Panel, title: str, log: bool) -> dict[str, Any]:
    return {
        "title": {"text": words(title), "standoff": 8, "font": {"color": colours.MUTED[0]}},
        "automargin": True,
        "type": "log" if log else "linear",
        "exponentformat": "e",
        "gridcolor": colours.GRID[0],
        "linecolor": colours.GRID[0],
        "showgrid": not panel.matrix,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "tickfont": {"color": colours.MUTED[0]},
    } | ({"tickformat": "d", "constrain": "domain"} if panel.matrix else {})  # fmt: skip


def _names(panel: Panel) -> dict[str, Any]:
    return {"type": "category"} if any(isinstance(mark, Bars) for mark in panel.marks) else {}


def _square(panel: Panel) -> dict[str, Any]:
    return {"autorange": "reversed", "scaleanchor": "x"} if panel.matrix else {}


def _ticks(ticks: tuple[Tick, ...]) -> dict[str, Any]:
    """Words in the place of numbers."""
    if not ticks:
        return {}
    return {"tickmode": "array", "tickvals": [at for at, _ in ticks], "ticktext": [words(text) for _, text in ticks]}


def _length(panel: Panel) -> dict[str, Any]:
    """Spans fill the axis from end to end."""
    return {"range": [panel.spans[0].start, panel.spans[-1].end]} if panel.spans else {}


def _decade(panel: Panel) -> dict[str, Any]:
    """At least a decade of a logarithmic axis: what is nearly constant shall look so."""
    if not panel.log_y:
        return {}
    values = [mark.values if isinstance(mark, Bars) else mark.y for mark in panel.marks]
    found = np.concatenate([*values, [level.y for level in panel.levels]])
    found = found[(found > 0) & np.isfinite(found)]
    if not found.size or found.max() >= 10 * found.min():
        return {}
    return {"range": [float(np.log10(found.min())) - 0.5, float(np.log10(found.max())) + 0.5]}


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
        for level in panel.levels
    ]


def _level_names(panel: Panel) -> list[dict[str, Any]]:
    """Plotly takes the place of a text on a logarithmic axis as a logarithm."""
    return [
        {
            "text": words(level.label), "x": x, "xref": "paper", "xanchor": anchor, "showarrow": False,
            "y": float(np.log10(level.y)) if panel.log_y else level.y, "yref": "y", "yanchor": "bottom",
            "font": {"size": 11, "color": colours.LEVEL[0]},
        }
        for level, (x, anchor) in zip(panel.levels, SIDES * len(panel.levels), strict=False)
    ]  # fmt: skip
