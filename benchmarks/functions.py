"""Theorem 1: sizes of lean against the paper's, bounds against errors, scaling with ε, speed of a large program."""

from __future__ import annotations

import time
from contextlib import suppress
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import integraph
from gallery import FUNCTIONS, VARIABLES
from integraph import Partition, Program
from integraph.bounds.paper import theorem1
from integraph.bounds.sobolev.taylor_series import taylor
from integraph.constructions.theorem1.fit import fit
from integraph.constructions.theorem1.task import task
from integraph.errors import UsageError
from integraph.numbers.multi_index import below, count, factorials
from integraph.program.box import interval
from integraph.targets import Function
from measure import clock, race, show, verdict
from theorem1_pictures import slope, sweep

Floats = NDArray[np.float64]

EPS = 1e-3
SIZES = {1: 5, 2: 50, 3: 500}  # how many times smaller W·D should be, by dimension
HIGHEST = {1: (30, 129), 2: (20, 17), 3: (14, 7)}  # the largest order of the paper's, points of a side of the grid
TIGHT = 10.0  # bound against measured error
POINTS = 30_000  # on a grid, and as many at random
WORST = 300  # points near which the error is looked for again
ORDERS = {1: (1, 2, 4, 8), 2: (2, 4, 8), 3: (2, 4, 8)}
SPEED = ("exp(-9*((x - 0.5)^2 + (y - 0.4)^2 + (z - 0.6)^2))", 3.2e-3, 4)  # formula; ε such that N = 12; order
INPUTS = 100_000
CHUNK = 1024  # points at which plain numpy is fastest


def main() -> None:
    sizes()
    show("exponents of ε: W and D of the paper, W of lean", *slopes())
    with threadpool_limits(1):
        show(f"d = 3, {INPUTS:,} points, one thread", *speed())


COLUMNS = ("function", "n", "N", "W × D", "lean", "n", "N", "W × D", "paper", "ratio", "bound", "error", "ratio")


def sizes() -> None:
    """One table for each dimension, and the medians."""
    medians: list[tuple[object, ...]] = []
    times: list[tuple[object, ...]] = []
    for d, functions in FUNCTIONS.items():
        found = {name: measured(integraph.function(text, variables=VARIABLES[d])) for name, text in functions.items()}
        title = f"n, N, W × D and W·D of lean, then of the paper; bound and error: ε = {EPS:g}, d = {d}"
        show(title, COLUMNS, [(name, *one.row()) for name, one in found.items()])
        smaller, slack = median(one.smaller for one in found.values()), median(one.slack for one in found.values())
        always = "always" if all(one.kept for one in found.values()) else "NOT ALWAYS"
        goals = (verdict(smaller, SIZES[d], at_least=True), f"{slack:.2f}", verdict(slack, TIGHT), always)
        medians.append((d, len(found), f"{smaller:.3g}", *goals))
        slowest = max(found, key=lambda name: found[name].seconds)
        total = sum(one.seconds for one in found.values())
        times.append((d, f"{total:.1f} s", f"{found[slowest].seconds:.1f} s ({slowest})"))
    columns = ("d", "functions", "paper/lean", "target", "bound/error", "target", "error ≤ bound ≤ ε")
    show(f"medians, ε = {EPS:g}", columns, medians)
    show("compile times of these functions", ("d", "all", "slowest"), times)


class Paper(NamedTuple):
    n: int
    N: int
    width: int
    depth: int

    @property
    def size(self) -> int:
        return self.width * self.depth


class Measured(NamedTuple):
    program: Program
    seconds: float  # to compile
    error: float
    paper: Paper

    @property
    def size(self) -> int:
        return self.program.width * self.program.depth

    @property
    def smaller(self) -> float:
        return self.paper.size / self.size

    @property
    def bound(self) -> float:
        assert self.program.budget is not None
        return self.program.budget.total

    @property
    def slack(self) -> float:
        return self.bound / self.error

    @property
    def kept(self) -> bool:
        return self.error <= self.bound <= EPS

    def row(self) -> tuple[object, ...]:
        program, paper = self.program, self.paper
        assert program.origin is not None
        options = program.origin.options
        ours = (options["order"], options["N"], f"{program.width} × {program.depth}", self.size)
        theirs = (paper.n, paper.N, f"{paper.width} × {paper.depth}", f"{paper.size:.3g}")
        return (*ours, *theirs, f"{self.smaller:.3g}", f"{self.bound:.1e}", f"{self.error:.1e}", f"{self.slack:.1f}")


def measured(function: Function) -> Measured:
    start = time.perf_counter()
    program = integraph.compile(function, EPS, method="lean")
    seconds = time.perf_counter() - start
    return Measured(program, seconds, largest_error(program, function), papers(function))


def papers(function: Function) -> Paper:
    """The smallest the theorem allows at any order. The norm is that of the points of a grid, so from below: in the
    paper's favour, whose method needs it from above."""
    assert function.expression is not None
    d = function.inputs
    top, side = HIGHEST[d]
    x = grid(side, d)
    series = taylor(function.expression, x, x, top + 1)
    seen = (np.abs(series.mid) - series.rad).max((1, 2)) * factorials(d, top + 1)
    found = []
    for n in range(1, top + 1):
        with suppress(UsageError):  # more than 10^7 cells in each direction
            N = theorem1.paper(d, n, EPS / max(1.0, float(seen[: count(d, n + 1)].max()))).N
            depth = theorem1.depth(d, N, count(d, n) * (N + 1) ** d)
            found.append(Paper(n, N, theorem1.width(d, N), depth))
    return min(found, key=lambda paper: paper.size)


def grid(side: int, d: int) -> Floats:
    return np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * d), -1).reshape(-1, d)


def largest_error(program: Program, function: Function) -> float:
    """On a grid, at random, on faces, and once more near the worst points."""
    d, rng = function.inputs, np.random.default_rng(0)
    faces = rng.random((POINTS // 2, d))
    faces[np.arange(len(faces)), rng.integers(0, d, len(faces))] = rng.integers(0, 2, len(faces))
    x = np.concatenate([grid(int(np.ceil(POINTS ** (1 / d))), d), rng.random((POINTS // 2, d)), faces])
    found = errors(program, function, x)
    worst = x[np.argsort(found)[-WORST:]]
    for reach in (0.03, 0.01, 0.003):
        near = np.clip(np.repeat(worst, 20, 0) + rng.uniform(-reach, reach, (20 * len(worst), d)), 0, 1)
        x, found = np.concatenate([worst, near]), np.concatenate([errors(program, function, p) for p in (worst, near)])
        worst = x[np.argsort(found)[-WORST:]]
    return float(np.max(found))


def errors(program: Program, function: Function, x: Floats) -> Floats:
    assert function.values is not None
    gaps: Floats = np.abs(program.flow(x, "exact").outputs - function.values(x)).max(1)
    return gaps


def slopes() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """For a norm of 1; lean has the paper's N here, and all bumps at once."""
    rows: list[tuple[object, ...]] = []
    for d, orders in ORDERS.items():
        for n in orders:
            found = sweep(d, n)
            theory = {"width": -1 / n, "depth": -(d - 1) / n, "lean_width": -(d - d // 2) / n}
            pairs = (f"{number:.3f}" for of, wanted in theory.items() for number in (slope(found, of), wanted))
            rows.append((d, n, f"{found[-1].eps:.0e}", *pairs))
    return ("d", "n", "ε down to", "W", "−1/n", "D", "−(d−1)/n", "lean's W", "−⌈d/2⌉/n"), rows


def speed() -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    formula, eps, n = SPEED
    function = integraph.function(formula)
    programs: list[Program] = []
    seconds = clock(lambda: programs.append(integraph.compile(function, eps, order=n)))
    program = programs[0]
    chosen = integraph.plan(function, eps, order=n).chosen
    N = chosen.N
    a = fit(task(function, interval(None, 3), eps, order=n), n, N, chosen.c, chosen.spread).local.coefficients[..., 0]
    plain = Plain(a, Partition(N, chosen.c), n)
    x = np.random.default_rng(0).random((INPUTS, 3))
    difference = np.abs(program(x)[:, 0] - plain(x)).max()
    best = race({"numpy": lambda: plain(x), "exact": lambda: program.flow(x, "exact")}, seconds=5.0)
    ratio = best["exact"] / best["numpy"]
    sizes = (n, N, program.width, program.depth, program.terms, f"{seconds:.1f} s")
    times = (f"{1e6 * best[name] / INPUTS:.2f}" for name in ("numpy", "exact"))
    columns = (
        "n",
        "N",
        "W",
        "D",
        "terms",
        "compile",
        "numpy µs/point",
        "exact µs/point",
        "ratio",
        "target",
        "difference",
    )
    return columns, [(*sizes, *times, f"{ratio:.2f}", verdict(ratio, 3), f"{difference:.1e}")]


class Plain:
    """Σ ψ_i(x) ψ_j(y) ψ_k(z) P_ijk in plain numpy, in the order of operations that was fastest: one matrix product."""

    def __init__(self, a: Floats, partition: Partition, n: int) -> None:
        self.partition, cells = partition, partition.N + 1
        self.matrix = np.ascontiguousarray(a.reshape(cells**2, -1).T)  # rows (k, m), columns (i, j)
        alphas = below(3, n)
        last = [int(np.flatnonzero(alpha)[-1]) for alpha in alphas[1:]]
        rest = alphas[1:] - np.eye(3, dtype=alphas.dtype)[last]
        ranks = {tuple(alpha): row for row, alpha in enumerate(alphas.tolist())}
        self.factors = [(ranks[tuple(alpha)], axis) for alpha, axis in zip(rest.tolist(), last, strict=True)]

    def __call__(self, x: Floats) -> Floats:
        return np.concatenate([self.chunk(x[first : first + CHUNK]) for first in range(0, len(x), CHUNK)])

    def chunk(self, x: Floats) -> Floats:
        one, two, three = self.partition(x.T).swapaxes(0, 1)
        left = (one[:, None] * two).reshape(-1, len(x))
        shifted, powers = x.T - 0.5, np.ones((1 + len(self.factors), len(x)))
        for row, (factor, axis) in enumerate(self.factors, 1):
            np.multiply(powers[factor], shifted[axis], out=powers[row])
        cells = (self.matrix @ left).reshape(len(three), len(powers), len(x))
        found: Floats = np.einsum("kb,kb->b", np.einsum("kmb,mb->kb", cells, powers), three)
        return found


if __name__ == "__main__":
    main()
