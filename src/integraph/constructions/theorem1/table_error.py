"""How far a table of derivatives is off between its nodes, as far as its own values tell.

Taylor's polynomial of a node misses the value at a neighbour by about f^(n)/n! h^n. Cells meet half-way, where it is
2^n times smaller.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from integraph.constructions.theorem1.unit_cube import UnitCube
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, factorials
from integraph.targets.function import Table

OFF = "off by up to about"  # the option of a program that names the error


def off_between_nodes(table: Table, cube: UnitCube, n: int) -> float:
    """The estimate for order n, the largest of all pairs of neighbours, diagonal ones too. Where cells meet, their
    errors may cancel, for odd n above all: it is rather too large than too small."""
    d = len(cube.scale)
    steps = np.array([step for step in product((-1, 0, 1), repeat=d) if any(step)])
    side = 1.0 / (cube.scale * table.N)
    alphas = below(d, n)
    derivatives = np.stack([table.derivatives[tuple(alpha)] for alpha in alphas.tolist()], -1)
    worst = 0.0
    for step in steps:
        weights: Floats = ((step * side) ** alphas).prod(1) / factorials(d, n)
        here = tuple(slice(max(0, -move), min(table.N + 1, table.N + 1 - move)) for move in step.tolist())
        there = tuple(slice(max(0, move), min(table.N + 1, table.N + 1 + move)) for move in step.tolist())
        missed = derivatives[here] @ weights - derivatives[there][..., 0]
        worst = max(worst, float(np.abs(missed).max()))
    return worst * 2.0**-n
