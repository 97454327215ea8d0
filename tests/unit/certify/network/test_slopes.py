"""Derivatives of the difference: against numerical ones of the flow itself, and the mean-value form on boxes."""

from __future__ import annotations

import math

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import integraph
from integraph.certify.network.difference import NetworkDifference
from integraph.certify.network.slopes import _partials, has_slopes
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import precision
from law import examples
from networks import random_network

SMALL = st.floats(-0.3, 0.3)


def ends(M: mpf, delta: mpf, alpha: mpf, lam: mpf) -> tuple[mpf, mpf]:
    """e and λ(1) by Lemma 1's closed form from any start."""
    m = M + delta
    u = mp.cosh(m) + lam * (mp.sinh(m) / m if m else 1)
    a = (alpha + mp.sinh(m) + lam * ((mp.cosh(m) - 1) / m if m else 0)) / u
    return a - mp.tanh(M), (m * mp.sinh(m) + lam * mp.cosh(m)) / u


@examples(150)
@given(st.floats(-6, 6), SMALL, SMALL, SMALL, st.sampled_from([0.0, 1e-6, 0.05]))
def test_partial_derivatives(M: float, delta: float, alpha: float, lam: float, radius: float) -> None:
    at = (M, delta, alpha, lam)
    with precision(128):
        by, of_lam = _partials(*(arb(v, radius) for v in at))
    with mp.workdps(40):
        for number, ball in enumerate(by):
            order = tuple(int(i == number) for i in range(4))
            true = mp.diff(lambda *v: ends(*v)[0], at, order)
            assert ball.is_finite()
            assert ball.overlaps(arb(mp.nstr(true, 30), 1e-15))
            if radius == 0 and abs(lam) < 1e-3 and abs(delta) < 1e-3:
                assert float(ball.rad()) < 2e-3, "at a point they are known"
        for ball, order in zip(of_lam, ((1, 0, 0, 0), (0, 0, 0, 1)), strict=True):
            true = mp.diff(lambda *v: ends(*v)[1], at, order)
            assert ball.overlaps(arb(mp.nstr(true, 30), 1e-15))


@pytest.mark.parametrize("method", [{}, {"method": "wide"}, {"method": "wide", "free": "decay"}])
def test_on_small_boxes_the_excess_falls_with_the_square(method: dict[str, str]) -> None:
    network = random_network((2, 8, 8, 2), ("tanh", "sigmoid"), 2)
    problem = NetworkDifference(integraph.compile(network, 1e-8, **method), network)
    assert has_slopes(problem.form)
    excess = []
    for width in (0.1, 0.01, 0.001):
        box = Box((0.4, 0.6), (0.4 + width, 0.6 + width))
        bound = problem.upper(box, 128)[0]
        seen = max(
            problem.at(point, 128)[0][0] for point in (box.low, box.high, (0.4, box.high[1]), (box.high[0], 0.6))
        )
        assert bound >= seen
        excess.append(bound / seen - 1 if seen else 0.0)
    if method:
        assert excess[-1] < 0.1
    else:
        assert excess[1] < 0.05 * excess[0]
        assert excess[2] < 0.05 * excess[1] + 1e-7


def test_other_activations_do_without() -> None:
    network = random_network((2, 3, 1), "gelu")
    problem = NetworkDifference(integraph.compile(network, 1e-3), network)
    assert not has_slopes(problem.form)
    assert math.isfinite(problem.upper(Box((0.0, 0.0), (1.0, 1.0)), 64)[0])
