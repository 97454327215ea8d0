"""Theorem 1, lean: bumps from ln cosh, powers by products, and sums over cells as bilinear forms.

With z_k = c(t − γ_k) and ℓ_k = ln cosh z_k, the logarithm of ψ_k is linear in registers:

    ln ψ_k = ln(sinh(c/N)/2) − ℓ_k − ℓ_{k+1},   ln ψ_0 = −ln 2 − z_1 − ℓ_1,   ln ψ_N = −ln 2 + z_N − ℓ_N

so a bump of several dimensions is one run of Lemma 3. The dimensions are split: cells l of the first ones and r of the
last ones, φ_{(l, r)} = φ_l φ_r. With X_m the monomials (t − ½)^m,

    q_r' = Σ_l Σ_m a_{(l, r), m} φ_l X_m,   then   acc' = Σ_r φ_r q_r,

two quadratic segments for all cells at once. The bumps φ_l may be made in batches, two segments for each more; q adds
them up. Without a split (`right` = 0) the first segment adds to acc itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from integraph.constructions.theorem1.monomials import MonomialRegisters
from integraph.constructions.theorem1.unit_cube import UnitCube
from integraph.gadgets import affine, bilinear, log_cosh, monomial, product, ramp
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.multi_index import count
from integraph.program import Block, Index, Registers, Segment, View, segment

LN2 = math.log(2.0)
UNDERFLOW = 650.0  # e^−650 is still a number: a bump that is to be refilled may not be smaller


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of width and depth; `batch` is P, the number of bumps of the first dimensions at a time."""

    d: int
    outputs: int
    N: int
    n: int
    right: int
    batch: int
    read_in: bool

    @property
    def left_cells(self) -> int:
        return int((self.N + 1) ** (self.d - self.right))

    @property
    def right_cells(self) -> int:
        return int((self.N + 1) ** self.right)

    @property
    def batches(self) -> int:
        return -(-self.left_cells // self.batch)

    @property
    def width(self) -> int:
        powers = count(self.d, self.n) - 1 - self.d if self.n > 1 else 0
        entry = self.d * (2 if self.read_in else 1)
        if self.N == 0:
            return entry + powers + self.outputs
        right = self.right_cells * (1 + self.outputs) if self.right else 0
        return entry + powers + 2 * self.N * self.d + self.batch + right + self.outputs

    @property
    def depth(self) -> int:
        levels = max(self.n - 2, 0).bit_length()  # ⌈log2(n − 1)⌉
        if self.N == 0:
            return self.read_in + levels + 1
        return self.read_in + max(2, levels) + 2 * self.batches - 1 + (self.right > 0)

    @property
    def coefficients(self) -> int:
        """Those of all local polynomials."""
        return int((self.N + 1) ** self.d) * count(self.d, self.n) * self.outputs

    @property
    def terms(self) -> int:
        """At most so many: those of the sums, the bumps, ln cosh and the powers."""
        d, M, sums = self.d, count(self.d, self.n), self.coefficients
        if self.N == 0:
            return sums + 4 * M + 2 * d
        bumps = (2 * d + 1) * (2 * self.left_cells + 2 * self.right_cells)
        return sums + bumps + 6 * self.N * d + 4 * M + self.right_cells * self.outputs + 2 * d

    def refillable(self, c: float) -> bool:
        """Whether bumps can be made in batches: e^{new − old} needs an old value that has not underflowed."""
        return self.batches == 1 or 2.0 * c * (self.d - self.right) <= UNDERFLOW


@dataclass(frozen=True, slots=True, eq=False)
class BumpRegisters:
    """ln φ of some cells: registers read (cells, 2·dimensions), weights, constants, all exact in float64 but for ln 2
    and ln(sinh(c/N)/2), which are rounded to multiples of `grid`, so that sums and differences of them are exact."""

    reads: Indices
    weights: Floats
    constants: Floats

    @staticmethod
    def error(d: int, N: int, c: float) -> float:
        """By how much ln φ of a cell in d dimensions can be off: half a step of the grid, and what came before."""
        return d * _grid(d, N, c) if N else 0.0


def _grid(d: int, N: int, c: float) -> float:
    return 2.0 ** (math.ceil(math.log2(4.0 * d * (c + c / N + 4.0))) - 52)


def bumps(d: int, N: int, c: float, cells: Indices, t: Indices, l: Indices) -> BumpRegisters:
    """For cells (cells, dimensions); t (dimensions,) and l (dimensions, N) are registers. The grid is that of d."""
    grid, kappa = _grid(d, N, c), c / N
    inner = kappa - 2.0 * LN2 + math.log1p(-math.exp(-2.0 * kappa))  # ln(sinh(κ)/2)
    first, last = cells == 0, cells == N
    ends = first | last
    axis = np.arange(cells.shape[1])
    one = np.where(ends, t[axis], l[axis, np.clip(cells - 1, 0, N - 1)])  # ℓ_k is at k − 1
    two = l[axis, np.where(first, 0, np.where(last, N - 1, np.clip(cells, 0, N - 1)))]
    weights = np.stack([np.where(first, -c, np.where(last, c, -1.0)), np.full(cells.shape, -1.0)], -1)
    rounded = [grid * round(value / grid) for value in (inner, -LN2)]
    exact = np.where(first, 0.5 * kappa, np.where(last, -0.5 * kappa * (2 * N - 1), 0.0))  # ∓ c γ
    constants = (exact + np.where(ends, rounded[1], rounded[0])).sum(1)
    reads = np.stack([one, two], -1)
    return BumpRegisters(reads.reshape(len(cells), -1), weights.reshape(len(cells), -1), constants)


def cells_of(N: int, dimensions: int) -> Indices:
    """All cells of some dimensions in row-major order, (cells, dimensions)."""
    return np.stack(np.unravel_index(np.arange((N + 1) ** dimensions), (N + 1,) * dimensions), -1)


def construct(shape: Shape, cube: UnitCube, c: float, coefficients: Floats) -> tuple[Registers, list[Segment], View]:
    """Registers, segments and where the outputs are; coefficients are (N+1, …, N+1, M, outputs) about centre ½."""
    builder = _Builder(shape, cube, c)
    if shape.N == 0:
        builder.polynomial(coefficients.reshape(-1, shape.outputs))
    else:
        builder.cells(coefficients.reshape(shape.left_cells, shape.right_cells, -1, shape.outputs))
    segments = [segment(" and ".join(labels), *blocks) for labels, blocks in builder.segments]
    assert (builder.registers.width, len(segments)) == (shape.width, shape.depth), "the sizes were promised"
    return builder.registers, segments, builder.acc


class _Builder:
    """Segments are lists of labels and blocks, filled by number."""

    def __init__(self, shape: Shape, cube: UnitCube, c: float) -> None:
        self.shape, self.c = shape, c
        self.registers = Registers()
        self.segments: list[tuple[list[str], list[Block]]] = []
        self.t = self.registers.inputs("x", shape.d)
        self.start = 0
        if shape.read_in:
            x, self.t = self.t, self.registers.new("t", shape.d)
            self.put(0, "read in", affine(self.t, x, w=cube.scale, b=cube.shift))
            self.start = 1
        self.powers = MonomialRegisters(self.registers, self.t, shape.n)
        for level, blocks in enumerate(self.powers.segments):
            self.put(self.start + level, "powers", *blocks)

    def put(self, number: int, label: str, *blocks: Block) -> None:
        while len(self.segments) <= number:
            self.segments.append(([], []))
        labels, into = self.segments[number]
        labels.append(label)
        into.extend(blocks)

    def polynomial(self, a: Floats) -> None:
        """One cell: no bumps, and the sum is linear in the monomials."""
        self.acc = self.registers.new("acc", self.shape.outputs)
        a = self.powers.shifted(a)
        weights = a[1:].T if len(a) > 1 else np.zeros((self.shape.outputs, self.shape.d))
        self.put(len(self.segments), "sum", affine(self.acc, self.powers.view, w=weights, b=a[0]))

    def cells(self, a: Floats) -> None:
        """`a` is (left cells, right cells, M, outputs)."""
        shape, d, N = self.shape, self.shape.d, self.shape.N
        m, self.l = self.registers.new("m", d, N), self.registers.new("l", d, N)
        gamma = 0.5 * (self.c / N) * (2.0 * np.arange(1, N + 1) - 1.0)  # c γ_k
        self.put(self.start, "ln cosh", log_cosh(m, self.l, self.t[:, None].broadcast((d, N)), a=self.c, b=-gamma))
        phi = self.registers.new("phi", shape.batch)
        self.put(self.start, "ones", ramp(phi, b=1.0))
        if shape.right:
            rho = self.registers.new("rho", shape.right_cells)
            self.put(self.start, "ones", ramp(rho, b=1.0))
            right = self.bumps(cells_of(N, shape.right), d - shape.right)
            self.put(self.start + 1, "bumps", monomial(rho, Index(right.reads), w=right.weights, b=right.constants))
            q = self.registers.new("q", shape.right_cells * shape.outputs)
        self.acc = self.registers.new("acc", shape.outputs)
        into = q if shape.right else self.acc
        a = self.powers.shifted(a.transpose(2, 1, 3, 0)).reshape(a.shape[2], into.size, shape.left_cells)
        left, now = cells_of(N, d - shape.right), max(self.start + 2, len(self.segments))
        old: BumpRegisters | None = None
        for first in range(0, shape.left_cells, shape.batch):
            chosen = slice(first, min(first + shape.batch, shape.left_cells))
            lanes = phi[: chosen.stop - chosen.start]
            new = self.bumps(left[chosen], 0)
            if old is None:
                self.put(self.start + 1, "bumps", monomial(lanes, Index(new.reads), w=new.weights, b=new.constants))
            else:
                self.put(now, "bumps", _refill(lanes, old, new))
                now += 1
            self.put(now, "sum", *self.sums(into, lanes, a[:, :, chosen]))
            old, now = new, now + 1
        if shape.right:
            of_output = q.reshape(shape.right_cells, shape.outputs).transpose(1, 0)
            self.put(now, "sum", product(self.acc, of_output, rho.broadcast((shape.outputs, shape.right_cells))))

    def bumps(self, cells: Indices, dimension: int) -> BumpRegisters:
        """Of the dimensions from `dimension` on."""
        these = slice(dimension, dimension + cells.shape[1])
        return bumps(self.shape.d, self.shape.N, self.c, cells, self.t.indices()[these], self.l.indices()[these])

    def sums(self, into: View, lanes: View, a: Floats) -> list[Block]:
        """into' = Σ_l Σ_m a φ_l X_m, `a` is (M, into, lanes); X_0 = 1 makes the linear part."""
        blocks = [affine(into, lanes, w=a[0])]
        if len(a) > 1:
            blocks.append(bilinear(into, lanes, self.powers.view, w=a[1:].transpose(1, 2, 0)))
        return blocks


def _refill(lanes: View, old: BumpRegisters, new: BumpRegisters) -> Block:
    """Lemma 3 with e^{new − old}; a batch may be shorter than the one before."""
    size = len(new.reads)
    reads = np.concatenate([new.reads, old.reads[:size]], 1)
    weights = np.concatenate([new.weights, -old.weights[:size]], 1)
    return monomial(lanes, Index(reads), w=weights, b=new.constants - old.constants[:size])
