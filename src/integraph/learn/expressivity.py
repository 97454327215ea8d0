"""Depth is expressivity, measured: the error of quadratic ODEs against their depth D.

Trained models of a fixed width, or with a fixed number of parameters, beside programs that the lean construction of
Theorem 1 makes for a sequence of ε. Errors are root mean squares of the true flow at test points.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.api import compiler
from integraph.errors import IntegraphError, UsageError
from integraph.frontends import function
from integraph.learn.estimators import QuadraticODERegressor
from integraph.numbers.arrays import Floats
from integraph.plot.picture import POINTS, Curve, Panel, Picture, alone
from integraph.progress import late_bar
from integraph.text import counted

DEPTHS = (1, 2, 4, 8)
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # of the constructed programs
ROWS = 1000  # that models are trained on, and that errors are measured at


@dataclass(frozen=True)
class Point:
    """One program: how it was made, its size, the numbers that were trained (0 for a construction), its error."""

    made: str
    width: int
    depth: int
    parameters: int
    error: float


@dataclass(frozen=True)
class DepthStudy:
    """The points of one function; `fixed` says what trained models have in common."""

    function: str
    fixed: str
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        lines = [
            f"{self.function}: RMS error against depth, {self.fixed}",
            f"{'made':<14}{'W':>6}{'D':>6}{'parameters':>12}{'error':>10}",
        ]
        lines += [
            f"{one.made:<14}{one.width:>6}{one.depth:>6}{one.parameters or '':>12}{one.error:>10.2g}"
            for one in self.points
        ]
        return "\n".join(lines)

    def picture(self) -> Picture:
        """Errors against depth, and against the size W·D."""
        panels = (
            Panel("by depth", "depth D", "RMS error", self._marks(lambda one: one.depth), log_y=True),
            Panel(
                "by size", "width W × depth D", "RMS error", self._marks(lambda one: one.width * one.depth), log_y=True
            ),
        )
        title = f"Depth is expressivity: {self.function}, trained with {self.fixed}"
        return alone("depth", title, "Errors of the true flow at test points.", *panels)

    def _marks(self, size: Callable[[Point], int]) -> tuple[Curve, ...]:
        """Trained programs joined by a line; constructed ones are points: one depth has many of them."""
        marks = []
        for colour, made in enumerate(("trained", "constructed")):
            points = [one for one in self.points if one.made == made]
            x, error = np.array([float(size(one)) for one in points]), np.array([one.error for one in points])
            text = tuple(f"W = {one.width}, D = {one.depth}" for one in points)
            marks += [Curve(x, error, "trained, in order of depth", colour)] if made == "trained" else []
            marks.append(Curve(x, error, made, colour, POINTS, text))
        return tuple(marks)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Both curves as a figure, and as a file if there is a path."""
        from integraph.plot.matplotlib_renderer import draw, save

        picture = self.picture()
        if path is not None:
            save(picture, path)
        return draw(picture)


def depth_study(
    f: str,
    *,
    depths: Sequence[int] = DEPTHS,
    width: int = 4,
    parameters: int | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    seeds: int = 3,
    max_steps: int = 4000,
    progress: bool = True,
) -> DepthStudy:
    """The errors of a formula on its unit cube. Trained models have `width` registers, or with `parameters` the width
    that gives about as many at each depth; `seeds` of each are trained, and the median counts."""
    target = function(f)
    if seeds < 1 or not depths:
        raise UsageError("a study needs one seed and one depth at least", argument="seeds", value=seeds)
    random = np.random.default_rng(0)
    x, test = random.uniform(size=(2, ROWS, target.inputs))
    if target.values is None:
        raise UsageError("needs a formula, whose values are known", argument="f", value=f)
    y, truth = (np.asarray(target.values(points)).reshape(ROWS, -1) for points in (x, test))
    points = []
    with late_bar(progress, "training") as show:
        for number, depth in enumerate(depths):
            wide = width if parameters is None else _width(parameters, depth, target.inputs, y.shape[1])
            show(number / len(depths), f"training D = {depth}, W = {wide}")
            points.append(_trained(x, y, test, truth, wide, depth, seeds, max_steps))
    points += _constructed(f, tolerances, test, truth)
    fixed = f"W = {width}" if parameters is None else f"about {counted(parameters, 'parameter')}"
    return DepthStudy(target.name, fixed, tuple(points))


def _rms(values: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((values.reshape(truth.shape) - truth) ** 2)))


def _trained(
    x: Floats, y: Floats, test: Floats, truth: Floats, width: int, depth: int, seeds: int, max_steps: int
) -> Point:
    errors = []
    for seed in range(seeds):
        model = QuadraticODERegressor(
            width=width, depth=depth, rank=width, max_steps=max_steps, random_state=seed, progress=False
        ).fit(x, y)
        errors.append(_rms(model.predict(test), truth))
    return Point("trained", width, depth, model.model_.parameters, float(np.median(errors)))


def _width(parameters: int, depth: int, inputs: int, outputs: int) -> int:
    """The width W of a lossless model of rank W with about so many: D·(W + 4W²) + W·outputs."""
    widths = np.arange(inputs, 1000)
    counts = depth * (widths + 4 * widths**2) + widths * outputs
    return int(widths[np.argmin(np.abs(counts - parameters))])


def _constructed(f: str, tolerances: Sequence[float], test: Floats, truth: Floats) -> list[Point]:
    points = []
    for eps in tolerances:
        try:
            program = compiler.compile(f, eps, method="lean")
        except IntegraphError:  # no plan reaches it
            continue
        points.append(Point("constructed", program.width, program.depth, 0, _rms(program(test), truth)))
    return points
