"""The rate of annihilation: what it is chosen for holds for the network itself, integrated by scipy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import export_programs
from integraph import Program, Registers, build, segment
from integraph.errors import UsageError
from integraph.export.amplitude import ranges
from integraph.export.biology.annihilation import _largest_sum, annihilation_rate
from integraph.export.biology.reactions import reactions
from integraph.export.equations import equations
from integraph.gadgets import affine, raw


def turn(rate: float) -> Program:
    registers = Registers()
    x = registers.inputs("x")
    y = registers.new("y", 2)
    matrix = [[0.0, rate], [-rate, 0.0]]
    return build(
        registers, [segment("start", affine(y[:1], x[:, None], w=[[1.0]])), segment("turn", raw(y, A=matrix))], y
    )


def largest_concentrations(program: Program, x: np.ndarray, rate: float) -> float:
    """The largest p + n on the way, by the reactions as they are listed."""
    eq = equations(program)
    network = list(reactions(eq, rate))
    species = {name: n for n, name in enumerate(sorted({s for one in network for s in one.reactants + one.products}))}
    y = np.zeros(len(species))
    for register, value in enumerate(x.tolist()):
        y[species[f"{eq.names[register]}__{'p' if value > 0 else 'n'}"]] = abs(value)
    largest = 0.0
    for number, duration in enumerate(eq.durations, 1):

        def slope(_: float, y: np.ndarray, number: int = number, duration: float = duration) -> np.ndarray:
            change = np.zeros_like(y)
            for one in network:
                if one.segment in (0, number):
                    speed = one.rate * (duration if one.segment else 1.0)
                    for name in one.reactants:
                        speed *= y[species[name]]
                    np.subtract.at(change, [species[name] for name in one.reactants], speed)
                    np.add.at(change, [species[name] for name in one.products], speed)
            return change

        path = solve_ivp(slope, (0.0, 1.0), y, method="LSODA", rtol=1e-6, atol=1e-9)
        y = path.y[:, -1]
        for name in eq.names:
            largest = max(largest, float(sum(path.y[species[f"{name}__{sign}"]] for sign in "pn").max()))
    return largest


@pytest.mark.slow
@pytest.mark.parametrize("rate", [10.0, 100.0])
@pytest.mark.parametrize("name", ["formula", "turn"])
def test_the_majorant_bounds_the_concentrations(name: str, rate: float) -> None:
    program = export_programs.formula() if name == "formula" else turn(20.0)
    low, high = ranges(program)
    bound = _largest_sum(program, rate, low, high, 1e6)
    for x in export_programs.inputs(program, 4):
        assert largest_concentrations(program, x, rate) <= bound * (1 + 1e-3)


@pytest.mark.parametrize(("turns", "rate"), [(20.0, 100.0), (1000.0, 300.0)])
def test_fast_turns_need_fast_annihilation(turns: float, rate: float) -> None:
    assert annihilation_rate(turn(turns), None)[0] == rate


def test_no_rate_is_enough(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rates up to 3000, p \\+ n exceeds 8"):
        turn(1e5).export(tmp_path / "wave.ant")
    turn(1e5).export(tmp_path / "wave.ant", annihilation=1e5)
