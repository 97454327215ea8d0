"""SPICE, simulated by ngspice, and read back by a small parser."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program, Registers, build, segment
from integraph.errors import UsageError
from integraph.gadgets import affine, product, raw
from lazy import needs_command
from slow import mostly_slow

NAMES = list(export_programs.EQUATIONS)


def joined(text: str) -> list[str]:
    """Lines of the deck without comments, continuations joined."""
    return [line for line in text.replace("\n+ ", " ").splitlines() if not line.startswith("*")]


def polynomial(text: str) -> dict[tuple[str, ...], float]:
    """`2.5*V(x)*V(y) - V(z) + 1.0` as coefficients of products of nodes."""
    terms = {}
    for sign, product_of_nodes in re.findall(r"(^-?|[+-] )(.+?)(?= [+-] |$)", text):
        value = -1.0 if "-" in sign else 1.0
        factors = product_of_nodes.split("*")
        nodes = tuple(factor[2:-1] for factor in factors if factor.startswith("V("))
        for factor in factors:
            value *= 1.0 if factor.startswith("V(") else float(factor)
        assert nodes not in terms
        terms[nodes] = value
    return terms


@mostly_slow("name", NAMES, quick=1)
def test_the_terms_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    lines = joined(program.export(tmp_path / "wave.cir").read_text())
    terms = {}
    heights = []
    for line in lines:
        if source := re.fullmatch(r"B(\w+)__(\d+) 0 (\w+) I = V\(run__(\d+)\)\*\((.*)\)", line):
            assert source[1] == source[3]
            assert source[2] == source[4]
            terms |= {(int(source[2]), source[1], k): v for k, v in polynomial(source[5]).items()}
        elif gate := re.fullmatch(r"Vrun__\d+ run__\d+ 0 PWL\((.*)\)", line):
            times, values = np.array([float(one) for one in gate[1].split()]).reshape(-1, 2).T
            heights.append(np.trapezoid(values, times))  # the area is the duration
            assert times[0] == 1.25 * (len(heights) - 1)
    names = [program.registers.name(register) for register in range(program.width)]
    c = program.controls()
    columns = (part.tolist() for part in (c.segment, c.i, c.j, c.k, c.value))
    assert terms == {
        (s + 1, names[i], tuple(names[f] for f in (j, k) if f >= 0)): value
        for s, i, j, k, value in zip(*columns, strict=True)
    }
    assert heights == [one.duration for one in program.segments]
    assert sum(line.startswith("C") for line in lines) == program.width


def simulated(path: Path, program: Program, point: np.ndarray) -> tuple[list[float], float]:
    """The last row of the table that ngspice prints: the outputs, and the time."""
    text = path.read_text()
    for register, value in enumerate(point.tolist()):
        name = program.registers.name(register)
        text, count = re.subn(rf"^(\.param {name}__0 =) .*$", rf"\1 {value!r}", text, flags=re.MULTILINE)
        assert count == 1
    path.write_text(text)
    run = subprocess.run(["ngspice", "-b", str(path)], capture_output=True, text=True, timeout=120, check=False)
    rows = re.findall(r"^\d+\t\s*(\S+)\t(.*)$", run.stdout, re.MULTILINE)
    time, outputs = rows[-1] if rows else ("0", "")
    return [float(one) for one in outputs.split()], float(time)


@needs_command("ngspice", "ngspice")
@mostly_slow("name", NAMES, quick=1)
def test_ngspice_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    path = program.export(tmp_path / "wave.cir")
    for point in export_programs.inputs(program, 3):
        outputs, time = simulated(path, program, point)
        assert time == 1.25 * program.depth
        assert np.abs(outputs - program(point)).max() <= 1e-5


@needs_command("ngspice", "ngspice")
@mostly_slow("duration", [1e-4, 100.0, 1.0], quick=1)
def test_short_and_long_segments_and_odd_names(duration: float, tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("V", label="x")
    a, b = registers.new("out1"), registers.new("Bout")
    segments = [
        segment("long", affine(a, x[:, None], w=[[0.02]]), duration=100.0),
        segment("second", product(b, x, a), duration=duration),
        segment("third", affine(a, b[:, None], w=[[1 / duration]]), duration=duration),
    ]
    program = build(registers, segments, a)
    point = np.array([0.7])
    outputs, time = simulated(program.export(tmp_path / "wave.sp"), program, point)
    assert time == 3.75
    assert abs(outputs[0] - program(point)[0]) <= 1e-5 * max(1.0, abs(program(point)[0]))


@needs_command("ngspice", "ngspice")
@pytest.mark.slow
def test_a_solution_that_blows_up_does_not_reach_the_end(tmp_path: Path) -> None:
    registers = Registers()
    x = registers.inputs("x")
    y = registers.new("y")
    program = build(
        registers, [segment("start", affine(y, x[:, None], w=[[2.0]])), segment("up", raw(y, Q=[[[1.0]]]))], y
    )
    _, time = simulated(program.export(tmp_path / "wave.cir"), program, np.array([1.0]))
    assert time < 2.5


@needs_command("ngspice", "ngspice")
def test_texts_from_outside_do_not_run(tmp_path: Path) -> None:
    program = export_programs.hostile()
    outputs, time = simulated(program.export(tmp_path / "wave.cir"), program, np.array([0.5]))
    assert time == 2.5
    assert abs(outputs[0] - program([0.5])[0]) <= 1e-5
    assert sorted(one.name for one in tmp_path.iterdir()) == ["wave.cir"]


@pytest.mark.parametrize("option", ["tolerance", "step"])
@pytest.mark.parametrize("value", [0, 1, float("nan"), "small", True])
def test_options_are_checked(option: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{option} is a number between 0 and 1"):
        export_programs.formula().export(tmp_path / "wave.cir", **{option: value})
