"""Wide sets of starts are divided: all solutions stay inside, the hull is not much wider, and ends are told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.certify.solutions import division, validation
from integraph.certify.solutions.enclosure import Enclosure
from integraph.errors import UsageError
from solution_truth import outside, paths, starts, unlifted

pytestmark = pytest.mark.slow  # kernels take long to compile

VAN_DER_POL = "x' = v; v' = (1 - x^2)*v - x"
WIDE = [(1.9, 2.1), (-0.1, 0.1)]


def oscillator(x: Any, v: Any) -> list[Any]:
    return [v, (1 - x * x) * v - x]


def leaves(result: Enclosure) -> float:
    """How far 300 solutions leave the boxes, at the times asked for or on a step."""
    box = np.array(WIDE)
    truth = paths(oscillator, starts(box, 300), 2, result.times)
    middles = 0.3 * result.steps[:-1] + 0.7 * result.steps[1:]
    inside = paths(oscillator, starts(box, 300), 2, middles)
    return max(
        outside(result.low[:, None], result.high[:, None], truth, 1e-9),
        outside(result.over[:, None, :, 0], result.over[:, None, :, 1], inside, 1e-9),
    )


def test_a_wide_set_of_the_van_der_pol_oscillator() -> None:
    system = unlifted(VAN_DER_POL)
    whole = system.enclose(WIDE, 10.0, cells=1)
    assert not whole.complete
    assert whole.cells == 1
    result = system.enclose(WIDE, np.linspace(0.0, 10.0, 5))
    assert result.complete
    assert 1 < result.cells <= 64
    assert leaves(result) <= 0
    hull = np.ptp(paths(oscillator, starts(np.array(WIDE), 600), 2, np.array([10.0]))[-1], axis=0)
    assert (result.width[-1] <= 1.3 * hull).all()
    assert f"{result.cells} cells" in repr(result)


@pytest.mark.parametrize("fault", ["forgotten half", "lost cell"])
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "forgotten half":
        original = division._halves
        monkeypatch.setattr(division, "_halves", lambda cell, whole: original(cell, whole)[:1])
    else:
        merged = division.merged
        monkeypatch.setattr(validation, "merged", lambda cells, box: merged(cells[:-1], box))
    assert leaves(unlifted(VAN_DER_POL).enclose(WIDE, [5.0, 10.0])) > 0


def test_cells_are_limited() -> None:
    result = unlifted(VAN_DER_POL).enclose(WIDE, 10.0, cells=3)
    assert result.cells <= 3
    assert not result.complete
    assert np.isinf(result.width).all()
    assert 3.0 < result.time < 10.0


def test_a_narrow_set_is_not_divided() -> None:
    assert unlifted(VAN_DER_POL).enclose([(1.99, 2.01), 0.0], 10.0).cells == 1


def test_some_solutions_end() -> None:
    """x' = x² ends at 1/x(0): between 0.5 and never."""
    result = integraph.lift("x' = x^2").enclose([(-1.0, 2.0)], [0.25, 1.0])
    assert not result.complete
    assert result.blow_up is None
    assert 0.4 < result.time <= 0.5
    assert "some of them not at t = " in result.reason
    assert result.low[0, 0] <= -1 / 1.25
    assert 4.0 <= result.high[0, 0] <= 4.5
    assert np.isinf(result.high[1, 0])


def test_all_solutions_end() -> None:
    result = integraph.lift("x' = x^2").enclose([(0.5, 2.0)], 3.0)
    assert result.blow_up is not None
    assert 2.0 <= result.blow_up < 4.5
    assert 0.45 < result.time <= 0.5
    assert "none at t = " in result.reason


def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done by then covers all starts."""
    system = unlifted(VAN_DER_POL)
    calls = []

    def late(*_: Any) -> Any:
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(validation, "divide", late)
    result = system.enclose(WIDE, 10.0)
    assert calls
    assert not result.complete
    assert result.cells == 1


@pytest.mark.parametrize("cells", [0, 1.5, True, "many"])
def test_wrong_numbers_of_cells(cells: Any) -> None:
    with pytest.raises(UsageError, match="whole number"):
        integraph.lift(VAN_DER_POL).enclose(WIDE, 1.0, cells=cells)
