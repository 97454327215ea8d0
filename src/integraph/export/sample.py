"""How large registers become, by samples: not bounds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.program import dynamics

if TYPE_CHECKING:
    from integraph.program import Program

CORNERS = 6  # inputs of which all corners of the box are taken
INNER = 24  # points inside the box
TIMES = 17  # in each segment


def box(program: Program) -> tuple[Floats, Floats]:
    """`low` and `high` of the inputs: those the program was made for, else -1 and 1."""
    own = program.box
    return (-np.ones(program.inputs), np.ones(program.inputs)) if own is None else (own.low, own.high)


def centre(program: Program) -> Floats:
    low, high = box(program)
    return low + (high - low) / 2


def ranges(program: Program) -> tuple[Floats, Floats]:
    """Low and high of each register in each segment (D, W), over corners and random points of the box.

    Raises if one of these inputs does not reach the end."""
    low, high = box(program)
    inner = np.random.default_rng(1).uniform(low, high, (INNER, program.inputs))
    points = np.concatenate([low[None], high[None], centre(program)[None], inner])
    if program.inputs <= CORNERS:
        points = np.concatenate([np.array(list(product(*zip(low, high, strict=True)))), points])
    flow = program.flow(points, times=tuple(dynamics.grid(program, TIMES).tolist())).check()
    assert flow.path is not None
    starts = np.arange(max(program.depth, 1)) * (TIMES - 1)  # a switch belongs to both of its segments
    rows = np.minimum(starts[:, None] + np.arange(TIMES), flow.path.shape[1] - 1)
    return flow.path.min(0)[rows].min(1), flow.path.max(0)[rows].max(1)
