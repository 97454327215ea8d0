"""Controllers of every kind are the same controller: networks, formulas, graphs, programs, groups of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import integraph
from integraph.api.loops import closed_loop
from integraph.certify.loops.controller import Controller, ControllerGroup
from integraph.certify.loops.tube import tube
from integraph.targets.graph import Graph
from integraph.targets.network import from_layers

A, B = np.array([[1.0, -0.5], [0.3, 0.8]]), np.array([[-0.6, -0.4]])
NET = from_layers([(A, np.zeros(2), "tanh"), (B, np.zeros(1), None)])
FORMULA = "-0.6*tanh(x - 0.5*v) - 0.4*tanh(0.3*x + 0.8*v)"
PLANT = {"x": "x + 0.1*v", "v": "v + 0.1*u"}
SETTING = {"period": 1, "steps": 15, "discrete": True}
LOW, HIGH = np.array([0.4, 0.1]), np.array([0.5, 0.2])


@pytest.mark.slow
def test_controllers_agree(tmp_path: Path) -> None:
    program = integraph.compile(NET)
    program.save(tmp_path / "net.integraph")
    grid = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    first = tube(closed_loop(PLANT, FORMULA, **SETTING), LOW, HIGH).samples
    for controller in (NET, program, tmp_path / "net.integraph", integraph.targets.graph_conversion.network_graph(NET)):
        closed = closed_loop(PLANT, controller, **SETTING)
        assert closed.controller(grid)[:, 0] == pytest.approx(
            -0.6 * np.tanh(grid @ A[0]) - 0.4 * np.tanh(grid @ A[1]), abs=1e-5
        )
        assert tube(closed, LOW, HIGH).samples == pytest.approx(first, abs=2e-4)


@pytest.mark.slow
def test_a_program_outside_its_box() -> None:
    """A program is what it computes, wherever states go: what it promises of its source on ±0.1 is not used at 0.8."""
    program = integraph.compile(NET, method="narrow", eps=1e-2, box=[(-0.1, 0.1)] * 2)
    closed = closed_loop(PLANT, program, **SETTING)
    low, high = np.array([0.79, 0.79]), np.array([0.81, 0.81])
    result = tube(closed, low, high)
    assert result.reached == SETTING["steps"], result.reason
    x = np.random.default_rng(0).uniform(low, high, (200, 2))
    off = np.abs(program(x) - NET(x)).max()
    assert off > 1e-2  # it is not its source there
    for box in result.samples:
        assert (box[:, 0] <= x + 1e-9).all()
        assert (x <= box[:, 1] + 1e-9).all()
        x = np.stack([x[:, 0] + 0.1 * x[:, 1], x[:, 1] + 0.1 * program(x)[:, 0]], 1)


def test_a_formula_without_taylor_series_is_a_graph() -> None:
    closed = closed_loop(PLANT, "max(-0.2, min(0.2, -x - v))", **SETTING)
    assert isinstance(closed.controller, Controller)
    assert isinstance(closed.controller.source, Graph)
    clipped = closed_loop(PLANT, "-x - v", limits=(-0.2, 0.2), **SETTING)
    assert tube(closed, LOW, HIGH).samples == pytest.approx(tube(clipped, LOW, HIGH).samples, abs=1e-3)


@pytest.mark.slow
def test_several_controllers() -> None:
    plant = {"x": "x + 0.1*a", "v": "v + 0.1*b - 0.1*c"}
    both = closed_loop(
        plant, {"a": "-x", "b, c": "-y^2, y"}, outputs={"b, c": "v - x"}, scale=[1, 2, 3], limits=(-0.5, 0.5), **SETTING
    )
    assert isinstance(both.controller, ControllerGroup)
    assert both.inputs == ("a", "b", "c")
    x = np.array([[0.3, 0.1]])
    assert both.controller(x)[0] == pytest.approx([-0.3, -0.08, -0.5])
    one = closed_loop(plant, "-x, -(v - x)^2, v - x", inputs="a b c", scale=[1, 2, 3], limits=(-0.5, 0.5), **SETTING)
    assert tube(both, LOW, HIGH).samples == pytest.approx(tube(one, LOW, HIGH).samples, abs=1e-6)
