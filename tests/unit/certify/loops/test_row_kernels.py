"""Rows contain what they are of, at corners of ξ and ε; without a term of a formula they do not."""

from __future__ import annotations

import inspect
import itertools
import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from integraph.certify.loops import flow_kernels, row_kernels
from integraph.certify.loops.interval_kernels import TANH
from integraph.certify.loops.rows import kernel_table
from integraph.numbers.arrays import Floats
from integraph.numbers.models.monomials import monomials

SYMBOLS = 2
TABLE, MONOMIALS = kernel_table(2, 2), monomials(2, 2)
D, DEGREES, PAIRS, SQUARES, KINDS, CHEBYSHEV = TABLE
SIZES = [(0.1, 0.01, 0.0), (0.05, 0.2, 0.1), (0.3, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1), (0.2, 0.0, 0.1)]
POINTS = list(itertools.product((-1.0, -0.4, 0.0, 0.7, 1.0), repeat=2))
CORNERS = list(itertools.product((-1.0, 1.0), repeat=SYMBOLS))


def random_row(rng: np.random.Generator, width: float, error: float, radius: float, middle: float) -> Floats:
    p = width * rng.normal(size=MONOMIALS.count) / np.maximum(DEGREES, 1)
    p[0] = middle
    return np.concatenate([p, error * rng.normal(size=SYMBOLS), [radius]])


def value(row: Floats, xi: tuple[float, ...], eps: tuple[float, ...], sign: float) -> float:
    powers = np.prod(np.array(xi) ** MONOMIALS.exponents, axis=1)
    return float(row[: len(powers)] @ powers + row[len(powers) : -1] @ np.array(eps) + sign * row[-1])


def outside(row: Floats, xi: tuple[float, ...], eps: tuple[float, ...], y: float) -> float:
    return abs(y - value(row, xi, eps, 0.0)) - float(row[-1]) - 1e-12


def norms_of(row: Floats) -> Floats:
    norms = np.empty(MONOMIALS.k + 2)
    row_kernels.finish(row.copy(), norms, DEGREES)
    return norms


def worst_product(kernels: Any, seed: int, sizes: tuple[float, float, float]) -> float:
    rng = np.random.default_rng(seed)
    a, b = random_row(rng, *sizes, 0.5), random_row(rng, *sizes[1:], sizes[0], -0.4)
    out = np.zeros_like(a)
    kernels.add_product(out, 0.5, a, norms_of(a), b, norms_of(b), DEGREES, PAIRS, 1e-14)
    signs = list(itertools.product((-1.0, 1.0), repeat=2))
    return max(
        outside(out, xi, eps, 0.5 * value(a, xi, eps, s) * value(b, xi, eps, t))
        for xi in POINTS
        for eps in CORNERS
        for s, t in signs
    )


def worst_of_one(kernels: Any, seed: int, sizes: tuple[float, float, float], middle: float) -> float:
    """tanh, a kink, (−2 ± 0.1)·x, and the range."""
    rng = np.random.default_rng(seed)
    row = random_row(rng, *sizes, middle)
    norms, out, scaled, kinked = norms_of(row), np.empty_like(row), np.zeros_like(row), row.copy()
    low, high = kernels.row_range(row, norms, DEGREES, D, SQUARES, KINDS)
    assert kernels.function_of_row(out, TANH, 0.0, row, norms, low, high, DEGREES, PAIRS, CHEBYSHEV)
    kernels.add_scaled(scaled, -2.0, 0.1, row, norms)
    kernels.kink_of_row(kinked, norms, 0.1, low, high, DEGREES, PAIRS)
    worst = -math.inf
    for xi, eps, s in itertools.product(POINTS, CORNERS, (-1.0, 1.0)):
        x = value(row, xi, eps, s)
        worst = max(
            worst, low - x, x - high, outside(out, xi, eps, math.tanh(x)), outside(kinked, xi, eps, max(x, 0.1 * x)),
            outside(scaled, xi, eps, -2.1 * x), outside(scaled, xi, eps, -1.9 * x),
        )  # fmt: skip
    return worst


BENT = [  # [1, ξ₁, ξ₂, ξ₁², ξ₁ξ₂, ξ₂² | ε₁, ε₂ | r] whose kinks are parabolas, each with an error that matters
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1],
    [0.0, 0.5, 0.5, 0.15, 0.1, -0.1, 0.0, 0.0, 0.0],
    [0.0, 0.7, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0],
]


def worst_kink(kernels: Any) -> float:
    """x for x ≥ 0, −x/2 below: most of all at 0, at L/2 and at L."""
    result = -math.inf
    for row in map(np.array, BENT):
        norms, bent = norms_of(row), row.copy()
        low, high = kernels.row_range(row, norms, DEGREES, D, SQUARES, KINDS)
        kernels.kink_of_row(bent, norms, -0.5, low, high, DEGREES, PAIRS)
        for xi in itertools.product(np.linspace(-1.0, 1.0, 9), repeat=2):
            for eps, s in itertools.product(CORNERS, (-1.0, 1.0)):
                x = value(row, xi, eps, s)
                result = max(result, outside(bent, xi, eps, max(x, -0.5 * x)))
    return result


def worst(kernels: Any) -> float:
    products = [worst_product(kernels, seed, sizes) for seed in range(3) for sizes in SIZES]
    return max(
        worst_kink(kernels),
        *products,
        *(worst_of_one(kernels, n, s, middle) for n in range(2) for s in SIZES for middle in (0.1, 1.0)),
    )


def mutant(module: ModuleType, text: str, other: str) -> Any:
    """The kernels of a module with another formula, as Python functions."""
    source = inspect.getsource(module).replace('@cached_njit(error_model="numpy")\n', "")
    assert source.count(text) == 1, text
    names: dict[str, Any] = {"__name__": "mutant"}
    exec(compile(source.replace(text, other), "mutant", "exec"), names)
    return SimpleNamespace(**names)


def test_rows_contain_what_they_are_of() -> None:
    assert worst(row_kernels) <= 0


FORMULAS = {  # a text of row_kernels, and what it is without a term
    "r = tail + at * eb": "r = at * eb",
    "at * eb + na[0]": "na[0]",
    "+ na[0] * b[-1]": "",
    "+ bt * ea": "",
    "+ nb[0] * a[-1]": "",
    "+ ea * eb": "",
    "out[e] += a0 * b[e] + b0 * a[e]": "out[e] += a0 * b[e]",
    "out[-1] += abs(w) * a[-1] + (off": "out[-1] += (off",
    "(off + 4 * U * abs(w))": "(4 * U * abs(w))",
    "e = (norms[-1] + row[-1]) * UP": "e = row[-1] * UP",
    "r = tails[0] + off": "r = tails[0]",
    "r = tails[0] +": "r =",
    "(turn + 4 * U * abs(slope)) * errors": "0.0",
    "+ abs(slope) * row[-1]": "",
    "out[e] = slope * row[e]": "out[e] = 0.0",
    "row[0] += shift": "pass",
    "row[-1] = (abs(chord) * row[-1] + off": "row[-1] = (abs(chord) * row[-1]",
    "row[-1] = (abs(chord) * row[-1]": "row[-1] = (0.0",
    "lost = (tail +": "lost = (0.0 +",
    "+ reach / 8.0 +": "+",
    "+ norms[-1] + row[-1]\n    radius": "+ row[-1]\n    radius",
    "norms[-1] + row[-1]\n    radius": "norms[-1]\n    radius",
    "radius = abs(alpha) * row[-1] +": "radius =",
    "row[0] += beta * (reach / 8.0)": "pass",
    "row[m] += beta * (square[m] / reach)": "pass",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", FORMULAS)
def test_faults_are_seen(text: str) -> None:
    assert worst(mutant(row_kernels, text, FORMULAS[text])) > 0


def worst_tube(kernels: Any) -> float:
    """x(τ) = Σ x_j τ^j + τ·rest, at the end and over pieces of the step."""
    rng = np.random.default_rng(0)
    series = np.stack([[random_row(rng, 0.3, 0.1, 0.05, 0.5 + j) for j in range(4)]])
    norms = np.stack([[norms_of(row) for row in series[0]]])
    rest, result = np.array([[-0.1, 0.3]]), -math.inf
    end = kernels.row_end(series, norms, rest)[0]
    pieces = [kernels.row_tube(series, norms, rest, n / 4, (n + 1) / 4, TABLE)[0] for n in range(4)]
    for xi, eps, s, ends in itertools.product(POINTS, CORNERS, (-1.0, 1.0), rest[0]):
        values = [value(row, xi, eps, s) for row in series[0]]
        result = max(result, outside(end, xi, eps, sum(values) + ends))
        for n, theta in itertools.product(range(4), (-1.0, -0.5, 0.0, 0.5, 1.0)):
            tau = (n + 0.5 + 0.5 * theta) / 4
            x = sum(c * tau**j for j, c in enumerate(values)) + tau * ends
            result = max(result, outside(pieces[n], xi, (*eps, theta), x))
    return result


TIMES = {  # the same of flow_kernels
    "out[i, 0] += 0.5 * least + 0.5 * most": "pass",
    "(out[i, -1] + (0.5 * most - 0.5 * least) + lost)": "(out[i, -1] + lost)",
    "out[-1] += power * series[j, -1]": "pass",
    "power *= at": "power *= 0.9 * at",
    "+ (0.5 * high - 0.5 * low) + bent": "+ bent",
    "+ bent + max(-least, most)": "+ max(-least, most)",
    "+ max(-least, most) + lost": "+ lost",
    "out[i, length - 1] = 0.5 * low + 0.5 * high": "pass",
}


def test_tubes_contain_what_they_are_of() -> None:
    assert worst_tube(flow_kernels) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("text", TIMES)
def test_faults_in_time_are_seen(text: str) -> None:
    assert worst_tube(mutant(flow_kernels, text, TIMES[text])) > 0


def test_a_slope_is_not_read_before_it_is_known() -> None:
    """tan and its slope refer to each other: memory that was not written must not matter."""
    from integraph.api.loops import closed_loop

    plant = closed_loop({"x": "tan(x) + cos(x)*u"}, "-x", period=0.1, steps=1).plant
    rows = np.stack([random_row(np.random.default_rng(0), 0.1, 0.0, 0.0, 0.3) for _ in range(2)])
    for _ in range(20):
        for count in (1, 4):  # what the kernel allocates next may be this
            np.full((len(plant.code), count, rows.shape[1]), np.nan)
        failed, series, _ = flow_kernels.row_series(
            plant.code, plant.numbers, plant.held, plant.outputs, rows, 0.1, 4, TABLE
        )
        assert failed < 0
        assert np.isfinite(series).all()
