"""The result: printed, started, simulated, compiled, refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph.constructions.lifting import construction
from integraph.constructions.lifting.equations import ORDERS
from integraph.constructions.lifting.simulation import free_flow
from integraph.errors import FlowError, SourceError, UsageError

PENDULUM = integraph.lift("x' = v; v' = -g*sin(x)", inputs="g")
NAGUMO = "v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)"
SQUARE = [[-0.5, 0.5], [-0.5, 0.5]]
BOX = [[-0.5, 0.5], [-0.5, 0.5], [0.9, 1.1]]


def pendulum(x: tuple[float, float], g: float, T: float) -> np.ndarray:
    solution = solve_ivp(lambda t, y: [y[1], -g * np.sin(y[0])], (0, T), x, method="DOP853", rtol=1e-13, atol=1e-15)
    return np.asarray(solution.y[:, -1])


def test_equations_are_printed() -> None:
    text = str(PENDULUM)
    assert "w1 = sin(x)" in text
    assert "v' = -g*w1" in text
    assert "2 new variables (the fewest among monomials in" in text
    assert r"\dot{w_{1}} &= v\,w_{2}" in PENDULUM.latex()
    assert "<td style='text-align:left'>sin(x)</td>" in PENDULUM._repr_html_()


def test_formulas_are_typeset() -> None:
    system = integraph.lift("theta' = 1e-7/(1 + theta^2) - theta/3")
    assert system.formulas[0] in ("theta/(1 + theta^2)", "1/(1 + theta^2)")
    assert r"\dot{\theta} &= -\tfrac{1}{3}\,\theta + 10^{-7}\,w_" in system.latex()
    assert integraph.lift("T' = exp(-8/T)").formulas[0].startswith("exp(-8/T)")


def test_names_from_outside_are_escaped() -> None:
    system = integraph.lift({"x": "-x^3"})
    object.__setattr__(system, "formulas", ("<b>",))
    assert "<b>" not in system._repr_html_()


def test_matrices_say_what_the_terms_say() -> None:
    y = np.array([0.3, -0.2, 9.0, 0.5, 0.7])
    right = PENDULUM.b + PENDULUM.A @ y + PENDULUM.Q @ np.outer(y, y).ravel()
    assert np.allclose(right, [-0.2, -4.5, 0.0, -0.14, 0.1], atol=1e-15)


def test_a_batch_sweeps_an_input() -> None:
    swept = PENDULUM.simulate({"x": 0.4, "v": 0.1, "g": [1.0, 2.0, 5.0]}, [0.0, 1.0, 3.0])
    for row, g in enumerate((1.0, 2.0, 5.0)):
        assert np.allclose(swept.states[row, -1, :2], pendulum((0.4, 0.1), g, 3.0), atol=1e-11)
    assert np.array_equal(swept["x"][:, 0], [0.4] * 3)
    assert np.allclose(swept(2.0)[1, :2], pendulum((0.4, 0.1), 2.0, 2.0), atol=1e-11)
    several = swept([1.5, 2.0])
    assert np.array_equal(several, np.stack([swept(1.5), swept(2.0)], 1))


def nagumo(T: float) -> np.ndarray:
    right = lambda t, y: [y[0] - y[0] ** 3 / 3 - y[1] + 0.5, 0.08 * (y[0] + 0.7 - 0.8 * y[1])]  # noqa: E731
    return np.asarray(solve_ivp(right, (0, T), [0, 0], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1])


@pytest.fixture
def drifting(monkeypatch: pytest.MonkeyPatch) -> integraph.QuadraticSystem:
    """FitzHugh–Nagumo with w1' = 2·w1 + …, which pushes w1 away from v²."""
    monkeypatch.setattr(construction, "ORDERS", {"first": ORDERS["first"]})
    return integraph.lift(NAGUMO)


def test_projection_repairs_drift(drifting: integraph.QuadraticSystem) -> None:
    true = nagumo(40.0)
    drifted = drifting.simulate([0.0, 0.0], [40.0], project=False)
    assert np.max(np.abs(drifted.states[0, -1] - true)) > 1e-3
    assert drifted.manifold_error > 1e-3
    projected = drifting.simulate([0.0, 0.0], [40.0])
    assert np.max(np.abs(projected.states[0, -1] - true)) < 1e-11
    program = drifting.program(40.0, [[-0.1, 0.1], [-0.1, 0.1]])
    assert np.max(np.abs(program([0.0, 0.0]) - true)) < 1e-11
    assert program.origin is not None
    assert program.origin.options["projections"] > 1
    assert 0 < program.origin.options["manifold error"] < 1e-12
    assert "manifold error" in str(program.origin)


def test_relaxation_repairs_drift(drifting: integraph.QuadraticSystem) -> None:
    relaxed = drifting.relax(20.0)
    free = relaxed.simulate([0.0, 0.0], [40.0], project=False)
    assert np.max(np.abs(free.states[0, -1] - nagumo(40.0))) < 1e-10
    assert free.manifold_error < 1e-11


def test_relaxation_draws_back_at_its_rate() -> None:
    """From x = 0, w1 = d: w1' = −2·w1² − 5·w1, whose solution is known."""
    d, shrunk = 1e-3, np.exp(-5.0)
    end = free_flow(integraph.lift("x' = -x^3").relax(5), 1.0)([0.0, d])
    assert end[0] == 0.0
    assert end[1] == pytest.approx(5 * d * shrunk / (5 + 2 * d * (1 - shrunk)), rel=1e-12)


def test_relaxation_is_refused() -> None:
    with pytest.raises(UsageError, match="a product of two others"):
        integraph.lift("x' = v; v' = -sin(x)").relax(1.0)
    for rate in (0.0, -1.0, np.nan):
        with pytest.raises(UsageError, match="positive rate"):
            integraph.lift("x' = -x^3").relax(rate)


def test_a_program_takes_starts_to_ends(tmp_path: object) -> None:
    program = PENDULUM.program(2.0, BOX, project=0.5)
    assert program.inputs == 3
    assert np.allclose(program([0.4, 0.1, 1.0]), pendulum((0.4, 0.1), 1.0, 2.0), atol=1e-12)
    program.save(f"{tmp_path}/p.integraph")
    assert np.array_equal(integraph.load(f"{tmp_path}/p.integraph")([0.4, 0.1, 1.0]), program([0.4, 0.1, 1.0]))


def test_a_program_reads_out_a_formula() -> None:
    energy = integraph.function("v^2/2 - cos(x)", variables="x, v")
    program = integraph.lift("x' = v; v' = -sin(x)").program(1.0, [[-0.5, 0.5], [-0.5, 0.5]], output=energy)
    assert program([0.4, 0.1])[0] == pytest.approx(0.005 - np.cos(0.4), abs=1e-13)
    text = integraph.lift("x' = v; v' = -sin(x)").program(1.0, SQUARE, output="v^2/2 - cos(x)")
    assert np.array_equal(text([0.4, 0.1]), program([0.4, 0.1]))
    with pytest.raises(SourceError, match="unknown name 'y'"):
        integraph.lift("x' = v; v' = -sin(x)").program(1.0, SQUARE, output="y^2")
    with pytest.raises(UsageError, match="a formula of the states"):
        integraph.lift("x' = -x^3").program(1.0, [[0, 1]], output=energy)


def test_programs_compose() -> None:
    step = integraph.lift("x' = v; v' = -sin(x)").program(0.5, [[-0.5, 0.5], [-0.5, 0.5]])
    assert np.allclose(step.then(step)([0.4, 0.1]), pendulum((0.4, 0.1), 1.0, 1.0), atol=1e-12)


def test_periods_run_on_the_same_registers() -> None:
    step = integraph.lift("x' = v; v' = -sin(x)").program(0.2, SQUARE)
    swing = step.repeat(50)
    assert swing.width == step.width
    assert np.allclose(swing([0.4, 0.1]), pendulum((0.4, 0.1), 1.0, 10.0), rtol=0, atol=1e-10)


def test_a_controller_acts_between_periods() -> None:
    plant = integraph.lift("x' = v; v' = -sin(x) + u", inputs="u")
    controller = integraph.compile("-2*tanh(x) - v", variables="x, v", box=SQUARE)
    step = plant.program(0.1, SQUARE, controller=controller)
    assert (step.inputs, step.outputs) == (2, 2)
    loop = step.repeat(20)
    assert loop.width == step.width
    state = np.array([0.4, 0.1])
    for _ in range(20):
        u = -2 * np.tanh(state[0]) - state[1]
        side = lambda t, y, u=u: [y[1], -np.sin(y[0]) + u]  # noqa: E731
        state = solve_ivp(side, (0, 0.1), state, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    assert np.allclose(loop([0.4, 0.1]), state, rtol=0, atol=1e-12)
    with pytest.raises(UsageError, match="2 states and 1 input; the controller takes 1 and gives 1"):
        plant.program(0.1, SQUARE, controller=integraph.compile("x", box=[[-1, 1]]))
    with pytest.raises(UsageError, match="a program in its own units"):
        plant.program(0.1, SQUARE, controller=controller.rescale_states(2.0))


def test_a_quadratic_system_stays_as_it_is() -> None:
    system = integraph.lift("x' = x*(1 - y); y' = y*(x - 1)")
    assert system.new == ()
    assert np.array_equal(system.start([1.0, 2.0]), [[1.0, 2.0]])
    assert system.program(1.0, [[0.5, 1], [0.5, 1]])([0.7, 0.8]).shape == (2,)


def test_new_variables_get_names_of_their_own() -> None:
    assert integraph.lift({"w1": "-w1^3"}).names == ("w1", "z1")
    assert integraph.lift({"w1": "-w1^3", "z1": "-q1", "q1": "z1"}).new == ("w_1",)
    system = integraph.lift({"W": "-w^3", "w": "W"})
    assert system.program(1.0, [[0, 1], [0, 1]])([0.5, 0.5]).shape == (2,)


def test_blow_up_is_said_with_its_time() -> None:
    system = integraph.lift("x' = x^3")
    with pytest.raises(FlowError, match=r"t = 0\.(5|4999)"):
        system.simulate([1.0], [1.0])
    with pytest.raises(SourceError, match="shorter T"):
        system.program(1.0, [[0.9, 1.0]])


@pytest.mark.parametrize("rtol", [0.0, 2.0, "few"])
def test_wrong_tolerances(rtol: object) -> None:
    with pytest.raises(UsageError, match="rtol"):
        integraph.lift("x' = -x").simulate([1.0], [1.0], rtol=rtol)


def test_a_stiff_decay_is_followed() -> None:
    system = integraph.lift("x' = -200*(x - cos(x)^3)")
    x = system.simulate([1.0], [0.5]).states[0, -1, 0]
    assert x == pytest.approx(np.cos(x) ** 3, abs=1e-10)


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("x' = abs(x)", {}, "kink"),
        ("x' = max(x, 0)", {}, "kink"),
        ("x' = |x|", {}, r"this has a kink: write sqrt\(x\^2 \+ 1e-6\)"),
        ("x' = relu(x)", {}, r"this has a kink: write softplus\(k\*x\)/k"),
        ("x' = floor(x)", {}, "this jumps"),
        ("x' = sign(x)", {}, r"this jumps: write tanh\(k\*x\)"),
        ("x' = random(x)", {}, "an ODE has no random input"),
        ("x' = normal(0, 1)", {}, "an ODE has no random input"),
        ("x' = delay(x, 1)", {}, "an ODE has no delays"),
        ("x' = -x(t - 1)", {}, "an ODE has no delays"),
        ("x' = k*x", {}, "unknown name 'k'"),
        ("x' = k*x", {}, "give it a value as a parameter"),
        ("x' = Spead*x", {"inputs": ("speed",)}, "did you mean speed"),
        ("x' = k*x", {"parameters": {"x": 2, "k": 1}}, "an input or a parameter"),
        ("x' = -x", {"parameters": {"sin": 2}}, "the function"),
        ("k = 2; x' = k*x", {"parameters": {"k": 2}}, "is a parameter"),
        ("x' = -x", {"inputs": ("exp",)}, "the function"),
        ("x' = 1/(x - x)", {}, "division by zero"),
        ("x' = x; x' = 2*x", {}, "two equations"),
        ("x'' = x; dx' = x", {}, "means two things"),
        ("x' = u", {"inputs": ("u", "x")}, "means two things"),
        ("x' = x", {"positive": ("y",)}, "no state"),
        ("k = 2", {}, "no differential equation"),
        ("sin' = x", {}, "the function"),
        ("x' = 1e308*x^3", {}, "choose other units"),
    ],
)
def test_what_cannot_be_lifted_gets_a_sentence(source: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises((SourceError, UsageError), match=words):
        integraph.lift(source, **options)


def test_starts_and_times_are_checked() -> None:
    system = integraph.lift("x' = 1/x")
    with pytest.raises(SourceError, match=r"1/x\^2 is inf at x = 0"):
        system.simulate([0.0], [1.0])
    with pytest.raises(SourceError, match=r"x\^2 is inf at x = 1e\+200"):
        integraph.lift("x' = -x^3").simulate([1e200], [1.0])
    with pytest.raises(UsageError, match="in order"):
        system.simulate([1.0], [1.0, 0.5])
    with pytest.raises(UsageError, match="missing"):
        PENDULUM.simulate({"x": 1.0, "v": 0.0}, [1.0])
    with pytest.raises(UsageError, match="a start has 3 values"):
        PENDULUM.simulate([1.0, 2.0], [1.0])
    with pytest.raises(UsageError, match="known from 0 to 1"):
        system.simulate([1.0], [1.0])(2.0)
    with pytest.raises(UsageError, match="positive time"):
        system.program(0.0, [[1, 2]])
