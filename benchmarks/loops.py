"""Closed loops: the end box beside the hull of simulated trajectories, warm processor time, and the check in Arb."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from certificates import aimed, table
from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.loops.certification import path
from integraph.certify.loops.replay import check
from integraph.certify.loops.replay.polynomials import lower_bound, upper_bound
from integraph.certify.loops.simulation import simulated
from integraph.certify.loops.tube import tube
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from loop_plants import BENCHMARKS, Benchmark

STARTS, RUNS = 2000, 5
PIECES = 40  # for the bounds of the check's polynomials
RATIO = 1.05  # of the widest dimension, up to six states
SECONDS = {6: 0.1, 12: 0.5}  # by states; else 0.03
CHECK = 15.0  # seconds
COLUMNS = (
    "loop", "net", "periods reached", "time", "end / hull, smallest", "largest", "check", "its end / search's, largest",
)  # fmt: skip


def main() -> None:
    table("closed loops", COLUMNS, rows())


def hull(benchmark: Benchmark, step: int) -> Floats:
    """The widths of the states at a sampling time, over corners of the start set and points inside."""
    low, high = np.array(benchmark.low), np.array(benchmark.high)
    share = np.random.default_rng(1).uniform(size=(STARTS, len(low)))
    share[: STARTS // 2] = np.round(share[: STARTS // 2])
    widths: Floats = np.ptp(simulated(benchmark.loop, low + (high - low) * share)[step], axis=0)
    return widths


def checked(benchmark: Benchmark, degree: int, reached: int) -> tuple[float, Floats]:
    """The processor time of the check of a tube, and its widths at the end."""
    loop, ends = benchmark.loop, (np.array(benchmark.low), np.array(benchmark.high))
    taken = path(loop, *ends, degree, reached)
    begun = time.process_time()
    with precision(check.BITS):
        *_, last = check.tube(loop, Box(tuple(benchmark.low), tuple(benchmark.high)), degree, taken)
        spent = time.process_time() - begun
        bounds = [(lower_bound(p, PIECES) - float(e), upper_bound(p, PIECES) + float(e)) for p, e in
                  zip(last.p, last.errors, strict=True)]  # fmt: skip
    return spent, np.ptp(np.array(bounds), axis=1)


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
        try:
            seconds, widths = checked(benchmark, result.degree, result.reached)
            wider = float((widths[wide] / np.ptp(result.samples[-1], axis=1)[wide]).max())
            replayed = aimed(f"{seconds:.1f} s", seconds, CHECK), f"{wider:.3f}"
        except CertificateFault as fault:
            replayed = str(fault), "—"
        yield (
            name, "-".join(map(str, (states, *benchmark.hidden, len(loop.inputs)))) + f" {benchmark.activation}",
            f"{result.reached} of {loop.steps}",
            aimed(f"{1e3 * best:.1f} ms", best, SECONDS.get(states, 0.03)), f"{ratios.min():.3f}",
            aimed(f"{ratios.max():.3f}", float(ratios.max()), RATIO if states <= 6 else np.inf), *replayed,
        )  # fmt: skip


if __name__ == "__main__":
    main()
