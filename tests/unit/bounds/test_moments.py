"""Nodes, moments and Newton's remainder against samples of what they bound; the formulas of Theorem 1 as printed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev as cheb

from integraph import Partition
from integraph.bounds.interpolation_nodes import chebyshev, nodes, side
from integraph.bounds.moments import NEAR, bound, moments
from integraph.bounds.paper import theorem1
from integraph.errors import UsageError
from integraph.numbers.multi_index import below, of_degree
from law import examples
from slow import mostly_slow

ENDS = {"inner": (-1.0, 1.0), "left": (0.0, 1.0), "right": (-1.0, 0.0)}  # of the nodes, in units of the spread


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("which", ["inner", "left", "right", "only"])
def test_nodes_are_chebyshevs(n: int, which: str) -> None:
    """Π(s − τ) is the Chebyshev polynomial of the interval, scaled to leading coefficient 1."""
    low, high = (0.0, 1.0) if which == "only" else [0.6 * end for end in ENDS[which]]
    s = np.linspace(-1, 1, 41)
    monic = 2 * ((high - low) / 4) ** n * cheb.chebval((2 * s - low - high) / (high - low), [0] * n + [1])
    tau = nodes(n, which, 0.6)
    assert np.prod(s[:, None] - tau, axis=1) == pytest.approx(monic, abs=1e-13 * (1 + np.abs(monic).max()))
    assert ((low <= tau) & (tau <= high)).all()
    assert len(set(tau.tolist())) == n


def test_nodes_of_taylor_coincide() -> None:
    assert nodes(4, "inner", 0.0).tolist() == nodes(4, "left", 0.0).tolist() == [0.0] * 4
    assert nodes(3, "only", 0.0).tolist() == [0.5] * 3


@pytest.mark.parametrize(("n", "more"), [(1, 4), (3, 0), (5, 3), (12, 4)])
def test_the_order_is_lejas(n: int, more: int) -> None:
    """Each node is as far from those before it as any that was left; those between come last, and all are different."""
    tau = chebyshev(n, more)
    assert sorted(tau[:n]) == pytest.approx(sorted(np.cos((2 * np.arange(n) + 1) * math.pi / (2 * n))), abs=1e-15)
    for i in range(1, n):
        reach = [abs(np.prod(point - tau[:i])) for point in tau[i:n]]
        assert reach[0] >= max(reach) * (1 - 1e-9)
    for i in range(n, n + more):
        fine = np.abs(np.linspace(-1, 1, 1001)[:, None] - tau[:i]).prod(1)
        assert abs(np.prod(tau[i] - tau[:i])) >= 0.99 * fine.max()


def test_which_side_a_cell_is_at() -> None:
    assert [side(k, 3) for k in range(4)] == ["left", "inner", "inner", "right"]
    assert (side(0, 0), side(0, 1), side(1, 1)) == ("only", "left", "right")


def sampled(n: int, N: int, kappa: float, spread: float, more: int, s: np.ndarray) -> np.ndarray:
    """Σ_k ψ_k(s) |ω_p(s − k)| for p ≤ n + more, (p, points)."""
    psi = Partition(N, kappa * max(N, 1))(s / max(N, 1))
    total = np.zeros((n + more + 1, len(s)))
    for k in range(N + 1):
        tau = nodes(n, side(k, N), spread, more)
        omega = [np.prod(np.abs((s - k)[:, None] - tau[:p]), axis=1) for p in range(n + more + 1)]
        total += psi[k] * np.array(omega)
    return total


def points(N: int) -> np.ndarray:
    """Dense in the first cells, in one in the middle and in the last, where the largest sums are."""
    cells = sorted({*range(min(N, 3)), N // 2, *range(max(N - 3, 0), N)} & set(range(max(N, 1))))
    return np.unique(np.concatenate([k + np.linspace(0, 1, 401) for k in cells]))


@mostly_slow("kappa", [4.0, 8.0, 16.0, 40.0], quick=3)
@mostly_slow(("n", "more"), [(1, 0), (2, 3), (4, 0), (6, 4), (12, 2)], quick=1)
def test_moments_are_never_below_a_sample(kappa: float, n: int, more: int) -> None:
    for N, spread in [*itertools.product((0, 1, 2, 6, NEAR + 1), (0.0, 0.5, 0.75)), (2 * NEAR, 0.6), (60, 0.55)]:
        found = moments(n, N, kappa, spread, more)
        seen = sampled(n, N, kappa, spread, more, points(N)).max(1)
        assert (found >= seen).all(), (N, spread)
        assert (found <= 1.25 * seen + 1e-12).all(), (N, spread, found / seen)
        assert found[0] == pytest.approx(1.0, abs=0.06)


@examples(60)
@given(
    st.integers(1, 14),
    st.integers(0, 40),
    st.floats(4, 60),
    st.sampled_from([0.0, 0.5, 0.55, 0.6, 0.65, 0.75]),
    st.integers(0, 4),
    st.floats(0, 1),
)
def test_moments_bound_every_point(n: int, N: int, kappa: float, spread: float, more: int, x: float) -> None:
    s = np.array([x * max(N, 1)])
    assert (moments(n, N, kappa, spread, more) >= sampled(n, N, kappa, spread, more, s)[:, 0] * (1 - 1e-13)).all()


def test_the_bound_is_the_sum_of_products_of_moments() -> None:
    M, worst = np.array([1.0, 0.5, 0.25]), np.array([[3.0, 1.0], [5.0, 0.0], [7.0, 2.0]])
    found = bound(worst, of_degree(2, 2), M)  # (2, 0), (1, 1), (0, 2)
    assert found == pytest.approx([3 * 0.25 + 5 * 0.25 + 7 * 0.25, 0.25 + 0.5], rel=1e-11)
    assert (found >= [3.75, 0.75]).all()


def newton(f: Callable[..., float], tau: np.ndarray, n: int, d: int) -> dict[tuple[int, ...], Fraction]:
    """Divided differences of f on the nodes, in rational arithmetic, one variable after the other."""
    grid = {a: Fraction(f(*(tau[i] for i in a))) for a in itertools.product(range(n), repeat=d) if sum(a) < n}
    t = [Fraction(v) for v in tau.tolist()]
    for j in range(d):
        for step in range(1, n):
            for a in sorted(grid, key=lambda a: -a[j]):
                if a[j] >= step:
                    before = (*a[:j], a[j] - 1, *a[j + 1 :])
                    grid[a] = (grid[a] - grid[before]) / (t[a[j]] - t[a[j] - step])
    return grid


@pytest.mark.parametrize(
    ("d", "n", "f", "sup"),
    [
        (1, 3, lambda x: math.exp(x), lambda a: math.exp(0.6)),
        (1, 6, lambda x: math.sin(3 * x), lambda a: 3.0 ** a[0]),
        (2, 4, lambda x, y: math.exp(x + 2 * y), lambda a: 2.0 ** a[1] * math.exp(1.8)),
        (2, 2, lambda x, y: math.sin(x + y), lambda a: 1.0),
        (3, 3, lambda x, y, z: math.cos(x + y - 2 * z), lambda a: 2.0 ** a[2]),
    ],
)
def test_newtons_remainder(d: int, n: int, f: Callable[..., float], sup: Callable[[np.ndarray], float]) -> None:
    """|f − P| ≤ Σ_{|α|=n} sup |f^(α)|/α! Π|ω_{α_j}| on the whole cell [−0.6, 0.6]^d, and it is not idle."""
    tau = nodes(n, "inner", 0.6)
    coefficients = newton(f, tau, n, d)
    x = np.random.default_rng(3).uniform(-0.6, 0.6, (400, d))
    omega = np.array([np.prod(x[..., None] - tau[:p], axis=-1) for p in range(n + 1)])  # (p, points, d)
    P = sum(float(c) * np.prod([omega[i, :, j] for j, i in enumerate(a)], axis=0) for a, c in coefficients.items())
    error = np.abs(np.array([f(*row) for row in x.tolist()]) - P)
    worst = [sup(a) / math.prod(map(math.factorial, a.tolist())) for a in of_degree(d, n)]
    allowed = sum(
        w * np.prod([np.abs(omega[i, :, j]) for j, i in enumerate(a)], axis=0)
        for a, w in zip(of_degree(d, n).tolist(), worst, strict=True)
    )
    assert (error <= allowed + 1e-15).all()
    assert error.max() >= 0.05 * allowed.max()
    assert len(coefficients) == len(below(d, n))


@pytest.mark.parametrize("d", [1, 2, 3])
@mostly_slow("n", [1, 2, 3, 5], quick=2)
@mostly_slow("eps", [0.3, 1e-2, 1e-3], quick=2)
@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_the_papers_choice(d: int, n: int, eps: float, gamma: float) -> None:
    """N is the smallest that its part of ε allows, δ and c leave the other part; both parts are within ε."""
    if eps ** (-1 / n) > 1e3:
        eps = 0.05
    found = theorem1.paper(d, n, eps, gamma)
    share = d**n / math.factorial(n)
    inside = lambda N: share * 2**d * N ** (-n)  # noqa: E731
    assert inside(found.N) <= gamma * eps * (1 + 1e-12)
    assert found.N == 1 or inside(found.N - 1) > gamma * eps * (1 - 1e-12)
    outside = share * ((found.N + 1) ** d - 2**d) * Partition(found.N, found.c).delta
    assert outside <= (1 - gamma) * eps
    assert inside(found.N) + outside <= found.bound <= eps
    assert found.bound == pytest.approx(inside(found.N) + outside, rel=1e-9)
    kappa = Fraction(found.c) / found.N
    exact = math.log((1 - found.delta) / found.delta)  # 2 artanh(1 − 2δ)
    assert kappa * 8 == int(kappa * 8), "c/N is a multiple of 1/8"
    assert max(4.0, exact) <= kappa <= max(4.0, exact) + 0.1251


@given(st.integers(1, 3), st.integers(1, 6), st.floats(1e-3, 10), st.floats(0.05, 0.99))
def test_the_papers_bound_is_never_above_eps(d: int, n: int, eps: float, gamma: float) -> None:
    assert theorem1.paper(d, n, eps, gamma).bound <= eps


def test_the_size_of_the_theorem() -> None:
    """W = 2(N + 2)d + 1, D = 7 + 2⌈M(N + 1)^d/((N + 2)d)⌉, worked out by hand."""
    assert (theorem1.width(1, 3), theorem1.width(2, 10), theorem1.width(3, 4, 5)) == (11, 49, 41)
    assert theorem1.depth(2, 3, 3 * 4**2) == 7 + 2 * 5  # 48/10
    assert theorem1.depth(1, 4, 6) == 9
    assert theorem1.depth(1, 4, 0) == 7


def test_what_the_paper_cannot_do() -> None:
    with pytest.raises(UsageError, match=r"eps = 1e-12, order 1: Theorem 1 would need N = 4e\+12 cells"):
        theorem1.paper(1, 1, 1e-12)
    for gamma in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(UsageError, match="share of the tolerance must be between 0 and 1"):
            theorem1.paper(1, 2, 0.1, gamma)
