"""The Verilog module, simulated by Icarus: it computes the integers of `fixed_point`, and what the header says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import export_programs
from integraph import Program
from integraph.errors import UsageError
from lazy import needs_command
from slow import mostly_slow

BENCH = """`timescale 1ns/1ns
module bench;
  reg clk = 0, reset = 1, start = 0;
  always #1 clk = !clk;
  {declared}
  wire done, overflow;
  wave machine (.clk(clk), .reset(reset), .start(start), {ports}, .done(done), .overflow(overflow));
  initial begin
    #4 reset = 0;
    {runs}
    $finish;
  end
endmodule
"""


def simulated(program: Program, x: np.ndarray, tmp_path: Path, **options: int) -> tuple[np.ndarray, str]:
    """Outputs, and `1` where the machine says that a register left its range."""
    text = program.export(tmp_path / "wave.v", **options).read_text()
    units = re.findall(r"^// (\w+): value = word \* 2\^(-?\d+)$", text, re.MULTILINE)
    inputs, outputs = units[: program.inputs], units[program.inputs :]
    declared = [f"reg signed [31:0] {name};" for name, _ in inputs]
    declared += [f"wire signed [55:0] {name};" for name, _ in outputs]
    shown = ", ".join(name for name, _ in outputs)
    runs = ""
    for point in x.tolist():
        words = [round(value / 2.0 ** int(unit)) for value, (_, unit) in zip(point, inputs, strict=True)]
        runs += "".join(f"{name} = {word}; " for (name, _), word in zip(inputs, words, strict=True))
        runs += (
            f'@(negedge clk) start = 1; @(negedge clk) start = 0; wait(done); $display("%0d {"%0d " * len(outputs)}", '
        )
        runs += f"overflow, {shown});\n    "
    ports = ", ".join(f".{name}({name})" for name, _ in units)
    bench = BENCH.format(declared=" ".join(declared), ports=ports, runs=runs)
    (tmp_path / "bench.v").write_text(bench)
    subprocess.run(["iverilog", "-g2005", "-Wall", "-o", "bench", "bench.v", "wave.v"], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    lines = np.array([line.split() for line in said.splitlines() if re.match(r"[01] ", line)], np.float64)
    return lines[:, 1:] * np.ldexp(1.0, [int(unit) for _, unit in outputs]), "".join(str(int(n)) for n in lines[:, 0])


@needs_command("iverilog", "iverilog")
@mostly_slow(("name", "extra", "most"), [("formula", 5, 4e-6), ("narrow", 2, 1e-4), ("wide", 2, 1e-4)], quick=1)
def test_icarus_gives_what_the_header_says(name: str, extra: int, most: float, tmp_path: Path) -> None:
    program = export_programs.EQUATIONS[name]()
    x = export_programs.inputs(program, 2)
    outputs, over = simulated(program, x, tmp_path, extra=extra)
    stated = re.search(r"same integers: (\S+) \(measured", (tmp_path / "wave.v").read_text())
    assert stated
    assert float(stated[1]) <= most
    assert np.abs(outputs - program(x)).max() <= 1.01 * float(stated[1])  # both are corners that were measured
    assert over == "00"


@needs_command("iverilog", "iverilog")
@pytest.mark.slow
def test_a_register_that_leaves_its_range_is_said(tmp_path: Path) -> None:
    program = export_programs.formula()
    outputs, over = simulated(program, np.array([[0.5, 0.5], [1.9, -1.9]]), tmp_path, extra=4)
    assert over == "01"  # the solution from the second point ends on the way
    assert abs(outputs[0, 0] - program([0.5, 0.5])[0]) <= 1e-5


def test_more_steps_are_more_accurate(tmp_path: Path) -> None:
    program = export_programs.formula()
    stated = []
    for extra in (2, 4):
        text = program.export(tmp_path / "wave.v", extra=extra).read_text()
        stated.append(float(re.search(r"same integers: (\S+) \(", text)[1]))  # type: ignore[index]
    assert stated[1] <= stated[0] / 10  # the midpoint rule: 16 for four times as many
    with pytest.raises(UsageError, match="from 0 to 20"):
        program.export(tmp_path / "wave.v", extra=99)
