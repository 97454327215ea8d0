"""Points that climb come as close to the largest and the smallest output as a search from many corners does."""

from __future__ import annotations

import numpy as np
import pytest

import integraph
from integraph.certify.bounds import climb, point_values
from integraph.certify.bounds.climb import gradients


def test_gradients_are_those_of_differences() -> None:
    rng = np.random.default_rng(0)
    network = integraph.network(
        [(rng.normal(size=(8, 20)), rng.normal(size=8), "tanh"), (rng.normal(size=(3, 8)), np.zeros(3), "softplus")]
    )
    points, which = rng.normal(size=(6, 20)) / 4, np.array([0, 1, 2, 0, 1, 2])
    slopes = gradients(network, points, which)
    for point, output, slope in zip(points, which, slopes, strict=True):
        moved = (network(point + 1e-6 * np.eye(20)) - network(point - 1e-6 * np.eye(20)))[:, output] / 2e-6
        np.testing.assert_allclose(slope, moved, atol=1e-7)


def test_many_inputs_attain_nearly_as_much_as_the_best_of_many_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    network = integraph.network(
        [
            (rng.normal(size=(20, 100)) / 10, rng.normal(size=20), "tanh"),
            (rng.normal(size=(20, 20)) / 4, rng.normal(size=20), "tanh"),
            (rng.normal(size=(2, 20)) / 4, np.zeros(2)),
        ]
    )
    bounds = integraph.bound(network, (-0.1, 0.1))
    attained = bounds.attained_high - bounds.attained_low
    best = np.zeros(2)
    for output in range(2):
        point = np.zeros(100)
        for _ in range(5):  # to the corner that differences point at
            slope = (network(point + 1e-6 * np.eye(100)) - network(point))[:, output]
            point = 0.1 * np.sign(slope)
        best[output] = network(point)[output]
    assert (bounds.attained_high >= best - 1e-3 * attained).all()
    monkeypatch.setattr(climb, "ROUNDS", 0)
    assert (integraph.bound(network, (-0.1, 0.1)).attained_high <= bounds.attained_high + 1e-12).all()


def test_without_time_one_point_serves_all_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = integraph.graph("x*y - x^2")
    ends = np.array([[0.5, 0.1]]), np.array([[-1.0, 1.0]]), np.array([0.5, 0.1])
    low, high, _ = point_values.attained(graph, *ends)
    assert not np.array_equal(low, high)
    monkeypatch.setattr(point_values, "SECONDS", -1.0)
    low, high, (least, most) = point_values.attained(graph, *ends)
    assert np.array_equal(low, high)
    assert abs(least[0] - graph.values(low)[0, 0]) < 1e-12
    assert abs(most[0] - least[0]) < 1e-12
