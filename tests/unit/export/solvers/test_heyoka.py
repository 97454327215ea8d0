"""The module for heyoka, run by heyoka."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import export_programs
from integraph import Registers, build, segment
from integraph.gadgets import affine
from lazy import needs
from slow import mostly_slow

pytestmark = needs("heyoka")


@mostly_slow("name", export_programs.EQUATIONS, quick=1)
def test_heyoka_gives_the_same_outputs(name: str, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    module = runpy.run_path(str(program.export(tmp_path / "wave.py")))
    x = export_programs.inputs(program, 5)
    outputs = np.array([module["run"](point) for point in x.tolist()])
    assert np.abs(outputs - program(x)).max() <= 1e-12


def test_registers_called_like_the_words_of_the_module(tmp_path: Path) -> None:
    registers = Registers()
    hy = registers.inputs("hy", label="x")
    run, zipped = registers.new("run"), registers.new("zip")
    program = build(
        registers,
        [segment("one", affine(run, hy[:, None], w=[[2.0]])), segment("two", affine(zipped, run[:, None], w=[[3.0]]))],
        zipped,
    )
    module = runpy.run_path(str(program.export(tmp_path / "wave.py")))
    assert abs(module["run"]([1.5])[0] - 9.0) <= 1e-14
