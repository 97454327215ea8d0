"""C files of closed forms, compiled by gcc with every warning an error, and run."""

from __future__ import annotations

import ctypes
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import export_programs
import integraph
import transformers
from gadget_cases import CASES, Case
from integraph import Layer, Network, Program, Registers, build, segment
from integraph.gadgets import affine, product
from lazy import needs_command
from slow import mostly_slow

pytestmark = needs_command("gcc", "gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
MAIN = """
#include <stdio.h>
int main(void)
{
    double x[%d], y[%d];
    for (;;) {
        int i, status;
        for (i = 0; i < %d; ++i) if (scanf("%%lf", &x[i]) != 1) return 0;
        status = wave(x, y);
        printf("%%d", status);
        for (i = 0; i < %d; ++i) printf(" %%a", y[i]);
        printf("\\n");
    }
}
"""


def gcc(*arguments: str | Path) -> None:
    done = subprocess.run(["gcc", *STRICT, *arguments, "-lm"], capture_output=True, text=True)
    assert not done.returncode, done.stderr[:3000]


def run(path: Path, program: Program, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outputs and statuses, from a shared library."""
    library = path.with_suffix(".so")
    gcc("-O1", "-shared", "-fPIC", path, "-o", library)
    function = getattr(ctypes.CDLL(str(library)), path.name.partition(".")[0])
    pointer = ctypes.POINTER(ctypes.c_double)
    outputs, status = np.zeros((len(x), program.outputs)), []
    for point, result in zip(np.ascontiguousarray(x), outputs, strict=True):
        status.append(function(point.ctypes.data_as(pointer), result.ctypes.data_as(pointer)))
    return outputs, np.array(status)


def largest_error(program: Program, tmp_path: Path, x: np.ndarray) -> float:
    outputs, status = run(program.export(tmp_path / "wave.closed.c"), program, x)
    assert not status.any()
    return float(np.abs(outputs - program(x)).max())


@mostly_slow("name", export_programs.PROGRAMS, quick=2)
def test_gcc_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    assert largest_error(program, tmp_path, export_programs.inputs(program, 200)) <= 1e-13


@mostly_slow("name", export_programs.PROGRAMS, quick=1)
def test_sanitizers_have_nothing_to_say(name: str, tmp_path: Path) -> None:
    program = export_programs.PROGRAMS[name]()
    path = program.export(tmp_path / "wave.closed.c")
    sizes = (program.inputs, program.outputs)
    (tmp_path / "main.c").write_text('#include "wave.closed.c"\n' + MAIN % (*sizes, *sizes))
    gcc(*SANITIZERS, tmp_path / "main.c", "-o", tmp_path / "main")
    x = np.concatenate([export_programs.inputs(program, 50), np.full((1, program.inputs), np.inf)])
    lines = "\n".join(" ".join(map(float.hex, point)) for point in x.tolist())
    done = subprocess.run([tmp_path / "main"], input=lines, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["0"] * 50 + ["2"]
    outputs = np.array([[float.fromhex(value) for value in row[1:]] for row in rows])
    assert np.abs(outputs[:-1] - program(x[:-1])).max() <= 1e-13
    assert np.isnan(outputs[-1]).all()
    assert path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_gadget(case: Case, tmp_path: Path) -> None:
    program = case.program(0.7)
    x = case.inputs(case.draw(np.random.default_rng(1), 0.7, 40))
    outputs, status = run(program.export(tmp_path / "wave.closed.c"), program, x)
    exact = program(x)
    scale = case.scale(program, x.T, exact.T).T
    assert not status.any()
    assert (np.abs(outputs - exact) / np.where(scale == 0, 1.0, scale)).max() <= 1e-13


@pytest.mark.slow
def test_a_transformer(tmp_path: Path) -> None:
    net = transformers.transformer(tokens=4, width=8, heads=2, hidden=16, layers=1, causal=True)
    program = integraph.compile(transformers.to_graph(net))
    assert largest_error(program, tmp_path, np.random.default_rng(5).normal(size=(10, 32))) <= 1e-13


@pytest.mark.slow
def test_a_wide_net_compiles_within_seconds(tmp_path: Path) -> None:
    """27,000 terms: gcc takes 0.5 s, and ten times that on a busy machine at the most."""
    rng = np.random.default_rng(2)
    sizes = ((8, 64, "gelu"), (64, 64, "gelu"), (64, 64, "gelu"), (64, 1, "identity"))
    layers = [Layer(rng.normal(0, 0.1, (m, n)), rng.normal(0, 0.1, m), name) for n, m, name in sizes]
    program = integraph.compile(Network(layers), method="wide", box=(-1, 1))
    assert program.terms > 20_000
    path = program.export(tmp_path / "wave.closed.c")
    began = time.process_time()
    gcc("-O2", "-c", path, "-o", tmp_path / "wave.o")
    assert time.process_time() - began < 5.0


def test_no_solution_is_a_status(tmp_path: Path) -> None:
    """At −0.5 the formula has a value, but the flow passes a pole on the way."""
    program = integraph.compile("1/x", box=(0.5, 2))
    x = np.array([[1.5], [-0.5], [0.0], [np.nan], [np.inf], [0.7]])
    outputs, status = run(program.export(tmp_path / "wave.closed.c"), program, x)
    assert status.tolist() == [0, 1, 1, 2, 2, 0]
    assert np.isnan(outputs[1:5]).all()
    assert np.abs(outputs[[0, 5]] - program(x[[0, 5]])).max() <= 1e-13


def test_places_of_the_workspace_are_free_only_after_their_last_use(tmp_path: Path) -> None:
    r = Registers()
    x, a, b, c, d = (r.inputs("x", 3), *(r.new(name, 3) for name in "abcd"))
    w = np.random.default_rng(5).normal(size=(3, 3))
    steps = [
        segment("a", affine(a, x[None, :], w=w)),
        segment("b", affine(b, a[None, :], w=w)),
        segment("c", affine(c, b[None, :], w=w)),
        segment("d", product(d, a, c)),
    ]
    assert largest_error(build(r, steps, d), tmp_path, np.random.default_rng(5).normal(size=(5, 3))) <= 1e-13


def test_fast_math_is_refused_by_the_compiler(tmp_path: Path) -> None:
    path = export_programs.formula().export(tmp_path / "wave.closed.c")
    done = subprocess.run(["gcc", "-ffast-math", "-c", path, "-o", tmp_path / "a.o"], capture_output=True, text=True)
    assert done.returncode
    assert "-ffast-math deletes the checks" in done.stderr


def test_weights_have_every_bit(tmp_path: Path) -> None:
    program = export_programs.wide()
    text = program.export(tmp_path / "wave.closed.c").read_text()
    assert "closed forms of the ODE's segments" in text
    stored = {float.fromhex(one) for one in re.findall(r"-?0x[0-9a-f.]+p[+-]\d+", text)}
    blocks = [block for part in program.segments for block in part.blocks]
    weights = np.concatenate([block.tensors["w"].reshape(-1) for block in blocks if "w" in block.tensors])
    assert set(weights.tolist()) <= stored | {0.0, 1.0}
    assert "malloc" not in text


def test_a_large_workspace_is_static(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    layers = [Layer(rng.normal(0, 1, (5000, 1)), np.zeros(5000), "tanh"), Layer(np.ones((1, 5000)), np.zeros(1))]
    text = integraph.compile(Network(layers), method="wide", box=(-1, 1)).export(tmp_path / "wave.closed.c").read_text()
    assert "static double w[" in text
    assert "one call at a time" in text
    assert "Threads may call it" in export_programs.wide().export(tmp_path / "wave.closed.c").read_text()
