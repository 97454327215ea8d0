"""`make demo`: build a tanh net as a quadratic ODE, run it with two engines, compare, save, load, draw."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import integraph
from picture import draw
from tanh_net import compile_net, evaluate, random_net

SIDE = 81  # inputs: a grid of SIDE × SIDE points on the unit square
ENGINES = {"exact": "closed form of every block", "taylor": "sees only the terms of eq. (1)"}


def main() -> None:
    out = Path("out")
    out.mkdir(exist_ok=True)
    console = Console()
    layers, readout = random_net((2, 32, 32, 1), seed=13)
    program = compile_net(layers, readout)

    axis = np.linspace(0.0, 1.0, SIDE)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    wanted = evaluate(layers, readout, x)

    file = out / "tanh_net.safetensors"
    program.save(file)
    loaded = integraph.load(file)

    table = Table(title=f"tanh net 2-32-32-1 as a quadratic neural ODE, {len(x):,} inputs", title_justify="left")
    for column in ("engine", "how", "largest |ODE − numpy|", "time per input", "loaded file gives the same bits"):
        table.add_column(column, justify="left" if column in ("engine", "how") else "right")
    error = np.zeros(len(x))
    for engine, how in ENGINES.items():
        program(x[:2], engine)  # compile the kernels before the clock starts
        start = time.perf_counter()
        values = program(x, engine)
        seconds = time.perf_counter() - start
        difference = np.abs(values - wanted)[:, 0]
        error = np.maximum(error, difference)
        same = np.array_equal(values, loaded(x, engine))
        table.add_row(
            engine, how, f"{difference.max():.1e}", f"{1e6 * seconds / len(x):.2f} µs", "yes" if same else "NO"
        )

    console.print(program.with_errors(seen=float(error.max())), highlight=False)
    console.print(program.describe(), highlight=False)
    console.print(table)
    picture = draw(program, (0.3, 0.8), program(x).reshape(SIDE, SIDE), error.reshape(SIDE, SIDE), out / "demo.png")
    console.print(f"program: {file} ({file.stat().st_size / 1024:.0f} kB)   picture: {picture}")


if __name__ == "__main__":
    main()
