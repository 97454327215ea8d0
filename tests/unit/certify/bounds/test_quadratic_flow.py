"""Bounds of programs of lifted systems: around what they compute, and as narrow as enclosures of the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import integraph
from integraph.certify.bounds.bounds import Ending
from integraph.certify.bounds.cells import first_cells
from integraph.certify.bounds.program_models import program_models
from integraph.numbers.models.models import of_cells

pytestmark = pytest.mark.slow  # kernels take long to compile

MODELS: dict[str, Any] = {  # equations, start, radius
    "pendulum": ("x' = v; v' = -9.81*sin(x)", [1.0, 0.0], 0.05),
    "van der Pol": ("x' = y; y' = (1 - x^2)*y - x", [1.4, 2.3], 0.05),
    "Lotka–Volterra": ("x' = 1.5*x - x*y; y' = 0.7*x*y - 3*y", [1.0, 1.0], 0.05),
    "FitzHugh–Nagumo": ("v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)", [0.0, 0.0], 0.1),
    "Kepler": ("r = x^2 + y^2; x'' = -x/r^1.5; y'' = -y/r^1.5", [1.0, 0.0, 0.0, 1.0], 0.02),
    "Hill": ("x' = x^2/(1 + x^2) - x*y; y' = x - 0.5*y", [1.0, 0.5], 0.1),
}


@pytest.mark.parametrize("project", [True, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_those_of_solutions(name: str, project: float | bool) -> None:
    text, start, radius = MODELS[name]
    system = integraph.lift(text)
    box = np.add.outer(np.array(start), [-radius, radius])
    program = system.program(2.0, box, project=project)
    gap = 0.1 if name == "Kepler" else None  # `enclose` divides that box, too
    bounds = integraph.bound(program, gap=gap, progress=False)
    x = box[:, 0] + (box[:, 1] - box[:, 0]) * np.random.default_rng(0).random((400, len(box)))
    values = program(x)
    assert (bounds.low <= values.min(0)).all()
    assert (values.max(0) <= bounds.high).all()
    assert (bounds.low <= bounds.attained_low).all()
    assert (bounds.attained_high <= bounds.high).all()
    outputs = np.arange(len(box))
    assert bounds.attained_low == pytest.approx(program(bounds.lowest)[outputs, outputs], abs=1e-8)
    assert bounds.attained_high == pytest.approx(program(bounds.highest)[outputs, outputs], abs=1e-8)
    assert gap is None or bounds.ending is Ending.GAP
    enclosed = system.enclose(box, 2.0)
    assert (bounds.width <= 1.1 * enclosed.width[-1]).all()


@pytest.mark.parametrize("name", ["pendulum", "van der Pol", "Hill"])
def test_ranges_of_registers(name: str) -> None:
    text, start, radius = MODELS[name]
    system = integraph.lift(text)
    box = np.add.outer(np.array(start), [-radius, radius])
    program = system.program(2.0, box)
    ranges = integraph.bound(program, progress=False).registers
    assert ranges.unbounded == ()
    corners = np.array(np.meshgrid(*box)).reshape(len(box), -1).T
    path = system.simulate(corners, np.linspace(0, 2, 101)).path
    low, high = path.min((0, 1)), path.max((0, 1))
    assert (ranges.low[-1, : system.width] <= low + 1e-12).all()
    assert (high - 1e-12 <= ranges.high[-1, : system.width]).all()
    states = slice(len(start))
    assert (ranges.high[-1, states] - ranges.low[-1, states] <= 1.2 * (high - low)[states]).all()


def test_a_box_that_needs_cells() -> None:
    """Radius 0.05 of Kepler is too wide for one cell and for the first: the pass goes on until all are bounded."""
    text, start, _ = MODELS["Kepler"]
    system = integraph.lift(text)
    box = np.add.outer(np.array(start), [-0.05, 0.05])
    program = system.program(2.0, box)
    assert np.isinf(program_models(program, of_cells(*box.T[:, None], 2)).known.low).all()
    bounds = integraph.bound(program, progress=False)
    assert np.isfinite(bounds.width).all()
    assert bounds.cells > first_cells(program)


def test_a_blow_up_is_infinite() -> None:
    program = integraph.lift("x' = x^2").program(0.9, [[0.5, 1.0]])
    assert np.isfinite(integraph.bound(program, progress=False).width).all()
    assert np.isinf(integraph.bound(program, (0.5, 1.2), progress=False).width).all()
