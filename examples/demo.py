"""`make demo`: compile a tanh net and a formula to quadratic ODEs, prove, run with two engines, save, load, draw."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import integraph
from picture import draw
from tanh_net import random_net
from theorem1 import report

Floats = NDArray[np.float64]

EPS = 1e-9  # the tolerance asked for
SIDE = 81  # inputs: a grid of SIDE × SIDE points on the unit square
ENGINES = {"exact": "closed forms", "taylor": "terms only"}


def timed(function: Callable[[Floats], Floats], x: Floats) -> tuple[Floats, str]:
    """Values, and microseconds for one input: the best of three, after a call that compiles the kernels."""
    values = function(x)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        function(x)
        seconds.append(time.perf_counter() - start)
    return values, f"{1e6 * min(seconds) / len(x):.2f}"


def main() -> None:
    out = Path("out")
    out.mkdir(exist_ok=True)
    console = Console()
    layers, readout = random_net((2, 32, 32, 1), seed=13)
    net = integraph.network([*((A, b, "tanh") for A, b in layers), (readout, None)])
    program = integraph.compile(net, eps=EPS)
    file = out / "tanh_net.safetensors"
    program.save(file)
    loaded = integraph.load(file)

    axis = np.linspace(0.0, 1.0, SIDE)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    wanted, clock = timed(net, x)
    table = Table(title="the ODE against the net", title_justify="left", caption_justify="left")
    for column in ("engine", "how", "max |ODE − net|", "µs per input", "bits from file"):
        table.add_column(column, justify="left" if column in ("engine", "how") else "right")
    table.add_row("numpy", "the net", "", clock, "")
    values, error = {}, {}
    for engine, how in ENGINES.items():
        values[engine], clock = timed(lambda x, engine=engine: program(x, engine), x)
        error[engine] = np.abs(values[engine] - wanted).max(1)
        same = np.array_equal(values[engine], loaded(x, engine))
        table.add_row(engine, how, f"{error[engine].max():.1e}", clock, "same" if same else "OTHER")
    table.caption = f"{len(x):,} inputs in one call"

    proof = integraph.certify(program, net)
    program = program.with_errors(proven=proof.proven, seen=max(float(e.max()) for e in error.values()))
    for text in (program.summary(), program.describe(), table, repr(integraph.compare(program, net, x)), repr(proof)):
        console.print(text, highlight=False, soft_wrap=True)
        console.print()
    console.print(report(), highlight=False, markup=False, soft_wrap=True)
    console.print()
    square = (SIDE, SIDE)
    draw(program, (0.3, 0.8), values["exact"].reshape(square), error["taylor"].reshape(square), out / "demo.png")
    console.print(f"program: {file} ({file.stat().st_size / 1024:.0f} kB)   picture: {out / 'demo.png'}")


if __name__ == "__main__":
    main()
