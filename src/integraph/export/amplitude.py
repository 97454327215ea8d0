"""How large registers become: by proof where that gives an answer, else by samples."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from integraph.export.equations import start_box
from integraph.numbers.arrays import Floats
from integraph.program import dynamics

if TYPE_CHECKING:
    from integraph.program import Program

CORNERS = 6  # inputs of which all corners of the box are taken
INNER = 24  # points inside the box
TIMES = 17  # in each segment
NUMBERS = 10_000_000  # of trajectories at once
CELLS = 64  # of the box, for a proof
LOOSE, TINY = 2.0, 1e-9  # how much larger than samples a proven range may be, to be of use


def centre(program: Program) -> Floats:
    """The middle of the box that the program was made for, else of [0, 1]."""
    middle: Floats = np.array(start_box(program)).mean(0)
    return middle


def largest(program: Program) -> tuple[Floats, str]:
    """The largest |y| of each register in each segment (D, W), and a sentence that says how it is known: by proof
    unless that is much larger than what samples show."""
    low, high = ranges(program)
    sampled = np.maximum(high, -low)
    certified = program.ranges(np.array(start_box(program)).T, cells=CELLS, progress=False)
    proven = np.maximum(certified.high, -certified.low)
    if proven.shape == sampled.shape and (proven <= LOOSE * sampled + TINY).all():
        return proven, "Units are powers of 2, by proven ranges of the registers."
    return sampled, "Units are powers of 2, by ranges on sampled trajectories: samples, not bounds."


def ranges(program: Program) -> tuple[Floats, Floats]:
    """Low and high of each register in each segment (D, W), over corners and random points of the box.

    Raises if one of these inputs does not reach the end."""
    low, high = start_box(program)
    inner = np.random.default_rng(1).uniform(low, high, (INNER, program.inputs))
    points = np.concatenate([[low, high], centre(program)[None], inner])
    if program.inputs <= CORNERS:
        points = np.concatenate([np.array(list(product(*zip(low, high, strict=True)))), points])
    times = tuple(dynamics.grid(program, TIMES).tolist())
    lowest, highest = np.full((2, len(times), program.width), np.inf) * [[[1.0]], [[-1.0]]]
    batch = max(1, NUMBERS // (len(times) * program.width))
    for first in range(0, len(points), batch):
        path = program.flow(points[first : first + batch], times=times).check().path
        assert path is not None
        lowest, highest = np.minimum(lowest, path.min(0)), np.maximum(highest, path.max(0))
    starts = np.arange(max(program.depth, 1)) * (TIMES - 1)  # a switch belongs to both of its segments
    rows = np.minimum(starts[:, None] + np.arange(TIMES), len(times) - 1)
    return lowest[rows].min(1), highest[rows].max(1)
