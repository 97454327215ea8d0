"""How the outputs depend on every coefficient of eq. (1), by the adjoint equation along sampled trajectories.

λ' = −Jᵀλ runs backwards from the read-out; the derivative of an output with respect to the coefficient of y_j y_k in
y_i' is ∫ λ_i y_j y_k over its segment. Steps are those of Gauss's collocation of three stages, of order 6 and A-stable,
with the trajectory at its nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.sparse.linalg import splu

from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Program, Terms
from integraph.program.dynamics import derivatives, switches
from integraph.program.terms import concatenate

ROOT = math.sqrt(15.0)
NODES = np.array([0.5 - ROOT / 10, 0.5, 0.5 + ROOT / 10])
WEIGHTS = np.array([5 / 18, 4 / 9, 5 / 18])
COUPLING = np.array(  # of a step backwards: Gauss's matrix with rows and columns in reverse order
    [
        [5 / 36, 2 / 9 + ROOT / 15, 5 / 36 + ROOT / 30],
        [5 / 36 - ROOT / 24, 2 / 9, 5 / 36 + ROOT / 24],
        [5 / 36 - ROOT / 30, 2 / 9 - ROOT / 15, 5 / 36],
    ]
)
FEWEST, MOST = 4, 128  # steps of a segment
TURN = 1.0  # a step is about as long as the fastest register takes for that much of e^x


@dataclass(frozen=True, slots=True, eq=False)
class SegmentSensitivity:
    """∂output/∂coefficient of each term of a segment, and ∂output/∂b_i of a constant b_i in y_i' during the segment."""

    number: int
    terms: Terms
    coefficients: Floats  # (terms, samples, outputs)
    constants: Floats  # (W, samples, outputs)


def sensitivities(program: Program, x: Floats) -> Iterator[SegmentSensitivity]:
    """Segment by segment, the last first, for inputs (samples, d)."""
    edges, steps = switches(program), _steps(program, x)
    inside = [np.linspace(edges[n], edges[n + 1], count + 1) for n, count in enumerate(steps)]
    times = [(grid[:-1, None] + np.diff(grid)[:, None] * NODES).ravel() for grid in inside]
    path = program.flow(x, times=np.concatenate([np.zeros(0), *times])).check().path
    assert path is not None
    last = np.cumsum([len(part) for part in times])
    adjoint = np.broadcast_to(program.readout.toarray().T[:, None, :], (program.width, len(x), program.outputs)).copy()
    for number in reversed(range(program.depth)):
        states = path[:, last[number] - len(times[number]) : last[number]]  # (samples, nodes, W)
        backwards = _Backwards(program, number, states, program.segments[number].duration / steps[number])
        adjoint, result = backwards.run(adjoint)
        yield result


def _steps(program: Program, x: Floats) -> list[int]:
    """By the largest row sum of |J| at the middle of each segment."""
    edges = switches(program)
    middles = 0.5 * edges[:-1] + 0.5 * edges[1:]
    path = program.flow(x[:1], times=np.concatenate([edges[:-1], middles])).check().path if program.depth else None
    counts = []
    for number, segment in enumerate(program.segments):
        assert path is not None
        states = path[0, [number, number + program.depth]].T
        i, _, values = derivatives(program, number, states)
        fastest = max((np.bincount(i, np.abs(column)).max(initial=0.0) for column in values.T), default=0.0)
        counts.append(int(min(max(math.ceil(segment.duration * fastest / TURN), FEWEST), MOST)))
    return counts


class _Backwards:
    """One segment, from its end to its start."""

    def __init__(self, program: Program, number: int, states: Floats, step: float) -> None:
        self.program, self.number, self.step = program, number, step
        self.states = states
        self.terms = concatenate(list(program.segment_terms(number)))
        self.moving = np.unique(self.terms.i).astype(np.int64)
        self.local = np.full(program.width, -1, np.int64)
        self.local[self.moving] = np.arange(len(self.moving))

    def run(self, adjoint: Floats) -> tuple[Floats, SegmentSensitivity]:
        """The adjoint (W, samples, outputs) at the start, from that at the end."""
        _, samples, outputs = adjoint.shape
        coefficients = np.zeros((len(self.terms), samples, outputs))
        constants = np.zeros(adjoint.shape)
        one = np.ones((1, samples))
        for first in reversed(range(0, self.states.shape[1], len(NODES))):
            check_deadline()
            nodes = [self.states[:, first + stage].T for stage in range(len(NODES))]  # each (W, samples)
            stages, adjoint_before = self._step(adjoint, nodes)
            for weight, node, stage in zip(WEIGHTS * self.step, nodes, stages, strict=True):
                extended = np.concatenate([node, one])
                products = extended[self.terms.j] * extended[self.terms.k]
                coefficients += weight * stage[self.terms.i] * products[:, :, None]
                constants += weight * stage
            adjoint = adjoint_before
        return adjoint, SegmentSensitivity(self.number, self.terms, coefficients, constants)

    def _step(self, adjoint: Floats, nodes: list[Floats]) -> tuple[list[Floats], Floats]:
        """The adjoint at the three nodes, and at the start of the step. Registers that do not move only receive."""
        _, samples, outputs = adjoint.shape
        jacobians = [derivatives(self.program, self.number, node) for node in nodes]
        count = len(self.moving)
        if not count:
            return [adjoint] * len(nodes), adjoint
        matrix = self._matrix(jacobians, samples)
        start = np.tile(adjoint[self.moving].transpose(1, 0, 2)[:, None], (1, len(nodes), 1, 1))
        solved = splu(matrix).solve(start.reshape(-1, outputs)).reshape(samples, len(nodes), count, outputs)
        before, pushes = adjoint.copy(), []
        for stage, (i, j, values) in enumerate(jacobians):
            push = np.zeros(adjoint.shape)
            np.add.at(push, j, values[:, :, None] * solved[:, stage, self.local[i]].transpose(1, 0, 2))
            pushes.append(push)
            before += self.step * WEIGHTS[stage] * push
        stages = []
        for stage in range(len(nodes)):
            value = adjoint + self.step * sum(COUPLING[stage, other] * pushes[other] for other in range(len(nodes)))
            stages.append(value)
        return stages, before

    def _matrix(self, jacobians: list[tuple[Indices, Indices, Floats]], samples: int) -> scipy.sparse.csc_array:
        """1 − h·COUPLING ⊗ Jᵀ over the registers that move, block by block for the samples."""
        count, stages = len(self.moving), len(jacobians)
        size = samples * stages * count
        rows, columns, entries = [np.arange(size)], [np.arange(size)], [np.ones(size)]
        blocks = (np.arange(samples) * stages * count)[None, :]
        for other, (i, j, values) in enumerate(jacobians):
            moved = self.local[j] >= 0
            row, column, value = self.local[j[moved]][:, None], self.local[i[moved]][:, None], values[moved]
            for stage in range(stages):
                rows.append((blocks + stage * count + row).ravel())
                columns.append((blocks + other * count + column).ravel())
                entries.append((-self.step * COUPLING[stage, other] * value).ravel())
        parts = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return scipy.sparse.csc_array(scipy.sparse.coo_array(parts, shape=(size, size)))
