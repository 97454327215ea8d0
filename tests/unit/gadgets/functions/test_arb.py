"""The functions of closed forms on balls, against mpmath: every choice of points lies inside, whatever the case."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf, quad

from arb_values import holds
from integraph.gadgets.functions import arb_gauss, arb_normaliser
from integraph.gadgets.functions.arb import BALLS, SCALARS
from integraph.gadgets.functions.namespace import Functions
from integraph.numbers.arb.conversion import interval
from law import examples
from multiprecision import PreciseFunctions
from slow import mostly_slow

PRECISE = PreciseFunctions(200)
NO_TOP = np.array([[arb(0)]], object)
BITS = (64, 160)
REAL = st.floats(-30, 30) | st.floats(-1, 1) | st.sampled_from([0.0, -0.0, 1e-300, -1e-9, 1.0, -1.0, 300.0])
SPREAD = st.sampled_from([0.0, 0.0, 1e-12, 1e-3, 0.5, 4.0])
ARGUMENTS = {name: count for name, (_, count) in SCALARS.items() if name != "exactly"}


def _reference(name: str, *values: float) -> mpf:
    return getattr(PRECISE, name)(*map(PRECISE.exactly, values))


@mostly_slow("name", sorted(ARGUMENTS), quick=16)
@examples(60)
@given(data=st.data())
def test_corners_and_points_stay_inside(name: str, data: st.DataObject) -> None:
    sides = []
    for _ in range(ARGUMENTS[name]):
        x, by = data.draw(REAL), data.draw(SPREAD)
        sides.append(sorted((x, x + by)))
    if name in ("fall", "gauss"):
        sides[3] = [data.draw(st.sampled_from([1.0, 2.0]))] * 2
    point = tuple(min(max(a + (b - a) * data.draw(st.floats(0, 1)), a), b) for a, b in sides)
    for bits in BITS:
        with ctx.workprec(bits):
            found = getattr(BALLS, name)(*(interval(*side) for side in sides))
        if not found.is_finite():
            assert _excused(name, sides), (name, sides)
            continue
        for inside in (*product(*sides), point):
            assert holds(found, _reference(name, *inside)), (name, sides, inside)


def _excused(name: str, sides: list[list[float]]) -> bool:
    """Whether the box touches the edge of the domain, to within what a radius is rounded by."""
    low, high = zip(*sides, strict=True)
    slack = [1e-8 * (b - a) for a, b in sides]
    if name == "log":
        return low[0] <= slack[0]
    if name in ("log1p", "log1pc"):
        return low[0] <= -1 + slack[0]
    if name == "power":
        return low[1] <= -1 + slack[1]
    if name == "atan2":  # y, x
        return low[1] <= slack[1] and low[0] <= slack[0] and high[0] >= -slack[0]
    if name in ("log_cosh", "log_logistic"):
        return low[1] < slack[1]
    if name == "inverse_distance":
        touches = low[0] <= 1e-6 and low[1] <= slack[1] and high[1] >= -slack[1]
        return touches or high[0] - low[0] + high[1] - low[1] > 0.4
    return False


def test_the_namespace_is_complete() -> None:
    wanted = {name for name in vars(Functions) if not name.startswith("_")}
    assert all(callable(getattr(BALLS, name)) for name in wanted)


def test_what_cannot_be_told_is_everything() -> None:
    around = interval(-1.0, 2.0)
    assert all(BALLS.sign(around).contains(side) for side in (1, -1))
    assert BALLS.sign(arb(0)) == 1
    assert BALLS.sign(interval(-3.0, -1.0)) == -1
    assert all(BALLS.relu(around).contains(end) for end in (0, 2))
    assert BALLS.relu(interval(-3.0, -1.0)) == 0
    for name, count in ARGUMENTS.items():
        for unknown in (arb.nan(), arb.pos_inf(), arb.neg_inf()):
            found = getattr(BALLS, name)(*[unknown] * count)
            assert not found.is_finite(), name


@examples(150)
@given(REAL, SPREAD, st.floats(-0.9, 3), SPREAD, st.floats(-3, 3))
def test_logistic(x: float, dx: float, share: float, dk: float, z: float) -> None:
    """k from a share of the edge −x/(e^x − 1); exact zeros too."""
    k = share * (x / np.expm1(x) if x else 1.0) if abs(x) < 100 else max(share, 0.0)
    sides = (x, x + dx), (k, k + 0.01 * dk)
    alive, end = BALLS.logistic(np.array([interval(*sides[0])]), np.array([interval(*sides[1])]), np.array([arb(z)]))
    if dx <= 1e-12 and dk == 0 and k > 0:
        assert alive[0] > 0
    if not alive[0] > 0:
        return
    for a, b in product(*sides):
        n, reference = PRECISE.logistic(*(PRECISE.exactly(np.array([v])) for v in (a, b, z)))
        assert n[0] > 0
        assert holds(end[0], reference[0])


EXPONENTS = st.floats(-1e3, 1e3) | st.floats(-4, 4)


@examples(100)
@given(EXPONENTS, st.floats(-40, 40) | st.floats(-1e-6, 1e-6), st.sampled_from([1.0, 2.0]))
def test_gauss_is_sharp(a: float, b: float, c: float) -> None:
    found = [_at(bits, a, b, c) for bits in (64, 256)]
    assert found[0].overlaps(found[1])
    assert all(ball.rel_accuracy_bits() > bits - 16 for ball, bits in zip(found, (64, 256), strict=True))
    if abs(a) + b * b < 8:
        with mp.workdps(60):
            area = quad(lambda s: mp.exp(-c * (a * s + mpf(b) * b * s * s / 2)), [0, 0.5, 1])
        assert holds(found[1], area)


def _at(bits: int, a: float, b: float, c: float) -> arb:
    with ctx.workprec(bits):
        return arb_gauss.gauss(arb(1), arb(a), arb(b), arb(c))


def test_gauss_far_out() -> None:
    for a, b in product((0.0, 1e300, -1e5, 5e-324, -5e-324), (0.0, 5e-324, 1e-9, 1e9, 1e300)):
        found = _at(64, a, b, 2.0)
        assert found.is_finite()
        assert found > 0
    assert _at(64, 1e300, 1.0, 2.0).overlaps(arb(1) / (2 * arb(1e300)) * arb(1, 1e-15))


@examples(150)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, -0.5, 2.0]), st.sampled_from([0.0, 1e-9, 1e-3]))
def test_normaliser(seed: int, t: float, wide: float) -> None:
    rng = np.random.default_rng(seed)
    u, m, sigma = rng.normal(0, 1.5, 3), rng.normal(0, 1.5), rng.normal(0, 2, 3) * rng.integers(0, 2, 3)
    balls = [np.array([[interval(v - wide, v + wide)] for v in part], object) for part in (u, sigma)]
    centre = np.array([interval(m - wide, m + wide)], object)
    n = arb_normaliser.value(arb(t), balls[0], centre, balls[1], NO_TOP)[0]
    alive = arb_normaliser.while_positive(arb(t), balls[0], centre, balls[1])[0] > 0
    path = [_normaliser(tau, u, m, sigma) for tau in np.linspace(0, t, 33)]
    assert holds(n, path[-1])
    if alive:
        assert min(path) > 0
    elif wide == 0:
        assert min(path) < 0.05  # nowhere near 0, it is told


def _normaliser(tau: float, u: np.ndarray, m: float, sigma: np.ndarray) -> mpf:
    with mp.workdps(60):
        tau, total = mpf(float(tau)), 1 + mpf(float(tau)) * (mpf(m) - mp.fsum(map(mpf, u.tolist())))
        for a, s in zip(u.tolist(), sigma.tolist(), strict=True):
            total += mpf(a) * (mp.expm1(mpf(s) * tau) / mpf(s) if s else tau)
        return total


@examples(60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, -0.5, 2.0]), st.sampled_from([0.0, 1e-9]))
def test_normaliser_far_out(seed: int, t: float, wide: float) -> None:
    """Divided by e^top, with the same formula for a top that is small and for one that is large."""
    rng = np.random.default_rng(seed)
    u, m, sigma = rng.normal(0, 1.5, 3), rng.normal(0, 1.5), rng.normal(0, 2, 3) * rng.integers(0, 2, 3)
    balls = [np.array([[interval(v - wide, v + wide)] for v in part], object) for part in (u, sigma)]
    centre, top = np.array([interval(m - wide, m + wide)], object), arb(1.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arb_normaliser, "FAR", -1.0)
        n = arb_normaliser.value(arb(t), balls[0], centre, balls[1], np.array([[top]], object))[0]
        far = arb_normaliser.while_positive(arb(t), balls[0], centre, balls[1])[0]
    path = [_normaliser(tau, u, m, sigma) for tau in np.linspace(0, t, 33)]
    with mp.workdps(60):
        assert holds(n, path[-1] * mp.exp(-1.5))
    if far > 0:
        assert min(path) > 0
    if far < 0:
        near = arb_normaliser.while_positive(arb(t), balls[0], centre, balls[1])[0]
        assert near < 0


def test_a_dip_below_zero_on_the_way_is_an_escape() -> None:
    u, sigma, m = np.array([-6.0, 4.0]), np.array([1.0, 2.0]), -3.5
    values = [_normaliser(tau, u, m, sigma) for tau in np.linspace(0, 3, 61)]
    assert values[-1] > 0 > min(values)
    balls = BALLS.exactly(u[:, None]), BALLS.exactly(np.array([m])), BALLS.exactly(sigma[:, None])
    assert arb_normaliser.value(arb(3), *balls, NO_TOP)[0] > 0
    assert arb_normaliser.while_positive(arb(3), *balls)[0] < 0


def test_what_stays_undecided_is_not_positive(monkeypatch: pytest.MonkeyPatch) -> None:
    u, sigma, m = np.array([-6.0, 4.0]), np.array([1.0, 2.0]), -3.0
    assert 0 < min(_normaliser(tau, u, m, sigma) for tau in np.linspace(0, 3, 61)) < 0.1
    balls = BALLS.exactly(u[:, None]), BALLS.exactly(np.array([m])), BALLS.exactly(sigma[:, None])
    assert arb_normaliser.while_positive(arb(3), *balls)[0] > 0
    monkeypatch.setattr(arb_normaliser, "INTERVALS", 3)
    assert not arb_normaliser.while_positive(arb(3), *balls)[0] > 0
