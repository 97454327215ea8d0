"""Ends that rounding alone has beyond 0 are 0; others stay."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

import integraph
from integraph.numbers.intervals import Interval
from integraph.numbers.models import signs
from planted_faults import plant

TINY, OFF = 2.0**-30, 2.0**-40  # sums of these and of integers are exact
ROOTS = {
    "sqrt(x^2 + y^2)": (0.0, 2**0.5),
    "(x*x + y*y)^0.5": (0.0, 2**0.5),
    "sqrt(abs(x) + abs(y))": (0.0, 2**0.5),
    "sqrt(x^2/10 + y^4/3)": (0.0, (13 / 30) ** 0.5),
    "sqrt(x^2 + y^2 + 1e-30)": (1e-15, 2**0.5),
    "sqrt(-(-x^2 - 2*y^2))": (0.0, 3**0.5),
}


@pytest.mark.parametrize("text", ROOTS)
def test_roots_of_sums_that_are_not_negative(text: str) -> None:
    low, high = ROOTS[text]
    bounds = integraph.bound(text, (-1, 1), progress=False)
    assert bounds.low[0] <= low <= bounds.low[0] + 1e-6
    assert bounds.high[0] - 1e-6 <= high <= bounds.high[0]


@pytest.mark.parametrize("text", ["sqrt(x^2 - y^2)", "sqrt(x^2 + y^2 - 1e-30)", "sqrt(x^3 + y^2)"])
def test_roots_of_sums_that_may_be_negative(text: str) -> None:
    assert np.isinf(integraph.bound(text, (-1, 1), progress=False, seconds=0.2).low[0])


def excess(sparse: bool, off: float = 0.0, shift: float = 0.0) -> float:
    """How far the ends are inside the true ones, for weights of integers that may be off by so much, and constants that
    may be off by `shift`. Where all terms have one sign, 0 is an end."""
    sides = [(low, high) for low in (-1, 0, 1) for high in (-1, 0, 1) if low <= high]
    boxes = np.array(list(product(sides, repeat=2)), float)  # (cells, 2, 2)
    low, high = boxes[..., 0], boxes[..., 1]
    weights, worst = np.array(list(product((-1.0, 0.0, 2.0), repeat=2))), -1.0
    for b in (-1.0, 0.0, 1.0):
        ends = np.stack([w[:, None] * x for w in (weights - off, weights + off) for x in (low, high)])
        least, most = ends.min(0).sum(2) + b - shift, ends.max(0).sum(2) + b + shift
        y = Interval(least - TINY, most + TINY)
        A = csr_array(weights) if sparse else weights
        slack = (np.full_like(weights, off), np.full(len(weights), shift)) if off + shift else None
        rounding = np.full(least.shape, 2 * TINY)
        made = signs.signed(y, rounding, A, np.full(len(weights), b), Interval(low.T, high.T), slack)
        worst = max(worst, (made.low - least).max(), (most - made.high).max())
        if slack is None:
            assert (made.low[(ends.min(0) >= 0).all(2) & (b >= 0)] >= 0).all()
            assert (made.high[(ends.max(0) <= 0).all(2) & (b <= 0)] <= 0).all()
    return worst


@pytest.mark.parametrize("sparse", [False, True])
def test_ends_stay_outside(sparse: bool) -> None:
    assert max(excess(sparse), excess(sparse, OFF), excess(sparse, shift=OFF)) <= 0


FAULTS = {
    "(below == 0) & ": "",
    "(above == 0) & ": "",
    " & (b >= least)": "",
    " & (-b >= least)": "",
    "off[0][rows] * UP > abs(A)": "off[0][rows] < 0",
    "least = off[1][rows][:, None] * UP": "pass",
    "up @ negative + down @ positive": "up @ negative",
    "up @ positive + down @ negative": "down @ negative",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, signs, fault, FAULTS[fault])
    assert max(excess(False), excess(False, OFF), excess(False, shift=OFF)) > 0
