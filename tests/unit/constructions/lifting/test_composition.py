"""Programs of lifted systems one after the other, with controllers, and between times, against DOP853."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats

BOX = [[-1, 1], [-1, 1]]
Field = Callable[[float, Floats], Sequence[Any]]


def pendulum(torque: float = 0.0) -> Field:
    return lambda t, y: [y[1], -np.sin(y[0]) + torque]


def solved(field: Field, start: Any, T: float) -> Floats:
    return np.asarray(solve_ivp(field, (0, T), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1])


@pytest.fixture(scope="module")
def swing() -> integraph.QuadraticSystem:
    return integraph.lift("x' = v; v' = -sin(x)")


def test_systems_and_formulas_in_turn(swing: integraph.QuadraticSystem) -> None:
    first = swing.program(1.0, BOX)
    middle = solved(pendulum(), [0.5, 0.0], 1.0)
    second = integraph.lift("x' = v; v' = (1 - x^2)*v - x").program(1.0, [[-2, 2], [-2, 2]])
    right = solved(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], middle, 1.0)
    for reuse in (False, True):
        assert np.abs(first.then(second, reuse=reuse)([0.5, 0.0]) - right).max() < 1e-11
    mixed = integraph.compile("tanh(x) + v, x*v", variables="x, v", box=[[-2, 2], [-2, 2]])
    x, v = middle
    assert np.abs(first.then(mixed)([0.5, 0.0]) - [np.tanh(x) + v, x * v]).max() < 1e-11
    right = solved(pendulum(), [np.tanh(0.5), 0.0], 1.0)
    assert np.abs(mixed.then(first)([0.5, 0.0]) - right).max() < 1e-11
    with pytest.raises(UsageError, match="got QuadraticSystem: compile it, or lift it and call `program`"):
        first.then(swing)  # type: ignore[arg-type]


def test_a_net_controls_a_plant() -> None:
    plant = integraph.lift("x' = v; v' = -sin(x) + u", inputs="u")
    rng = np.random.default_rng(0)
    net = integraph.network(
        [(rng.normal(size=(8, 2)), rng.normal(size=8), "tanh"), (rng.normal(size=(1, 8)) / 4, np.zeros(1))]
    )
    controller = integraph.compile(net, method="wide", box=[[-2, 2], [-2, 2]])
    period = plant.program(0.1, BOX, controller=controller, project=0.05)
    loop = period.repeat(30)
    assert loop.width == period.width
    x = np.array([0.5, 0.0])
    for _ in range(30):
        x = solved(pendulum(float(net(x[None])[0, 0])), x, 0.1)
    assert np.abs(loop([0.5, 0.0]) - x).max() < 1e-11


def test_dense_output_of_a_sweep() -> None:
    plant = integraph.lift("x' = v; v' = -sin(x) + u", inputs="u")
    torques = [0.0, 0.5, 1.0]
    swept = plant.simulate({"x": 0.5, "v": 0.0, "u": torques}, np.linspace(0, 3, 7))
    for t in (0.0, 1.234, 3.0):
        right = [solved(pendulum(u), [0.5, 0.0], t) if t else [0.5, 0.0] for u in torques]
        assert np.abs(swept(t)[:, :2] - right).max() < 1e-11


def test_numbers_that_are_none(swing: integraph.QuadraticSystem) -> None:
    for x0, times in (("a", [1.0]), ([1.0, 0.0], "b"), ([1.0, 0.0], []), ({"x": "a", "v": 0}, [1.0])):
        with pytest.raises(UsageError, match=r"must be numbers|needs finite times"):
            swing.simulate(x0, times)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="lists of 2 and 3 values"):
        swing.simulate({"x": [1.0, 2.0], "v": [0.0, 1.0, 2.0]}, [1.0])
    for source, what in ((swing, "a lifted system"), (swing.program(1.0, BOX), "a program")):
        with pytest.raises(UsageError, match=f"{what} is quadratic already"):
            integraph.lift(source)
    for options in ({"inputs": 3}, {"positive": 3}, {"parameters": [1]}):
        with pytest.raises(UsageError, match=f"{next(iter(options))} = "):
            integraph.lift("x' = -x", **options)  # type: ignore[arg-type]


def test_periods_add_up_to_T(swing: integraph.QuadraticSystem) -> None:
    """Exactly, whatever their number: the proof is about T."""
    for T, project in ((1.0, 0.3), (0.1, 0.03), (np.pi, 0.7), (1e-5, 3e-6)):
        program = swing.program(float(T), BOX, project=project)
        spans = [Fraction(s.duration) for s in program.segments if s.label == "flow"]
        assert sum(spans) == Fraction(float(T))
        assert max(spans) / min(spans) < 1 + Fraction(1, 1000)


def test_a_report_shows_the_manifold_error(swing: integraph.QuadraticSystem, tmp_path: Any) -> None:
    program = swing.program(1.0, BOX)
    program.report(tmp_path / "swing.html")
    shown = f"{program.origin.options['manifold error']:g}"  # type: ignore[union-attr]
    assert f"manifold error = {shown}" in (tmp_path / "swing.html").read_text()
    assert "manifold error" in repr(swing.simulate([0.5, 0.0], [1.0]))


def test_a_program_needs_a_box(swing: integraph.QuadraticSystem) -> None:
    with pytest.raises(UsageError, match="box of starts"):
        swing.program(1.0, None)  # type: ignore[arg-type]
