"""Equations as text, mappings and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import integraph
from integraph.errors import FileError, SourceError, UsageError
from integraph.frontends.dynamics import equations, read_system
from integraph.targets.dynamical_system import DynamicalSystem
from integraph.targets.float_arithmetic import values
from lazy import Lazy

sp: Any = Lazy("sympy")


def sides(system: DynamicalSystem, *x: float) -> list[float]:
    return [float(v) for v in values(system.expression, np.array([x]))[0]]


@pytest.mark.parametrize(
    "source",
    [
        "x' = v; v' = -2*sin(x)",
        "x' = v\nv' = -k*sin(x)  # the force",
        "dx/dt = v; dv/dt = -k*sin(x)",
        "c = k; x' = v; v' = -c*sin(x)",
        ["x' = v", "v' = -k*sin(x)  # the force"],
        {"x": "v", "v": "-2*sin(x)"},
        {"x'": "v", "v'": "-k*sin(x)"},
    ],
)
def test_one_system_in_many_words(source: object) -> None:
    parameters = {"k": 2} if "k" in str(source) else None
    system = read_system(source, parameters=parameters)
    assert system.states == ("x", "v")
    assert sides(system, 0.5, 0.25) == [0.25, pytest.approx(-2 * np.sin(0.5))]


@pytest.mark.parametrize("text", ["x'' = -x - 3*x' + u", "d2x/dt2 = -x - 3*x' + u", "x′′ = -x - 3*x′ + u"])
def test_higher_derivatives_are_states(text: str) -> None:
    system = read_system(text, inputs="u")
    assert system.states == ("x", "dx")
    assert system.variables == ("x", "dx", "u")
    assert sides(system, 1.0, 0.5, 10.0) == [0.5, 7.5]


def test_functions_of_time_are_states() -> None:
    system = read_system("x'(t) = -x(t)*y( t ); dy(t)/dt = sin(t) + y(t)")
    assert system.states == ("x", "y", "t")
    assert sides(system, 2.0, 3.0, 0.0) == [-6.0, 3.0, 1.0]


def test_a_derivative_of_time_on_the_right() -> None:
    assert sides(read_system("x''(t) = -2*x'(t) - x(t)"), 3.0, 5.0) == [5.0, -13.0]


def test_time_is_a_state() -> None:
    system = read_system("x' = -x + t")
    assert system.states == ("x", "t")
    assert sides(system, 1.0, 3.0) == [2.0, 1.0]
    assert read_system("x' = t*x", inputs="t").states == ("x",)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "oscillator.ode"
    file.write_text("# two lines\nx' = v\n\nv' = -x\n")
    assert read_system(str(file)).name == "oscillator"
    file.write_text("x' = v\nv' = -x +\n")
    with pytest.raises(SourceError, match="in line 2"):
        read_system(file)
    with pytest.raises(FileError, match=r"ends with \.ode"):
        read_system(tmp_path / "model.pdf")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x' = x x", "an operator is missing"),
        ("x' = -x(t - 1)", "an ODE has no delays"),
        ("x + 1 = 2", "this is no equation"),
        ("x' = x, 2*x", "2 formulas for 1 states"),
        ("x'''''''''' = x", "order 10"),
        ("x' = __import__(1)", "unknown function"),
        ("x' = -x + np.sin(x)", "np. is of Python, at column 11"),
        ("x' = math.exp(x)", "functions have no prefix: write"),
        ("x' = gamma(x)", "it is not elementary: make it a state"),
        ("x' = integral(x)", "an integral over time is a state"),
        ("x' = floor(x)", "this jumps: write a sum of steps"),
        ("x' = random()", "an ODE has no random input"),
        ("x' = -x; x(0) = 1", "a start is no equation, at column 10"),
        ("x' = -x; x0 = 1", "'x0' is defined and not used, at column 10"),
        ("x' = -x, y' = -y", "a second = in one equation, at column 13"),
        ("x' = y'; y' = x", "a derivative on the right that is no state"),
        ("x' = -x(t) + x(t - 1)", "an ODE has no delays"),
    ],
)
def test_mistakes_are_shown(text: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_system(text)


def test_mistakes_are_shown_in_the_words_of_the_source() -> None:
    with pytest.raises(SourceError) as mistake:
        read_system("x'' = -x - c*x' + q*x'")
    assert "  x'' = -x - c*x' + q*x'\n             ^\n" in str(mistake.value)


def test_too_many_equations_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equations, "MOST", 3)
    monkeypatch.setattr(equations, "parse_statements", None)
    with pytest.raises(SourceError, match="4 equations: at most 3"):
        read_system("a' = b; b' = c; c' = d; d' = a")


def test_sources_of_other_kinds_are_refused() -> None:
    for source in (3, {}, {"x": 1}, {"x": "1; y' = 2"}):
        with pytest.raises(UsageError, match="source"):
            read_system(source)


def test_long_names_are_refused() -> None:
    with pytest.raises(UsageError, match="no plain word of at most 200 characters: rename it"):
        read_system(f"{'a' * 201}' = 1")


def test_sympy_expressions() -> None:
    x, v, u = sp.symbols("x v u")
    system = read_system({x: v, v: -2 * sp.sin(x) + u}, inputs="u")
    assert system.variables == ("x", "v", "u")
    assert sides(system, 0.5, 0.25, 1.0) == [0.25, pytest.approx(1 - 2 * np.sin(0.5))]
    assert sides(read_system({x: -u * x}, parameters={"u": 2}), 0.5) == [-1.0]
    with pytest.raises(SourceError, match="unknown symbol u"):
        read_system({x: -u * x})


@pytest.mark.parametrize(
    "side",
    [
        "sqrt(x^2 + 1e-6)", "softplus(9*x)/9", "2*x + softplus(9*(1 - x))/9", "2*x - softplus(9*(1 - x))/9",
        "tanh(9*x)", "sigmoid(9*x)", "1 + (x - 2)*sigmoid(-9*x)", "sin(2*pi*x/3)", "sigmoid(9*x) + sigmoid(9*(x - 1))",
    ],
)  # fmt: skip
def test_the_smooth_functions_of_the_messages_are_lifted(side: str) -> None:
    assert integraph.lift(f"x' = {side}", seconds=5, progress=False).new
