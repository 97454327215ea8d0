"""LUCIDAC circuits, simulated by lucipy; products with few multipliers; what does not fit."""

from __future__ import annotations

import math
import re
import runpy
from itertools import product as pairs
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import export_programs
import integraph
from integraph import Registers, build, segment
from integraph.errors import UsageError
from integraph.export.amplitude import ranges
from integraph.export.circuits.analog_circuit import analog_circuit, excess, power
from integraph.export.circuits.multipliers import Forms, multiplications
from integraph.export.equations import equations
from integraph.gadgets import product, raw
from lazy import needs
from slow import mostly_slow

FORMULAS = ["sin(3*x)*exp(-y)/(1+x*y)", "exp(-x*x)", "1/(1+x)", "sin(3*x)", "x*x*x-2*x+0.3", "20*tanh(3*x)-y"]


def powers_of_two(one: dict[str, Any]) -> bool:
    return all(math.frexp(number)[0] == 0.5 for number in (one["time"], *one["units"]))


def test_comments_say_what_names_do_not(tmp_path: Path) -> None:
    text = integraph.compile("sin(3*x)*exp(-y)").export(tmp_path / "wave.lucidac.py").read_text()
    assert "# u1: sin(3*x)*exp(-y)\n" in text
    assert not re.search(r"# (\w+) is \1\b|# x\b", text)
    assert "# 1 integrator, 0 multipliers, 1 lane\n" in text


@needs("lucipy")
@mostly_slow("formula", FORMULAS, quick=1)
def test_lucipy_gives_the_same_outputs(formula: str, tmp_path: Path) -> None:
    program = integraph.compile(formula)
    module = runpy.run_path(str(program.export(tmp_path / "wave.lucidac.py")))
    x = export_programs.inputs(program, 5)
    outputs = np.array([module["run"](point) for point in x.tolist()])
    assert np.abs(outputs - program(x)).max() <= 1e-8
    for one in module["SEGMENTS"]:
        machine = module["circuit"](one, dict.fromkeys(module["REGISTERS"], 0.0))
        assert machine.sanity_check(also_print=False) == []
        assert all(abs(coefficient) <= 10 for _, _, coefficient, _ in one["routes"])
        assert powers_of_two(one)


@needs("lucipy")
def test_an_input_beyond_the_box_is_an_overload(tmp_path: Path) -> None:
    module = runpy.run_path(str(integraph.compile("exp(x)").export(tmp_path / "wave.lucidac.py")))
    assert abs(module["run"]([0.9])[0] - np.exp(0.9)) <= 1e-8
    with pytest.raises(ValueError, match="range"):
        module["run"]([1.5])
    module["SEGMENTS"][-1]["units"] = [unit / 2 for unit in module["SEGMENTS"][-1]["units"]]
    with pytest.raises((ValueError, ArithmeticError), match=r"range|overload"):
        module["run"]([0.9])


@mostly_slow("duration", [0.3, 100.0, 1e-4, 1.0], quick=1)
@needs("lucipy")
def test_long_and_short_segments_and_constants(duration: float, tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("x", 3)
    a, b = registers.new("a", 5), registers.new("b")
    w = np.random.default_rng(1).normal(0, 30 / duration, (5, 8))
    w[:, :5] = 0  # of a itself
    segments = [
        segment("sums", raw(a, x, A=w, b=np.arange(5.0) / duration), duration=duration),
        segment("product", product(b, a[:1], a[4:])),
    ]
    program = build(registers, segments, b)
    module = runpy.run_path(str(program.export(tmp_path / "wave.lucidac.py")))
    point = np.array([0.2, 0.9, 0.4])
    assert module["run"](point.tolist())[0] == pytest.approx(program(point)[0], rel=1e-9)


@pytest.mark.slow
@needs("lucipy")
def test_a_fast_decay_takes_longer_on_the_machine(tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("x")
    y = registers.new("y")
    program = build(registers, [segment("approach", raw(y, x, A=[[-37.0, 37.0]]))], y)
    module = runpy.run_path(str(program.export(tmp_path / "wave.lucidac.py")))
    (one,) = module["SEGMENTS"]
    assert one["time"] == 4
    assert one["units"] == [1, 2]  # y comes close to 1, and has 6 % to spare
    assert sorted(coefficient for _, _, coefficient, _ in one["routes"]) == [-37 / 4 / 2, 37 / 4]
    assert abs(module["run"]([0.7])[0] - program([0.7])[0]) <= 1e-8


@mostly_slow("name", ["narrow", "lean", "wide"], quick=1)
def test_what_does_not_fit_is_refused_with_the_counts(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    with pytest.raises(UsageError, match="does not fit on a LUCIDAC") as caught:
        program.export(tmp_path / "wave.lucidac.py")
    says = re.findall(r"segment (\d) of \d needs (\d+) (\w+) of (\d+), (\d+) too many", str(caught.value))
    assert [(what, most) for _, _, what, most, _ in says] == [
        ("integrators", "8"),
        ("multipliers", "4"),
        ("lanes", "32"),
    ]
    assert all(int(need) - int(most) == int(over) for _, need, _, most, over in says)
    controls = program.controls()
    number, need, *_ = says[0]
    own = controls.segment == int(number) - 1
    used = np.concatenate([controls.i[own], controls.j[own], controls.k[own]])
    assert len(np.unique(used[used >= 0])) == int(need)


def multiplied(rows: Forms) -> Forms:
    """The products multiplied out again."""
    forms: Forms = {row: {} for row in rows}
    for row, value, (left, right) in multiplications(rows):
        for (j, u), (k, v) in pairs(left, right):
            pair = (min(j, k), max(j, k))
            forms[row][pair] = forms[row].get(pair, 0.0) + value * u * v
    return {row: {pair: value for pair, value in form.items() if abs(value) > 1e-12} for row, form in forms.items()}


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ({0: {(0, 0): -1.0}}, 1),
        ({0: {(0, 1): 2.0, (0, 2): 3.0, (0, 3): 5.0}}, 1),  # y0 (2 y1 + 3 y2 + 5 y3)
        ({0: {(1, 2): 2.0}, 3: {(1, 2): 7.0}}, 1),  # one product, two rows
        ({0: {(0, 2): -1.0, (0, 3): -1.0}, 1: {(1, 2): -4.0, (1, 3): -4.0}}, 2),
        ({0: {(0, 3): -1.0, (1, 2): -3.0}, 1: {(1, 3): -1.0, (0, 2): 3.0}}, 3),  # a turn
        ({0: {(0, 1): 1.0, (2, 3): 1.0}}, 2),
        ({}, 0),
    ],
)
def test_products_are_saved(rows: Forms, count: int) -> None:
    assert len({one for _, _, one in multiplications(rows)}) == count
    assert multiplied(rows) == rows


def test_random_forms_are_the_sums_of_their_products() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        rows: Forms = {}
        for row in range(4):
            chosen = [(j, k) for j in range(5) for k in range(j, 5) if rng.random() < 0.3]
            rows[row] = {pair: float(rng.integers(1, 9)) * rng.choice([-1.0, 1.0]) for pair in chosen}
        assert multiplied(rows) == rows


def test_the_formula_takes_four_multipliers() -> None:
    program = export_programs.formula()
    low, high = ranges(program)
    circuit = analog_circuit(equations(program), 1, np.maximum(high, -low)[1])
    assert (len(circuit.registers), circuit.multipliers, excess([circuit])) == (5, 4, "")


@pytest.mark.parametrize(("size", "unit"), [(0.0, 1.0), (1.0, 1.0), (1.01, 2.0), (0.2, 0.25), (64.0, 64.0)])
def test_units(size: float, unit: float) -> None:
    assert power(size) == unit
