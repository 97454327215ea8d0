"""The Taylor engine, which sees only the terms, against other people's integrators at the same tolerance."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

from exact import NETS
from integraph import Registers, build, segment
from integraph.gadgets import tanh
from measure import race, show, verdict
from rivals import RIVALS, advance_heyoka, heyoka_tanh
from tanh_net import compile_net, evaluate, random_net

TOLERANCE = 1e-12
FINER = 1e-15  # what taylor needs to be as accurate as heyoka is at TOLERANCE
COUNTS = (1, 1_000)
NOTE = "B: inputs in the timed call. Slow rivals get fewer; all times are per input."
TARGETS = {"heyoka, batch of 8": 3.0, "scipy DOP853": 20.0}


def main() -> None:
    rows: list[tuple[object, ...]] = []
    with threadpool_limits(1):
        for sizes in NETS:
            rows += compare(sizes)
    columns = ("net", "solver", "B", "µs/input", "slower than taylor", "target", "largest error")
    show(f"generic engines at {TOLERANCE:g}, one thread", columns, rows, NOTE)
    if find_spec("heyoka") is not None:
        with threadpool_limits(1):
            tanh_alone(64, 512)


def tanh_alone(width: int, count: int) -> None:
    """Series against series: no linear segment, where we take an exponential and others step through it."""
    r = Registers()
    x, alpha, lam = r.inputs("x", width), r.new("alpha", width), r.new("lam", width)
    program = build(r, [segment("tanh", tanh(alpha, lam, x))], alpha)
    points = 2.0 * np.random.default_rng(0).normal(size=(count, width))
    solver, lanes = heyoka_tanh(width, TOLERANCE, 8), 8

    def heyoka() -> np.ndarray:
        batches = (points[k : k + lanes].T for k in range(0, count, lanes))
        return np.concatenate([advance_heyoka(solver, np.zeros((2 * width, lanes)), b)[:width].T for b in batches])

    runs = {f"taylor at {tol:g}": partial(program, points, "taylor", rtol=tol) for tol in (TOLERANCE, FINER)}
    runs["heyoka, batch of 8"] = heyoka
    best = race(runs, seconds=3.0)
    first = best[f"taylor at {TOLERANCE:g}"]
    rows = [
        (name, f"{1e6 * t / count:.1f}", f"{t / first:.1f}", f"{np.abs(runs[name]() - np.tanh(points)).max():.1e}")
        for name, t in best.items()
    ]
    show(f"one tanh segment of {width} neurons", ("solver", "µs/input", "slower than taylor", "largest error"), rows)


def compare(sizes: tuple[int, ...]) -> list[tuple[object, ...]]:
    layers, readout = random_net(sizes, seed=1)
    program = compile_net(layers, readout)
    x = np.random.default_rng(0).uniform(size=(max(COUNTS), sizes[0]))
    solvers = {
        "taylor": (lambda x: program.flow(x, "taylor", rtol=TOLERANCE).check().outputs, max(COUNTS)),
        f"taylor at {FINER:g}": (lambda x: program.flow(x, "taylor", rtol=FINER).check().outputs, max(COUNTS)),
    }
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
