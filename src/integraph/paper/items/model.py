"""The model, eq. (1), and its time."""

from __future__ import annotations

import numpy as np

from integraph.api import compiler
from integraph.numbers.arrays import Floats
from integraph.paper.rows import Finding, item, size
from integraph.program import ONE, Program

FORMULA = "sin(3*x)*exp(-y)/(1+x*y)"
POINTS = np.array([[0.3, 0.8], [1.0, 0.25], [0.0, 0.5], [0.7, 0.1]])
H = 2.0**-9  # of the differences; their error is about H⁴
DIFFERENCE, ROUNDING = 1e-8, 1e-13


@item(
    "Model, eq. (1)",
    "$ẏ_i = Σ_j a_ij y_j + Σ_{j,k} q_ijk y_j y_k + b_i$ with $y(0) = (x, 0, …, 0)$; the controls are constant on "
    "each segment, and $c·y(T)$ is read out",
    "eq:neural_ode",
)
def equation_1() -> Finding:
    program = compiler.compile(FORMULA)
    times = [n + share for n in range(program.depth) for share in (0.25, 0.5, 0.75)]
    near = [t + step * H for t in times for step in (-2, -1, 0, 1, 2)]
    flow = program.flow(POINTS, times=[0.0, *near]).check()
    assert flow.path is not None
    start = np.concatenate([POINTS, np.zeros((len(POINTS), program.width - program.inputs))], 1)
    path = flow.path[:, 1:].reshape(len(POINTS), len(times), 5, program.width)
    slope = (path[:, :, 0] - 8 * path[:, :, 1] + 8 * path[:, :, 3] - path[:, :, 4]) / (12 * H)
    written = np.stack([_sums(program, int(t), path[:, n, 2]) for n, t in enumerate(times)], 1)
    said = np.stack([program.rhs(t, path[:, n, 2]) for n, t in enumerate(times)], 1)
    off, sums = float(np.abs(slope - written).max()), float(np.abs(written - said).max())
    begins = float(np.abs(flow.path[:, 0] - start).max())
    return Finding(
        f"{FORMULA}: $W = {program.width}$, $D = {program.depth}$, {program.terms} controls. The sums $b + A y + Q(y, "
        f"y)$ and the right-hand side differ by {size(sums)}, the sums and the slope of the closed-form flow by "
        f"{size(off)} (by differences); $y(0)$ and $(x, 0)$ by {size(begins)}",
        off <= DIFFERENCE and sums <= ROUNDING and begins == 0.0,
        {"slope": off, "rhs": sums, "start": begins, "W": program.width, "D": program.depth},
    )


def _sums(program: Program, number: int, y: Floats) -> Floats:
    """b + A y + Q(y, y) with dense arrays, at states (B, W)."""
    b, A, Q = np.zeros(program.width), np.zeros((program.width,) * 2), np.zeros((program.width,) * 3)
    c = program.controls()
    for segment, i, j, k, value in zip(c.segment, c.i, c.j, c.k, c.value, strict=True):
        if segment == number:
            where, index = (b, (i,)) if k == ONE else (A, (i, k)) if j == ONE else (Q, (i, j, k))
            where[index] = value
    result: Floats = b + y @ A.T + np.einsum("ijk,nj,nk->ni", Q, y, y)
    return result


@item(
    "Model: T normalised to 1, stiffness as depth",
    "rescaling the dynamics makes $T = 1$ and keeps the map; what was depth is then stiffness, the largest "
    "|eigenvalue| of the Jacobian along the flow",
)
def horizon() -> Finding:
    program = compiler.compile(FORMULA)
    one = program.rescale_time(1.0)
    off = float(np.abs(one(POINTS) - program(POINTS)).max())
    before, after = program.stiffness(POINTS), one.stiffness(POINTS)
    ratio = after / before
    return Finding(
        f"$T = {program.horizon:g} → {one.horizon:g}$: outputs differ by {size(off)}; stiffness {before:.4g} → "
        f"{after:.4g}, {ratio:.6g} times",
        one.horizon == 1.0 and off <= ROUNDING and abs(ratio - program.horizon) <= 1e-9 * program.horizon,
        {"difference": off, "before": before, "after": after, "ratio": ratio, "T": program.horizon},
    )


ITEMS = (equation_1, horizon)
