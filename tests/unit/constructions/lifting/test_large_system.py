"""Systems of many states: few new variables, true equations, solutions as scipy's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import integraph
from integraph import QuadraticSystem, clock
from integraph.constructions.lifting import large_system
from integraph.errors import SourceError
from ode_grids import GRIDS


def quadratic(system: QuadraticSystem, y: np.ndarray) -> np.ndarray:
    j, k = np.array([t.j for t in system.terms]), np.array([t.k for t in system.terms])
    one = np.append(y, 1.0)  # index −1 is the constant
    values = np.array([float(t.value) for t in system.terms]) * one[j] * one[k]
    right = np.zeros(system.width)
    np.add.at(right, [t.i for t in system.terms], values)
    return right


def check(system: QuadraticSystem, right: np.ndarray, x: np.ndarray, slope: np.ndarray) -> None:
    """States have the slope of the source, new variables that of their formulas, by a difference."""
    side = quadratic(system, system.start(x)[0])
    assert np.allclose(side[: len(x)], right, rtol=1e-12, atol=1e-9)
    h = 1e-6
    rise = (system.start(x + h * slope) - system.start(x - h * slope))[0] / (2 * h)
    assert np.allclose(side, rise, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("n", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_grids(name: str, n: int) -> None:
    make, ratio = GRIDS[name]
    formulas, right, x = make(n)
    system = integraph.lift(formulas, progress=False)
    assert len(system.new) == ratio * n
    assert system.minimal == (not system.new)
    assert len(system.terms) <= 15 * n
    check(system, right(0.0, x), x, right(0.0, x))
    end = 0.01 if name == "Burgers" else 1.0
    true = solve_ivp(right, (0, end), x, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.max(np.abs(system.simulate(x, [end]).states[0, -1] - true)) < 1e-10


@pytest.mark.slow
def test_a_program_of_1000_states() -> None:
    formulas, right, x = GRIDS["Allen–Cahn"][0](1000)
    program = integraph.lift(formulas, progress=False).program(0.5, np.stack([x - 1e-3, x + 1e-3], 1))
    true = solve_ivp(right, (0, 0.5), x, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    assert np.max(np.abs(program(x) - true)) < 1e-10


def test_the_same_numbers_as_the_search_of_small_systems() -> None:
    """A network of cells that do not meet has the new variables of one cell, for each."""
    cells = {"x^5": "-x{0}^5", "hill": "1/(1 + x{0}^2) - x{0}", "tanh": "-x{0} + tanh(x{0})", "root": "-sqrt(x{0} + 2)"}
    for formula in cells.values():
        alone = integraph.lift({"x0": formula.format(0)}, progress=False)
        many = integraph.lift({f"x{n}": formula.format(n) for n in range(40)}, progress=False)
        assert len(many.new) == 40 * len(alone.new)
        x = np.linspace(0.2, 0.9, 40)
        right = quadratic(alone, alone.start([0.2])[0])[0]
        assert quadratic(many, many.start(x)[0])[0] == pytest.approx(right)


def test_a_system_that_never_closes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = {f"x{n}": f"-x{n}^2*x{(n + 1) % 40}^3" for n in range(40)}
    monkeypatch.setattr(large_system, "MOST", 1)
    with pytest.raises(SourceError, match="and 1 new variables for each state"):
        integraph.lift(formulas, progress=False)


@pytest.mark.slow
def test_a_choice_that_never_closes_leaves_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that ticks when it is read."""
    ticks, run, calls = itertools.count(), large_system._Choice.run, []
    for module in (clock, large_system):
        monkeypatch.setattr(module, "now", lambda: float(next(ticks)))

    def endless(self: large_system._Choice, most: int) -> Iterator[float]:
        calls.append(self)
        if len(calls) == 1:
            while True:
                yield 0.5
        yield from run(self, most)

    monkeypatch.setattr(large_system._Choice, "run", endless)
    cells = {f"u{i}": f"u{(i + 1) % 40}/(1 + u{i}^2)" for i in range(40)}
    assert integraph.lift(cells, seconds=100_000, progress=False).new
    assert len(calls) == 2


def test_long_equations_are_refused() -> None:
    with pytest.raises(SourceError, match="at most 10,000"):
        integraph.lift({"x": "x+" * 6_000 + "x"})
    with pytest.raises(SourceError, match="at most 4,000,000"):
        integraph.lift("\n".join(f"x{n}' = {'x+' * 4_000}x" for n in range(600)))


def test_a_long_system_is_printed_in_part() -> None:
    text = str(integraph.lift(GRIDS["Allen–Cahn"][0](100)[0], progress=False))
    assert text.count("… 40 more") == 1
    assert "… 140 more" in text


def test_interruption_keeps_the_first_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two ways to write the system, the first is done."""
    run, calls = large_system._Choice.run, []

    def interrupted(self: large_system._Choice, most: int) -> Iterator[float]:
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        yield from run(self, most)

    monkeypatch.setattr(large_system._Choice, "run", interrupted)
    cells = {f"u{i}": f"u{(i + 1) % 40}/(1 + u{i}^2)" for i in range(40)}
    assert integraph.lift(cells, progress=False).new
    assert len(calls) == 2
