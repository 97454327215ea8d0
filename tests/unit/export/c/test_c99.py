"""The C file, compiled by gcc with all warnings as errors and run, also under its sanitisers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
import pytest

import export_programs
from integraph import Program, Registers, build, segment
from integraph.gadgets import affine, arctan, exp, product, ramp, raw, sin_cos
from lazy import needs_command
from slow import mostly_slow
from taylor_programs import ln_program, program_of

pytestmark = needs_command("gcc", "gcc")

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
SANITISED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
DRIVER = r"""
#include "wave.c"
#include <stdio.h>
int main(void)
{
    double x[wave_INPUTS + 1], y[wave_OUTPUTS];
    for (;;) {
        int n;
        for (n = 0; n < wave_INPUTS; n++)
            if (scanf("%la", &x[n]) != 1)
                return 0;
        printf("%d", wave(x, y));
        for (n = 0; n < wave_OUTPUTS; n++)
            printf(" %a", y[n]);
        printf("\n");
        if (!wave_INPUTS)
            return 0;
    }
}
"""


def gcc(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["gcc", *options, source, "-o", "wave"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def run(program: Program, x: np.ndarray, folder: Path, *options: str) -> tuple[list[int], np.ndarray]:
    """Statuses and outputs of the compiled file. No library is linked: the file needs none."""
    program.export(folder / "wave.c")
    (folder / "driver.c").write_text(DRIVER)
    built = gcc(folder, "driver.c", *STRICT, *(options or ("-O2",)))
    assert built.returncode == 0, built.stderr
    text = "\n".join(" ".join(map(float.hex, point)) for point in np.asarray(x, np.float64).tolist())
    done = subprocess.run(["./wave"], cwd=folder, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    return [int(row[0]) for row in rows], np.array([[float.fromhex(one) for one in row[1:]] for row in rows])


def table(text: str, name: str) -> list[float]:
    """An array of the file, by a reader of its own."""
    match = re.search(rf"static const (\w+) wave_{name}\[(\d+)\] = \{{([^}}]*)\}};", text)
    assert match is not None
    numbers = [float.fromhex(one) if match[1] == "double" else int(one) for one in match[3].split(",")]
    assert len(numbers) == int(match[2])
    return numbers


@mostly_slow("name", export_programs.EQUATIONS, quick=1)
def test_gcc_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 200)
    status, outputs = run(program, x, tmp_path)
    assert set(status) == {0}
    assert np.abs(outputs - program(x)).max() <= 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("name", export_programs.EQUATIONS)
def test_sanitisers_are_silent(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 20)
    status, outputs = run(program, x, tmp_path, *SANITISED)
    assert set(status) == {0}
    assert np.abs(outputs - program(x)).max() <= 1e-13


@pytest.mark.parametrize("name", export_programs.EQUATIONS)
def test_the_tables_are_the_terms(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    text = program.export(tmp_path / "wave.c").read_text("ascii")
    controls = program.controls()
    for letter, own in zip("jk", (controls.j, controls.k), strict=True):
        read = np.array(table(text, letter))
        assert np.array_equal(np.where(read == program.width, -1, read), own)
    assert table(text, "value") == controls.value.tolist()
    lengths = np.diff(table(text, "row"))
    assert np.array_equal(np.repeat(table(text, "i"), lengths), controls.i)
    segments = np.repeat(np.arange(program.depth), np.diff(table(text, "start")))
    assert np.array_equal(np.repeat(segments, lengths), controls.segment)
    assert table(text, "duration") == [one.duration for one in program.segments]
    matrix = np.zeros(program.readout.shape)
    for output, register, weight in zip(*(table(text, one) for one in ("output", "register", "weight")), strict=True):
        matrix[output, register] += weight
    assert np.array_equal(matrix, program.readout.toarray())


@pytest.mark.slow
def test_an_escape_is_a_status(tmp_path: Path) -> None:
    """p' = -p^2 over time 1, for ln(1 + p)."""
    x = np.array([-4.0, -2.5, -1.0 - 1e-9, -1.0, -1.0 + 1e-6, 0.0, 3.0, -1e20, np.nan, np.inf])[:, None]
    status, outputs = run(ln_program(), x, tmp_path, *SANITISED)
    assert status == [1, 1, 1, 1, 0, 0, 0, 1, 2, 2]
    good = [4, 5, 6]
    assert np.isnan(np.delete(outputs, good)).all()
    assert np.allclose(outputs[good, 0], 1 + np.log1p(x[good, 0]), rtol=0, atol=1e-10)


@pytest.mark.slow
def test_names_are_not_code(tmp_path: Path) -> None:
    """-Wall sees trigraphs and comments in comments."""
    program = export_programs.hostile()
    x = np.array([[0.5], [2.0]])
    status, outputs = run(program, x, tmp_path)
    assert status == [0, 0]
    assert np.allclose(outputs, program(x), rtol=1e-15)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
def test_overflow_is_an_escape(tmp_path: Path) -> None:
    r = Registers()
    x, z, y = r.inputs("x"), r.new("z"), r.new("y")
    steps = [segment("one", ramp(z, b=1.0)), segment("grow", exp(z, x)), segment("square", product(y, z, z))]
    status, outputs = run(build(r, steps, y), np.array([[1.0], [700.0], [720.0], [-700.0], [400.0]]), tmp_path)
    assert status == [0, 1, 1, 0, 1]
    assert outputs[0, 0] == pytest.approx(np.exp(2.0), rel=1e-14)


@pytest.mark.slow
def test_programs_without_segments_terms_or_inputs(tmp_path: Path) -> None:
    r = Registers()
    x = r.inputs("x", 2)
    still = build(r, [], x, [[1e10, 0.0], [0.0, 1.0]])
    status, outputs = run(still, np.array([[1.0, 2.0], [1e300, 1.0]]), tmp_path)
    assert status == [0, 1]
    assert outputs[0].tolist() == [1e10, 2.0]
    assert np.isnan(outputs[1]).all()
    r = Registers()
    z = r.new("z")
    alone = build(r, [segment("idle"), segment("ramp", ramp(z, b=2.0))], z)
    assert run(alone, np.zeros((1, 0)), tmp_path) == ([0], [[2.0]])


@pytest.mark.slow
def test_short_steps_without_growth_are_no_escape(tmp_path: Path) -> None:
    r = Registers()
    s, c, x = r.inputs("s"), r.inputs("c"), r.inputs("x")
    fast = program_of(sin_cos(s, c, x), r=r)
    assert run(fast, np.array([[0.0, 1.0, 1e16]]), tmp_path, "-O2", "-Dwave_MAX_STEPS=1000")[0] == [3]
    r = Registers()
    y = r.inputs("y", 3)
    near = program_of(arctan(y[0], y[1], y[2]), r=r)
    status, outputs = run(near, np.array([[0.0, 1e13, 0.0]]), tmp_path)
    assert status == [0]
    assert outputs[0, 0] == pytest.approx(np.arctan(1e13), rel=1e-11)


@pytest.mark.slow
def test_products_of_moving_registers(tmp_path: Path) -> None:
    """The Lorenz attractor for a while, and a chain of polynomials whose low orders vanish."""
    r = Registers()
    y = r.inputs("y", 3)
    a, q = np.zeros((3, 3)), np.zeros((3, 3, 3))
    a[0, :2], a[1, :2], a[2, 2], q[1, 0, 2], q[2, 0, 1] = (-10, 10), (28, -1), -8 / 3, -1, 1
    lorenz = build(r, [segment("attractor", raw(y, A=a, Q=q), duration=2.0)], y)
    x = np.random.default_rng(2).normal(0, 5, (5, 3))
    status, outputs = run(lorenz, x, tmp_path)
    assert set(status) == {0}
    assert np.allclose(outputs, lorenz(x), rtol=1e-10)
    r = Registers()
    y = r.inputs("y", 4)  # a' = 1, b' = a^2, c' = b^2, d' = c^2: degree 15
    b, q = np.array([1.0, 0, 0, 0]), np.zeros((4, 4, 4))
    q[1, 0, 0] = q[2, 1, 1] = q[3, 2, 2] = 1
    chain = build(r, [segment("chain", raw(y, Q=q, b=b), duration=2.0)], y)
    outputs = run(chain, np.zeros((1, 4)), tmp_path)[1][0]
    assert np.allclose(outputs, [2, 2**3 / 3, 2**7 / 63, 2**15 / (63**2 * 15)], rtol=1e-14)


def test_fast_mathematics_is_refused(tmp_path: Path) -> None:
    ln_program().export(tmp_path / "wave.c")
    refused = gcc(tmp_path, "wave.c", "-c", "-std=c99", "-O2", "-ffast-math")
    assert refused.returncode != 0
    assert "compile without -ffast-math" in refused.stderr


def test_the_example_takes_words(tmp_path: Path) -> None:
    ln_program().export(tmp_path / "wave.h", name="gamma")
    assert gcc(tmp_path, "wave.h", *STRICT, "-x", "c", "-DINTEGRAPH_MAIN").returncode == 0

    def said(*words: str) -> tuple[int, str]:
        done = subprocess.run([tmp_path / "wave", *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip().lstrip("-")

    assert said("0") == (0, "1")
    assert said("-2") == (1, "nan")
    assert [said(*words) for words in ((), ("1", "2"), ("word",), ("1x",))] == [(2, "")] * 4


@pytest.mark.slow
def test_a_million_terms_compile_in_seconds(tmp_path: Path) -> None:
    r = Registers()
    x, y = r.inputs("x", 1000), r.new("y", 1000)
    weights = np.random.default_rng(4).normal(size=(1000, 1000))
    program = build(r, [segment("matrix", affine(y, x, w=weights))], y)
    assert program.terms == 10**6
    point = np.random.default_rng(5).normal(size=(1, 1000))
    before = getrusage(RUSAGE_CHILDREN).ru_utime
    status, outputs = run(program, point, tmp_path)
    assert getrusage(RUSAGE_CHILDREN).ru_utime - before < 20
    assert status == [0]
    assert np.abs(outputs - program(point)).max() <= 1e-12
