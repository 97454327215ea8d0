"""Eq. (1) as a vector field: right-hand side, Jacobian, and the eigenvalues that measure depth when T = 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from integraph.errors import UsageError
from integraph.program.engine import Options
from integraph.program.views import Floats

if TYPE_CHECKING:
    from integraph.program.program import Program

MAX_BLOCK = 2000  # the largest strongly coupled set of registers whose eigenvalues we compute


def switches(program: Program) -> Floats:
    """0 = t_0 < t_1 < … < t_D = T."""
    return np.concatenate([[0.0], np.cumsum([s.duration for s in program.segments])])


def segment_at(program: Program, t: float) -> int:
    """The segment whose controls hold at time t; at a switch, the one that begins there."""
    edges = switches(program)
    if not (0 <= t <= edges[-1]) or program.depth == 0:
        raise UsageError(f"t = {t} is outside [0, {edges[-1]:g}]")
    return min(int(np.searchsorted(edges, t, side="right")) - 1, program.depth - 1)


def grid(program: Program, points: int) -> Floats:
    """`points` times in each segment, both ends included."""
    edges = switches(program)
    if program.depth == 0:
        return edges
    inner = [np.linspace(a, b, points) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    return np.concatenate([inner[0], *(part[1:] for part in inner[1:])])


def check_options(program: Program, options: Options) -> None:
    if not (math.isfinite(options.rtol) and 0 < options.rtol < 1):
        raise UsageError(f"rtol = {options.rtol}: needs 0 < rtol < 1")
    if options.max_steps < 1 or options.threads < 1:
        raise UsageError(f"max_steps = {options.max_steps}, threads = {options.threads}: both must be ≥ 1")
    end = switches(program)[-1]
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
    states = np.asarray(y, np.float64)
    if states.ndim not in (1, 2) or states.shape[-1] != program.width:
        raise UsageError(f"states have shape {states.shape}: needs ({program.width},) or (batch, {program.width})")
    return states.T


def jacobian(program: Program, t: float, y: ArrayLike) -> csr_array:
    states = _states(program, y)
    if states.ndim != 1:
        raise UsageError("the Jacobian is taken at one state (W,), got a batch")
    extended = np.append(states, 1.0)
    total = csr_array((program.width, program.width))
    for batch in program.segment_terms(segment_at(program, t)):
        for by, other in ((batch.j, batch.k), (batch.k, batch.j)):
            moved = by >= 0
            values = batch.value[moved] * extended[other[moved]]
            total = total + coo_array((values, (batch.i[moved], by[moved])), shape=total.shape).tocsr()
    return csr_array(total)


def spectral_radius(matrix: csr_array) -> float:
    """The largest |eigenvalue|, from the strongly connected blocks of the block-triangular form."""
    count, label = connected_components(matrix, directed=True, connection="strong")
    sizes = np.bincount(label, minlength=count)
    largest = float(np.abs(matrix.diagonal()).max(initial=0.0, where=sizes[label] == 1))
    if sizes.max(initial=0) > MAX_BLOCK:
        raise UsageError(f"{sizes.max()} registers are strongly coupled: eigenvalues are computed up to {MAX_BLOCK}")
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(sizes)
    for size in np.unique(sizes[sizes > 1]).tolist():
        groups = order[(ends[sizes == size] - size)[:, None] + np.arange(size)]
        blocks = np.stack([matrix[g[:, None], g[None, :]].toarray() for g in groups])
        largest = max(largest, float(np.abs(np.linalg.eigvals(blocks)).max()))
    return largest


def stiffness(program: Program, x: ArrayLike, points: int) -> float:
    if points < 2:
        raise UsageError(f"points = {points}: needs at least 2 in a segment, its ends")
    times = grid(program, points)
    path = program.flow(x, times=tuple(times.tolist())).check().path
    assert path is not None
    largest = 0.0
    edges = switches(program)
    for number in range(program.depth):
        middle = float(edges[number : number + 2].mean())
        inside = (times >= edges[number]) & (times <= edges[number + 1])
        for state in path[:, inside].reshape(-1, program.width):
            largest = max(largest, spectral_radius(jacobian(program, middle, state)))
    return largest
