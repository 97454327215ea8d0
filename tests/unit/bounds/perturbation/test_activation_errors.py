"""Bounds of flows from wrong starts, against integration: Lemma 5 as printed and done tightly, every activation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from integraph import Registers, build, segment
from integraph.bounds.paper import lemma5
from integraph.bounds.perturbation.activation_errors import KAPPA, RELU, WRONG, over
from integraph.constructions.recipes import RECIPES, Recipe, rectifier
from integraph.errors import UsageError
from integraph.gadgets import tanh
from integraph.numbers.intervals import Interval, affine
from integraph.targets import activation
from integraph.targets.activations import steepest_slope, value_range
from networks import SMOOTH
from slow import mostly_slow

ENGINES = ("exact", "taylor")


def perturbed(xi: np.ndarray, eta: np.ndarray, engine: str) -> np.ndarray:
    """(ξ, tanh ξ, ξ tanh ξ) as Lemma 1's flow gives it from starts that are off by η, minus the truth."""
    r = Registers()
    x, alpha, lam = (r.inputs(name, 1) for name in ("x", "alpha", "lam"))
    program = build(r, [segment("tanh", tanh(alpha, lam, x))], alpha)
    starts = np.stack([xi + eta[0], eta[1], eta[2]], 1)
    states = program.flow(starts, engine, states=True).check().states
    return states - np.stack([xi, np.tanh(xi), xi * np.tanh(xi)], 1)


@mostly_slow("engine", [*ENGINES, "oracle"], quick=2)
@mostly_slow("delta", [1e-6, 1e-3, 0.1, 0.6], quick=1)
@mostly_slow("K", [0.1, 1.0, 3.0, 20.0], quick=2)
def test_lemma_5_holds(K: float, delta: float, engine: str) -> None:
    count = 40 if engine == "oracle" else 2000
    rng = np.random.default_rng(3)
    xi = rng.uniform(-K, K, count)
    eta = delta * np.where(rng.uniform(size=(3, count)) < 0.5, rng.choice([-1.0, 1.0], (3, count)), rng.uniform(-1, 1))
    seen = np.abs(perturbed(xi, eta, engine)).max()
    assert seen <= lemma5.tight(K, delta) + 1e-13
    assert seen <= lemma5.paper(K, delta)


@pytest.mark.parametrize("K", [0.5, 2.0, 10.0, 100.0])
def test_the_tight_lemma_5_is_tight(K: float) -> None:
    """Within a factor of 1.3 of what happens; the printed one is off by e^(4K+2)."""
    delta = 1e-4
    xi = np.repeat(np.linspace(-K, K, 4001), 8)
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8)
    seen = np.abs(perturbed(xi, delta * np.tile(signs, 4001), "exact")).max()
    assert seen <= lemma5.tight(K, delta) <= 1.3 * seen
    assert lemma5.paper(K, delta) > math.exp(4 * K) * seen


def test_lemma_5_needs_a_small_delta() -> None:
    K = 1.0
    edge = (4 * K + 2) / (9 * (math.exp(4 * K + 2) - 1))
    assert math.isfinite(lemma5.paper(K, 0.999 * edge))
    assert lemma5.paper(K, 1.001 * edge) == math.inf
    assert lemma5.paper(1000.0, 1e-6) == math.inf
    assert lemma5.tight(K, 1.0) == math.inf
    assert lemma5.paper(K, 0.0) == lemma5.tight(K, 0.0) == 0.0
    printed = 6 * math.exp(6) * 1e-5 / (6 - 9 * (math.exp(6) - 1) * 1e-5)
    assert lemma5.paper(1.0, 1e-5) == pytest.approx(printed, rel=1e-12)
    for K, delta in ((-1.0, 0.1), (1.0, -0.1), (math.nan, 0.1), (1.0, math.inf)):
        with pytest.raises(UsageError, match="finite number"):
            lemma5.tight(K, delta)


def test_constants() -> None:
    M = np.linspace(1e-6, 20, 1_000_001)
    sech = 1 / np.cosh(M)
    assert 0.999 * KAPPA < (sech * (1 - sech) / M).max() < KAPPA
    assert 0.999 * lemma5.BEND < (np.tanh(M) + M * sech**2).max() < lemma5.BEND
    assert (np.maximum(M, 0) - M / (1 + np.exp(-M))).max() <= RELU * (1 + 1e-15)


def run(recipe: Recipe, starts: dict[str, np.ndarray], engine: str) -> dict[str, np.ndarray]:
    """The stages of a recipe from any start; end values of all roles."""
    n = len(next(iter(starts.values())))
    r = Registers()
    views = {role: r.inputs(role, n) for role in recipe.starts}
    program = build(r, [segment(f"stage {k}", *make(views)) for k, make in enumerate(recipe.stages)], views[recipe.out])
    states = program.flow(np.concatenate([starts[role] for role in views]), engine, states=True).check().states[0]
    return {role: states[view.offset : view.offset + n] for role, view in views.items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.2])
@mostly_slow("name", [*SMOOTH, "relu", "leaky_relu"], quick=5)
def test_wrong_starts(name: str, size: float, engine: str) -> None:
    """Output minus f(M), and the size of every register at the end, are at most what WRONG says."""
    rng = np.random.default_rng(11)
    n = 400
    x = rng.uniform(-6, 6, n) * rng.choice([0.1, 1.0], n)
    slope = np.zeros(n) if name == "relu" else np.full(n, 0.2)
    k = 2.0
    rectifies = name in ("relu", "leaky_relu")
    recipe = rectifier(slope, np.full(n, -1.0), np.ones(n), k) if rectifies else RECIPES[name]
    rho = {role: size * rng.choice([0.0, 0.3, 1.0], n) for role in recipe.starts}
    left = {role: rho[role] * rng.choice([-1.0, 1.0], n) for role in recipe.starts}
    ends = run(recipe, {role: a * x + c + left[role] for role, (a, c) in recipe.starts.items()}, engine)
    M = x + left[recipe.argument]
    extra = {"K": np.full(n, k), "switching": np.ones(n), "scale": 0.5 * (1 + slope)} if rectifies else {}
    wrong, sizes = WRONG[name](Interval(M, M), {**rho, **extra})
    K = k * (1 - slope)  # what a rectifier computes is x σ(Kx), and the slope's share
    true = slope * M + (1 - slope) * M / (1 + np.exp(-K * M)) if rectifies else _in_registers(name, M)
    error = np.abs(ends[recipe.out] - true)
    assert np.isfinite(wrong).all()
    assert (error <= wrong + 1e-12 * (1 + np.abs(true))).all()
    if size <= 1e-2:
        assert wrong.max() <= 12 * max(error.max(), 1e-12), "far from tight"
    others = set(recipe.starts) - {recipe.out}
    assert set(sizes) >= others
    for role in others:
        assert (np.abs(ends[role]) <= sizes[role] * (1 + 1e-12) + 1e-12).all(), role


def _in_registers(name: str, M: np.ndarray) -> np.ndarray:
    """f(M) as the registers hold it: before gain and offset."""
    recipe = RECIPES[name]
    argument = 2 * M if name == "sigmoid" else M  # its register has x/2
    return (activation(name).value(argument) - recipe.offset) / recipe.gain


@pytest.mark.parametrize("distance", [1e-6, 1e-9, 1e-14])
def test_close_to_the_pole_the_bound_is_above(distance: float) -> None:
    """size/(1 − small) with a `small` that is rounded: whatever its last bits were, the bound is not below."""
    small = 1.0 - distance
    true = Fraction(1) / (1 - Fraction(small) * (1 + Fraction(1, 2**53)))
    found = over(np.array(1.0), np.array(small))
    assert found == np.inf or Fraction(float(found)) >= true > 0 or true < 0


def test_a_start_too_wrong_has_no_bound() -> None:
    rho = {"alpha": np.array([0.1]), "lam": np.array([1.0]), "x": np.array([0.0]), "s": np.array([1.0])}
    M = Interval(np.array([-1.0]), np.array([1.0]))
    assert WRONG["tanh"](M, rho)[0] == WRONG["silu"](M, rho)[0] == np.inf


@pytest.mark.parametrize("name", [*SMOOTH, "identity", "relu", "leaky_relu"])
def test_ranges_and_slopes(name: str) -> None:
    """Against a fine grid: nothing outside, and not much too wide."""
    f = activation(name, 0.3)
    rng = np.random.default_rng(5)
    ends = np.sort(rng.uniform(-8, 8, (300, 2)) * rng.choice([0.1, 1.0], (300, 1)), 1)
    x = Interval(ends[:, 0], ends[:, 1])
    grid = np.linspace(ends[:, 0], ends[:, 1], 2001)
    found, slope = value_range(f, x), steepest_slope(f, x)
    assert (f.value(grid) >= found.low).all()
    assert (f.value(grid) <= found.high).all()
    seen = np.abs(f.slope(grid)).max(0)
    assert (seen <= slope).all()
    if name not in ("sin", "relu", "leaky_relu"):
        assert (found.high - found.low <= 1.001 * np.ptp(f.value(grid), 0) + 1e-6).all()
        assert (slope <= 1.001 * seen + 1e-6).all()


@pytest.mark.parametrize("name", [*SMOOTH, "leaky_relu"])
def test_slopes_are_derivatives(name: str) -> None:
    f = activation(name, 0.3)
    x = np.linspace(-5.03, 5.01, 400)
    numerical = (f.value(x + 1e-6) - f.value(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(f.slope(x), numerical, rtol=1e-6, atol=1e-8)


def test_affine_ranges_contain_exact_values() -> None:
    """In rational arithmetic, also where float64 rounds: large offsets, sides of width 0."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        A, b = rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-3, 4), rng.normal(size=3)
        start = rng.normal(size=4) * 1e6
        end = start + rng.choice([0.0, 1e-9, 1000.0], 4)
        found = affine(A, b, Interval(start, end))
        for point in (start, end, np.where(A[0] > 0, end, start), np.where(A[0] > 0, start, end)):
            exact = [
                sum((Fraction(a) * Fraction(p) for a, p in zip(row, point.tolist(), strict=True)), Fraction(c))
                for row, c in zip(A.tolist(), b.tolist(), strict=True)
            ]
            assert all(
                Fraction(lo) <= e <= Fraction(hi) for lo, e, hi in zip(found.low, exact, found.high, strict=True)
            )
