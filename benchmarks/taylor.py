"""The Taylor engine, which sees only the terms, against other people's integrators at the same tolerance."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

from exact import NETS
from measure import race, show, verdict
from rivals import RIVALS
from tanh_net import compile_net, evaluate, random_net

TOLERANCE = 1e-12
COUNTS = (1, 1_000)
TARGETS = {"heyoka, batch of 8": 3.0, "scipy DOP853": 20.0}


def main() -> None:
    rows: list[tuple[object, ...]] = []
    with threadpool_limits(1):
        for sizes in NETS:
            rows += compare(sizes)
    columns = ("net", "solver", "B", "µs/input", "slower than taylor", "target", "largest error")
    show(f"generic engines at {TOLERANCE:g}, one thread", columns, rows)


def compare(sizes: tuple[int, ...]) -> list[tuple[object, ...]]:
    layers, readout = random_net(sizes, seed=1)
    program = compile_net(layers, readout)
    x = np.random.default_rng(0).uniform(size=(max(COUNTS), sizes[0]))
    solvers = {"taylor": (lambda x: program.flow(x, "taylor", rtol=TOLERANCE).check().outputs, max(COUNTS))}
    for name, (module, make, count) in RIVALS.items():
        if find_spec(module) is not None:
            solvers[name] = (make(layers, readout, TOLERANCE), count)
    runs = {name: (lambda solve=solve, count=count: solve(x[:count])) for name, (solve, count) in solvers.items()}
    best = {name: t / solvers[name][1] for name, t in race(runs, seconds=5.0).items()}
    single = race({"taylor": lambda: solvers["taylor"][0](x[:1])})["taylor"]
    wanted = evaluate(layers, readout, x)
    label = "-".join(map(str, sizes))
    rows: list[tuple[object, ...]] = [(label, "taylor", 1, f"{1e6 * single:.0f}", "", "", "")]
    for name, (solve, count) in solvers.items():
        ratio = best[name] / best["taylor"]
        target = verdict(ratio, TARGETS[name], at_least=True) if name in TARGETS else ""
        error = np.abs(solve(x[:count]) - wanted[:count]).max()
        rows.append((label, name, count, f"{1e6 * best[name]:.1f}", f"{ratio:.1f}", target, f"{error:.1e}"))
    return rows


if __name__ == "__main__":
    main()
