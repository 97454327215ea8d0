"""Every operation of models on random rows: what it gives, at which point, and what real arithmetic gives there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from model_fuzz import Count, Spot, draw, middle, points, settled, sizes, spot, values
from model_truth import EXACT, MP, POWERS, TRUTH, Truth, power

Operation = Callable[[Any, np.random.Generator, int], tuple[Any, Spot, Any]]
ROWS = 4


def exact(array: Any) -> Any:
    return np.vectorize(lambda x: EXACT.mpf(float(x)), otypes=[object])(array)


def rounded(x: Any) -> Any:
    """The same number for the functions of mpmath, whose results have less digits."""
    return MP.make_mpf(x._mpf_)


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


def few_samples(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
    """A function whose interpolants are judged by few samples."""
    before, a.functions.SAMPLES = a.functions.SAMPLES, 3
    try:
        return APPLIED["tanh"](a, rng, cells)
    finally:
        a.functions.SAMPLES = before


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


def _argument(a: Any, rng: np.random.Generator, truth: Truth, cells: int) -> Any:
    """Rows in the domain of a function."""
    d, k, symbols = ((1, 1, 1), (1, 3, 1), (2, 2, 2), (1, 6, 1), (0, 0, 1), (2, 4, 3))[rng.integers(6)]
    table = a.monomials.monomials(d, k)
    shape = (ROWS, cells)
    if np.isfinite(truth.low) and np.isfinite(truth.high):
        centre = points(rng, shape) * (1.0 - 10.0 ** rng.uniform(-9, 0, shape))
        room = 1.0 - np.abs(centre)
    elif np.isfinite(truth.low):
        room = 10.0 ** rng.uniform(-6 if truth.low else -200, np.log10(truth.far), shape)
        room = np.where(rng.uniform(size=shape) < 0.7, 10.0 ** rng.uniform(-2, 1, shape), room)
        centre = truth.low + room
    else:
        centre = np.clip(
            rng.normal(size=shape) * 10.0 ** rng.uniform(-8, np.log10(truth.far), shape), -truth.far, truth.far
        )
        centre = np.where(rng.uniform(size=shape) < 0.5, 2.0 * rng.normal(size=shape), centre)
        room = np.maximum(1.0, 1e-8 * np.abs(centre))
    width = room * 10.0 ** np.where(
        rng.uniform(size=shape) < 0.5, rng.uniform(-1.5, 0.3, shape), rng.uniform(-17, 0, shape)
    )
    parts = np.where(rng.uniform(size=(3, *shape)) < 0.5, 0.0, width)
    p = parts[0][..., None] * rng.normal(size=(*shape, table.count)) / table.count
    p[..., 0] = centre
    g = parts[1][..., None] * rng.normal(size=(*shape, symbols)) / symbols
    return settled(a, a.models.Space(table, cells), p, g, parts[2] * rng.uniform(size=shape))


def function(truth: Truth, apply: Callable[[Any, Any], Any]) -> Operation:
    def operation(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
        x = _argument(a, rng, truth, cells)
        at, y = spot(rng, x), apply(a, x)
        true = values(x, at)
        for place in np.ndindex(true.shape):
            known = y.r[place] < np.inf or y.known.high[place] < np.inf or y.known.low[place] > -np.inf
            inside = known and truth.low < true[place] < truth.high
            true[place] = truth.f(rounded(true[place])) if inside else MP.nan
        return y, at, true

    return operation


def rows_function(name: str, truth: Callable[[Any], Any]) -> Operation:
    """Over the last of 3 entries, of which one is masked at times."""

    def operation(a: Any, rng: np.random.Generator, cells: int) -> tuple[Any, Spot, Any]:
        x = _argument(a, rng, Truth(MP.exp, far=30.0), cells).take(np.array([0, 1, 2, 1, 2, 3]))
        mask = None if rng.uniform() < 0.5 else np.array([[True, True, False], [True, True, True]])
        at = spot(rng, x)
        at = replace(at, tau=at.tau[[0, 1, 2, 1, 2, 5]])
        true = np.vectorize(rounded, otypes=[object])(values(x, at))
        rows = []
        for start, taking in ((0, [0, 1, 2] if mask is None else [0, 1]), (3, [0, 1, 2])):
            own = truth(true[start : start + 3][taking])
            full = np.full((len(own) if name == "logsumexp" else 3, cells), MP.mpf(0), object)
            full[: len(own)] = own
            rows.append(full)
        return a.row_functions.ROWS[name](x, (2, 3), mask), at, np.concatenate(rows)

    return operation


def _exponentials(x: Any) -> Any:
    return np.vectorize(MP.exp, otypes=[object])(x)


def _softmax(x: Any) -> Any:
    grown = _exponentials(x)
    return grown / grown.sum(0)


def _log_sum(x: Any) -> Any:
    return np.vectorize(MP.log, otypes=[object])(_exponentials(x).sum(0))[None]


ARITHMETIC: dict[str, Operation] = {
    "add": add, "subtract": subtract, "multiply": multiply, "square": square, "scale": scale, "affine": affine,
    "fresh affine": fresh_affine, "sparse affine": sparse_affine, "inexact affine": inexact_affine,
    "with symbols": with_symbols, "fold": fold, "join": join, "kink": kink, "cells": cells_of_boxes,
    "interval": of_interval, "span": span, "small span": small_span, "composition": composition,
    "few samples": few_samples, "ranges": ranges, "matrices": matrices,
    "softmax": rows_function("softmax", _softmax),
    "log_softmax": rows_function("log_softmax", lambda x: x - _log_sum(x)),
    "logsumexp": rows_function("logsumexp", _log_sum),
}  # fmt: skip
APPLIED: dict[str, Operation] = {
    **{
        name: function(truth, lambda a, x, name=name: a.functions.apply(a.smooth_functions.SMOOTH[name], x))
        for name, truth in TRUTH.items()
    },
    **{
        f"x^{p:g}": function(power(p), lambda a, x, p=p: a.functions.apply(a.elementary_functions.Power(p), x))
        for p in POWERS
    },
    "cbrt": function(
        Truth(lambda x: MP.sign(x) * MP.cbrt(abs(x)), far=1e280),
        lambda a, x: a.functions.odd(a.elementary_functions.Power(1 / 3, rounded=True), x),
    ),
    "1/x": function(Truth(lambda x: 1 / x, far=1e280), lambda a, x: a.functions.reciprocal(x)),
}
OPERATIONS = ARITHMETIC | APPLIED


def fuzz(a: Any, name: str, rows: int, seed: int, cells: int = 50) -> Count:
    """An operation on so many rows at least."""
    count, rng = Count(), np.random.default_rng([seed, *name.encode()])
    while count.compared < rows:
        count.add(*OPERATIONS[name](a, rng, cells))
    return count
