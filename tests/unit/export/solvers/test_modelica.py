"""Modelica, simulated by rumoca, parsed by pymoca, and read back by a small parser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program, Registers, build, segment
from integraph.gadgets import affine
from lazy import Lazy, needs
from slow import mostly_slow

rumoca, parser = Lazy("rumoca"), Lazy("pymoca.parser")
NAMES = list(export_programs.EQUATIONS)
BRANCH = re.compile(r"if time < (\d+) then (?:duration__(\d+)\*\((.*?)\)|0) else ")


def polynomial(text: str) -> dict[tuple[str, ...], float]:
    """`2.5*x*y - z + 1.0` as coefficients of products of names."""
    terms = {}
    for sign, product in re.findall(r"(^-?|[+-] )(.+?)(?= [+-] |$)", text):
        value, names = -1.0 if "-" in sign else 1.0, []
        for factor in product.split("*"):
            if factor[0].isalpha():
                names.append(factor)
            else:
                value *= float(factor)
        assert tuple(names) not in terms
        terms[tuple(names)] = value
    return terms


def read(text: str) -> dict[tuple[int, str, tuple[str, ...]], float]:
    terms = {}
    for register, right in re.findall(r"^  der\((\w+)\) = (.*);$", text, re.MULTILINE):
        branches = BRANCH.findall(right)
        assert BRANCH.sub("", right) == "0"
        for end, duration, sum_of_terms in branches:
            if duration:
                assert end == duration
                terms |= {(int(end), register, k): v for k, v in polynomial(sum_of_terms).items()}
    return terms


@mostly_slow("name", NAMES, quick=1)
def test_the_terms_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    text = program.export(tmp_path / "wave.mo").read_text()
    names = [program.registers.name(register) for register in range(program.width)]
    c = program.controls()
    columns = (part.tolist() for part in (c.segment, c.i, c.j, c.k, c.value))
    assert read(text) == {
        (s + 1, names[i], tuple(names[f] for f in (j, k) if f >= 0)): value
        for s, i, j, k, value in zip(*columns, strict=True)
    }
    readout = program.readout.toarray()
    for number, right in enumerate(re.findall(r"^  out\d+ = (.*);$", text, re.MULTILINE)):
        assert polynomial(right) == {(names[n],): w for n, w in enumerate(readout[number].tolist()) if w}
    durations = re.findall(r"parameter Real duration__\d+ = ([^;]*);", text)
    assert [float(one) for one in durations] == [one.duration for one in program.segments]


def simulated(path: Path, program: Program, x: np.ndarray, inputs: list[str]) -> np.ndarray:
    model = rumoca.Session().load(str(path), model=path.stem)
    settings = rumoca.SimConfig(rtol=1e-12, atol=1e-14, dt=0.5)
    rows = []
    for point in x.tolist():
        start = {f"{name}__0": value for name, value in zip(inputs, point, strict=True)}
        course = model.simulate(t=(0, program.depth), params=start, config=settings)
        assert course.time[-1] == program.depth
        rows.append([course[name][-1] for name in outputs(path)])
    return np.array(rows)


def outputs(path: Path) -> list[str]:
    return re.findall(r"output Real (\w+);", path.read_text())


@needs("rumoca")
@mostly_slow("name", NAMES, quick=1)
def test_rumoca_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 5)
    path = program.export(tmp_path / "wave.mo")
    inputs = [program.registers.name(n) for n in range(program.inputs)]
    assert np.abs(simulated(path, program, x, inputs) - program(x)).max() <= 1e-10


@needs("rumoca")
def test_names_that_the_file_uses_itself_and_long_and_short_segments(tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("out1", label="x")
    a, b = registers.new("start"), registers.new("fixed")
    segments = [
        segment("long", affine(a, x[:, None], w=[[0.01]]), duration=100.0),
        segment("short", affine(b, a[:, None], w=[[30_000.0]]), duration=1e-4),
        segment("long", affine(a, x[:, None], w=[[0.03]]), duration=100.0),
        segment("last", affine(a, b[:, None], w=[[1.0]])),
    ]
    program = build(registers, segments, a)
    path = program.export(tmp_path / "out1.mo")
    assert np.abs(simulated(path, program, np.array([[0.7]]), ["out1q"]) - program([[0.7]])).max() <= 1e-10


@needs("pymoca")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["formula", "hostile"])
def test_pymoca_parses_it(name: str, tmp_path: Path) -> None:
    program = {"formula": export_programs.formula, "hostile": export_programs.hostile}[name]()
    tree = parser.parse(program.export(tmp_path / "wave.mo").read_text())
    assert "wave" in tree.classes
    assert len(tree.classes["wave"].equations) == program.width + program.outputs
