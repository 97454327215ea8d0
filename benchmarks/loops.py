"""Closed loops: the end box beside the hull of simulated trajectories, and warm processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from certificates import aimed, table
from integraph.certify.loops.simulation import simulated
from integraph.certify.loops.tube import tube
from integraph.numbers.arrays import Floats
from loop_plants import BENCHMARKS, Benchmark

STARTS, RUNS = 2000, 5
RATIO = 1.05  # of the widest dimension, up to six states
SECONDS = {6: 0.1, 12: 0.5}  # by states; else 0.03
COLUMNS = ("loop", "net", "periods reached", "time", "end / hull, smallest", "largest")


def main() -> None:
    table("closed loops", COLUMNS, rows())


def hull(benchmark: Benchmark, step: int) -> Floats:
    """The widths of the states at a sampling time, over corners of the start set and points inside."""
    low, high = np.array(benchmark.low), np.array(benchmark.high)
    share = np.random.default_rng(1).uniform(size=(STARTS, len(low)))
    share[: STARTS // 2] = np.round(share[: STARTS // 2])
    widths: Floats = np.ptp(simulated(benchmark.loop, low + (high - low) * share)[step], axis=0)
    return widths


def rows() -> Iterator[tuple[object, ...]]:
    for name, benchmark in BENCHMARKS.items():
        loop, (low, high) = benchmark.loop, (np.array(benchmark.low), np.array(benchmark.high))
        spent = []
        with threadpool_limits(1):
            for _ in range(RUNS):
                begun = time.process_time()
                result = tube(loop, low, high)
                spent.append(time.process_time() - begun)
        true = hull(benchmark, result.reached)
        wide = true > 1e-9
        ratios = np.ptp(result.samples[-1], axis=1)[wide] / true[wide]
        states, best = len(low), min(spent)
        yield (
            name, "-".join(map(str, (states, *benchmark.hidden, len(loop.inputs)))) + f" {benchmark.activation}",
            f"{result.reached} of {loop.steps}",
            aimed(f"{1e3 * best:.1f} ms", best, SECONDS.get(states, 0.03)), f"{ratios.min():.3f}",
            aimed(f"{ratios.max():.3f}", float(ratios.max()), RATIO if states <= 6 else np.inf),
        )  # fmt: skip


if __name__ == "__main__":
    main()
