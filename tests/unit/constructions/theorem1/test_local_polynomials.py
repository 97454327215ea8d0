"""Boxes as unit cubes, local polynomials against 60 digits, judged bounds against errors that are seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from integraph import Partition, function
from integraph.bounds.interpolation_nodes import nodes, side
from integraph.constructions.theorem1.a_posteriori import a_posteriori_bound, affordable, sizes
from integraph.constructions.theorem1.derivative_bounds import DerivativeBounds
from integraph.constructions.theorem1.local_polynomials import (
    LocalPolynomials,
    _differences,
    _expansion,
    local,
    newton,
    values,
)
from integraph.constructions.theorem1.planner import bound
from integraph.constructions.theorem1.samples import Samples
from integraph.constructions.theorem1.unit_cube import UnitCube, unit_cube
from integraph.errors import SourceError, UsageError
from integraph.numbers.intervals import Interval
from integraph.numbers.multi_index import below, count

BOXES = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.1, 0.3),
    (-7.3, -7.2),
    (1e6, 1e6 + 1),
    (-1e-3, 1e5),
    (1e-300, 3e-300),
    (-3e7, 1 / 3),
]


def cube_of(*sides: tuple[float, float]) -> UnitCube:
    low, high = np.array(sides, np.float64).T
    return unit_cube(Interval(low.copy(), high.copy()))


def inside(cube: UnitCube, low: float, high: float) -> tuple[Fraction, Fraction]:
    scale, shift = Fraction(float(cube.scale[0])), Fraction(float(cube.shift[0]))
    return scale * Fraction(low) + shift, scale * Fraction(high) + shift


@pytest.mark.parametrize(("low", "high"), BOXES)
def test_the_box_is_inside_the_cube(low: float, high: float) -> None:
    """In rational arithmetic; and all but fills it."""
    cube = cube_of((low, high))
    t = inside(cube, low, high)
    assert 0 <= t[0] <= t[1] <= 1
    room = 32 * 2.0**-53 * (1 + max(abs(low), abs(high)) / (high - low))
    assert t[0] <= room
    assert 1 - t[1] <= room
    assert cube.widths[0] * Fraction(float(cube.scale[0])) >= 1
    assert cube.widths[0] == pytest.approx(high - low, rel=1e-6)
    assert cube.identity == ((low, high) == (0.0, 1.0))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.floats(0, 1))
def test_the_way_back(low: float, width: float, t: float) -> None:
    high = low + width
    cube = cube_of((low, high))
    ends = inside(cube, low, high)
    assert 0 <= ends[0] <= ends[1] <= 1
    x = float(cube.back(np.array([[t]]))[0, 0])
    assert low <= x <= high
    assert abs(inside(cube, x, x)[0] - Fraction(t)) <= Fraction(cube.lost)
    assert abs(float(cube.forth(np.array([[x]]))[0, 0]) - t) <= 2 * cube.lost


def test_sides_that_are_no_box() -> None:
    with pytest.raises(UsageError, match=r"side 1 of the box is the single point 2\.0: give it a width"):
        cube_of((0.0, 1.0), (2.0, 2.0))
    with pytest.raises(UsageError, match=r"side 0 of the box, \[0\.0, 5e-324\], cannot be divided into cells"):
        cube_of((0.0, 5e-324))
    cube = cube_of((1.0, math.nextafter(1.0, 2.0)))  # two numbers, and still a box
    assert min(inside(cube, 1.0, math.nextafter(1.0, 2.0))) >= 0


Coefficients = dict[tuple[int, ...], mpf]


def differences(f: Callable[..., mpf], k: tuple[int, ...], N: int, n: int, spread: float) -> Coefficients:
    """Newton's coefficients of one cell, one variable after the other."""
    taus = offsets(k, N, n, spread)
    rows = [a for a in itertools.product(range(n), repeat=len(k)) if sum(a) < n]
    c = {a: f(*((part + tau[i]) / max(N, 1) for part, tau, i in zip(k, taus, a, strict=True))) for a in rows}
    for j, tau in enumerate(taus):
        for step in range(1, n):
            for a in sorted(c, key=lambda a: -a[j]):
                if a[j] >= step:
                    c[a] = (c[a] - c[*a[:j], a[j] - 1, *a[j + 1 :]]) / (tau[a[j]] - tau[a[j] - step])
    return c


def offsets(k: tuple[int, ...], N: int, n: int, spread: float) -> list[list[mpf]]:
    return [[mpf(tau) for tau in nodes(n, side(part, N), spread).tolist()] for part in k]


def expanded(c: Coefficients, k: tuple[int, ...], N: int, n: int, spread: float) -> Coefficients:
    """Σ c_α ω_α(N t − k) in powers of t − ½."""
    powers: Coefficients = dict.fromkeys(c, mpf(0))
    scale, taus = max(N, 1), offsets(k, N, n, spread)
    for a, value in c.items():
        sides = zip(k, taus, a, strict=True)
        lines = [polynomial([mpf(scale) / 2 - part - tau[l] for l in range(i)], scale) for part, tau, i in sides]
        for m in itertools.product(*map(range, map(len, lines))):
            powers[m] += value * math.prod((line[e] for line, e in zip(lines, m, strict=True)), start=mpf(1))
    return powers


def polynomial(offsets: list[mpf], scale: int) -> list[mpf]:
    """Π(scale·y + offset), coefficients of rising powers of y."""
    line = [mpf(1)]
    for b in offsets:
        line = [b * low + scale * high for low, high in zip([*line, mpf(0)], [mpf(0), *line], strict=True)]
    return line


CASES = [
    ("exp(x)*sin(3*x)", lambda x: mp.exp(x) * mp.sin(3 * x), 1),
    ("1/(1 + 25*(x - 0.4)^2)", lambda x: 1 / (1 + 25 * (x - mpf("0.4")) ** 2), 1),
    ("cos(2*x + 1000*y)/7", lambda x, y: mp.cos(2 * x + 1000 * y) / 7, 2),
    ("exp(x*y) - z", lambda x, y, z: mp.exp(x * y) - z, 3),
]


@pytest.mark.parametrize(("text", "f", "d"), CASES, ids=[text for text, _, _ in CASES])
@pytest.mark.parametrize(("N", "n", "spread"), [(0, 1, 0.5), (0, 6, 0.55), (1, 3, 0.6), (2, 4, 0.75), (5, 8, 0.5)])
def test_coefficients_are_as_good_as_they_say(
    text: str, f: Callable[..., mpf], d: int, N: int, n: int, spread: float
) -> None:
    """Newton's coefficients and their expansion are never farther from 60 digits than they say, and not idle."""
    if d > 1 and N * n > 8:
        N, n = 2, 3
    samples, found = unit(text, N, n, spread)
    c, off = newton(samples, d, (slice(0, N + 1),) * d, N, n, spread)
    rows = [tuple(row) for row in below(d, n).tolist()]
    size = np.zeros(1)
    with mp.workdps(60):
        for k in itertools.product(range(N + 1), repeat=d):
            wanted, mine = differences(f, k, N, n, spread), dict(zip(rows, c[k][:, 0].tolist(), strict=True))
            errors = np.array([float(abs(mpf(mine[row]) - wanted[row])) for row in rows])
            assert (errors <= off[k][:, 0]).all()
            assert (off[k][:, 0] <= found.newton[:, 0]).all()
            wanted = expanded({row: mpf(value) for row, value in mine.items()}, k, N, n, spread)
            errors = np.array(
                [float(abs(mpf(float(found.coefficients[*k, m, 0])) - wanted[row])) for m, row in enumerate(rows)]
            )
            assert errors @ 0.5 ** below(d, n).sum(1) <= found.powers[0]
            size = np.maximum(size, float(sum(abs(wanted[row]) / 2 ** sum(row) for row in rows)))
    assert found.size == pytest.approx(size, rel=1e-9)
    assert found.powers[0] <= 1e-11 * (N + 1) ** n * max(found.size[0], 1)
    assert found.newton[0, 0] <= 1e-10


@pytest.mark.parametrize(("N", "n", "spread", "centre"), [(3, 8, 0.55, 0.5), (5, 6, 0.75, -1.25), (0, 5, 0.5, 0.5)])
def test_matrices_are_as_good_as_they_say(N: int, n: int, spread: float, centre: float) -> None:
    """Divided differences and expansions, entry by entry."""
    D, E = _differences(N, n, spread, 0, slice(0, N + 1)), _expansion(N, n, spread, centre, slice(0, N + 1))
    scale = max(N, 1)
    with mp.workdps(60):
        for k in range(N + 1):
            (tau,) = offsets((k,), N, n, spread)
            for i in range(n):
                for l in range(i + 1):
                    wanted = 1 / math.prod((tau[l] - tau[m] for m in range(i + 1) if m != l), start=mpf(1))
                    assert abs(mpf(float(D[0][k, i, l])) - wanted) <= D[1][k, i, l]
                line = polynomial([scale * mpf(centre) - k - tau[l] for l in range(i)], scale)
                for power, wanted in enumerate(line):
                    assert abs(mpf(float(E[0][k, power, i])) - wanted) <= E[1][k, power, i]
    assert (D[1] <= 1e-14 * np.abs(D[0])).all()


@pytest.mark.parametrize("spread", [0.0, 0.55])
@pytest.mark.parametrize(("low", "high"), [(-7.3, -7.2), (1e6, 1e6 + 1), (-2.0, 3.0), (0.1, 0.1001)])
def test_coefficients_on_other_boxes(low: float, high: float, spread: float) -> None:
    """As functions of t with the stored controls; what the way back rounds is told."""
    f, cube, N, n = function("sin(2*x)"), cube_of((low, high)), 3, 4
    samples = Samples(f, cube, DerivativeBounds(f, cube, None).upto(n)[0])
    c, off = newton(samples, 1, (slice(0, N + 1),), N, n, spread)
    with mp.workdps(60):
        scale, shift = mpf(float(cube.scale[0])), mpf(float(cube.shift[0]))
        exact = lambda t: mp.sin(2 * (t - shift) / scale)  # noqa: E731
        for k in range(N + 1):
            if spread:
                wanted = list(differences(exact, (k,), N, n, spread).values())
            else:
                wanted = [value / N**m for m, value in enumerate(mp.taylor(exact, mpf(k) / N, n - 1))]
            errors = np.array([float(abs(mpf(a) - b)) for a, b in zip(c[k, :, 0].tolist(), wanted, strict=True)])
            assert (errors <= off[k, :, 0]).all()
    assert off.max() <= 1e-11 * (1 + abs(low))


def unit(text: str, N: int, n: int, spread: float, centre: float = 0.5) -> tuple[Samples, LocalPolynomials]:
    f = function(text)
    cube = cube_of(*[(0.0, 1.0)] * f.inputs)
    slopes = DerivativeBounds(f, cube, None).upto(n)[0]
    samples = Samples(f, cube, slopes)
    return samples, local(samples, f.inputs, N, n, spread, centre, max(abs(centre), abs(1 - centre)))


@pytest.mark.parametrize(("text", "f", "d"), CASES[:3], ids=[text for text, _, _ in CASES[:3]])
@pytest.mark.parametrize("centre", [0.5, -0.5, -1.25])
def test_taylors_coefficients(text: str, f: Callable[..., mpf], d: int, centre: float) -> None:
    """Where all nodes coincide: f^(α)(k/N)/α!, expanded about the centre; here as values of the polynomial."""
    N, n = 3, 4
    _, found = unit(text, N, n, 0.0, centre)
    rows = below(d, n).tolist()
    rng = np.random.default_rng(1)
    with mp.workdps(40):
        for k in itertools.product(range(N + 1), repeat=d):
            t = rng.random(d)
            at = [mpf(part) / N for part in k]
            c = [mp.diff(f, tuple(at), tuple(row)) / math.prod(map(math.factorial, row)) for row in rows]
            lines = [math.prod((mpf(v) - p) ** e for v, p, e in zip(t.tolist(), at, row, strict=True)) for row in rows]
            wanted = sum(a * b for a, b in zip(c, lines, strict=True))
            mine = found.coefficients[(*k, slice(None), 0)] @ np.prod((t - centre) ** rows, axis=1)
            size = float(sum(abs(a) for a in c)) + found.size[0]
            assert mine == pytest.approx(float(wanted), abs=1e-12 * size)


def test_values_are_the_sum() -> None:
    """Σ φ_k P_k written down, cell by cell."""
    rng = np.random.default_rng(4)
    N, n, d, m = 3, 3, 2, 2
    a, t, psi = rng.normal(size=(N + 1, N + 1, count(d, n), m)), rng.random((50, d)), Partition(N, 30.0)
    wanted = np.zeros((50, m))
    for k, l in itertools.product(range(N + 1), repeat=2):
        for row, (p, q) in enumerate(below(d, n).tolist()):
            line = psi(t[:, 0])[k] * psi(t[:, 1])[l] * (t[:, 0] - 0.5) ** p * (t[:, 1] - 0.5) ** q
            wanted += line[:, None] * a[k, l, row]
    assert values(a, psi, n, t, 0.5) == pytest.approx(wanted, abs=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = unit("sin(5*x)*exp(y)", 6, 4, 0.55)
    monkeypatch.setattr("integraph.constructions.theorem1.local_polynomials.BLOCK", 300)
    _, parts = unit("sin(5*x)*exp(y)", 6, 4, 0.55)
    for name in ("coefficients", "newton", "powers", "size"):
        np.testing.assert_allclose(getattr(whole, name), getattr(parts, name), rtol=1e-9, atol=1e-13)


JUDGED = [
    ("sin(7*x)", 4, 4, 3), ("exp(-30*(x - 0.3)^2)", 5, 6, 4), ("1/(1 + 25*(2*x - 1)^2)", 6, 9, 4), ("x^5", 3, 2, 2),
    ("exp(3*x)", 2, 5, 1), ("tanh(8*(x - 0.5))", 1, 12, 4), ("sin(20*x)", 8, 0, 4), ("sqrt(x + 0.1)", 4, 5, 2),
    ("sin(3*x + 2*y)", 4, 3, 3), ("exp(-9*((x - 0.4)^2 + (y - 0.6)^2))", 3, 5, 3), ("1/(1 + x + y)", 3, 0, 2),
    ("cos(x + 2*y + 3*z)", 3, 2, 2), ("x*y*z", 2, 1, 1), ("0.75*exp(-((9*x - 2)^2 + (9*y - 2)^2)/4)", 4, 6, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "n", "N", "more"), JUDGED, ids=[row[0] for row in JUDGED])
@pytest.mark.parametrize("kappa", [6.0, 16.0])
def test_a_judged_bound_is_one(text: str, n: int, N: int, more: int, kappa: float) -> None:
    """At least the error that is seen at many points, and not far above the moment bound."""
    f = function(text)
    d = f.inputs
    cube = cube_of(*[(0.0, 1.0)] * d)
    worst = DerivativeBounds(f, cube, None).upto(n + more)[0]
    samples = Samples(f, cube, worst)
    spread = 0.55
    found = a_posteriori_bound(
        sizes(samples, n, more, N, spread), n, more, N, kappa, spread, worst[count(d, n + more) :]
    )
    fit = local(samples, d, N, n, spread, 0.5, 0.5)
    axes = [np.unique(np.r_[np.linspace(0, 1, {1: 4001, 2: 121, 3: 25}[d]), np.arange(2 * N + 1) / max(2 * N, 1)])] * d
    t = np.stack([part.ravel() for part in np.meshgrid(*axes)], -1)
    assert f.values is not None
    error = np.abs(values(fit.coefficients, Partition(N, kappa * max(N, 1)), n, t, 0.5) - f.values(t)).max()
    assert error <= found + 1e-12
    by_moments = bound(worst[count(d, n) : count(d, n + 1)], d, n, N, kappa, spread)
    assert error <= by_moments + 1e-12
    assert found <= 40 * error + 1e-9, "a bound is of use"
    if N:
        assert found <= 1.5 * by_moments


def test_what_can_be_judged() -> None:
    assert affordable(1, 4, 4, 1) == 64
    assert affordable(2, 8, 3, 1) == 64
    assert affordable(3, 4, 2, 1) >= 12
    assert affordable(5, 8, 1, 100) < 0


def test_functions_without_what_is_needed() -> None:
    cube = cube_of((0.0, 1.0))
    plain = Samples(function(np.sin), cube, np.zeros((9, 1)))
    with pytest.raises(
        SourceError, match=r"sin\(\) has no derivatives, .*give derivatives=…, or compile with method='lean'"
    ):
        plain.newton((slice(0, 3),), 2, 2, 0.0)
    table = Samples(function({0: [1.0, 2.0, 3.0], 1: [1.0, 1.0, 1.0]}), cube, np.zeros((9, 1)))
    with pytest.raises(UsageError, match="it has no values between its nodes"):
        table.at(np.array([[0.3]]))
    with pytest.raises(
        UsageError, match=r"the table has N = 2 and derivatives up to order 1: it cannot serve N = 4, ord"
    ):
        table.newton((slice(0, 5),), 4, 2, 0.0)
    pole = Samples(function("1/(x - 0.5)"), cube, np.zeros((9, 1)))
    with pytest.raises(SourceError, match=r"0\.5"):
        pole.newton((slice(0, 3),), 2, 2, 0.0)
