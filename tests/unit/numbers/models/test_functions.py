"""Functions of rows against mpmath, in 50 digits: values, the ranges of all derivatives, and interpolants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models import functions
from integraph.numbers.models.elementary_functions import Power, Smooth
from integraph.numbers.models.functions import apply, chebyshev, interval_of, kink
from integraph.numbers.models.models import Models, of_cells
from integraph.numbers.models.smooth_functions import SMOOTH, Algebraic, _turning_points
from model_rows import MP, outside, random_point, random_rows, values
from model_truth import POWERS as EXPONENTS
from model_truth import TRUTH as FUNCTION_TRUTH
from model_truth import power
from slow import mostly_slow

POWERS = {f"x^{a:g}": Power(a) for a in EXPONENTS}
FUNCTIONS: dict[str, Smooth] = SMOOTH | POWERS
TRUTH = {name: truth.f for name, truth in FUNCTION_TRUTH.items()}
TRUTH |= {name: power(f.a).f for name, f in POWERS.items()}
POSITIVE = {"ln", "log2", "log10", "sqrt", "x^-2.5", "x^-1", "x^-0.5", "x^1.5"}
INSIDE = {
    "asin": (-0.97, 0.97),
    "acos": (-0.97, 0.97),
    "atanh": (-0.97, 0.97),
    "tan": (-1.5, 1.5),
    "acosh": (1.05, 9.0),
}
INSIDE |= {"log1p": (-0.95, 9.0), **dict.fromkeys(POSITIVE, (0.05, 30.0))}
EVERYWHERE = [name for name in FUNCTIONS if name in POSITIVE or name not in INSIDE]

CASES = {  # each dominated by one part of the radius
    "all": {"p": 1.0, "g": 0.2, "r": 0.1},
    "tail": {"p": 0.7},
    "interpolation": {"p": 0.2},
    "long": {"p": 4.0, "r": 0.5},
    "symbols": {"p": 0.0, "g": 0.3},
    "radius": {"p": 0.0, "r": 0.01},
    "rounding": {"p": 1e-9},
}


def within(name: str, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same intervals, of numbers where a function is defined, and not near its poles."""
    first, last = INSIDE.get(name, (-np.inf, np.inf))
    low = np.clip(np.abs(low) if first > 0 else low, first, last)
    return low, np.clip(np.maximum(high, low), first, last)


@mostly_slow(("case", "name", "k"), itertools.product(CASES, EVERYWHERE, (1, 2, 3, 5)), quick=8)
def test_functions_of_rows_contain_real_arithmetic(case: str, name: str, k: int) -> None:
    rng = np.random.default_rng([len(case), len(name), k])
    for centre in (0.3, -1.7, 3.0):
        options = dict(CASES[case])
        if name in POSITIVE:
            centre = abs(centre) + (12.0 if case == "long" else 4.0)
        x = random_rows(rng, 4, 2, k, centre=centre, **options)
        y = apply(FUNCTIONS[name], x)
        assert np.isfinite(y.r).all()
        for _ in range(6):
            at = random_point(rng, x)
            truth = np.vectorize(TRUTH[name], otypes=[object])(values(x, at))
            assert outside(y, at, truth) == []


@mostly_slow(("name", "order"), itertools.product(FUNCTIONS, range(6)), quick=16)
def test_ranges_of_derivatives(name: str, order: int) -> None:
    """They contain the derivatives, and exceed what was sampled by little."""
    rng = np.random.default_rng([len(name), order])
    low, high = within(name, low := rng.uniform(-4, 4, 10), low + rng.choice([0.01, 0.3, 2.0, 6.0], 10))
    least, most = FUNCTIONS[name].extremes(order, low, high)
    for a, b, bottom, top in zip(low, high, least, most, strict=True):
        x = [MP.mpf(t) for t in np.linspace(a, b, 25)]
        sampled = [
            MP.diff(TRUTH[name], t, order, h=MP.mpf("1e-8"), relative=False) if order else TRUTH[name](t) for t in x
        ]
        error = MP.mpf("1e-7") if order else 0  # of the difference quotient
        size = max(abs(s) for s in sampled)
        assert bottom <= min(sampled) + error * (1 + size)
        assert top >= max(sampled) - error * (1 + size)
        steps = max((abs(s - t) for s, t in itertools.pairwise(sampled)), default=0)
        assert top - bottom <= max(sampled) - min(sampled) + steps + 1e-4 * (1 + size) + error * (1 + size)


@pytest.mark.parametrize("name", [name for name, f in SMOOTH.items() if isinstance(f, Algebraic) and f.turns])
def test_ranges_of_derivatives_hold_every_turning_point_inside(name: str) -> None:
    """One by one. Where gelu_tanh is 0 or x to the last bit, thousands of them are rounding."""
    f, rng = SMOOTH[name], np.random.default_rng(len(name))
    assert isinstance(f, Algebraic)
    low, high = within(name, low := 10 * rng.normal(size=40), low + 10.0 ** rng.uniform(-4, 1.5, 40))
    for order in range(3):
        turns, below, above = _turning_points(f, order)
        least, most = f.extremes(order, low, high)
        values, off = f.derivative(order, np.stack([low, high]))
        for a, b, bottom, top, ends, error in zip(low, high, least, most, values.T, off.T, strict=True):
            inside = (a <= turns) & (turns <= b)
            assert bottom == min([*(ends - error), *below[0][: len(turns)][inside]])
            assert top == max([*(ends + error), *above[0][: len(turns)][inside]])


@mostly_slow("name", FUNCTIONS, quick=5)
def test_intervals_contain_values(name: str) -> None:
    rng = np.random.default_rng(len(name))
    low = 5 * rng.normal(size=(50, 1))
    x = Interval(*within(name, low, low + rng.choice([0.0, 1e-8, 1.0, 20.0], (50, 1))))
    y = interval_of(FUNCTIONS[name], x)
    for share in (0.0, 0.3, 1.0):
        t = np.clip(x.low + share * (x.high - x.low), x.low, x.high)
        truth = [TRUTH[name](MP.mpf(float(v))) for v in t[:, 0]]
        assert all(a <= v <= b for a, v, b in zip(y.low[:, 0], truth, y.high[:, 0], strict=True))


@pytest.mark.parametrize("name", sorted(POSITIVE))
def test_nothing_is_known_outside_of_the_domain(name: str) -> None:
    x = of_cells(np.array([[-0.5], [0.0], [-3.0], [1.0]]), np.array([[0.5], [1.0], [-2.0], [2.0]]), 2)
    y = apply(FUNCTIONS[name], x)
    assert np.isinf(y.r[0, :3]).all()
    assert np.isfinite(y.r[0, 3])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_rows_give_what_the_function_allows(name: str) -> None:
    """tanh of anything is in [−1, 1]; nothing is NaN."""
    x = of_cells(np.array([[-1e308]]), np.array([[1e308]]), 1)
    y = apply(FUNCTIONS[name], (x * x) + x)
    assert not np.isnan(y.r).any()
    assert np.isfinite(y.p).all()
    assert (y.known.low <= y.known.high).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves_far_away_are_between_one_and_minus_one(name: str) -> None:
    low = np.array([[1e16], [-1e300], [-np.inf], [3e5], [1e9]])
    high = np.array([[1e16 + 2], [-9e299], [np.inf], [3e5 + 1e-9], [1e9 + 0.1]])
    y = interval_of(SMOOTH[name], Interval(low, high))
    assert (y.low[:3] == -1).all()
    assert (y.high[:3] == 1).all()
    assert 0 < y.high[3] - y.low[3] < 1e-8
    assert 0 < y.high[4] - y.low[4] < 0.11


def test_a_tangent_with_a_pole_is_unknown() -> None:
    x = Interval(np.array([[1.5], [1.6], [1e16], [31.0]]), np.array([[1.6], [4.6], [1e16], [32.0]]))
    y = interval_of(SMOOTH["tan"], x)
    assert np.isinf(y.high[:, 0]).tolist() == [True, False, True, False]


@pytest.mark.parametrize("below", [0.0, 0.1, -1.0, 1.5, -0.3, 1.0])
def test_kinks_contain_real_arithmetic(below: float) -> None:
    rng = np.random.default_rng(7)
    for centre, options in itertools.product((0.0, 0.2, 5.0, -5.0), CASES.values()):
        x = random_rows(rng, 4, 2, 2, centre=centre, **options)
        y = kink(x, np.full((4, 1), below))
        for _ in range(6):
            at = random_point(rng, x)
            truth = np.vectorize(lambda v: v if v >= 0 else MP.mpf(below) * v, otypes=[object])(values(x, at))
            assert outside(y, at, truth) == []


def test_a_kink_that_is_not_reached_costs_nothing() -> None:
    x = of_cells(np.array([[1.0], [-2.0]]), np.array([[2.0], [-1.0]]), 1)
    y = kink(x, np.zeros((1, 1)))
    assert (y.errors < 1e-14).all()
    assert y.p[0, 1, 0] == 0.0


@pytest.mark.parametrize("k", range(8))
def test_the_interpolation_matrix(k: int) -> None:
    """Polynomials of degree ≤ k come out as they are, and an error of the values grows by at most what is said."""
    nodes, transform, sizes = chebyshev(k)
    for m in range(k + 1):
        assert np.allclose(transform @ nodes**m, np.eye(k + 1)[m], rtol=0, atol=1e-12)
    assert (np.abs(transform).sum(0) <= sizes * (1 + 1e-12)).all()


def test_sampling_helps_on_long_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    x = of_cells(np.array([[-3.0]]), np.array([[3.0]]), 4)

    def radius(rows: Models) -> float:
        return float(apply(SMOOTH["tanh"], rows).errors[0, 0])

    sampled = radius(x)
    monkeypatch.setattr(functions, "LONG", np.inf)
    assert sampled < 0.5 * radius(x)


@pytest.mark.parametrize("name", ["exp", "sigmoid", "gaussian", "softplus"])
def test_an_underflow_is_not_zero(name: str) -> None:
    """The values are positive, and smaller than any float64."""
    ends = np.array([-1e6]), np.array([-1e5])
    assert SMOOTH[name].extremes(0, *ends)[1][0] > 0
