"""Closed loops: what is proved of all trajectories, with simulated ones, over time and in the plane of two states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.low_discrepancy import kronecker
from integraph.plot.picture import POINTS, Curve, Frame, Panel, Picture, alone
from integraph.text import counted

if TYPE_CHECKING:
    from integraph.certify.loops.result import LoopResult

STARTS, CORNERS = 8, 3  # of simulated trajectories; sides of a box whose corners are all taken
STATES, PLANES = 6, 3  # that are drawn
FRAMES, CELLS = 40, 6  # at most
BOXES = 240  # of a curve: a page draws no more points than these have
TUBE, NOW, RUNS = 0, 1, 2  # colours


def time_plot(result: LoopResult) -> Picture:
    """Every state over time."""
    runs, tubes = _runs(result), _tubes(result)
    times = np.arange(len(runs), dtype=np.float64) * result.loop.period
    panels = []
    names = _states(result)
    for n, name in enumerate(names[:STATES]):
        marks = [Curve(times, run, "simulated", RUNS, group="simulated") for run in runs[:, :, n].T]
        if any(len(spans) for _, spans in tubes):
            marks.append(Curve(*_periods(tubes, n, result.loop.period), "proved, over each period", NOW))
        marks.append(Curve(*_bars(tubes, n, result.loop.period), "proved, at sampling times", TUBE))
        panels.append(Panel("", "time", name, tuple(marks)))
    more = len(names) - len(panels)
    says = f"Simulations from {counted(runs.shape[1], 'start')}, and ends between which all trajectories are proved to "
    says += "stay" + (f"; {counted(more, 'more state')} not drawn." if more > 0 else ".")
    return alone("tube", "States over time", says, *panels, stacked=True)


def phase_plot(result: LoopResult) -> Picture | str:
    """Pairs of states, and where they are at each time."""
    names = _states(result)
    if len(names) < 2:
        return "the plant has one state, and a phase plot needs two"
    runs, tubes = _runs(result), _tubes(result)
    last = max(len(samples) for samples, _ in tubes)
    moments = np.unique(np.linspace(0, last - 1, min(last, FRAMES)).round().astype(int))
    pairs = [(n, n + 1) for n in range(0, len(names) - 1, 2)][:PLANES]
    every = [_rectangles([samples[moments[moments < len(samples)]] for samples, _ in tubes], pair) for pair in pairs]
    frames = []
    for moment in moments.tolist():
        panels = []
        for pair, boxes in zip(pairs, every, strict=True):
            now = _rectangles([samples[moment : moment + 1] for samples, _ in tubes], pair)
            at = runs[moment]
            marks = (
                Curve(*boxes, "proved, all times", TUBE),
                Curve(*now, "proved, now", NOW),
                Curve(at[:, pair[0]], at[:, pair[1]], "simulated, now", RUNS, POINTS),
            )
            panels.append(Panel("", names[pair[0]], names[pair[1]], marks))
        frames.append(Frame(f"t = {moment * result.loop.period:.4g}", tuple(panels)))
    says = "Boxes at sampling times that contain all trajectories, and simulated ones."
    return Picture("phase", "Pairs of states", says, tuple(frames), "time", plays=True)


PICTURES = {"tube": time_plot, "phase": phase_plot}


def loop_picture(result: LoopResult, what: str) -> Picture:
    """A picture by its name."""
    if what not in PICTURES:
        raise UsageError(f"the pictures of a loop are {', '.join(map(repr, PICTURES))}", argument="what", value=what)
    picture = PICTURES[what](result)
    if isinstance(picture, str):
        raise UsageError(f"there is no picture {what!r} of this loop: {picture}")
    return picture


def _states(result: LoopResult) -> tuple[str, ...]:
    """The states that change."""
    return result.loop.states[: len(result.loop.states) - result.loop.uncertain]


def _tubes(result: LoopResult) -> list[tuple[Floats, Floats]]:
    """Boxes at sampling times and over periods, of each cell; of many cells, their hull."""
    cells = (result.failure,) if result.failure else result.proved + result.open
    if len(cells) > CELLS:
        return [(result.boxes(), np.empty((0, len(result.loop.states), 2)))]
    return [(cell.samples, cell.spans) for cell in cells]


def _runs(result: LoopResult) -> Floats:
    """Simulated states (steps + 1, B, n), with random disturbances, from corners and points of the start set; of one
    that fails, from that, with the disturbances with which it does."""
    from integraph.api.loops import simulate

    if result.failure:
        loop = result.loop if result.constants is None else result.loop.held(result.constants)
        return simulate(loop, result.failure.low[None], seed=0)
    cells = result.proved + result.open
    low, high = np.min([cell.low for cell in cells], 0), np.max([cell.high for cell in cells], 0)
    corners = np.arange(2 ** min(len(low), CORNERS))[:, None] >> np.arange(len(low)) & 1
    share = np.concatenate([corners, kronecker(STARTS, len(low))])
    return simulate(result.loop, np.clip(low + (high - low) * share, low, high), seed=0)


def _bars(tubes: list[tuple[Floats, Floats]], n: int, period: float) -> tuple[Floats, Floats]:
    """A vertical line at each sampling time, from end to end."""
    times, ends = [], []
    stride = _stride(tubes)
    for every, _ in tubes:
        samples, t = every[::stride], np.arange(len(every))[::stride] * period
        times.append(np.stack([t, t, np.full(len(t), np.nan)], 1).ravel())
        ends.append(np.concatenate([samples[:, n], np.full((len(t), 1), np.nan)], 1).ravel())
    return np.concatenate(times), np.concatenate(ends)


def _periods(tubes: list[tuple[Floats, Floats]], n: int, period: float) -> tuple[Floats, Floats]:
    """A rectangle for each period, or for a few of them that follow each other."""
    boxes, stride = [], _stride(tubes)
    for _, spans in tubes:
        first = np.arange(0, len(spans), stride)
        ends = np.minimum(first + stride, len(spans))
        low, high = (f.reduceat(spans[:, n, end], first) for end, f in enumerate((np.minimum, np.maximum)))
        boxes.append(np.stack([first * period, ends * period, low, high], 1).reshape(-1, 2, 2))
    return _rectangles(boxes, (0, 1))


def _stride(tubes: list[tuple[Floats, Floats]]) -> int:
    return -(-sum(len(samples) for samples, _ in tubes) // BOXES)


def _rectangles(boxes: list[Floats], pair: tuple[int, int]) -> tuple[Floats, Floats]:
    """The outlines of boxes (…, n, 2) in the plane of a pair, with gaps between them."""
    every = np.concatenate(boxes)
    x, y = every[:, pair[0]], every[:, pair[1]]
    gap = np.full(len(every), np.nan)
    around = np.stack([x[:, 0], x[:, 1], x[:, 1], x[:, 0], x[:, 0], gap], 1)
    upward = np.stack([y[:, 0], y[:, 0], y[:, 1], y[:, 1], y[:, 0], gap], 1)
    return around.ravel(), upward.ravel()
