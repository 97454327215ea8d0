"""Products, functions and kinks of the checker's rows contain what they are of, at corners of ξ and of all errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops.replay import functions, polynomials, products, rows, verdict
from integraph.certify.loops.replay.polynomials import exponents, lower_bound, span, upper_bound, variable
from integraph.certify.loops.replay.rows import Row
from integraph.numbers.arb.conversion import precision
from integraph.numbers.arrays import Floats
from planted_faults import plant

FUNCTIONS: dict[str | Fraction, Callable[[float], float]] = {
    "tanh": math.tanh,
    "exp": math.exp,
    "sin": math.sin,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    Fraction(-1): lambda x: 1 / x,
    Fraction(1, 2): math.sqrt,
}


def random_row(rng: np.random.Generator, width: float, error: float, middle: float = 0.0) -> Row:
    """Degree 2 in two variables, two symbols."""
    one, other = variable(0), variable(1)
    monomials = (one, other, 2 * one, one + other, 2 * other)
    p = {0: arb(middle), **{m: arb(float(width * rng.normal() / (m & 255))) for m in monomials}}
    return Row(2, p, [arb(float(error * rng.normal())) for _ in range(2)], arb(float(error * rng.uniform())))


def polynomial(row: Row, xi: tuple[float, ...]) -> float:
    return sum(float(ball) * math.prod(xi[n] ** power for n, power in exponents(m)) for m, ball in row.p.items())


def points(*given: Row) -> Iterator[tuple[tuple[float, ...], tuple[float, ...], list[float]]]:
    """ξ, ε and the values of rows there, with radii of either sign."""
    for xi in itertools.product((-1.0, -0.4, 0.0, 0.7, 1.0), repeat=2):
        for eps in itertools.product((-1.0, 1.0), repeat=2):
            for signs in itertools.product((-1.0, 1.0), repeat=len(given)):
                yield xi, eps, [
                    polynomial(row, xi) + sum(float(g) * e for g, e in zip(row.g, eps, strict=True)) + s * float(row.r)
                    for row, s in zip(given, signs, strict=True)
                ]  # fmt: skip


def outside(row: Row, xi: tuple[float, ...], eps: tuple[float, ...], value: float) -> float:
    """How far a value is from the row."""
    middle = polynomial(row, xi) + sum(float(g) * e for g, e in zip(row.g, eps, strict=True))
    return abs(value - middle) - float(row.r) - 1e-12 * (1 + abs(value))


def worst_product(seed: int, width: float, error: float) -> float:
    rng = np.random.default_rng(seed)
    a, b = random_row(rng, width, error, 0.5), random_row(rng, width, error, -0.3)
    product = rows.dot([(2, a, b)], 4)
    return max(outside(product, xi, eps, x * y / 2) for xi, eps, (x, y) in points(a, b))


def worst_function(name: str | Fraction, seed: int, width: float, error: float) -> float:
    rng = np.random.default_rng(seed)
    row = random_row(rng, width, error, 1.5)
    made = functions.apply(name, row)
    return max(outside(made, xi, eps, FUNCTIONS[name](x)) for xi, eps, (x,) in points(row))


def worst_linear() -> float:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(3, 2))
    given = [random_row(rng, 0.2, 0.1), random_row(rng, 0.3, 0.05)]
    made = rows.linear(A, given)
    return max(outside(row, xi, eps, y) for xi, eps, x in points(*given) for row, y in zip(made, A @ x, strict=True))


SIZES = [(0.1, 0.01), (0.05, 0.2), (0.2, 1e-9), (1e-9, 0.1)]


@pytest.mark.parametrize(("width", "error"), SIZES)
def test_products(width: float, error: float) -> None:
    with precision(64):
        assert max(worst_product(seed, width, error) for seed in range(5)) <= 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str | Fraction) -> None:
    with precision(64):
        assert max(worst_function(name, seed, *sizes) for seed in range(2) for sizes in SIZES) <= 0


def test_linear_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(64):
        assert worst_linear() <= 0
        plant(monkeypatch, rows, "row.r * abs(weight) for", "ZERO for")
        assert worst_linear() > 0


def test_kinks() -> None:
    rng = np.random.default_rng(0)
    with precision(64):
        for middle in (-2.0, -0.1, 0.1, 2.0):
            row = random_row(rng, 0.2, 0.1, middle)
            made = functions.kink(row, arb(0.1))
            worst = max(outside(made, xi, eps, max(x, 0.1 * x)) for xi, eps, (x,) in points(row))
            assert worst <= 0


def test_long_intervals() -> None:
    """Where q is bounded piece by piece, it is close to tanh, and contains it."""
    p = {0: arb(0.2), variable(0): arb(1.5)}
    with precision(64):
        made = functions.apply("tanh", Row(4, p, [], arb(0)))
        assert max(outside(made, (xi, 0), (), math.tanh(0.2 + 1.5 * xi)) for xi in np.linspace(-1, 1, 201)) <= 0
        assert made.errors < 0.06


def test_bounds_of_polynomials() -> None:
    rng = np.random.default_rng(1)
    with precision(64):
        for _ in range(5):
            row = random_row(rng, 1.0, 0.0)
            grid = [polynomial(row, xi) for xi in itertools.product(np.linspace(-1, 1, 41), repeat=2)]
            low, high = lower_bound(row.p, 60), upper_bound(row.p, 60)
            assert low <= min(grid) + 1e-12
            assert max(grid) - 1e-12 <= high
            assert high - low <= 1.05 * (max(grid) - min(grid))
            ends = span(row.p)
            assert float(ends[0]) <= low + 1e-9
            assert high <= float(ends[1]) + 1e-9


def test_corners_decide_as_bisection_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a corner shows is not bisected, and the sign is the same."""
    rng, signs = np.random.default_rng(3), list[tuple[int, int, int]]()
    with precision(64):
        for _ in range(40):
            row = random_row(rng, 0.3, 0.05, float(rng.uniform(-1.5, 1.5)))
            xi = [math.copysign(1.0, float(row.p[variable(n)])) for n in range(2)]
            ends = [polynomial(row, (s * xi[0], s * xi[1])) for s in (-1.0, 1.0)]
            assert polynomials.attained(row.p) == pytest.approx((min(ends), max(ends)))
            found = verdict.sign(row, False)
            with monkeypatch.context() as without:
                without.setattr(verdict, "attained", lambda p: (math.inf, -math.inf))
                slow = verdict.sign(row, False)
            with monkeypatch.context() as wrong:
                wrong.setattr(verdict, "attained", lambda p: (-math.inf, math.inf))
                signs.append((found, slow, verdict.sign(row, False)))
    assert {found for found, _, _ in signs} == {-1, 0, 1}
    assert all(found == slow for found, slow, _ in signs)
    assert any(found != blind for found, _, blind in signs)


def _coarse(values: Floats, limit: float) -> tuple[Floats, arb]:
    return np.where(np.abs(values) < 1e-3, 0.0, values), arb(0)


FAULTS = {  # what is wrong: module, name, replacement
    "what a product has above its degree is dropped": (products, "tail", lambda a, b: arb(0)),
    "small coefficients vanish": (rows, "without_small", _coarse),
    "an interpolant has no remainder": (functions, "size", lambda ball: arb(0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, wrong = FAULTS[fault]
    monkeypatch.setattr(place, name, wrong)
    with precision(64):
        values = [worst_product(seed, *sizes) for seed in range(5) for sizes in SIZES]
        values += [worst_function("tanh", seed, 0.2, 1e-9) for seed in range(5)]
        line = functions.apply("exp", Row(2, {0: arb(1.5), variable(0): arb(0.3)}, [], arb(0)))
        values += [outside(line, (xi, 0.0), (), math.exp(1.5 + 0.3 * xi)) for xi in np.linspace(-1, 1, 41)]
    assert max(values) > 0
