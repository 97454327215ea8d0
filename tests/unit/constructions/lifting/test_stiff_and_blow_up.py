"""Stiff systems against scipy's Radau, and systems whose solutions end, by simulation, program and enclosure."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy.integrate import solve_ivp

import integraph
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import FlowError, SourceError
from integraph.targets.float_arithmetic import values
from ode_grids import burgers
from ode_models import ELEMENTARY, POLYNOMIAL

STIFF = {name: model for name, model in (POLYNOMIAL | ELEMENTARY).items() if model.stiff}
CELLS = 120
ENDING = {  # equations, start, when the solution ends
    "x^2": ("x' = x^2", [2.0], 0.5),
    "x^3": ("x' = x^3", [1.0], 0.5),
    "a pair": ("x' = x*y; y' = x*y", [1.0, 1.0], 1.0),
    "a time": ("x' = x^2*t; t' = 1", [2.0, 0.0], 1.0),
}


def radau(system: QuadraticSystem, start: np.ndarray, T: float) -> np.ndarray:
    expression, held = system.source.expression, np.zeros(len(system.source.inputs))

    def side(_t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([values(expression, y[None])[0], held])

    end: np.ndarray = solve_ivp(side, (0, T), start, "Radau", rtol=1e-12, atol=1e-15).y[:, -1]
    return end


@pytest.mark.slow
@pytest.mark.parametrize("name", STIFF)
def test_enclosures_of_stiff_systems_contain_radau(name: str) -> None:
    model = STIFF[name]
    system = integraph.lift(model.equations, progress=False)
    tube = system.enclose(model.start, model.time, progress=False)
    assert tube.complete
    end = radau(system, np.array(model.start, float), model.time)
    slack = 1e-10 * np.maximum(np.abs(end), 1.0)
    assert (tube.low[-1] - slack <= end).all()
    assert (end <= tube.high[-1] + slack).all()
    assert tube.width.max() < 1e-7


@pytest.mark.slow
def test_a_stiff_grid_by_simulation_and_by_program() -> None:
    formulas, right, start = burgers(CELLS, viscosity=0.1)
    system = integraph.lift(formulas, progress=False)
    near = scipy.sparse.diags_array(np.ones((3, CELLS)), offsets=(-1, 0, 1), shape=(CELLS, CELLS))
    options = {"rtol": 1e-12, "atol": 1e-14, "jac_sparsity": scipy.sparse.csr_matrix(near)}
    end = solve_ivp(right, (0, 1.0), start, "Radau", **options).y[:, -1]
    for rtol in (1e-7, 1e-12):
        found = system.simulate(start, [1.0], rtol=rtol).states[0, -1]
        assert np.abs(found / end - 1).max() < max(rtol, 1e-10)
    program = system.program(1.0, np.stack([start - 1e-3, start + 1e-3], 1))
    assert np.abs(program(start)[:CELLS] / end - 1).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDING)
def test_the_end_of_a_solution_is_said(name: str) -> None:
    text, start, ends = ENDING[name]
    system = integraph.lift(text, progress=False)
    with pytest.raises(FlowError, match="could not be followed beyond t = ") as failure:
        system.simulate(start, [2 * ends])
    said = float(str(failure.value).split("beyond t = ")[1].split(":")[0])
    assert abs(said - ends) < 1e-5
    with pytest.raises(SourceError, match="shorter T"):
        system.program(2 * ends, np.stack([start, start], 1))
    tube = system.enclose(start, [0.9 * ends, 2 * ends], progress=False)
    assert not tube.complete
    assert 0.99 * ends < tube.time <= ends
    assert tube.blow_up is not None
    assert ends <= tube.blow_up < 1.01 * ends
    before = radau(system, np.array(start), 0.9 * ends)
    assert np.abs(system.simulate(start, [0.9 * ends]).states[0, -1] / before - 1).max() < 1e-9
    assert (tube.low[0] - 1e-9 * before <= before).all()
    assert (before <= tube.high[0] + 1e-9 * before).all()


def test_the_end_of_a_new_variable_is_not_that_of_the_solution() -> None:
    """x = (1 − t/2)² goes on at 0, where 1/√x has no value."""
    system = integraph.lift("x' = -sqrt(x)", progress=False)
    with pytest.raises(FlowError, match=r"beyond t = 2: w1 = 1/x\^\(1/2\) has no value .* itself may go on"):
        system.simulate([1.0], [3.0])
    with pytest.raises(SourceError, match=r"^from x = [\d.]+, the solution could not be followed beyond"):
        system.program(3.0, [[0.9, 1.1]])
    with pytest.raises(FlowError, match=r"the solution from start 2 .* the solution blows up .* in w1 = x\^2"):
        integraph.lift("x' = x^3", progress=False).simulate([[0.1], [1.0]], [1.0])


@pytest.mark.slow
def test_the_end_of_a_solution_on_a_grid_is_said() -> None:
    """Equal cells: u = 1/(1 − t)."""
    n = 150
    cells = {f"u{i}": f"u{i}^2 + 2000*(u{(i - 1) % n} - 2*u{i} + u{(i + 1) % n})" for i in range(n)}
    system = integraph.lift(cells, progress=False)
    assert np.abs(system.simulate(np.ones(n), [0.9]).states[0, -1] / 10 - 1).max() < 1e-10
    with pytest.raises(FlowError, match=r"beyond t = (1|0\.99999)"):
        system.simulate(np.ones(n), [2.0])
