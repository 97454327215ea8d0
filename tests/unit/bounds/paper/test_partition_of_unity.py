"""Lemma 4's functions ψ_0 … ψ_N: against differences of tanh in high precision, their sum, their supports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import integraph
from integraph import Partition
from integraph.bounds.paper.partition_of_unity import steepness
from integraph.errors import UsageError

SIZES = [(1, 3.0), (1, 1e4), (2, 20.0), (3, 20.0), (3, 1e4), (7, 90.0), (40, 1e4), (100, 2e3), (1000, 1e4)]


def by_tanh(N: int, c: float, x: float) -> list[mpf]:
    """As printed: halves of differences of tanh(c(x − γ_k)), with 1 before the first and −1 behind the last."""
    steps = [mp.tanh(mpf(c) * (mpf(x) - mpf(2 * k - 1) / (2 * N))) for k in range(1, N + 1)]
    return [(a - b) / 2 for a, b in zip([mpf(1), *steps], [*steps, mpf(-1)], strict=True)]


@pytest.mark.parametrize(("N", "c"), [size for size in SIZES if size[0] <= 100])
def test_against_differences_of_tanh(N: int, c: float) -> None:
    """Relatively accurate, however small; only the rounding of x itself moves a bump, by c times that."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.random(6), np.arange(5) / 4, [1 / (2 * N), 1 - 1 / (2 * N)]])
    found = Partition(N, c)(x)
    with mp.workprec(60 + min(int(4 * c), 1100)):  # enough for differences of 1e-300
        for n, point in enumerate(x.tolist()):
            for k, wanted in enumerate(by_tanh(N, c, point)):
                if wanted > 1e-300:
                    off = abs(mpf(float(found[k, n])) - wanted) / wanted
                    assert off <= 1e-15 * (4 + 4 * c), (k, point)
                else:
                    assert found[k, n] <= 2e-300


@pytest.mark.parametrize(("N", "c"), SIZES)
def test_the_sum_is_one(N: int, c: float) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.random(400), np.linspace(0, 1, 201), Partition(N, c).steps])
    found = Partition(N, c)(x)
    assert (found >= 0).all()
    assert max(abs(math.fsum([*column, -1.0])) for column in found.T.tolist()) <= 1e-15


@given(st.integers(1, 60), st.floats(1e-3, 1e4), st.floats(0, 1))
def test_the_sum_is_one_anywhere(N: int, c: float, x: float) -> None:
    assert abs(math.fsum([*Partition(N, c)(x).tolist(), -1.0])) <= 1e-15


def test_figure_1() -> None:
    """N = 3, c = 20: four bumps, equal to their neighbours at 1/6, ½, 5/6, all but 1 at the nodes of the ends."""
    psi = Partition(3, 20.0)
    assert psi.steps == pytest.approx([1 / 6, 1 / 2, 5 / 6], rel=1e-15)
    nodes = psi(np.arange(4) / 3)
    wanted = [0.5 * (1 + math.tanh(20 / 6)), math.tanh(20 / 6)]
    assert np.diag(nodes) == pytest.approx([wanted[0], wanted[1], wanted[1], wanted[0]], rel=1e-12)
    for k, step in enumerate([1 / 6, 1 / 2, 5 / 6]):
        there = psi(step)
        assert there[k : k + 2] == pytest.approx([0.5, 0.5], abs=2e-6)
    assert psi(np.linspace(0, 1, 7)).shape == (4, 7)
    assert psi([[0.1, 0.2], [0.3, 0.4]]).shape == (4, 2, 2)


@pytest.mark.parametrize(("N", "c"), [(2, 9.0), (3, 20.0), (8, 64.0), (5, 5.0), (30, 500.0)])
def test_supports(N: int, c: float) -> None:
    """Outside its support no ψ_k is more than δ, and at the edge of the support of an end it is δ."""
    psi = Partition(N, c)
    assert psi.delta == pytest.approx(0.5 * (1 - math.tanh(c / (2 * N))), abs=1e-16)
    x = np.unique(np.concatenate([np.linspace(0, 1, 5001), np.arange(N + 1) / N]))
    found, largest = psi(x), 0.0
    for k in range(N + 1):
        low, high = psi.support(k)
        assert (low, high) == (max(k - 1, 0) / N, min(k + 1, N) / N)
        outside = found[k, (x < low - 1e-15) | (x > high + 1e-15) | ((x == low) & (k > 0)) | ((x == high) & (k < N))]
        largest = max(largest, float(outside.max()))
    assert largest <= psi.delta * (1 + 1e-12)
    assert largest == pytest.approx(psi.delta, rel=1e-12, abs=0.0)


@given(st.integers(1, 1000), st.floats(1e-12, 0.4))
def test_steepness_and_delta_are_inverse(N: int, delta: float) -> None:
    c = steepness(N, delta)
    assert Partition(N, c).delta == pytest.approx(delta, rel=1e-9)
    with mp.workprec(150):
        assert c == pytest.approx(float(2 * N * mp.atanh(1 - 2 * mpf(delta))), rel=1e-12)


def test_one_function() -> None:
    one = Partition(0, 5.0)
    assert one([0.0, 0.3, 1.0]).tolist() == [[1.0, 1.0, 1.0]]
    assert (one.delta, one.support(0), one.steps.size) == (0.0, (0.0, 1.0), 0)


def test_misuse() -> None:
    for N, c in ((-1, 1.0), (3, 0.0), (3, -1.0), (3, math.nan), (3, math.inf)):
        with pytest.raises(UsageError, match="N ≥ 0 and a finite c > 0"):
            Partition(N, c)
    with pytest.raises(UsageError, match=r"k = 4: the functions are ψ_0 … ψ_3"):
        integraph.Partition(3, 20.0).support(4)
