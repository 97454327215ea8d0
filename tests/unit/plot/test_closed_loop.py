"""Pictures of a closed loop: boxes and trajectories as data, and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.certify.loops.result import LoopResult
from integraph.errors import UsageError
from integraph.plot import plot
from integraph.plot.closed_loop import BOXES, phase_plot, time_plot
from integraph.plot.picture import Curve, Picture


def result(steps: int = 20, plant: dict[str, str] | None = None, **more: object) -> LoopResult:
    return integraph.loop(
        plant or {"x": "x + 0.1*v", "v": "v + 0.1*u - 0.1*g*x"}, "-v" if plant is None else "-x", period=0.5,
        steps=steps, discrete=True, start={"x": (0.4, 0.5), "v": 0.1} if plant is None else {"x": (0.4, 0.5)},
        spec="x <= 2 always", progress=False, parameters={"g": (0.9, 1)} if plant is None else None, **more,
    )  # fmt: skip


def named(marks: tuple[object, ...], name: str) -> list[Curve]:
    return [mark for mark in marks if isinstance(mark, Curve) and mark.name == name]


def test_boxes_contain_trajectories() -> None:
    proved = result()
    for number, panel in enumerate(time_plot(proved).frames[0].panels):
        (bars,) = named(panel.marks, "proved, at sampling times")
        ends = bars.y.reshape(-1, 3)[:, :2]
        assert (ends == proved.boxes()[:, number]).all()
        for run in named(panel.marks, "simulated"):
            assert (ends[:, 0] <= run.y + 1e-9).all()
            assert (run.y <= ends[:, 1] + 1e-9).all()
    phase = phase_plot(proved)
    assert isinstance(phase, Picture)
    assert phase.plays
    assert len(phase.frames) == 21
    for frame, box in zip(phase.frames, proved.boxes(), strict=True):
        (now,) = named(frame.panels[0].marks, "proved, now")
        assert [np.nanmin(now.x), np.nanmax(now.x), np.nanmin(now.y), np.nanmax(now.y)] == box[:2].ravel().tolist()


def test_long_tubes_keep_whole_boxes() -> None:
    panel = time_plot(result(700)).frames[0].panels[0]
    (bars,) = named(panel.marks, "proved, at sampling times")
    assert len(bars.x) <= 3 * BOXES


def test_one_state_has_no_phase_plot(tmp_path: Path) -> None:
    small = result(plant={"x": "x + 0.1*u"})
    plot(small, path=tmp_path / "tube.png")
    assert (tmp_path / "tube.png").stat().st_size > 5000
    with pytest.raises(UsageError, match="needs two"):
        plot(small, "phase")
    with pytest.raises(UsageError, match="'tube', 'phase'"):
        plot(small, "error")
