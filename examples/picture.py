"""The picture of the demo: registers on their way through the segments, the function, and the error of the ODE."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from integraph import Program
from integraph.program import Trajectory

Floats = NDArray[np.float64]

ROWS = ("α  activations", "λ  helper", "μ  pre-activations")
NEURONS = {0: "#0b6e8a", 1: "#e07a3f", 6: "#7a4d9e", 13: "#3f8f4f", 20: "#c2385a", 27: "#9a8a2b"}  # 0 and 1 start as x
SEGMENTS = {  # by the label's first word: background, equations
    "affine": ("#e9f1f8", "μ′ = ρAα + b\nα′ = −rα"),
    "tanh": ("#fdf1e2", "α′ = μ − αλ\nλ′ = μ² − λ²"),
    "decay": ("#f3f3f3", "λ′ = −rλ\nμ′ = −rμ"),
}
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": "#888888",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
}


def draw(program: Program, x: tuple[float, float], values: Floats, error: Floats, path: Path) -> None:
    """Left: some neurons through all segments, for the input x. Right: the function on [0, 1]², and the ODE's error."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11.5, 6.2), layout="constrained")
        size = f"W = {program.width} registers,  D = {program.depth} segments,  r = {program.rate:.1f}"
        assert program.origin is not None
        figure.suptitle(
            f"{program.origin.source}\nas a quadratic neural ODE:  {size},  {program.terms:,} terms", fontsize=11
        )
        left, right = figure.subfigures(1, 2, width_ratios=(1.85, 1))
        _trajectories(left, program.trajectory(x, points=97, engine="exact"))
        above, below = right.subplots(2, 1, sharex=True)
        _map(above, values, "coolwarm", "C·y(T);  ○ is the input of the curves at left", "bilinear", "%.1f")
        axis = np.linspace(0, 1, len(values))
        above.contour(axis, axis, values.T, levels=9, colors="black", linewidths=0.5, alpha=0.5, linestyles="solid")
        above.plot(*x, "o", color="black", markersize=6, markerfacecolor="white")
        _map(below, error, "magma_r", "|ODE − net|; promised below 10⁻⁹", "nearest", "%.1e")
        below.set_xlabel("x₁")
        figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})


def _trajectories(figure: SubFigure, way: Trajectory) -> None:
    rows = figure.subplots(3, 1, sharex=True)
    width = len(way.names) // 3
    spans = list(zip(way.switches[:-1], way.switches[1:], way.labels, strict=True))
    for row, (axes, title) in enumerate(zip(rows, ROWS, strict=True)):
        for neuron, colour in NEURONS.items():
            axes.plot(way.times, way.states[:, row * width + neuron], color=colour, linewidth=1.6, zorder=3)
        for start, end, label in spans:
            axes.axvspan(start, end, color=SEGMENTS[label.split()[0]][0], linewidth=0)
            axes.axvline(end, color="#aaaaaa", linewidth=0.8, linestyle=(0, (3, 2)))
        axes.set_ylabel(title)
    for start, end, label in spans:
        where = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom", "annotation_clip": False}
        rows[0].annotate(label, ((start + end) / 2, 1.2), fontsize=10, color="#222222", **where)
        rows[0].annotate(SEGMENTS[label.split()[0]][1], ((start + end) / 2, 1.02), fontsize=7, color="#666666", **where)
    figure.align_ylabels(rows)
    rows[-1].set_xlim(way.switches[0], way.switches[-1])
    rows[-1].set_xlabel(f"time t   ({len(NEURONS)} of {width} neurons)")


def _map(axes: Axes, values: Floats, colours: str, title: str, interpolation: str, numbers: str) -> None:
    top = float(np.abs(values).max())
    low = -top if values.min() < 0 else 0.0
    image = axes.imshow(
        values.T,
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=colours,
        vmin=low,
        vmax=top,
        aspect="auto",
        interpolation=interpolation,
    )
    axes.set_title(title, loc="left")
    axes.set_ylabel("x₂")
    axes.figure.colorbar(image, ax=axes, pad=0.02, format=numbers)
