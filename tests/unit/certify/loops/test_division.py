"""More cells: narrower boxes that hold all trajectories, the same starts, and a certificate that checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import integraph
from integraph.certify.loops import division
from integraph.certify.loops.spec import Answer
from integraph.certify.loops.tube import tube
from integraph.errors import UsageError

KINK = integraph.network([([[1.0, 1.0], [1.0, -0.5]], [-0.7, -0.1], "relu"), ([[-0.8, 0.5]], [0.0])])
SETTING = {
    "plant": {"x": "x + 0.2*v", "v": "v + 0.2*(u - x)"},
    "controller": KINK,
    "period": 1.0,
    "steps": 8,
    "start": {"x": (0.3, 0.6), "v": (0.0, 0.4)},
    "discrete": True,
}


def test_refined_boxes() -> None:
    result = integraph.loop(**SETTING, spec="x <= 2", progress=False)
    assert len(result.proved) == 1
    finer = result.refine(6)
    assert len(finer.proved) == 6
    before, after = result.boxes()[-1], finer.boxes()[-1]
    assert (np.ptp(after, axis=1) < np.ptp(before, axis=1) * (0.92, 0.99)).all()
    low, high = (np.array([side[n] for side in SETTING["start"].values()]) for n in (0, 1))
    x = np.random.default_rng(0).uniform(low, high, (2000, 2))
    for box in finer.boxes():
        assert (box[:, 0] - 1e-12 <= x).all()
        assert (x <= box[:, 1] + 1e-12).all()
        x = np.stack([x[:, 0] + 0.2 * x[:, 1], x[:, 1] + 0.2 * (KINK(x)[:, 0] - x[:, 0])], 1)
    assert finer.share == 1.0
    assert integraph.check(finer, finer)


def test_tubes_are_computed_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are chosen before, and cover their cell; a cell stays whole where a part is not proved."""
    result = integraph.loop(**SETTING, spec="x <= 2", progress=False)
    (cell,) = result.proved
    (parts,) = division.divided([cell], 7)
    assert sum(np.prod(high - low) for low, high in parts) == pytest.approx(np.prod(cell.high - cell.low))
    for answer, cells in ((Answer.PROVED, 7), (Answer.UNKNOWN, 1)):
        seen = []

        def counted(*job, answer=answer, seen=seen):
            seen.append(job)
            return replace(tube(*job), answer=answer)

        monkeypatch.setattr(division, "tube", counted)
        assert len(result.refine(7).proved) == cells
        assert len(seen) == 7


def test_a_point_and_what_is_not_proved() -> None:
    start = {"x": 0.3, "v": 0.1}
    point = integraph.loop(**{**SETTING, "start": start}, spec="x <= 2", progress=False)
    assert len(point.refine(9).proved) == 1
    wrong = integraph.loop(**SETTING, spec="x <= -5", progress=False)
    with pytest.raises(UsageError, match="refuted"):
        wrong.refine(4)
