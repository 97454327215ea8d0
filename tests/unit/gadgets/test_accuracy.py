"""Every closed form against references that do not know it: mpmath on the lowered terms, mpmath's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from gadget_cases import CASES, Case
from integraph import gadgets
from integraph.gadgets.functions.namespace import FLOAT
from mp_taylor import Escape, flow, integrate, listed
from named_functions import NAMED, Named
from slow import mostly_slow

RELATIVE = 1e-13
LARGEST, SMALLEST = mpf(np.finfo(float).max), mpf(np.finfo(float).tiny)  # of the normal numbers
EXTREME = [0.0] + [sign * size for size in (1e-300, 1e-8, 1.0, 25.7, 30.0, 700.0, 1e3, 1e300) for sign in (1, -1)]
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("t", [0.37, 1.9, -0.8])
@mostly_slow("case", CASES, quick=2, ids=lambda case: case.name)
def test_closed_form_solves_the_terms(case: Case, t: float) -> None:
    program = case.program(t)
    starts = case.inputs(case.draw(np.random.default_rng(11), t, 2))
    ends, closed = case.closed(program, starts)
    assert all((quantity > 0).all() for quantity in closed.alive.values())
    for start, end in zip(starts, ends, strict=True):
        wanted = np.array([float(v) for v in flow(program, start)])
        assert (np.abs(end - wanted) <= RELATIVE * case.scale(program, start, wanted)).all(), (start, end, wanted)


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_named_functions(named: Named) -> None:
    """Wide ranges and extreme arguments: accurate where the value is representable, ±inf or 0 where it is not."""
    rng = np.random.default_rng(7)
    spread = rng.choice([-1.0, 1.0], 100) * 10 ** rng.uniform(-12, 3, 100)
    xs = [float(x) for x in [*EXTREME, *spread] if named.allowed(x)]
    case = Case(named.name, named.gadget, lambda *_: {}, tensors=named.tensors)
    roles = named.gadget.targets + named.gadget.operands
    starts = [named.start(x) for x in xs]
    table = np.array([[start.get(role, 0.0) for role in roles] for start in starts])
    ends, closed = case.closed(case.program(1.0), table)
    assert all((quantity > 0).all() for quantity in closed.alive.values())
    with mp.workdps(50):
        for x, start, end in zip(xs, starts, ends, strict=True):
            for role, value in named.truth(mpf(x), start).items():
                begin = mpf(start.get(role, 0.0))
                scale = abs(begin) + abs(value - begin) if role in named.sums else abs(value)
                assert close(float(end[roles.index(role)]), value, scale, named.accuracy), (
                    named.name,
                    role,
                    x,
                    end,
                    value,
                )


def close(found: float, wanted: mpf, scale: mpf, accuracy: float = RELATIVE) -> bool:
    if abs(wanted) > LARGEST:
        return found == (np.inf if wanted > 0 else -np.inf)
    return bool(abs(mpf(found) - wanted) <= max(accuracy * scale, SMALLEST))


def softmax(scores: list[float], c: float) -> tuple[np.ndarray, np.ndarray]:
    """From the lemma's start: a(1), and what must be positive."""
    s = np.array(scores)[:, None]
    sigma = s + c
    n = len(scores)
    with np.errstate(all="ignore"):
        start = (np.full(s.shape, 1 / n), sigma / n, sigma.mean(0))
        closed = gadgets.softmax.closed(FLOAT, 1.0, start, (s,), {"c": np.array([c])})
    return closed.ends[0][:, 0], closed.alive["m"]


@pytest.mark.parametrize(
    ("scores", "c"),
    [
        ([0.3, -1.2, 2.5], 0.0),
        ([1e3, -1e3, 0.0, 999.0], 0.0),
        ([-1e3, -1e3 + 1, -1004.0], 1e3),
        ([0.0, 0.0], 0.0),
        ([1e-300, -1e-8, 1e-8], 0.0),
        ([-5.0, -3.0, -4.0], 0.0),
        ([7.0], 0.0),
    ],
)
def test_softmax_of_scores(scores: list[float], c: float) -> None:
    found, alive = softmax(scores, c)
    assert (alive > 0).all()
    with mp.workdps(50):
        powers = [mp.exp(mpf(s)) for s in scores]
        for value, power in zip(found, powers, strict=True):
            wanted = power / mp.fsum(powers)
            assert close(float(value), wanted, wanted)


@mostly_slow("case", [case for case in CASES if case.wild], quick=1, ids=lambda case: case.name)
def test_alive_means_that_the_solution_exists(case: Case) -> None:
    """For wild starts, `alive` > 0 exactly where the integrator of the terms reaches the end."""
    assert case.wild is not None
    rng = np.random.default_rng(5)
    seen = set()
    for t in (1.0, 2.0, -1.3):
        program = case.program(t)
        starts = case.inputs(case.wild(rng, t, 5))
        (quantity,) = case.closed(program, starts)[1].alive.values()
        alive = np.all(quantity.reshape(-1, len(starts)) > 0, 0)
        terms = listed(program, 0)
        for start, lives in zip(starts, alive.tolist(), strict=True):
            try:
                integrate(terms, start, abs(t), digits=16, order=16, tolerance=1e-8)
                exists = True
            except Escape:
                exists = False
            assert lives == exists, (t, start, quantity)
            seen.add(exists)
    assert seen == {True, False}


@mostly_slow("spread", [1.0, 30.0, 300.0], quick=2)
@pytest.mark.parametrize("t", [1.0, -1.5])
def test_softmax_notices_a_dip_on_the_way(spread: float, t: float) -> None:
    """N = exp ∫m may be negative inside and positive at both ends; compared with a dense sample of N itself."""
    rng = np.random.default_rng(3)
    count = 200
    sigma, u, m = rng.normal(0, spread, (2, count)), rng.normal(0, 2, (2, count)), rng.normal(0, 3 + spread / 3, count)
    with np.errstate(all="ignore"):
        alive = gadgets.softmax.closed(FLOAT, t, (u, u, m), (sigma,), {}).alive["m"] > 0
        times = t * np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1e-6, 1, 2001)])[:, None, None]
        n = 1 + times[:, 0] * (m - u.sum(0)) + np.sum(u / sigma * np.expm1(sigma * times), 1)
        noise = 1e-12 * (
            1 + np.abs(times[:, 0] * (m - u.sum(0))) + np.sum(np.abs(u / sigma * np.expm1(sigma * times)), 1)
        )
        alone = [  # not in company: shortcuts are taken where all of an array allow them
            gadgets.softmax.closed(FLOAT, t, (u[:, [k]], u[:, [k]], m[[k]]), (sigma[:, [k]],), {}).alive["m"][0] > 0
            for k in range(count)
        ]
    assert alone == alive.tolist()
    clear = (n > noise).all(0) | (n < -noise).any(0)
    assert (alive == (n > noise).all(0))[clear].all()
    dips = (n[2000] > noise[2000]) & (n < -noise).any(0)
    assert clear.mean() > 0.9
    assert dips.any()
    assert not alive[dips].any()


def test_integral_of_the_inverse_distance() -> None:
    """∫_0^1 ds/|1 + (a + ib)s|: close by 0 on the left, far to the right, short and long ways."""
    rng = np.random.default_rng(4)
    a = np.concatenate([rng.uniform(-4, 4, 60), 10 ** rng.uniform(-12, 12, 20), [0.0, 0.0, -0.5, -3.0, -3.0]])
    b = np.concatenate([10 ** rng.uniform(-9, 3, 60), 10 ** rng.uniform(-12, 12, 20), [0.0, 1e300, 0.0, 1e-200, 1e100]])
    with np.errstate(all="ignore"):
        found = FLOAT.inverse_distance(a, b)
    with mp.workdps(700):  # so that the textbook formula may cancel
        for a_, b_, value in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
            z = mp.mpc(a_, b_)
            wanted = mp.log((1 + abs(1 + z) + abs(z)) / (1 + abs(1 + z) - abs(z))) / abs(z) if z else mpf(1)
            assert abs(value - wanted) <= RELATIVE * wanted, (a_, b_)


@pytest.mark.slow
def test_gaussian_integral_in_every_regime() -> None:
    """∫_0^1 exp(−c(as + b²s²/2)) ds: falling, rising, peaked inside, flat, thin."""
    rng = np.random.default_rng(2)
    a = np.concatenate([rng.choice([-1, 1], 40) * 10 ** rng.uniform(-9, 2, 40), [0.0, 0.0, 5.0, -5.0, -2.0]])
    b = np.concatenate([10 ** rng.uniform(-9, 1.3, 40), [0.0, 3.0, 0.0, 0.0, 2.0]])
    for c in (1.0, 2.0):
        found = FLOAT.gauss(np.ones_like(a), a, b, c)
        for a_, b_, value in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
            wanted = gaussian_integral(a_, b_, c)
            assert abs(value - wanted) <= RELATIVE * wanted, (a_, b_, c)


def gaussian_integral(a: float, b: float, c: float) -> mpf:
    """By quadrature, split around the largest value."""
    peak = min(max(-a / (b * b), 0.0), 1.0) if b else float(a < 0)
    width = 1 / (abs(a) + b + 1)
    points = {0.0, 1.0, *(min(max(peak + k * width, 0.0), 1.0) for k in (-30, -5, -1, 0, 1, 5, 30))}
    with mp.workdps(30):
        return mp.quad(lambda s: mp.exp(-c * (a * s + b**2 * s * s / 2)), sorted(points))


@pytest.mark.parametrize(
    ("name", "start", "wanted"),
    [
        ("exp", {"z": 0.0, "x": 1e3}, {"z": 0.0}),
        ("exp", {"z": 1e-300, "x": 1e3}, {"z": float(mp.exp(1000) * mpf("1e-300"))}),
        ("exp", {"z": -1.0, "x": 1e3}, {"z": -np.inf}),
        ("expm1", {"z": -1.0, "x": 1e3}, {"z": -1.0}),
        ("sinh_cosh", {"u": -1.0, "v": 1.0, "x": 1e3}, {"u": 0.0, "v": 0.0}),
        ("sinh_cosh", {"u": -1.0, "v": 1.0, "x": 30.0}, {"u": -float(mp.exp(-30)), "v": float(mp.exp(-30))}),
        ("sigmoid", {"s": 0.0, "g": 1e-20, "x": 720.0}, {"s": 0.0, "g": float(mp.exp(720) * mpf("1e-20"))}),
        ("gaussian", {"w": -1e3, "y": 1.0, "x": 100.0}, {"y": 0.0}),
        ("gaussian", {"w": -1e3, "y": 0.0, "x": 0.0}, {"y": 0.0}),
        ("erf", {"w": -1e3, "h": 0.0, "y": 2.0, "x": 1.0}, {"h": 0.0, "y": 2.0}),
        ("power", {"p": 1e160, "z": 0.0}, {"z": 0.0}),
        ("power", {"p": 1e160, "z": 1e-200}, {"z": 1e200}),
        ("softplus", {"s": 1e-20, "y": 0.0, "x": 2.0}, {"y": 1e-20 * float(mp.expm1(2)) / 2}),
    ],
)
def test_factors_that_overflow_alone(name: str, start: dict[str, float], wanted: dict[str, float]) -> None:
    case = BY_NAME[name]
    roles = case.gadget.targets + case.gadget.operands
    ends, closed = case.closed(case.program(1.0), np.array([[start[role] for role in roles]]))
    assert all((quantity > 0).all() for quantity in closed.alive.values())
    for role, value in wanted.items():
        assert ends[0, roles.index(role)] == pytest.approx(value, rel=RELATIVE, abs=0.0)


@pytest.mark.parametrize("rate", [0.0, 1e-12, 3.0, 40.0, 720.0, 1000.0, 1500.0, 1e6, -2.0, -700.0])
@pytest.mark.parametrize("t", [1.0, 0.3])
def test_a_drain_at_any_rate(rate: float, t: float) -> None:
    """z gains (1 − e^{−rt})/(1 − e^{−r})·w·x + t·b, the integral of its own equation; x is left with e^{−rt} x."""
    w, z, x = [[0.5], [-2.0]], [1.0, 0.25], 3e-20
    case = Case("drain", gadgets.drain, lambda *_: {}, None, {"w": w, "b": 1.5, "r": rate}, {"z": (2,), "x": (1,)})
    program, start = case.program(t), np.array([[*z, x]])
    with mp.workdps(1000):
        r = mpf(rate)
        reach = mp.expm1(-r * t) / mp.expm1(-r) if rate else mpf(t)
        wanted = [begin + reach * weight * x + t * mpf(1.5) for (weight,), begin in zip(w, z, strict=True)]
        wanted.append(mp.exp(-r * t) * x)
        for end in (case.closed(program, start)[0][0], program.flow(start, "exact", states=True).states[0]):
            assert all(close(found, value, abs(value)) for found, value in zip(end, wanted, strict=True))


@pytest.mark.parametrize("case", [case for case in CASES if case.wild or case.sums], ids=lambda case: case.name)
def test_a_lane_does_not_depend_on_its_neighbours(case: Case) -> None:
    """An extreme neighbour sends the whole array the long way; the bits of the others stay the same."""
    program = case.program(1.0)
    starts = case.inputs(case.draw(np.random.default_rng(1), 1.0, 4))
    alone = case.closed(program, starts)[0]
    starts[3] *= 400.0
    assert (case.closed(program, starts)[0][:3] == alone[:3]).all()


def test_tanh_at_its_unstable_rest_is_refused_where_it_cannot_be_told() -> None:
    case = BY_NAME["tanh"]
    starts = np.array([[0.5, -100.0, 100.0], [0.5, -400.0, 400.0]])
    ends, closed = case.closed(case.program(1.0), starts)
    assert (closed.alive["lam"] > 0).tolist() == [[True, False]]
    assert ends[0, 0] == pytest.approx(1.5 * float(mp.exp(100)) - 1.0, rel=RELATIVE)
