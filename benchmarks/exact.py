"""The exact engine against the net itself in numpy, one thread; memory; and what loading from a file costs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import integraph
from measure import peak_memory, race, show, verdict
from tanh_net import compile_net, evaluate, random_net

NETS = ((2, 32, 32, 1), (8, 64, 64, 64, 1))
LIMITS = {1: 4.0, 1_000: 2.5, 100_000: 2.5}


def main() -> None:
    rows: list[tuple[object, ...]] = []
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for sizes in NETS:
            layers, readout = random_net(sizes, seed=1)
            program = compile_net(layers, readout)
            file = Path(folder) / "net.safetensors"
            program.save(file)
            loaded = integraph.load(file)
            for count, limit in LIMITS.items():
                x = np.random.default_rng(0).uniform(size=(count, sizes[0]))
                rivals = {
                    "numpy": lambda x=x, layers=layers, readout=readout: evaluate(layers, readout, x),
                    "exact": lambda x=x, program=program: program.flow(x, "exact"),
                    "loaded": lambda x=x, loaded=loaded: loaded.flow(x, "exact"),
                }
                best = race(rivals, seconds=3.0)
                ratio, same = best["exact"] / best["numpy"], best["loaded"] / best["exact"]
                error = np.abs(program(x) - evaluate(layers, readout, x)).max()
                name = "-".join(map(str, sizes))
                per = [f"{1e6 * best[k] / count:.3g}" for k in ("numpy", "exact")]
                rows.append((name, count, *per, f"{ratio:.2f}", verdict(ratio, limit), f"{same:.2f}", f"{error:.1e}"))
    columns = ("net", "B", "numpy µs/input", "exact µs/input", "ratio", "target", "loaded/built", "largest difference")
    show("exact against the numpy net, one thread", columns, rows)
    peak = float(
        subprocess.run([sys.executable, __file__, "memory"], check=True, capture_output=True, text=True).stdout
    )
    row = ("8-64-64-64-1", 100_000, f"{peak:.0f} MB", verdict(peak, 400, "MB"))
    show("memory", ("net", "B", "peak RSS", "target"), [row])


def memory() -> None:
    """Peak resident memory of a process that evaluates the larger net on 1e5 inputs."""
    layers, readout = random_net(NETS[1], seed=1)
    x = np.random.default_rng(0).uniform(size=(100_000, 8))
    compile_net(layers, readout)(x)
    print(peak_memory())


if __name__ == "__main__":
    memory() if sys.argv[1:] == ["memory"] else main()
