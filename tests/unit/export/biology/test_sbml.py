"""SBML, judged by libSBML, libRoadRunner and COPASI, and read back by a small parser of MathML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program, Registers, build, segment
from integraph.gadgets import affine
from lazy import needs
from sbml_tools import by_copasi, by_roadrunner, complaints
from slow import mostly_slow

NAMES = list(export_programs.EQUATIONS)
Terms = dict[tuple[str, ...], float]  # a coefficient for each product of names


def tag(element: ET.Element) -> str:
    return element.tag.partition("}")[2]


def polynomial(math: ET.Element, numbers: dict[str, float]) -> Terms:
    """Sums and products of names, multiplied out; a name in `numbers` is its number."""
    if tag(math) == "math":
        return polynomial(math[0], numbers)
    if tag(math) == "ci":
        name = str(math.text)
        return {(): numbers[name]} if name in numbers else {(name,): 1.0}
    operator, *rest = math
    parts = [polynomial(part, numbers) for part in rest]
    if tag(operator) == "plus":
        merged: Terms = {}
        for part in parts:
            assert not merged.keys() & part.keys()
            merged |= part
        return merged
    assert tag(operator) == "times"
    result: Terms = {(): 1.0}
    for part in parts:
        result = {(*a, *b): u * v for a, u in result.items() for b, v in part.items()}
    return result


def read(path: Path) -> tuple[Terms, dict[str, Terms], dict[str, float]]:
    """Rate rules as (register, run__n, factors…) → coefficient, assignment rules, and parameters."""
    root = ET.fromstring(path.read_bytes())
    values = {one.attrib["id"]: float(one.attrib["value"]) for one in root.iter() if tag(one) == "parameter"}
    numbers = {name: value for name, value in values.items() if name.startswith("c__")}
    rates: Terms = {}
    outputs = {}
    for rule in root.iter():
        if tag(rule) == "rateRule":
            variable = rule.attrib["variable"]
            rates |= {(variable, *factors): value for factors, value in polynomial(rule[0], numbers).items()}
        elif tag(rule) == "assignmentRule" and rule.attrib["variable"] != "size__":
            piece, _ = rule[0][0]
            outputs[rule.attrib["variable"]] = polynomial(piece[0], numbers)
    return rates, outputs, values


def named(program: Program) -> Terms:
    names = [program.registers.name(register) for register in range(program.width)]
    c = program.controls()
    return {
        (names[i], f"run__{s + 1}", *(names[f] for f in (j, k) if f >= 0)): value
        for s, i, j, k, value in zip(*(part.tolist() for part in (c.segment, c.i, c.j, c.k, c.value)), strict=True)
    }


@mostly_slow("name", NAMES, quick=1)
def test_the_terms_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    rates, outputs, values = read(program.export(tmp_path / "wave.sbml"))
    assert rates == named(program)
    for row, terms in enumerate(outputs.values()):
        weights = {(program.registers.name(n),): w for n, w in enumerate(program.readout.toarray()[row].tolist()) if w}
        assert terms == weights
    for number, own in enumerate(program.segments, 1):
        assert values[f"duration__{number}"] == own.duration


@needs("libsbml")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["hostile", *NAMES])
def test_libsbml_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    program = {"hostile": export_programs.hostile, **export_programs.EQUATIONS}[name]()
    assert complaints(program.export(tmp_path / "out1.xml")) == []


def names(program: Program) -> tuple[list[str], list[str]]:
    return [program.registers.name(n) for n in range(program.inputs)], [f"out{n + 1}" for n in range(program.outputs)]


@needs("roadrunner")
@mostly_slow("name", NAMES, quick=1)
def test_roadrunner_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 5)
    outputs = by_roadrunner(program.export(tmp_path / "wave.sbml"), program, x, *names(program))
    assert np.abs(outputs - program(x)).max() <= 1e-9


@needs("basico")
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_copasi_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 5)
    outputs = by_copasi(program.export(tmp_path / "wave.sbml"), program, x, *names(program))
    assert np.abs(outputs - program(x)).max() <= 1e-9


@needs("roadrunner")
@needs("basico")
@pytest.mark.slow
def test_a_short_segment_between_long_ones_is_not_skipped(tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("wave", label="x")
    a, b, c = registers.new("a"), registers.new("c__"), registers.new("out1")
    program = build(
        registers,
        [
            segment("long", affine(a, x[:, None], w=[[0.01]]), duration=100.0),
            segment("short", affine(b, a[:, None], w=[[30_000.0]]), duration=1e-4),
            segment("long", affine(c, b[:, None], w=[[0.02]]), duration=100.0),
        ],
        c,
    )
    path = program.export(tmp_path / "wave.xml")
    assert complaints(path) == []
    point = np.array([[0.7]])
    for tool in (by_roadrunner, by_copasi):
        assert abs(tool(path, program, point, ["waveq"], ["output_1"])[0, 0] - program(point)[0, 0]) <= 1e-9


@needs("basico")
def test_copasi_has_no_number_where_a_solution_ends(tmp_path: Path) -> None:
    """It would go on with the largest number whose square is one; at NaN it stops."""
    program = export_programs.escaping()
    path = program.export(tmp_path / "wave.sbml")
    for x in (2.0, 1 + 1e-7):
        with pytest.raises(AssertionError):  # the time course does not reach its end
            by_copasi(path, program, np.array([[x]]), *names(program))
    assert abs(by_copasi(path, program, np.array([[0.5]]), *names(program))[0, 0] - 1.0) <= 1e-9
