"""Depth is expressivity, measured: the error of quadratic ODEs against their depth D.

Trained models of a fixed width W, of a fixed size W·D, or with a fixed number of parameters, beside programs that the
lean construction of Theorem 1 makes for a sequence of ε. Errors are root mean squares of the true flow at test points.
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
from integraph.learn.quadratic_ode import whole
from integraph.numbers.arrays import Floats, numbers
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
    """The points of one function; `fixed` says what trained models have in common, `missing` what was asked for and is
    not there, and why."""

    function: str
    fixed: str
    points: tuple[Point, ...]
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [
            f"{self.function}: RMS error against depth, {self.fixed}",
            f"{'made':<14}{'W':>6}{'D':>6}{'parameters':>12}{'error':>10}",
        ]
        lines += [
            f"{one.made:<14}{one.width:>6}{one.depth:>6}{one.parameters or '':>12}{one.error:>10.2g}"
            for one in self.points
        ]
        return "\n".join([*lines, *self.missing])

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
    size: int | None = None,
    parameters: int | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    seeds: int = 3,
    max_steps: int = 4000,
    progress: bool = True,
) -> DepthStudy:
    """The errors of a formula on its unit cube. Trained models have `width` registers at each of the `depths`; or about
    `size` / D of them, so that W·D is fixed; or, with `parameters`, the width that gives about as many numbers. `seeds`
    of each are trained, for `max_steps` at most, and the median counts. Programs are compiled for each of the
    `tolerances`. Ctrl-C ends the study with the points so far."""
    chosen = _depths(depths), _tolerances(tolerances)
    whole("width", width)
    whole("seeds", seeds)
    whole("max_steps", max_steps)
    for name, one in {"size": size, "parameters": parameters}.items():
        if one is not None:
            whole(name, one)
    if size is not None and parameters is not None:
        raise UsageError("size fixes W·D and parameters their number: give one of the two", argument="size", value=size)
    target = function(f)
    if target.values is None:
        raise UsageError("needs a formula, whose values are known", argument="f", value=f)
    x, test = np.random.default_rng(0).uniform(size=(2, ROWS, target.inputs))
    y, truth = (np.asarray(target.values(points)).reshape(ROWS, -1) for points in (x, test))
    points, missing = list[Point](), list[str]()
    try:
        with late_bar(progress, "training") as show:
            for number, depth in enumerate(chosen[0]):
                wide = width
                if size is not None:
                    wide = max(target.inputs, round(size / depth))
                elif parameters is not None:
                    wide = width_of(parameters, depth, target.inputs, y.shape[1])
                show(number / len(depths), f"training D = {depth}, W = {wide}")
                points.append(_trained(x, y, test, truth, wide, depth, seeds, max_steps))
        for eps in chosen[1]:
            try:
                program = compiler.compile(f, eps, method="lean")
            except IntegraphError as reason:
                missing.append(f"eps = {eps:g}: {reason}")
                continue
            points.append(Point("constructed", program.width, program.depth, 0, _rms(program(test), truth)))
    except KeyboardInterrupt:
        missing.append("interrupted: these are the points so far")
    fixed = f"W = {width}" if size is None else f"W·D = {size}"
    fixed = fixed if parameters is None else f"about {counted(parameters, 'parameter')}"
    return DepthStudy(target.name, fixed, tuple(points), tuple(missing))


def _depths(given: Any) -> list[int]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise UsageError("needs a list of one depth or more, as (1, 2, 4)", argument="depths", value=given)
    return [whole("depths", depth) for depth in given]


def _tolerances(given: Any) -> list[float]:
    values = numbers(given, "tolerances")
    wrong = values[~(np.isfinite(values) & (values > 0))]
    if values.ndim != 1 or wrong.size:
        raise UsageError("needs a list of finite numbers > 0, as (0.1, 0.01)", argument="tolerances", value=given)
    return [float(value) for value in values]


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
        if model.interrupted_:
            raise KeyboardInterrupt
        errors.append(_rms(model.predict(test), truth))
    return Point("trained", width, depth, model.model_.parameters, float(np.median(errors)))


def width_of(parameters: int, depth: int, inputs: int, outputs: int) -> int:
    """The width W of a lossless model of rank W with about so many: D·(W + 4W²) + W·outputs."""
    widths = np.arange(inputs, 1000)
    counts = depth * (widths + 4 * widths**2) + widths * outputs
    return int(widths[np.argmin(np.abs(counts - parameters))])
