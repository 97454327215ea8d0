"""The numbers of `integraph.paper` against others: mpmath, scipy and plain counting, written down here once more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import ctx
from mpmath import mp, mpf

import lemma4
import mp_taylor
from integraph.constructions.theorem1.lemma4 import TABLE_I
from integraph.paper import ITEMS
from integraph.paper.digits import digits, largest_error
from integraph.paper.equations import Equations, same_terms
from integraph.paper.integrator import Escape, integrate
from integraph.paper.lemma4_equations import Lemma4, evaluate, matrices, psi, table_column
from integraph.paper.rows import Number, clear_cache
from integraph.program import ONE
from lazy import Lazy

scipy_integrate = Lazy("scipy.integrate")


@pytest.fixture(scope="module", autouse=True)
def _forgets() -> Iterator[None]:
    yield
    clear_cache()


@cache
def numbers(name: str) -> dict[str, Number]:
    (item,) = (item for item in ITEMS if item.name.startswith(name))
    return item.row().numbers


# Many digits, against mpmath


def test_wide_numbers_are_those_of_mpmath() -> None:
    m = digits()
    ours: list[Any] = []
    theirs: list[Any] = []
    with mp.workprec(420), ctx.workprec(53):  # the precision of the moment has no part in it
        for x in (0.3, -1.75, 12.5, 1e-30):
            one, other = m.mpf(x) / 3, mpf(x) / 3
            for name in ("exp", "sin", "cos", "tanh", "sech", "atan", "erf", "erfc"):
                ours.append(getattr(m, name)(one))
                theirs.append(getattr(mp, name)(other))
            ours += [1 / (2 - one) ** 3, abs(-one) - 1, m.ldexp(one, -7), m.power(2, one), m.fdot([one, 2], [one, 0.5])]
            theirs += [1 / (2 - other) ** 3, abs(other) - 1, mp.ldexp(other, -7), mp.power(2, other), other**2 + 1]
        for name in ("log", "ln", "log10", "log1p", "sqrt"):
            ours.append(getattr(m, name)(m.mpf(0.7)))
            theirs.append(getattr(mp, name)(mpf(0.7)))
        assert largest_error(ours, theirs, 0.0) <= 2.0**-380
    assert [int(m.ceil(2.25)), int(m.nint(2.75)), int(m.nint(-2.75))] == [3, 3, -3]
    assert (m.mpf(1) / 3 < 0.34, m.mpf(0.5) == 0.5, bool(m.mpf(0)), bool(m.mpf(1e-300))) == (True, True, False, True)
    with pytest.raises(ValueError, match="no integer"):
        int(m.mpf(0.5))


# The integrator, against another one and against what is known


def test_integration_of_any_terms() -> None:
    """Random quadratic systems, forwards as far as they live."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        places = [(i, *sorted(rng.integers(ONE, 3, 2).tolist())) for i in rng.integers(0, 3, 8).tolist()]
        terms = [(*place, float(value)) for place, value in zip(places, rng.normal(size=8), strict=True)]
        start = rng.uniform(-0.4, 0.4, 3).tolist()
        found = integrate(terms, start, 0.5, bits=160)
        assert largest_error(found, mp_taylor.integrate(terms, start, 0.5)) <= 1e-33


@pytest.mark.parametrize("bits", [96, 192, 320])
def test_more_bits_are_more_digits(bits: int) -> None:
    m = digits()
    found = integrate([(0, ONE, 0, 1), (1, 1, 1, -1), (2, ONE, 1, 1)], [1, 3, 0], 2.0, bits=bits)
    true = [m.exp(2), m.mpf(3) / 7, m.log(7)]
    assert largest_error(found, true) <= 2.0 ** (40 - bits)


def test_integration_close_to_a_pole_and_beyond_it() -> None:
    m = digits()
    small = m.mpf(10) ** -12
    p, z = integrate([(0, 0, 0, -1), (1, ONE, 0, 1)], [small - 1, 0])
    assert largest_error([z, p * small], [m.log(small), small - 1]) <= 1e-30
    with pytest.raises(Escape, match=r"register 0 blows up at t = 0\.25") as escape:
        integrate([(0, 0, 0, -1)], [-4])
    assert abs(escape.value.time - 0.25) <= 1e-25


def test_numbers_that_are_no_numbers_are_far() -> None:
    assert largest_error([math.nan], [0.0]) == largest_error([0.0, math.nan, 0.0], [0.0] * 3) == math.inf
    assert largest_error([1e-30], [0.0], 0.0) == 1e-30
    assert largest_error([2e-30], [1e-30], 0.0) == pytest.approx(1.0)
    assert largest_error([2e-30], [1e-30]) == pytest.approx(1e-30)


def test_equal_terms_are_summed() -> None:
    terms = Equations(("a", "b"), ((("a", 1.5, "b", "a"), ("a", 0.5, "a", "b"), ("b", 2), ("a", 1, "b"), ("b", -2)),))
    assert terms.terms(0) == [(0, ONE, 1, 1), (0, 0, 1, 2.0)]
    assert same_terms(terms.terms(0), [(0, ONE, 1, 1.0), (0, 0, 1, 2.0)])
    assert not same_terms(terms.terms(0), [(0, ONE, 1, 1.0), (0, 0, 1, 2.0001)])
    assert not same_terms(terms.terms(0), [(0, 0, 1, 2.0)])


# Lemma 4, against the one that is written down in the tests


@pytest.mark.parametrize(("d", "N", "c"), [(1, 1, 3.0), (2, 3, 24.0), (3, 2, 10.0)])
@pytest.mark.parametrize("printed", [True, False])
def test_the_terms_of_lemma_4(d: int, N: int, c: float, printed: bool) -> None:
    ours = Lemma4(d, N, c, 0.25, step_2="printed" if printed else "corrected").equations()
    with mp.workprec(400):
        shifts = [-mpf(c) * (2 * k - 1) / (2 * N) for k in range(1, N + 1)]
        theirs = lemma4.steps(d, N, mpf(c), shifts, mpf(0.25), printed=printed)
    names = Lemma4(d, N, c, 0.25).registers
    for number, terms in enumerate(theirs):
        plain = [(names[i], value, *(names[n] for n in (j, k) if n != ONE)) for i, j, k, value in terms]
        assert same_terms(ours.terms(number), Equations(names, (tuple(plain),)).terms(0), 1e-15)


def test_matrices_and_functions() -> None:
    with mp.workprec(400):
        theirs = lemma4.matrices(4)
        for one, other in zip(matrices(4), theirs, strict=True):
            assert largest_error(one.ravel().tolist(), [+value for value in other]) <= 1e-100
        z = [mpf(20) * (mpf(1) / 10 - mpf(2 * k - 1) / 6) for k in range(1, 4)]
        assert largest_error(psi(3, 20.0, mpf(1) / 10), lemma4.psi(z), 0.0) <= 1e-90


@pytest.mark.parametrize("step", range(8))
def test_the_columns_of_table_1(step: int) -> None:
    lemma, x = Lemma4(1, 2, 6.0, 0.75), 0.4
    found = table_column(lemma, (x,), step)
    with mp.workdps(60):
        gamma = [mpf(6) * (mpf(x) - mpf(2 * k - 1) / 4) for k in (1, 2)]
        bumps = lemma4.psi(gamma)
        for row, k in product(TABLE_I, (0, 1, 2)):
            name = {"alpha": "alpha,0", "beta": "beta,0"}.get(row, f"{row.rstrip('0')}{k},0")
            if (row.endswith("0") and k != 0) or (row in ("lam", "mu") and k == 0):
                continue
            known = {"x": mpf(x), "Delta": mpf(0.75), "psi": bumps[k], "z": gamma[k - 1], "ln": mp.ln, "tanh": mp.tanh}
            wanted = eval(TABLE_I[row][step], {"__builtins__": {}}, known)
            assert largest_error([found[row][name]], [wanted], 0.0) <= 1e-40
    assert sum(map(len, found.values())) == 2 * (2 + 2)


@pytest.mark.parametrize("formula", ["x**2", "__import__('os')", "x if x else 1", "f(x)", "'a'+x", "[x]"])
def test_nothing_else_is_evaluated(formula: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        evaluate(formula, {"x": digits().mpf(2)})


# Numbers of rows


def test_figure_1() -> None:
    found = numbers("Figure 1")
    with mp.workdps(40):
        delta = (1 - mp.tanh(mpf(20) / 6)) / 2
        middle = mp.tanh(mpf(20) / 6)
        assert found["delta"] == pytest.approx(float(delta), rel=1e-15)
        assert [found["peak 0"], found["peak 1"]] == pytest.approx([float(1 - delta), float(middle)], rel=1e-14)


@pytest.mark.slow
def test_theorem_1() -> None:
    """N by trying, δ and c by their definitions, W and D by counting."""
    d, n, eps, found = 2, 5, 2.5e-3, numbers("Theorem 1, Sobolev")
    N = next(N for N in range(1, 99) if d**n / math.factorial(n) * 2**d * N**-n <= eps / 2)
    delta = eps / 2 * math.factorial(n) / d**n / ((N + 1) ** d - 2**d)
    assert (found["N"], found["delta"]) == (N, pytest.approx(delta, rel=1e-12))
    assert (1 - math.tanh(found["c"] / (2 * N))) / 2 == pytest.approx(delta, rel=1e-9)
    monomials = sum(sum(powers) < n for powers in product(range(n), repeat=d))
    cells = len(list(product(range(N + 1), repeat=d)))
    lanes = sum(1 for _ in product(range(N + 2), range(d)))
    assert found["terms"] == monomials * cells
    assert (found["W"], found["D"]) == (2 * lanes + 1, 7 + 2 * math.ceil(monomials * cells / lanes))
    assert found["seen"] <= found["proven"] <= eps
    printed = numbers("Theorem 1, depth")
    assert (printed["printed"], printed["corrected"]) == (7 + math.ceil(2 * monomials * cells / lanes), found["D"])


def test_lemma_5() -> None:
    found = numbers("Lemma 5")
    for delta in (1e-6, 1e-4, 1e-3):
        printed = 6 * math.exp(6) * delta / (6 - 9 * (math.exp(6) - 1) * delta)
        assert found[f"printed {delta:g}"] == pytest.approx(printed, rel=1e-12)
        end = scipy_integrate.solve_ivp(
            lambda t, y: [0.0, y[0] - y[1] * y[2], y[0] ** 2 - y[2] ** 2],
            (0, 1), [1 + delta, delta, delta], rtol=1e-12, atol=1e-14,
        ).y[:, -1]  # fmt: skip
        seen = np.abs(end - [1, np.tanh(1), np.tanh(1)]).max()
        assert 0.5 * seen <= found[f"seen {delta:g}"] <= found[f"tight {delta:g}"]
        assert seen <= found[f"seen {delta:g}"] + 1e-11


def test_the_printed_step_2() -> None:
    """By scipy, from the equations as they stand in the paper."""
    N, c, x = 3, 4.0, 0.3
    A = np.array([[-math.log(2) if m == k else -1 / (m - k) if m > k else 0.0 for m in range(4)] for k in range(4)])
    exponential = np.eye(4) / 2 - np.eye(4, k=1) / 2
    b = A @ np.linalg.inv(exponential - np.eye(4)) @ [0, 0, 0, 0.5]
    z = c * (x - (2 * np.arange(1, N + 1) - 1) / (2 * N))
    start = np.concatenate([[1.0], np.tanh(z), z * np.tanh(z)])
    end = scipy_integrate.solve_ivp(
        lambda t, y: np.concatenate([A @ y[:4] + b, z * (A[:3] @ y[:4])]), (0, 1), start, rtol=1e-11, atol=1e-13
    ).y[:, -1]
    found = numbers("Lemma 4, step 2")
    assert [found[f"mu {k}"] for k in (1, 2, 3)] == pytest.approx(end[4:].tolist(), abs=1e-9)
    assert [found[f"mu {k}"] for k in (1, 2, 3)] == pytest.approx([-0.211, 0.615, 0.983], abs=5e-4)


@pytest.mark.slow
def test_the_other_errata() -> None:
    tanh = math.tanh(4.0 * (0.3 - 5 / 6))
    last = (1 + tanh) / 2
    assert numbers("Lemma 4, step 3")["printed"] == pytest.approx(math.log(1 + last) - math.log(last), rel=1e-12)
    places = [2 + (k + 1) * j for j in (1, 2) for k in range(4)]
    assert numbers("Lemma 4 and")["printed"] == len(set(places)) == 6
    assert numbers("Theorem 1, b_new")["printed"] == pytest.approx(abs(0.25 * 0.5 / 0.5 - 1), rel=1e-12)
    assert numbers("Theorem 1, supports")["points"] == 3
    found = numbers("Theorem 1, numbers")
    assert found["bits"] == math.ceil(2 * 28 / math.log(2)) + 60
    assert 0 < found["early"] < 1e-15
    assert (found["terms"], found["printed"]) == (15 * 6**2, 4 * 15 * 5**2)
    assert numbers("Theorem 2, step 2")["left"] == pytest.approx(0.1 * 8 + 1, rel=1e-12)
    assert numbers("Lemma 3, proof")["register"] == 4


def test_how_small_delta_0_is() -> None:
    with mpmath.workdps(60):
        K = mpf(2) * 65
        a3 = 4 * K + 2
        a1, a2 = a3 * mp.exp(a3) * K, 9 * (mp.exp(a3) - 1) * K
        delta = a3**2 * mpf(1e-6) / (a1**2 + a2 * (a1 + a3) ** 2 * mpf(1e-6))
        assert numbers("Theorem 2, numbers")["power"] == pytest.approx(float(mp.log10(delta)), rel=1e-12)
    assert numbers("Theorem 2, numbers")["power"] < math.log10(5e-324)
