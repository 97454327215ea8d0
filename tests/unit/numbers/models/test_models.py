"""Every operation of rows contains the value of real arithmetic, in 50 digits, at random ξ and ε.

Each case is dominated by one part of the radius, so that a formula without it fails: what is truncated, products of
errors with polynomials, with each other, rounding.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models import models
from integraph.numbers.models.models import SYMBOLS, Models, Space, folded, of_cells, of_interval, settled, together
from integraph.numbers.models.monomials import monomials
from integraph.numbers.models.polynomial_ranges import tight_ranges
from model_rows import CELLS, MP, Point, middle, outside, random_point, random_rows, values
from slow import mostly_slow

ROWS, POINTS = 6, 8
CASES = {  # the sizes of p, g and r, and the centre
    "all": {"p": 1.0, "g": 0.5, "r": 0.3, "centre": 0.4},
    "truncation": {"p": 1.0},
    "symbols": {"p": 1.0, "g": 0.1},
    "symbols of a constant": {"p": 0.0, "g": 0.1, "centre": 1.0},
    "radii": {"p": 1.0, "r": 0.1},
    "radii of a constant": {"p": 0.0, "r": 0.1, "centre": 1.0},
    "radii alone": {"p": 0.0, "r": 1.0},
    "rounding": {"p": 1.0, "centre": 1e6},
    "small": {"p": 1e-150, "g": 1e-160, "r": 1e-170},
}
SHAPES = [(1, 1), (1, 4), (2, 2), (2, 3), (4, 2), (3, 0)]


def draws(case: str, d: int, k: int) -> tuple[np.random.Generator, Models, Models]:
    rng = np.random.default_rng([d, k, len(case)])
    options = CASES[case] | ({"p": 0.0} if k == 0 else {})
    x = random_rows(rng, 2 * ROWS, d, k, **options)
    return rng, x.take(np.arange(ROWS)), x.take(np.arange(ROWS, 2 * ROWS))


@mostly_slow("case", CASES, quick=2)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_sums_products_and_multiples_contain_real_arithmetic(case: str, d: int, k: int) -> None:
    rng, x, y = draws(case, d, k)
    factor, shift = rng.normal(size=(ROWS, 1)), rng.normal(size=(ROWS, 1))
    results = {"sum": x + y, "product": x * y, "square": x * x, "scaled": x.scale(factor, shift), "negative": -x}
    for _ in range(POINTS):
        at = random_point(rng, x)
        other = Point(at.xi, at.eps, rng.uniform(-1, 1, at.tau.shape))
        a, b = values(x, at), values(y, other)
        truth = {
            "sum": a + b,
            "product": a * b,
            "square": a * a,
            "scaled": exact(factor) * a + exact(shift),
            "negative": -a,
        }
        assert [name for name, result in results.items() if outside(result, at, truth[name])] == []


@mostly_slow("case", CASES, quick=2)
@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("fresh", [True, False])
def test_affine_maps_contain_real_arithmetic(case: str, d: int, k: int, fresh: bool) -> None:
    """A fresh symbol stands for the radius of its row."""
    rng, x, _ = draws(case, d, k)
    A, b = rng.normal(size=(4, ROWS)), rng.normal(size=4)
    image = x.affine(A, b, fresh)
    for _ in range(POINTS):
        at = random_point(rng, x)
        for cell in range(CELLS):
            eps = at.eps.copy()
            new = np.setdiff1d(image.names, x.names)
            eps[new] = at.tau[: len(new), cell]
            assert len(new) in ((0, ROWS) if fresh else (0,))
            truth = exact(A) @ values(x, at) + exact(b)[:, None]
            missed = outside(image, Point(at.xi, eps, at.tau), truth)
            assert [place for place in missed if place[1] == cell] == []


def test_radii_that_become_symbols_are_subtracted_once() -> None:
    rng = np.random.default_rng(1)
    x = random_rows(rng, 2, 2, 2, g=0.1, r=0.5)
    once = x.with_symbols()
    zero = once + -once
    assert np.max(zero.errors) < 1e-14
    assert np.min((x + -x).errors) > 0
    at = random_point(rng, x)
    for cell in range(CELLS):
        eps = at.eps.copy()
        eps[once.names[len(x.names) :]] = at.tau[:, cell]
        missed = outside(once, Point(at.xi, eps, at.tau), values(x, at))
        assert [place for place in missed if place[1] == cell] == []


@pytest.mark.parametrize("operation", ["product", "scaled", "affine", "sum"])
def test_the_rounding_of_symbols_is_in_the_radius(operation: str) -> None:
    """Of a constant and of symbols alone, where nothing else is in the radius."""
    rng = np.random.default_rng(4)
    x = random_rows(rng, ROWS, 2, 2, p=0.0, g=1.0)
    a = rng.normal(size=(ROWS, 1))
    A = rng.normal(size=(ROWS, ROWS))
    constant = of_interval(x.space, Interval(np.tile(a, CELLS), np.tile(a, CELLS)))
    y = x.take(np.roll(np.arange(ROWS), 1))
    result = {
        "product": lambda: constant * x, "scaled": lambda: x.scale(a, np.zeros((1, 1))),
        "affine": lambda: x.affine(A, np.zeros(ROWS)), "sum": lambda: x + y,
    }[operation]()  # fmt: skip
    for _ in range(POINTS):
        at = random_point(rng, x)
        value, other = middle(x, at), middle(y, at)
        truth = {"affine": exact(A) @ value, "sum": value + other}.get(operation, exact(a) * value)
        assert outside(result, at, truth) == []
    assert np.max(result.r) < 1e-10


def test_symbols_in_common_are_one() -> None:
    rng = np.random.default_rng(2)
    x = random_rows(rng, 3, 2, 1, p=1.0, g=1.0, r=0.2)
    a, b = x.take(np.array([0])).with_symbols(), x.take(np.array([1])).with_symbols()
    left, right = together(a, b)
    assert len(left.names) == len(right.names) == len(x.names) + 2
    at = random_point(rng, left)
    assert middle(left, at)[0, 0] == middle(a, at)[0, 0]
    assert abs(middle(a + b, at) - middle(a, at) - middle(b, at)).max() < 1e-14


def test_folded_symbols_are_in_the_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "NUMBERS", 0)
    rng, extra = np.random.default_rng(3), 5
    space = Space(monomials(1, 1), 1)
    g = rng.normal(size=(2, 1, SYMBOLS + extra))
    wide = Interval(np.full((2, 1), -np.inf), np.full((2, 1), np.inf))
    x = Models(space, np.zeros((2, 1, 2)), g, np.arange(SYMBOLS + extra), np.zeros((2, 1)), wide)
    y = folded(x)
    assert y.g.shape[2] == SYMBOLS
    gone = np.setdiff1d(x.names, y.names)
    assert (np.abs(g[..., gone]).sum(2) <= y.r).all()
    assert np.abs(g[..., gone]).sum() < np.abs(g).sum() * extra / SYMBOLS


@pytest.mark.parametrize(("d", "k"), [(1, 1), (1, 5), (2, 2), (2, 4), (3, 3), (4, 2), (9, 2)])
def test_ranges_contain_the_values_and_are_close_on_small_polynomials(d: int, k: int) -> None:
    rng = np.random.default_rng([d, k])
    x = random_rows(rng, ROWS, d, k, p=1.0, g=0.1, r=0.05)
    close = tight_ranges(x)
    assert (close.low >= x.known.low).all()
    assert (close.high <= x.known.high).all()
    xi = rng.uniform(-1, 1, (20000, d))
    xi[:1000] = np.sign(xi[:1000])
    monomial = np.prod(xi[:, None] ** x.space.monomials.exponents, 2)
    sampled = np.einsum("rcm,sm->rcs", x.p, monomial)
    low, high = sampled.min(2) - x.errors, sampled.max(2) + x.errors
    assert (close.low <= low + 1e-12).all()
    assert (close.high >= high - 1e-12).all()
    if d <= 2:
        assert (close.high - close.low <= 1.15 * (high - low)).all()


def test_squares_and_even_monomials_are_exact() -> None:
    """x² + x has the range [−1/4, 2] on [−1, 1], and x²y² the range [0, 1]."""
    x = of_cells(np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]]), 4)
    a, b = x.take(np.array([0])), x.take(np.array([1]))
    for row, low, high in ((a * a + a, -0.25, 2.0), ((a * b) * (a * b), 0.0, 1.0)):
        span = row.polynomial_span()
        assert np.allclose([span.low[0, 0], span.high[0, 0]], [low, high], rtol=0, atol=1e-11)


def test_cells_contain_their_corners() -> None:
    low, high = np.array([[0.1, 3.0, -1e300], [1e-320, 3.0, 0.3]]), np.array([[0.7, 3.0, 1e300], [1.0, 3.0, 0.3]])
    for degree in (0, 1, 2):
        x = of_cells(low, high, degree)
        assert x.space.monomials.d == 2
        reach = np.abs(x.p[..., 1:]).sum(2) + x.r
        assert (x.p[..., 0] - reach <= low.T).all()
        assert (x.p[..., 0] + reach >= high.T).all()


def test_what_is_not_finite_is_an_infinite_radius() -> None:
    space = Space(monomials(1, 1), 1)
    one = of_cells(np.array([[1e200]]), np.array([[1e250]]), 1)
    cube = one * one * one
    nothing = of_interval(space, Interval(np.array([[-np.inf]]), np.array([[np.inf]])))
    for row in (cube, nothing, nothing + nothing, nothing * nothing, nothing.affine(np.zeros((1, 1)), np.ones(1))):
        assert np.isinf(row.r).all()
        assert np.isinf(row.known.high).all()
        assert np.isfinite(row.p).all()
        assert np.isfinite(row.g).all()


def test_nan_is_noticed_wherever_it_is() -> None:
    everything = Interval(np.full((1, 1), -np.inf), np.full((1, 1), np.inf))
    unit = Interval(np.full((1, 1), -1.0), np.full((1, 1), 1.0))
    space = Space(monomials(1, 1), 1)
    for known in (everything, unit):
        row = settled(
            space, np.array([[[0.0, np.nan]]]), np.zeros((1, 1, 0)), np.zeros(0, np.int64), np.array([[np.nan]]), known
        )
        assert np.isfinite(row.p).all()
        assert row.r >= known.high


def test_intervals_replace_models_that_are_wider() -> None:
    """With u = x − y of large x, y the interval of u·u is what counts; never wider than interval arithmetic."""
    rng = np.random.default_rng(5)
    x, y = (random_rows(rng, ROWS, 3, 2, p=1.0, r=2.0, centre=1.0) for _ in range(2))
    y = Models(x.space, y.p, y.g, y.names, y.r, y.known)
    plain = intervals.mul(x.known, y.known)
    product = x * y
    assert (product.known.low >= plain.low).all()
    assert (product.known.high <= plain.high).all()
    assert (product.errors <= (0.5 * plain.high - 0.5 * plain.low) * (1 + 1e-5)).all()


def exact(array: Floats) -> np.ndarray:
    return np.vectorize(lambda x: MP.mpf(float(x)), otypes=[object])(array)


def test_the_norm_of_very_many_symbols_is_rounded_up() -> None:
    """Half an ulp of 1 is lost in each of 20,000 sums."""
    sizes = np.append(1.0, np.full(20_000, 2.0**-53))
    exact = 1 + Fraction(20_000, 2**53)
    space = Space(monomials(1, 1), 1)
    anything = Interval(np.full((1, 1), -np.inf), np.full((1, 1), np.inf))
    names = np.arange(len(sizes))
    rows = Models(space, np.zeros((1, 1, 2)), sizes[None, None], names, np.zeros((1, 1)), anything)
    assert Fraction(float(rows.errors[0, 0])) >= exact
    assert Fraction(float(folded(rows, 0).r[0, 0])) >= exact
