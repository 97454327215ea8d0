"""A convolutional net as one ODE: LeNet-5 read from PyTorch, and its exact flow against PyTorch, in the same run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import integraph
from measure import CONSOLE, clock, race, show, verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from torch_graphs import lenet

SHAPE, BATCHES = (1, 28, 28), (1, 100)
READ, COMPILED, SLOWER, PROVED = 10.0, 2.0, 2.0, 30.0  # seconds, seconds, the largest ratio that is aimed at, seconds


def main() -> None:
    try:
        import torch
    except ImportError:
        CONSOLE.print("PyTorch is not installed: nothing is measured")
        return
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = lenet().eval()
    made: dict[str, Any] = {}
    reading = clock(lambda: integraph.graph(net, inputs=SHAPE))
    graph = integraph.graph(net, inputs=SHAPE)
    compiling = clock(lambda: made.update(program=integraph.compile(graph)))
    program = made["program"]
    x = np.random.default_rng(0).uniform(size=(BATCHES[-1], program.inputs))
    tensor = torch.from_numpy(x).reshape(-1, *SHAPE)
    rows = []
    with torch.no_grad(), threadpool_limits(1):
        error = float(np.abs(program(x) - net(tensor).numpy()).max())
        for count in BATCHES:
            best = race(
                {"exact": lambda n=count: program(x[:n]), "torch": lambda n=count: net(tensor[:n])}, seconds=3.0
            )
            ratio = best["exact"] / best["torch"]
            times = (f"{1e3 * best[name]:.2f}" for name in ("exact", "torch"))
            rows.append((count, *times, f"{ratio:.2f}", verdict(ratio, SLOWER) if count > 1 else "–"))
    row = (
        program.width, program.depth, f"{program.terms:,}", f"{reading:.1f}", verdict(reading, READ, "s"),
        f"{compiling:.2f}", verdict(compiling, COMPILED, "s"), f"{error:.1e}", verdict(error, 1e-12),
    )  # fmt: skip
    proving = clock(lambda: made.update(proof=integraph.certify(program, graph, box=(0, 1), progress=False)))
    proven = made["proof"].proven
    proved = (f"{proven:.1e}", f"{proving:.1f}", verdict(proving, PROVED, "s"))
    columns = ("W", "D", "terms", "read, s", "target", "compiled, s", "target", "difference", "target")
    show("LeNet-5 of 28 × 28; largest difference found to torch in float64", columns, [row])
    show("its proof on [0, 1]^784", ("proven", "s", "target"), [proved])
    show("exact flow against torch, float64, one thread", ("B", "exact, ms", "torch, ms", "ratio", "target"), rows)


if __name__ == "__main__":
    main()
