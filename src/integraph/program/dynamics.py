"""Eq. (1) as a vector field: right-hand side, Jacobian, and the eigenvalues that measure depth when T = 1."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats, Indices, numbers
from integraph.program.engine import Options

if TYPE_CHECKING:
    from integraph.program.program import Program

MAX_BLOCK = 2000  # the largest strongly coupled set of registers whose eigenvalues we compute


def switches(program: Program) -> Floats:
    """0 = t_0 < t_1 < … < t_D = T, summed in extended precision: six sixths are 1."""
    ends = np.cumsum([s.duration for s in program.segments], dtype=np.longdouble)
    return np.concatenate([[0.0], ends.astype(np.float64)])


def clock(program: Program) -> Floats:
    """The switches; refuses a segment that is too short to have times of its own in float64."""
    edges = switches(program)
    durations = np.array([s.duration for s in program.segments])
    short = np.flatnonzero(np.abs(np.diff(edges) - durations) > 1e-6 * durations)
    if len(short):
        label = program.segments[short[0]].label
        raise UsageError(
            f"segment {short[0]} {label!r} is too short for times in float64, which run to {edges[-1]:g}: ask for none"
        )
    return edges


def segment_at(program: Program, t: float) -> int:
    """The segment whose controls hold at time t; at a switch, the one that begins there."""
    edges = switches(program)
    if not (0 <= t <= edges[-1]) or program.depth == 0:
        raise UsageError(f"t = {t} is outside [0, {edges[-1]:g}]")
    return min(int(np.searchsorted(edges, t, side="right")) - 1, program.depth - 1)


def grid(program: Program, points: int) -> Floats:
    """`points` times in each segment, both ends included."""
    edges = clock(program)
    if program.depth == 0:
        return edges
    inner = [np.linspace(a, b, points) for a, b in pairwise(edges.tolist())]
    return np.concatenate([inner[0], *(part[1:] for part in inner[1:])])


def moments(times: ArrayLike) -> tuple[float, ...]:
    """Times as engines take them."""
    return tuple(numbers(times, "times").ravel().tolist())


def check_options(program: Program, options: Options) -> None:
    if not isinstance(options.rtol, (float, int, np.number)) or not 0 < options.rtol < 1:
        raise UsageError("needs 0 < rtol < 1", argument="rtol", value=options.rtol)
    for name, value in (("max_steps", options.max_steps), ("threads", options.threads)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise UsageError("needs an integer ≥ 1", argument=name, value=value)
    if options.times:
        end = clock(program)[-1]
        outside = [t for t in options.times if not 0 <= t <= end]
        if outside:
            raise UsageError(f"time {outside[0]} is outside [0, {end:g}]")


def rhs(program: Program, t: float, y: ArrayLike) -> Floats:
    states = _states(program, y)
    out = np.zeros_like(states)
    for batch in program.segment_terms(segment_at(program, t)):
        out += batch.evaluate(states)
    return out.T


def _states(program: Program, y: ArrayLike) -> Floats:
    states = numbers(y, "states")
    if states.ndim not in (1, 2) or states.shape[-1] != program.width:
        raise UsageError(f"states have shape {states.shape}: needs ({program.width},) or (batch, {program.width})")
    return states.T


def jacobian(program: Program, t: float, y: ArrayLike) -> scipy.sparse.csr_array:
    states = _states(program, y)
    if states.ndim != 1:
        raise UsageError("the Jacobian is taken at one state (W,), got a batch")
    i, j, values = derivatives(program, segment_at(program, t), states[:, None])
    shape = (program.width, program.width)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((values[:, 0], (i, j)), shape=shape))


def derivatives(program: Program, number: int, states: Floats) -> tuple[Indices, Indices, Floats]:
    """∂(value · y_j · y_k)/∂y_j and /∂y_k of every term, at state-major states: rows, columns, values (terms, B)."""
    extended = np.concatenate([states, np.ones((1, states.shape[1]))])
    entries: list[tuple[Indices, Indices, Floats]] = []
    for batch in program.segment_terms(number):
        for by, other in ((batch.j, batch.k), (batch.k, batch.j)):
            moved = by >= 0
            values = batch.value[moved, None] * extended[other[moved]]
            entries.append((batch.i[moved].astype(np.int64), by[moved].astype(np.int64), values))
    none = np.zeros(0, np.int64)
    entries.append((none, none, np.zeros((0, states.shape[1]))))
    i, j, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return i, j, values


def spectral_radius(i: Indices, j: Indices, values: Floats, width: int) -> float:
    """The largest |eigenvalue| of many matrices of one pattern, entries (i, j, values[:, n]); duplicates are summed.

    The strongly connected blocks of the pattern are the diagonal blocks of its block-triangular form.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import

    pattern = scipy.sparse.coo_array((np.ones(len(i)), (i, j)), shape=(width, width)).tocsr()
    count, label = connected_components(pattern, directed=True, connection="strong")
    sizes = np.bincount(label, minlength=count)
    if sizes.max(initial=0) > MAX_BLOCK:
        raise UsageError(f"{sizes.max()} registers are strongly coupled: eigenvalues are computed up to {MAX_BLOCK}")
    inside = label[i] == label[j]
    i, j, values = i[inside], j[inside], values[inside]
    position = np.empty(width, np.int64)  # of a register inside its block
    order = np.argsort(label, kind="stable")
    position[order] = np.arange(width) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    largest = 0.0
    for size in np.unique(sizes[label[i]]).tolist():
        chosen = sizes[label[i]] == size
        names, block = np.unique(label[i[chosen]], return_inverse=True)
        matrices = np.zeros((len(names), size, size, values.shape[1]))
        np.add.at(matrices, (block, position[i[chosen]], position[j[chosen]]), values[chosen])
        eigenvalues = np.linalg.eigvals(np.moveaxis(matrices, 3, 1)) if size > 1 else matrices
        largest = max(largest, float(np.abs(eigenvalues).max(initial=0.0)))
    return largest


def stiffness(program: Program, x: ArrayLike, points: int) -> float:
    return max([0.0, *stiffness_by_segment(program, x, points)])


def stiffness_by_segment(program: Program, x: ArrayLike, points: int) -> list[float]:
    """The largest |eigenvalue| of the Jacobian along the trajectories of the inputs, in each segment."""
    if points < 2:
        raise UsageError("needs at least 2 in a segment, its ends", argument="points", value=points)
    times = grid(program, points)
    path = program.flow(x, times=tuple(times.tolist())).check().path
    assert path is not None
    radii = []
    for number in range(program.depth):
        first = number * (points - 1)
        states = path[:, first : first + points].reshape(-1, program.width)
        radii.append(spectral_radius(*derivatives(program, number, states.T), program.width))
    return radii
