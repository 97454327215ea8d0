"""Lines stay on their side of the function, in Arb, and are the best at their anchor."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models import lines as module
from integraph.numbers.models.elementary_functions import Power, Smooth
from integraph.numbers.models.functions import interval_of
from integraph.numbers.models.line_kernels import offset_kernel, slope_kernel
from integraph.numbers.models.lines import Lines, horizontal, kink_lines, lines
from integraph.numbers.models.smooth_functions import SMOOTH
from slow import mostly_slow

MP = mpmath.MPContext()
MP.dps = 40
EXACT = {
    "tanh": MP.tanh, "sigmoid": lambda x: 1 / (1 + MP.exp(-x)), "silu": lambda x: x / (1 + MP.exp(-x)),
    "softplus": lambda x: MP.log(1 + MP.exp(x)), "gaussian": lambda x: MP.exp(-x * x), "erf": MP.erf,
    "gelu": lambda x: x * MP.erfc(-x / MP.sqrt(2)) / 2, "atan": MP.atan, "exp": MP.exp, "ln": MP.log, "sqrt": MP.sqrt,
    "sin": MP.sin, "cos": MP.cos, "x^3": lambda x: x**3, "1/x": lambda x: 1 / x,
}  # fmt: skip
FUNCTIONS: dict[str, Smooth] = {**SMOOTH, "x^3": Power(3.0), "1/x": Power(-1.0)}


def random_ranges(f: Smooth, rows: int, rng: np.random.Generator) -> Interval:
    """Of all widths, and some that are points."""
    low = 3.0 * rng.normal(size=rows)
    low = np.abs(low) + 0.01 if f.domain[0] > -1 else low
    width = 10.0 ** rng.uniform(-9, 1.2, rows) * (rng.uniform(size=rows) < 0.9)
    return Interval(low, low + width)


def drawn(name: str, rows: int, seed: int) -> tuple[Interval, Floats, Lines]:
    rng, f = np.random.default_rng([seed, len(name)]), FUNCTIONS[name]
    x = random_ranges(f, rows, rng)
    anchor = x.low + rng.uniform(size=rows) * (x.high - x.low)
    return x, anchor, lines(f, x, anchor, interval_of(f, x))


def misses(name: str, x: Interval, both: Lines, points: int) -> int:
    """At how many points a line is on the wrong side, in 40 digits."""
    count = 0
    for row in range(len(x.low)):
        for at in np.clip(np.linspace(x.low[row], x.high[row], points), x.low[row], x.high[row]).tolist():
            value = EXACT[name](MP.mpf(at))
            low, high = (
                MP.mpf(float(slope[row])) * at + MP.mpf(float(offset[row]))
                for slope, offset in ((both.low_slope, both.low), (both.high_slope, both.high))
            )
            count += not low <= value <= high
    return count


@mostly_slow("name", EXACT, quick=5)
def test_lines_are_on_their_side(name: str) -> None:
    x, _, both = drawn(name, 40, 0)
    assert misses(name, x, both, 15) == 0


@pytest.mark.parametrize("name", EXACT)
def test_lines_are_on_their_side_at_many_points(name: str) -> None:
    x, _, both = drawn(name, 300, 1)
    points = np.clip(
        x.low[:, None] + (x.high - x.low)[:, None] * np.linspace(0, 1, 101), x.low[:, None], x.high[:, None]
    )
    values = FUNCTIONS[name].value(points)
    slack = 1e-11 * (1 + np.abs(values))
    assert (values >= both.low_slope[:, None] * points + both.low[:, None] - slack).all()
    assert (values <= both.high_slope[:, None] * points + both.high[:, None] + slack).all()


def hull_at(x: Floats, values: Floats, anchor: float) -> float:
    """The lower convex hull of points, at the anchor: the lowest chord."""
    left, right = x[:, None] <= anchor, x[None, :] >= anchor
    with np.errstate(all="ignore"):
        share = np.where(x[None] > x[:, None], (anchor - x[:, None]) / (x[None] - x[:, None]), 0.0)
    chords = values[:, None] * (1 - share) + values[None] * share
    return float(np.where(left & right & ((x[None] > x[:, None]) | (x[:, None] == anchor)), chords, np.inf).min())


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "gelu", "silu", "softplus", "gaussian", "sin", "ln"])
def test_lines_are_the_best_at_the_anchor(name: str) -> None:
    x, anchor, both = drawn(name, 150, 2)
    f = FUNCTIONS[name]
    for row in np.flatnonzero((x.high - x.low > 0.05) & (x.high - x.low < 5)):
        points = np.unique(np.append(np.linspace(x.low[row], x.high[row], 400), anchor[row]))
        values = f.value(points)
        low, high = hull_at(points, values, anchor[row]), -hull_at(points, -values, anchor[row])
        size = high - low + 1e-3 * np.ptp(values)
        assert both.low_slope[row] * anchor[row] + both.low[row] >= low - 0.02 * size
        assert both.high_slope[row] * anchor[row] + both.high[row] <= high + 0.02 * size


@pytest.mark.parametrize("below", [0.0, 0.1, -1.0, 1.0, 3.0])
def test_lines_of_kinks(below: float) -> None:
    rng = np.random.default_rng(3)
    low = rng.normal(size=200)
    x = Interval(low, low + rng.uniform(0, 3, 200))
    points = x.low + (x.high - x.low) * np.linspace(0, 1, 41)[:, None]
    values = np.where(points < 0, below * points, points)
    both = kink_lines(np.asarray(below), x, x.low + 0.3 * (x.high - x.low), Interval(values.min(0), values.max(0)))
    assert (values >= both.low_slope * points + both.low - 1e-13).all()
    assert (values <= both.high_slope * points + both.high + 1e-13).all()
    chord = both.high if below <= 1 else -both.low
    crossing = (x.low < 0) & (x.high > 0)
    assert (chord[crossing] >= -1e-13).all()
    one = ~crossing
    assert np.array_equal(both.low_slope[one], both.high_slope[one])


def test_unknown_ranges_get_horizontal_lines() -> None:
    x = Interval(np.array([-np.inf, -1.0, 0.0]), np.array([1.0, np.inf, 1.0]))
    y = Interval(np.full(3, -1.0), np.full(3, 1.0))
    both = lines(SMOOTH["tanh"], x, np.zeros(3), y)
    assert both.low_slope[:2].tolist() == [0.0, 0.0]
    assert both.high[:2].tolist() == [1.0, 1.0]
    assert both.high[2] < 1.0
    outside = lines(
        SMOOTH["ln"], Interval(np.array([-1.0]), np.array([1.0])), np.zeros(1), Interval(-y.high[:1], y.high[:1])
    )
    assert outside.low.tolist() == horizontal(y).low[:1].tolist()


FAULTS = {
    "values are exact": {"TRUST": 0.0, "U": 0.0, "UP": 1.0, "TINY": 0.0},
    "nothing bends": {
        "HALF": 1,
        "offset_kernel": lambda x, v, s, r, b, g, m: (g * v - m[:, None] * x)[:, [0, -1]].min(1),
    },
    "the other side": {"offset_kernel": lambda x, v, s, r, b, g, m: offset_kernel(x, v, s, r, b, -g, m)},
    "few points": {
        "HALF": 1,
        "ROUNDS": 0,
        "offset_kernel": lambda x, v, s, r, b, g, m: (g * v - m[:, None] * x)[:, ::2].min(1),
    },
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FAULTS[fault].items():
        monkeypatch.setattr(module, name, value)
    caught = sum(misses(name, *(drawn(name, 25, 4)[n] for n in (0, 2)), 9) for name in ("tanh", "sin", "exp"))
    assert caught > 0


def test_a_vertex_keeps_its_tangent_and_an_edge_its_ends() -> None:
    x = np.array([[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
    slopes, touch = slope_kernel(x, np.array([[1.0, 0.0, 1.0], [0.0, 5.0, 2.0]]), 1.0, np.array([0.25, 9.0]))
    assert slopes.tolist() == [0.25, 1.0]
    assert touch.tolist() == [[0.0, 0.0], [-1.0, 1.0]]
