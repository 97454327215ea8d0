"""Verilog: a machine with one multiplier that integrates the ODE in fixed point, one term of it in each cycle.

The module is `fixed_point.v`, in which words between @ are replaced; `fixed_point.py` computes the same integers.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.export.amplitude import largest
from integraph.export.circuits.fixed_point import GUARD, POINT, FixedProgram, FixedTerms, fixed_program
from integraph.export.equations import Equations, equations, start_box
from integraph.export.header import commented, header
from integraph.numbers.arrays import Floats

if TYPE_CHECKING:
    from integraph.program import Program

SAMPLES, SEED = 8, 0
CYCLES = 1 << 36  # of one run, at most
ABOVE = 8  # bits by which a sum may leave the range of a word before it is noticed
SUM = 32 + GUARD + ABOVE  # bits of a sum
USED = (  # by the module itself
    *("clk", "reset", "start", "done", "overflow", "y", "d", "z", "pc", "slot", "step", "segment", "stage", "phase"),
    *("rest", "sum", "update", "read", "i", "j", "k", "m", "shift", "final", "steps", "first", "both", "product"),
    *("scaled", "moved", "word", "n", "segments", "w"),
)


def write(program: Program, name: str, *, extra: int = 6) -> str:
    """`extra`: 2^extra times as many steps as the rates ask for."""
    if isinstance(extra, bool) or not isinstance(extra, int) or not 0 <= extra <= 20:
        raise UsageError("a whole number from 0 to 20", argument="extra", value=extra)
    low, high = map(np.array, start_box(program))
    x = np.concatenate([[low, high], np.random.default_rng(SEED).uniform(low, high, (SAMPLES, program.inputs))])
    sizes, known = largest(program)
    fixed = fixed_program(program, np.append(sizes, np.zeros((1, program.width)), 0).max(0), extra)
    eq = equations(program, avoid=[*USED, name])
    tables = [*fixed.segments, fixed.readout]
    counts = [max(len(table.i), 1) for table in tables]
    cycles = sum((2 * (count + fixed.width)) << steps for count, steps in zip(counts, fixed.steps, strict=False))
    if cycles > CYCLES:
        raise UsageError(f"a run would take {cycles:,} cycles, more than {CYCLES:,}: choose a smaller extra")
    starts = np.cumsum([0, *counts]).tolist()
    words = {
        "name": name,
        "ports": _ports(eq),
        "width": fixed.width,
        "depth": len(fixed.segments),
        "top": SUM - 1,
        "sum": SUM,
        "guard": GUARD,
        "above": SUM - 32,
        "slots": max(fixed.width, len(fixed.output_units)),
        "terms": "".join(_terms(table, first) for table, first in zip(tables, starts, strict=False)),
        "segments": "".join(
            f"      {n}: begin first = {first}; steps = {1 << steps}; end\n"
            for n, (first, steps) in enumerate(zip(starts, fixed.steps, strict=False))
        ),
        "half": 1 << (POINT - 1),
        "point": POINT,
        "half_word": 1 << (GUARD - 1),
        "one": 1 << POINT,
        "outputs": "".join(f"  assign {one} = d[{n}];\n" for n, one in enumerate(eq.output_names)),
        "load": "".join(
            f"        y[{n}] <= $signed({{{one}, {GUARD}'d0}}); z[{n}] <= {one};\n"
            for n, one in enumerate(eq.input_names)
        ),
    }
    template = files("integraph.export.circuits").joinpath("fixed_point.v").read_text()
    about = [*header(program, name, exact=False), known, *_about(program, fixed, eq, x, cycles)]
    return commented(about, "//") + "\n" + re.sub(r"@(\w+)@", lambda match: str(words[match[1]]), template)


def _ports(eq: Equations) -> str:
    ports = [f"  input wire signed [31:0] {one}" for one in eq.input_names]
    return ",\n".join([*ports, *(f"  output wire signed [{SUM - 1}:0] {one}" for one in eq.output_names)])


def _terms(table: FixedTerms, first: int) -> str:
    columns = [part.tolist() for part in (table.i, table.j, table.k, table.mantissa, table.shift)]
    last = len(table.i) - 1
    return "".join(
        f"      {first + n}: begin i = {i}; j = {j}; k = {k}; m = {'-' * (m < 0)}32'sd{abs(m)}; shift = {shift}; "
        f"final = {int(n == last)}; end\n"
        for n, (i, j, k, m, shift) in enumerate(zip(*columns, strict=True))
    )


def _about(program: Program, fixed: FixedProgram, eq: Equations, x: Floats, cycles: int) -> list[str]:
    outputs, over = fixed.run(x)
    difference = "some left their range" if over.any() else f"{np.abs(outputs - program(x)).max():.2e}"
    ins = zip(eq.input_names, fixed.units.tolist(), strict=False)
    outs = zip(eq.output_names, fixed.output_units.tolist(), strict=True)
    return [
        f"Fixed point, midpoint rule; a run takes {cycles} cycles.",
        f"Largest difference found at {len(x)} inputs, by the same integers: {difference} (measured, not proven).",
        *(f"{one}: value = word * 2^{unit - POINT}" for one, unit in ins),
        *(f"{one}: value = word * 2^{unit - POINT - GUARD}" for one, unit in outs),
    ]
