"""A panel on matplotlib axes: marks, spans, levels, names. Nothing in a name is taken for mathematics or markup."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator

from integraph.plot import colours
from integraph.plot.labels import shortened_label
from integraph.plot.picture import DASHED, POINTS, STEPS, Bars, Curve, Heat, Mark, Panel, Span, Tick
from integraph.text import clean

SEQUENTIAL, DIVERGING = (
    LinearSegmentedColormap.from_list("integraph", [light for light, _ in scale])
    for scale in (colours.SEQUENTIAL, colours.DIVERGING)
)
BANDS = ("#f2f5f9", "#ffffff")  # segments, alternating
MISSING = "#d9d9d9"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}  # behind names that curves may cross
LEGEND = 16  # entries
LETTERS = 110  # side by side above a panel, about
LABELS = 24  # spans that are named; of more, every other, or every third …
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#222222",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "text.usetex": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "integraph",
    "pdf.fonttype": 42,
    "image.interpolation": "nearest",
}


def draw_panel(panel: Panel, axes: Axes, *, names: bool, below: bool) -> None:
    """Draw a panel; `names` says whether its spans are named, `below` whether its x-axis is."""
    for n, span in enumerate(panel.spans):
        axes.axvspan(span.start, span.end, color=BANDS[n % 2], linewidth=0, zorder=0)
        axes.axvline(span.end, color="#cccccc", linewidth=0.6, zorder=1)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    for mark in panel.marks:
        _mark(mark, axes, panel.matrix)
    for n, level in enumerate(panel.levels):
        axes.axhline(level.y, color="#555555", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        x, side = ((1.0, "right"), (0.0, "left"))[n % 2]  # so that names of levels close to each other do not collide
        look: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "bottom", "fontsize": 7.5, "bbox": PAPER}
        plain(axes.text(x, level.y, clean(level.label), color="#444444", ha=side, **look))
    if not panel.log_y:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _number(value, axes.get_ylim())))
    _ticks(axes.xaxis, panel.x_ticks)
    _ticks(axes.yaxis, panel.y_ticks)
    if panel.matrix:
        _square(panel, axes)
    elif all(isinstance(mark, Curve) and mark.style != POINTS for mark in panel.marks):
        axes.margins(x=0)
    if panel.spans:
        axes.set_xlim(panel.spans[0].start, panel.spans[-1].end)
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=panel.spans[-1].end >= 2.0))
    if panel.spans and names:
        _span_names(panel.spans, axes)
    if panel.title:
        plain(axes.set_title(clean(panel.title), pad=6))
    if below:
        plain(axes.set_xlabel(clean(panel.x)))
    plain(axes.set_ylabel(clean(panel.y)))
    if panel.legend:
        _legend(panel, axes)


def _number(value: float, ends: tuple[float, float]) -> str:
    """With its power of ten, where matplotlib would write that above the axis, over the names of spans."""
    apart = abs(ends[1] - ends[0])
    if not apart or abs(value) < 1e-9 * apart:
        return "0" if abs(value) < apart else f"{value:g}"
    return f"{value:.{max(math.ceil(math.log10(abs(value) / apart)), 0) + 3}g}"


def _square(panel: Panel, axes: Axes) -> None:
    """All ticks are inside, also where there are no marks; row 0 is on top; dots are on a grid."""
    if panel.x_ticks and panel.y_ticks:
        axes.set_xlim(panel.x_ticks[0][0] - 0.7, panel.x_ticks[-1][0] + 0.7)
        axes.set_ylim(panel.y_ticks[0][0] - 0.7, panel.y_ticks[-1][0] + 0.7)
    if not any(isinstance(mark, Heat) for mark in panel.marks):
        axes.grid(color="#ececec", linewidth=0.6)
        axes.set_axisbelow(True)
    axes.invert_yaxis()
    axes.set_aspect("equal", adjustable="box")


def _mark(mark: Mark, axes: Axes, matrix: bool) -> None:
    if isinstance(mark, Heat):
        _heat(mark, axes, "white" if matrix else MISSING)
    elif isinstance(mark, Bars):
        axes.bar(range(len(mark.names)), mark.values, color=colour(mark.colour), width=0.7)
        _ticks(axes.xaxis, tuple((float(n), name) for n, name in enumerate(mark.names)))
    else:
        _curve(mark, axes)


def _curve(mark: Curve, axes: Axes) -> None:
    look: dict[str, Any] = {"color": colour(mark.colour)}
    if mark.style == POINTS:
        look |= {"linestyle": "none", "marker": "o", "markersize": 7.0 if len(mark.x) == 1 else 3.5}
    elif mark.style == STEPS:
        look |= {"drawstyle": "steps-mid"}
    elif mark.style == DASHED:
        look |= {"linestyle": (0, (4, 2.5))}
    axes.plot(mark.x, mark.y, zorder=3, **look)


def _heat(mark: Heat, axes: Axes, missing: str) -> None:
    known = mark.z[np.isfinite(mark.z)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if mark.diverging:
        high = max(abs(low), abs(high))
        low = -high
    if low == high:
        low, high = low - 0.5, high + 0.5
    axes.set_facecolor(missing)
    image = axes.pcolormesh(
        mark.x, mark.y, np.ma.masked_invalid(mark.z), shading="nearest", vmin=low, vmax=high, rasterized=True,
        cmap=DIVERGING if mark.diverging else SEQUENTIAL,
    )  # fmt: skip
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    plain(bar.ax.yaxis.label)
    bar.set_label(clean(mark.label))


def _ticks(axis: Any, ticks: tuple[Tick, ...]) -> None:
    """Words at an axis; below it, slanted if they are many or long."""
    if not ticks:
        return
    labels = [clean(shortened_label(name, 24)) for _, name in ticks]
    axis.set_ticks([at for at, _ in ticks], labels, fontsize=7.5)
    slanted = axis.axis_name == "x" and sum(map(len, labels)) > LETTERS // 6
    for text in axis.get_ticklabels():
        plain(text)
        if slanted:
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def _span_names(spans: tuple[Span, ...], axes: Axes) -> None:
    """Above the panel; upright where there is room, else slanted, and not all of very many."""
    every = -(-len(spans) // LABELS)
    whole = spans[-1].end - spans[0].start
    flat = all(len(span.label) <= LETTERS * (span.end - span.start) / whole for span in spans)
    turn: dict[str, Any] = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"}
    if flat:
        turn = {"ha": "center"}
    for span in spans[::every]:
        at = (0.5 * (span.start + span.end), 1.0)
        text = axes.annotate(
            clean(shortened_label(span.label, 26)), at, (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="bottom", fontsize=7.5, color="#444444", annotation_clip=False, **turn,
        )  # fmt: skip
        plain(text)


def _legend(panel: Panel, axes: Axes) -> None:
    """One entry for each curve, or for each group of them; a single one needs none, unless segments pass by."""
    entries: dict[str, Any] = {}
    curves = [mark for mark in panel.marks if isinstance(mark, Curve)]
    for curve, line in zip(curves, [line for line in axes.get_lines() if line.get_zorder() == 3], strict=True):
        entries.setdefault(curve.group or curve.name, line)
    if len(entries) < (1 if panel.spans else 2):
        return
    names = list(entries)[:LEGEND]
    labels = [clean(shortened_label(name)) for name in names]
    if len(entries) > LEGEND:
        labels[-1] = f"… and {len(entries) - LEGEND + 1} more"
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(labels) > 3 else {"loc": "best"}
    for text in axes.legend([entries[name] for name in names], labels, **beside).get_texts():
        plain(text)


def plain(text: Text) -> Text:
    """Escape dollar signs."""
    text.set_parse_math(False)
    return text


def colour(number: int) -> str:
    return colours.PALETTE[number % len(colours.PALETTE)][0]
