"""Flows of every gadget on polynomial models, from random starts and in both directions of time, against Arb at points:
the value is in the model, not only in its range."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bound_cases import TIMES, contains, scores
from gadget_cases import CASES, Case
from integraph.certify.bounds import program_models as program_models_module
from integraph.certify.bounds.point_values import point_values
from integraph.certify.bounds.program_models import program_models
from integraph.gadgets import Gadget, erf, gelu, log_softmax, log_sum_exp, shifted_softmax, softmax
from integraph.numbers.models.models import of_cells
from slow import mostly_slow


def check(case: Case, t: float, radius: float, degree: int, seed: int) -> float:
    """The largest relative width of a register, ∞ where nothing is known."""
    rng = np.random.default_rng([seed, len(case.name)])
    program = case.program(t)
    starts = case.inputs(case.draw(rng, t, 3))
    low, high = starts - radius * np.abs(starts), starts + radius * np.abs(starts)
    y = program_models(program, of_cells(low, high, degree))
    for cell, start in enumerate(starts):
        wide = np.flatnonzero((high > low).any(0))
        for _ in range(2):
            x = np.clip(
                start + rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], len(start)) * radius * np.abs(start),
                low[cell],
                high[cell],
            )
            middle, half = 0.5 * low[cell] + 0.5 * high[cell], 0.5 * high[cell] - 0.5 * low[cell]
            xi = np.divide(x - middle, half, out=np.zeros(len(x)), where=half > 0)[wide]
            assert contains(y, cell, np.clip(xi, -1, 1), *point_values(program, x)), (case.name, t, cell)
    return float(((y.known.high - y.known.low) / (1 + np.minimum(np.abs(y.known.high), 1e300))).max())


@mostly_slow(("case", "t"), itertools.product(CASES, TIMES), quick=6)
def test_values_are_in_the_models(case: Case, t: float) -> None:
    for radius, degree in ((0.0, 2), (1e-3, 3), (0.05, 2), (0.05, 1), (0.2, 0)):
        width = check(case, t, radius, degree, 1)
        assert width < np.inf or radius > 1e-3
        assert width < 1e-8 or radius > 0 or case.gadget in (erf, gelu)  # whose averages from w ≠ 0 are intervals


def test_an_escape_leaves_nothing_known() -> None:
    """ln of a box that reaches 0: p' = −p² escapes from −1."""
    (case,) = [case for case in CASES if case.name == "ln"]
    ends = np.array([[-1.25, 0.0], [-0.5, 0.0]]), np.array([[-0.75, 1.0], [-0.25, 1.0]])
    y = program_models(case.program(1.0), of_cells(*ends, 2))
    assert np.isinf(y.known.high[:, 0]).all()
    assert np.isfinite(y.known.high[:, 1]).all()


@pytest.mark.parametrize("gadget", [softmax, shifted_softmax, log_softmax, log_sum_exp])
@mostly_slow(("left", "spread"), itertools.product((0.0, 1e-9, 0.01, 0.05), (0.3, 3.0)), quick=1)
def test_rows_of_scores_from_the_usual_start(
    monkeypatch: pytest.MonkeyPatch, gadget: Gadget, left: float, spread: float
) -> None:
    """On models, not on balls, unless what is left of an earlier content is much."""
    if left < 0.01:
        monkeypatch.setattr(program_models_module, "_on_balls", None)
    case = scores(gadget, left, spread)
    for t, (radius, degree) in itertools.product(TIMES, ((0.0, 2), (1e-9, 2), (1e-3, 1))):
        if radius > 1e-9:
            monkeypatch.undo()
        for seed in range(3):
            check(case, t, radius, degree, seed)
