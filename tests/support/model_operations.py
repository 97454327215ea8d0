"""Operations of models on random rows: what they give, at which point, and what real arithmetic gives there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from model_functions import APPLIED, ROWS_FUNCTIONS, few_samples
from model_fuzz import ROWS, Count, Operation, Spot, draw, middle, points, sizes, spot, values
from model_truth import EXACT


def exact(array: Any) -> Any:
    return np.vectorize(lambda x: EXACT.mpf(float(x)), otypes=[object])(array)


def pair(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Any, Spot, Any, Any]:
    """Two arrays of rows with symbols in common, a point, and their values there."""
    both = draw(a, rng, 2 * ROWS, cells)
    at = spot(rng, both)
    true = values(both, at)
    x, y = both.take(np.arange(ROWS)), both.take(np.arange(ROWS, 2 * ROWS))
    return x, y, at, true[:ROWS], true[ROWS:]


def add(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x, y, at, u, v = pair(a, rng, cells)
    return x + y, at, u + v


def subtract(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x, y, at, u, v = pair(a, rng, cells)
    return x + -y, at, u - v


def multiply(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x, y, at, u, v = pair(a, rng, cells)
    return x * y, at, u * v


def square(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    true = values(x, at)
    return x * x, at, true * true


def scale(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    factor, shift = (sizes(rng, (ROWS, cells), 3.0) * rng.normal(size=(ROWS, cells)) for _ in range(2))
    return x.scale(factor, shift), at, exact(factor) * values(x, at) + exact(shift)


def with_symbols(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    return *_with_symbols(x, at), values(x, at)


def _with_symbols(x: Any, at: Spot) -> tuple[Any, Spot]:
    """Radii as symbols, and the point with what these are."""
    result = x.with_symbols()
    return result, _told(at, result, x.g.shape[2], np.eye(len(x))[:, None] * x.r.T[None], at.tau)


def _told(at: Spot, result: Any, old: int, columns: Floats, tau: Floats) -> Spot:
    """The point with what the new symbols are there: each is the share of the radius of the row whose column it is."""
    eps = dict(at.eps)
    for n, name in enumerate(result.names.tolist()):
        if n >= old:
            rows = [i for i in range(columns.shape[2]) if np.array_equal(result.g[..., n], columns[..., i])]
            assert rows, "a new symbol is the radius of no row"
            eps[name] = tau[rows[0]]
    return replace(at, eps=eps)


def affine(a: Any, rng: np.random.Generator, cells: int, fresh: bool = False, sparse: bool = False) -> Any:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    A = rng.normal(size=(3, ROWS)) * sizes(rng, (3, ROWS), 2.0)
    b = rng.normal(size=3) * sizes(rng, (3,), 2.0)
    true = exact(A) @ values(x, at) + exact(b)[:, None]
    result = x.affine(scipy.sparse.csr_array(A) if sparse else A, b, fresh)
    return result, at, true


def fresh_affine(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """Radii as symbols, of which nobody says what they are."""
    return affine(a, rng, cells, fresh=True)


def sparse_affine(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    return affine(a, rng, cells, fresh=True, sparse=True)


def inexact_affine(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """With weights that differ from those that are meant."""
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    A, b = rng.normal(size=(3, ROWS)), rng.normal(size=3)
    off = a.models.AffineError(sizes(rng, (3, ROWS), 2.0), sizes(rng, (3,), 2.0))
    meant = exact(A) + exact(off.A) * exact(points(rng, (3, ROWS)))
    ends = exact(b) + exact(off.b) * exact(points(rng, (3,)))
    return x.affine(A, b, False, off), at, meant @ values(x, at) + ends[:, None]


def fold(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells, (1, 1, 40))
    at = spot(rng, x)
    before = a.models.SYMBOLS, a.models.NUMBERS
    a.models.SYMBOLS, a.models.NUMBERS = 7, 0
    try:
        return a.models.folded(x), at, values(x, at)
    finally:
        a.models.SYMBOLS, a.models.NUMBERS = before


def join(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x, y, at, u, v = pair(a, rng, cells)
    x, first = _with_symbols(x, replace(at, tau=at.tau[:ROWS]))
    y, second = _with_symbols(y, replace(at, tau=at.tau[ROWS:]))
    known = replace(at, eps=first.eps | second.eps)
    return a.models.joined([x, y, x]), known, np.concatenate([u, v, u])


def kink(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    below = rng.choice([0.0, -1.0, 0.1, 1.0, -0.3, 2.0], (ROWS, 1))
    slopes = np.broadcast_to(below, x.r.shape)
    bent = np.vectorize(lambda v, s: v if not v < 0 else EXACT.mpf(float(s)) * v, otypes=[object])
    return a.functions.kink(x, below), at, bent(values(x, at), slopes)


def cells_of_boxes(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """The identity, of cells of any width."""
    middle_, width = (
        rng.normal(size=(cells, 2)) * 10.0 ** rng.uniform(-300, 300, (cells, 2)),
        sizes(rng, (cells, 2), 300),
    )
    low = middle_ - width
    high = np.maximum(np.where(rng.uniform(size=low.shape) < 0.2, np.nextafter(low, np.inf), middle_ + width), low)
    x = a.models.of_cells(low, high, int(rng.integers(3)))
    share = points(rng, (cells, 2))
    at = replace(spot(rng, x), xi=np.zeros((cells, x.space.monomials.d)))
    wide = np.flatnonzero((high > low).any(0))
    inside = exact(low) + (exact(high) - exact(low)) * exact((share + 1) / 2)
    return _at_inputs(x, at, inside, wide), at, inside.T


def _at_inputs(x: Any, at: Spot, inputs: Any, wide: Any) -> Any:
    """The rows at the inputs themselves, ξ = (x − c)/ρ in all digits, if that is within [−1, 1]."""
    p, r = np.zeros_like(x.p), x.r.copy()
    for n, column in enumerate(wide) if x.space.monomials.k else ():
        for cell in range(len(inputs)):
            radius, centre = EXACT.mpf(float(x.p[column, cell, 1 + n])), EXACT.mpf(float(x.p[column, cell, 0]))
            beyond = abs(inputs[cell, column] - centre) - radius
            r[column, cell] += float(radius) if beyond <= 0 else 0.0
    p[..., 0] = x.p[..., 0]
    return type(x)(x.space, p, x.g, x.names, r, x.known)


def of_interval(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    ends = np.sort(rng.normal(size=(2, ROWS, cells)) * sizes(rng, (2, ROWS, cells), 250), 0)
    space = a.models.Space(a.monomials.monomials(1, 1), cells)
    x = a.models.of_interval(space, Interval(*ends))
    share = exact((points(rng, (ROWS, cells)) + 1) / 2)
    return x, spot(rng, x), exact(ends[0]) + (exact(ends[1]) - exact(ends[0])) * share


def span(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """The range of p as rows of which nothing but an interval is known."""
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    bare = type(x)(x.space, x.p, np.zeros((*x.r.shape, 0)), x.names[:0], np.zeros_like(x.r), x.known)
    return _ranges(a, x, x.polynomial_span()), at, middle(bare, at)


def small_span(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """Of parabolas whose coefficients have no squares in float64."""
    x = draw(a, rng, ROWS, cells, (1, 2, 1))
    small = x.scale(np.full((1, 1), 1e-170) / np.maximum(np.abs(x.p).max(2), 1e-100), np.zeros((1, 1)))
    at = replace(spot(rng, x), xi=rng.integers(-16, 17, (cells, 1)) / 16)
    bare = type(x)(x.space, small.p, small.g[..., :0], x.names[:0], np.zeros_like(x.r), x.known)
    return _ranges(a, x, small.polynomial_span()), at, middle(bare, at)


def composition(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """q(u) of polynomials that stay in [−1, 1]: what Horner's rule truncates and rounds."""
    table = a.monomials.monomials(*((1, 1), (1, 3), (2, 2))[rng.integers(3)])
    u, q = rng.normal(size=(cells, table.count)), rng.normal(size=(cells, table.k + 1))
    u /= np.abs(u).sum(1, keepdims=True) * (1 + 1e-12)
    pairs = np.stack([table.first, table.second, table.product])
    space = a.models.Space(table, cells)
    p, tails = a.kernels.composition_kernel(u, q, table.degrees, pairs, table.k, space.gamma)
    everything = Interval(np.full((1, cells), -np.inf), np.full((1, cells), np.inf))
    inner, result = (
        a.models.Models(space, rows[None], np.zeros((1, cells, 0)), np.zeros(0, np.int64), r[None], everything)
        for rows, r in ((u, np.zeros(cells)), (p, tails))
    )
    at = spot(rng, result)
    true, x = np.zeros((1, cells), object), middle(inner, at)
    for coefficients in exact(q).T[::-1]:
        true = true * x + coefficients
    return result, at, true


def ranges(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    x = draw(a, rng, ROWS, cells)
    at = spot(rng, x)
    return _ranges(a, x, a.polynomial_ranges.tight_ranges(x)), at, values(x, at)


def _ranges(a: Any, x: Any, known: Interval) -> Any:
    nothing = np.full(x.r.shape, np.inf)
    return type(x)(x.space, np.zeros_like(x.p), np.zeros((*x.r.shape, 0)), x.names[:0], nothing, known)


def matrices(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    both = draw(a, rng, 8, cells)
    at = spot(rng, both)
    true = values(both, at)
    x, y = both.take(np.arange(4)), both.take(np.arange(4, 8))
    product = [[true[2 * i] * true[4 + j] + true[2 * i + 1] * true[6 + j] for j in range(2)] for i in range(2)]
    return a.products.matrix_product(x, (2, 2), y, (2, 2)), at, np.array(product, object).reshape(4, cells)


ARITHMETIC: dict[str, Operation] = {
    "add": add, "subtract": subtract, "multiply": multiply, "square": square, "scale": scale, "affine": affine,
    "fresh affine": fresh_affine, "sparse affine": sparse_affine, "inexact affine": inexact_affine,
    "with symbols": with_symbols, "fold": fold, "join": join, "kink": kink, "cells": cells_of_boxes,
    "interval": of_interval, "span": span, "small span": small_span, "composition": composition,
    "ranges": ranges, "matrices": matrices,
}  # fmt: skip
OPERATIONS = ARITHMETIC | APPLIED | ROWS_FUNCTIONS | {"few samples": few_samples}


def fuzz(a: Any, name: str, rows: int, seed: int, cells: int = 50) -> Count:
    """An operation on so many rows at least."""
    count, rng = Count(), np.random.default_rng([seed, *name.encode()])
    while count.compared < rows:
        count.add(*OPERATIONS[name](a, rng, cells))
    return count
