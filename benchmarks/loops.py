"""Closed loops: the end box beside the hull of simulated trajectories, warm processor time of the tube and of the whole
call, and the check in Arb.

Without arguments all of them; names of loops as arguments for some. Start sets are not divided, except that of the loop
with kinks, in a second row: `LoopResult.refine` to so many cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from certificates import aimed, table
from integraph.api.loop_specs import read_spec
from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.loops.certification import path
from integraph.certify.loops.division import refined
from integraph.certify.loops.replay import check
from integraph.certify.loops.replay.polynomials import lower_bound, upper_bound
from integraph.certify.loops.simulation import simulated
from integraph.certify.loops.tube import Tube, tube
from integraph.certify.problem import Box
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from loop_plants import BENCHMARKS, Benchmark

Result = TypeVar("Result")

STARTS, RUNS = 2000, 5
PIECES = 40  # for the bounds of the check's polynomials
RATIO = 1.05  # of the widest dimension, up to six states
SECONDS = {6: 0.1, 12: 0.5}  # by states; else 0.03
HARD = {"CartPole": 120.0, "docking": 120.0, "quadrotor, full": 1.0}  # seconds of loops that nobody expects in 30 ms
CELLS = {"pendulum, ReLU": 6}
CHECK = 15.0  # seconds
COLUMNS = (
    "loop", "net", "periods reached", "answer", "tube", "whole call", "end / hull, smallest", "largest", "check",
    "its end / search's, largest",
)  # fmt: skip


def main() -> None:
    table("closed loops", COLUMNS, rows())


def shortest(work: Callable[[], Result]) -> tuple[float, Result]:
    """The least processor time of a few runs, and what they gave."""
    spent = []
    for _ in range(RUNS):
        begun = time.process_time()
        made = work()
        spent.append(time.process_time() - begun)
    return min(spent), made


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
    chosen = sys.argv[1:] or list(BENCHMARKS)
    for name in chosen:
        yield row(name, BENCHMARKS[name], 1)
        if name in CELLS:
            yield row(name, BENCHMARKS[name], CELLS[name])


def row(name: str, benchmark: Benchmark, cells: int) -> tuple[object, ...]:
    loop, (low, high) = benchmark.loop, (np.array(benchmark.low), np.array(benchmark.high))
    spec = read_spec(benchmark.spec, loop.states, loop.period, loop.steps)

    def tubes_of() -> list[Tube]:
        tubes = [tube(loop, low, high, spec)]
        return refined(loop, spec, tubes, cells) if cells > 1 else tubes

    with threadpool_limits(1):
        best, tubes = shortest(tubes_of)
    whole = shortest(benchmark.prove)[0] if cells == 1 else None
    first, reached = tubes[0], min(one.reached for one in tubes)
    true = hull(benchmark, reached)
    wide = true > 1e-9
    ends = np.stack([one.samples[-1] for one in tubes])
    box = ends[..., 1].max(0) - ends[..., 0].min(0)
    ratios = box[wide] / true[wide]
    states = len(low)
    target = HARD.get(name, SECONDS.get(states, 0.03))
    replayed = "—", "—"
    if cells == 1:
        try:
            seconds, widths = checked(benchmark, first.degree, first.reached)
            replayed = aimed(f"{seconds:.1f} s", seconds, CHECK), f"{(widths[wide] / box[wide]).max():.3f}"
        except CertificateFault as fault:
            replayed = str(fault), "—"
    return (
        name if cells == 1 else f"{name}, {cells} cells",
        benchmark.net, f"{reached} of {loop.steps}", first.answer.value, aimed(f"{1e3 * best:.1f} ms", best, target),
        "—" if whole is None else aimed(f"{1e3 * whole:.1f} ms", whole, target), f"{ratios.min():.3f}",
        aimed(f"{ratios.max():.3f}", float(ratios.max()), RATIO if states <= 6 else np.inf), *replayed,
    )  # fmt: skip


if __name__ == "__main__":
    main()
