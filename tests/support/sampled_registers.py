"""The values of registers in sampled flows, at many times of every segment, beside their ranges."""

from __future__ import annotations

import numpy as np

from integraph import Program
from integraph.certify.ranges.register_ranges import Ranges
from integraph.numbers.arrays import Floats
from integraph.program import dynamics

POINTS = 9  # of a segment


def points(low: Floats, high: Floats, count: int = 300) -> Floats:
    """Random inputs of a box, and two of its corners."""
    inner = np.random.default_rng(5).uniform(low, high, (count, len(low)))
    return np.concatenate([low[None], high[None], inner])


def extremes(program: Program, x: Floats, times: int = POINTS) -> tuple[Floats, Floats]:
    """The smallest and the largest value of every register in every segment, of these inputs."""
    flow = program.flow(x, times=dynamics.grid(program, times))
    assert flow.path is not None
    path = flow.path[[n for n in range(len(x)) if np.isfinite(flow.outputs[n]).all()]]
    parts = [path[:, n * (times - 1) : (n + 1) * (times - 1) + 1] for n in range(program.depth)]
    return np.array([p.min((0, 1)) for p in parts]), np.array([p.max((0, 1)) for p in parts])


def holds(program: Program, ranges: Ranges, x: Floats, times: int = POINTS) -> bool:
    """Whether the ranges have all values of these inputs, but for the rounding of the engine."""
    least, most = extremes(program, x, times)
    slack = 1e-12 * np.maximum(np.maximum(np.abs(least), np.abs(most)), 1e-12)
    return bool((ranges.low <= least + slack).all() and (ranges.high >= most - slack).all())


def ratios(program: Program, ranges: Ranges, x: Floats) -> Floats:
    """The widths of the ranges of registers that move, over all time, as multiples of the sampled ones."""
    least, most = (end for end in extremes(program, x))
    least, most = least.min(0), most.max(0)
    moves = most - least > 1e-3 * np.maximum(np.abs(least), np.abs(most))
    widths: Floats = (ranges.high.max(0) - ranges.low.min(0))[moves] / (most - least)[moves]
    return widths
