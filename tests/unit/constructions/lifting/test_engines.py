"""A program of a lifted system on every engine that integrates, in jax and PyTorch, and from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import export_programs
import integraph
from integraph.errors import UsageError
from lazy import Lazy, needs

jax: Any = Lazy("jax")
jax_export: Any = Lazy("jax.export")
torch: Any = Lazy("torch")


@pytest.fixture(scope="module")
def program() -> integraph.Program:
    return export_programs.lifted()


@pytest.fixture(scope="module")
def x(program: integraph.Program) -> np.ndarray:
    return export_programs.inputs(program, 5)


def energy(x: np.ndarray) -> np.ndarray:
    """The read-out at T = 1, by DOP853 on the pendulum itself."""
    ends = []
    for angle, speed, torque in x:
        side = lambda t, y, torque=torque: [y[1], -1.1 * np.sin(y[0]) + torque]  # noqa: E731
        q, v = solve_ivp(side, (0, 1), [angle, speed], "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
        ends.append([v**2 / 2 - np.cos(q)])
    return np.array(ends)


@pytest.mark.parametrize("engine", ["taylor", pytest.param("oracle", marks=pytest.mark.slow), "precise"])
def test_engines(engine: str, program: integraph.Program, x: np.ndarray) -> None:
    flow = program.flow(x, engine)
    assert flow.engine == engine
    assert np.abs(flow.outputs - energy(x)).max() < 1e-11


def test_the_default_is_taylor_and_exact_says_why_not(
    program: integraph.Program, x: np.ndarray, tmp_path: Path
) -> None:
    assert program.flow(x).engine == "taylor"
    with pytest.raises(UsageError, match=r"a block has no closed form.*use 'taylor'"):
        program.flow(x, "exact")
    program.save(tmp_path / "energy.integraph")
    again = integraph.load(tmp_path / "energy.integraph")
    assert np.array_equal(again(x), program(x))
    assert (str(again.origin), again.digest) == (str(program.origin), program.digest)


@needs("jax")
@pytest.mark.slow
def test_jax_and_its_files(program: integraph.Program, x: np.ndarray, tmp_path: Path) -> None:
    flow = program.flow(x, "jax")
    assert flow.engine == "jax"
    assert np.abs(flow.outputs - energy(x)).max() < 1e-11
    with jax.enable_x64(True):
        path = program.export(tmp_path / "energy.jaxexport")
        again = jax_export.deserialize(bytearray(path.read_bytes()))
        assert np.abs(np.asarray(again.call(x)) - energy(x)).max() < 1e-11
        function, params = program.to_jax()
        slope = jax.grad(lambda point: function(params, point)[0])(x[0])
    steps = 1e-4 * np.eye(3)
    differences = (energy(x[0] + steps) - energy(x[0] - steps))[:, 0] / 2e-4
    assert np.abs(np.asarray(slope) - differences).max() < 1e-7


@needs("torch")
@pytest.mark.slow
def test_a_module_of_pytorch(program: integraph.Program, x: np.ndarray) -> None:
    ends = program.to_torch()(torch.tensor(x))
    assert np.abs(ends.detach().numpy() - energy(x)).max() < 1e-11
