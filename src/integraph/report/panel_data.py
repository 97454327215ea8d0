"""A picture as data for the script of a page, `chart.js`, which draws every panel as SVG.

Numbers of the palette and names of scales stand for colours: the page knows which they are on white and on dark ground.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.plot.picture import POINTS, Bars, Curve, Frame, Heat, Mark, Panel, Picture, Tick
from integraph.report.decimation import digits, stride, subsampled

NAME, TITLE, TICK = 200, 44, 26  # letters of a name, of the name of an axis, and of a name on it


def frames(picture: Picture) -> list[dict[str, Any]]:
    """What the page draws at each position of the slider."""
    return [{"label": frame.label, "panels": _row(frame, picture.stacked)} for frame in picture.frames]


def _row(frame: Frame, stacked: bool) -> list[dict[str, Any]]:
    """In a stack only the first panel names the spans, and only the last the x-axis; their axes begin at one place."""
    last = len(frame.panels) - 1
    return [
        panel_data(panel) | ({"stacked": True, "named": n == 0, "below": n == last} if stacked else {})
        for n, panel in enumerate(frame.panels)
    ]


def panel_data(panel: Panel) -> dict[str, Any]:
    """Everything that the script needs to draw a panel."""
    return {
        "title": panel.title,
        "alt": f"{panel.title or 'Picture'}: {panel.y or 'values'} over {panel.x or 'names'}",
        "legend": panel.legend,
        "matrix": panel.matrix,
        "x": _axis(panel.x, panel.log_x, panel.x_ticks or _names(panel)),
        "y": _axis(panel.y, panel.log_y, panel.y_ticks),
        "marks": [_mark(mark) for mark in panel.marks],
        "spans": [[span.start, span.end, shortened(span.label, NAME)] for span in panel.spans],
        "levels": [
            [level.y, shortened(level.label, TITLE)]
            for level in panel.levels
            if np.isfinite(level.y) and (level.y > 0 or not panel.log_y)  # a logarithmic axis has no 0
        ],
    }


def shortened(text: str, most: int) -> str:
    """Without its end, where there is no room for it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _axis(title: str, log: bool, ticks: tuple[Tick, ...]) -> dict[str, Any]:
    names = [[at, shortened(text, TICK)] for at, text in ticks]
    return {"title": shortened(title, TITLE), "log": log} | ({"names": names} if names else {})


def _names(panel: Panel) -> tuple[Tick, ...]:
    """Bars stand at 0, 1, 2 …, whatever their names are."""
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    return tuple((float(n), name) for n, name in enumerate(bars[0].names)) if bars else ()


def _mark(mark: Mark) -> dict[str, Any]:
    if isinstance(mark, Heat):
        return _heat(mark)
    if isinstance(mark, Bars):
        names = [shortened(name, NAME) for name in mark.names]
        return {"kind": "bars", "colour": mark.colour, "y": digits(mark.values), "text": names} | _named(mark.name)
    return _curve(mark)


def _named(name: str, group: str = "") -> dict[str, str]:
    """`entry` is what the legend calls it."""
    return {"name": shortened(name, NAME), "entry": shortened(group or name, NAME)}


def _curve(mark: Curve) -> dict[str, Any]:
    kept = np.arange(len(mark.y)) if mark.style == POINTS else subsampled(mark.y)
    curve = {
        "kind": mark.style,
        "colour": mark.colour,
        "x": digits(mark.x[kept]),
        "y": digits(mark.y[kept]),
    } | _named(mark.name, mark.group)
    return curve | ({"text": [shortened(mark.text[n], NAME) for n in kept]} if mark.text else {})


def _heat(mark: Heat) -> dict[str, Any]:
    rows, columns = stride(len(mark.y)), stride(len(mark.x))
    return {
        "kind": "heat",
        "scale": "diverging" if mark.diverging else "sequential",
        "x": digits(mark.x[columns]),
        "y": digits(mark.y[rows]),
        "z": [digits(row) for row in np.ascontiguousarray(mark.z[rows, columns])],
    } | _named(mark.label)
