"""The product phase of Theorem 1: Σ a Π (x_j + Δ)^{n_j} ψ_{k_j}(x_j), a batch of terms at a time, behind the bootstrap.

Each of the (N + 2)d registers that hold 1 is a lane. Two segments a batch: every lane becomes a term, by Lemma 3 on the
logarithms; then the lanes are added to the sum. The next batch divides by what a lane holds: exponents and b are those
of the new term minus those of the old one. ln|a| is rounded to a grid on which such differences are exact in float64:
nothing accumulates, a lane holds its term as if it had been computed from 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count as numbers_from

import numpy as np
from numpy.typing import NDArray

from integraph.constructions.theorem1.lemma4 import Lemma4Layout
from integraph.gadgets import affine, monomial
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.multi_index import below, count
from integraph.numbers.roundoff import U, sum_error
from integraph.program import Block, Index, Segment, View, segment

NONE = -1  # no ψ in that dimension
ULPS = 4  # of a logarithm, at most so wrong


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """T terms a Π (x_j + Δ)^{n_j} φ_{k_j}(x_j), φ being what the logarithms are of: ψ, or ψ + 1."""

    exponents: Indices  # n, (T, d)
    cells: Indices  # k, (T, d): 0 … N, or NONE
    coefficients: Floats  # a, (T, m)

    def __len__(self) -> int:
        return len(self.coefficients)


def collect(coefficients: Floats) -> Products:
    """As printed: every cell, every monomial. Coefficients are (N + 1,)*d + (M, m); terms that are 0 are left out."""
    *sides, M, m = coefficients.shape
    d = len(sides)
    flat = coefficients.reshape(-1, M, m)
    cell, monomial = np.nonzero(flat.any(-1))
    cells = np.stack(np.unravel_index(cell, sides), 1).astype(np.int64)
    return Products(below(d, _order(d, M))[monomial], cells, flat[cell, monomial])


def expand(coefficients: Floats) -> tuple[Products, Floats]:
    """As remarked: Π ψ = Π((ψ + 1) − 1) multiplied out, equal monomials collected, and what rounding these sums costs.

    The second is (M, m): a bound of Σ |error of a coefficient| Π(ψ + 1) over the cells of each monomial, for every x.
    """
    *sides, M, m = coefficients.shape
    total, lost = coefficients, np.zeros_like(coefficients)
    for axis in range(len(sides)):
        added, error = _sum(total, axis)
        total = np.concatenate([total, -np.expand_dims(added, axis)], axis)
        carried = (lost.sum(axis) + error) * (1 + 2 * U * lost.shape[axis])
        lost = np.concatenate([lost, np.expand_dims(carried, axis)], axis)
    terms = collect(total)
    cells = np.where(terms.cells == np.array(sides), NONE, terms.cells)
    factors = (np.indices(total.shape[:-2]) != np.reshape(sides, (-1, *(1,) * len(sides)))).sum(0)
    whole = np.ldexp(lost, factors[..., None, None]).reshape(-1, M, m).sum(0)  # ψ + 1 < 2
    return Products(terms.exponents, cells, terms.coefficients), whole * (1 + 2 * U * lost.size)


def _order(d: int, M: int) -> int:
    """n, if there are M monomials of degree < n."""
    return next(n for n in numbers_from(1) if count(d, n) >= M)


def _sum(values: Floats, axis: int) -> tuple[Floats, Floats]:
    """A compensated sum along an axis, and a bound of its error: U|s| + (nU)² Σ|a|, with room for its rounding."""
    slices = np.moveaxis(values, axis, 0)
    total, rest = slices[0], np.zeros_like(slices[0])
    for part in slices[1:]:
        summed = total + part
        rest = rest + sum_error(total, part, summed)
        total = summed
    rounded_sum = total + rest
    return rounded_sum, (1 + 1e-6) * (U * np.abs(rounded_sum) + (len(slices) * U) ** 2 * np.abs(slices).sum(0))


def products(at: Lemma4Layout, acc: View, terms: Products) -> tuple[tuple[Segment, ...], float]:
    """Two segments a batch, and a bound of the relative error of a term by the rounding of ln|a|.

    A lane takes consecutive terms, one in each batch, so that from batch to batch it mostly stays in its cell. With one
    output b = ln|a| and the sign is in the sum, as in the paper; with several a is a weight of the sum.
    """
    lanes, m = at.ones.size, len(acc)
    batches = -(-len(terms) // lanes)
    logs, relative = _on_grid(terms.coefficients) if m == 1 else (None, 0.0)
    longer = len(terms) - (batches - 1) * lanes  # the lanes that have a term in the last batch
    lane = np.arange(lanes)
    first = lane * (batches - 1) + np.minimum(lane, longer)
    segments: list[Segment] = []
    for batch in range(batches):
        here = first[: lanes if batch < batches - 1 else longer] + batch
        active = at.ones.reshape(lanes)[: len(here)]
        coefficients = terms.coefficients[here].T
        segments += [
            segment(f"products {batch + 1}", _refill(at, active, terms, logs, here, batch > 0)),
            segment(f"sum {batch + 1}", affine(acc, active, w=np.sign(coefficients) if m == 1 else coefficients)),
        ]
    return tuple(segments), relative


def _refill(at: Lemma4Layout, lanes: View, terms: Products, logs: Floats | None, new: Indices, again: bool) -> Block:
    """Lane by lane, term number `new` divided by the one before it, or by 1."""
    d = terms.cells.shape[1]
    power, cell = terms.exponents[new], terms.cells[new]
    old_cell = terms.cells[new - 1] if again else np.full_like(cell, NONE)
    if again:
        power = power - terms.exponents[new - 1]
    moved = cell != old_cell
    weights = [power, -(moved & (old_cell != NONE)).astype(np.int64), moved & (cell != NONE)]
    registers = at.logs.indices()
    dimension = np.arange(d)
    reads = [np.broadcast_to(registers[0], cell.shape), *(registers[1 + k, dimension] for k in (old_cell, cell))]
    b = None if logs is None else logs[new] - (logs[new - 1] if again else 0.0)
    return monomial(lanes, Index(np.concatenate(reads, 1)), w=np.concatenate(weights, 1).astype(np.float64), b=b)


def _on_grid(coefficients: NDArray[np.float64]) -> tuple[Floats, float]:
    """ln|a| in multiples of 2^−q, such that differences are exact; and e^h − 1, rounded up, for the largest error h."""
    exact = np.log(np.abs(coefficients[:, 0]))
    exponent = math.frexp(float(np.abs(exact).max(initial=0.0)))[1]
    grid = math.ldexp(1.0, exponent - 52)
    h = grid * (0.5 + 0.5 * ULPS)
    return np.round(exact / grid) * grid, h * (1 + h)
