"""Products and compositions in floats lose no more than their bounds say: beside the same in fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops.replay import products
from integraph.certify.loops.replay.polynomials import Polynomial, exponents, variable
from integraph.certify.problem import Unprovable
from integraph.numbers.arb.conversion import ZERO, precision
from planted_faults import plant

Exact = dict[int, Fraction]
X, Y = variable(0), variable(1)
MONOMIALS = (0, X, Y, 2 * X, X + Y, 2 * Y)
RADIUS = Fraction(1, 1 << 30)  # of the balls whose ends are taken


def drawn(rng: np.random.Generator, monomials: tuple[int, ...]) -> Exact:
    """Coefficients of 62 bits, which are no floats but in Arb."""
    return {m: Fraction(int(rng.integers(1 << 61, 1 << 62)), 1 << 62) for m in monomials}


def balls(p: Exact, radius: Fraction = Fraction(0)) -> Polynomial:
    return {m: arb(x.numerator, 0) / x.denominator + arb(0, float(radius)) for m, x in p.items()}


def times(a: Exact, b: Exact) -> Exact:
    out: Exact = {}
    for one, x in a.items():
        for other, y in b.items():
            out[one + other] = out.get(one + other, Fraction(0)) + x * y
    return out


def apart(p: Exact, values: np.ndarray, d: int, k: int) -> Fraction:
    """The sum of the differences of coefficients, those above degree k included: all of them have one sign."""
    t = products.table(d, k)
    mine = {m: Fraction(x) for m, x in zip(t.monomials, values.tolist(), strict=True)}
    return sum((abs(p.get(m, Fraction(0)) - mine.get(m, Fraction(0))) for m in p.keys() | mine.keys()), Fraction(0))


def product_excess(k: int, radius: Fraction = Fraction(0)) -> float:
    """What is lost beyond the bound, as a share of it: 0 at most, if no rounding and no monomial is forgotten."""
    rng = np.random.default_rng(k)
    a, b, c = (drawn(rng, MONOMIALS) for _ in range(3))
    with precision(64):
        one, other, third = (products.flat(balls(p, radius), 2, k) for p in (a, b, c))
        values, lost = products.sum_of_products([(3, one, other), (1, third, third)], 2, k)
    a, b, c = ({m: x + radius for m, x in p.items()} for p in (a, b, c))
    first, second = times(a, b), times(c, c)
    truth = {m: 3 * first[m] + second[m] for m in first}
    return 1 - float(Fraction(float(lost)) / apart(truth, values, 2, k))


def composition_excess(k: int, radius: Fraction = Fraction(0)) -> float:
    rng = np.random.default_rng(k)
    v, s = drawn(rng, MONOMIALS[1:]), list(drawn(rng, tuple(range(k + 1))).values())
    with precision(64):
        flat = products.flat(balls(v, radius), 2, k)
        values, lost = products.composition(list(balls(dict(enumerate(s))).values()), flat, 2, k)
    v = {m: x + radius for m, x in v.items()}
    truth: Exact = {0: Fraction(0)}
    for x in reversed(s):
        truth = times(truth, v)
        truth[0] = truth.get(0, Fraction(0)) + x
    return 1 - float(Fraction(float(lost)) / apart(truth, values, 2, k))


def test_products() -> None:
    """Of degree 2 in four all of the product is kept, and the bound is that of roundings."""
    assert max(product_excess(k, radius) for k in (2, 3, 4) for radius in (Fraction(0), RADIUS)) <= 0
    assert product_excess(2) > -1e-6  # what is above the degree is most of it, and all of it is one sign
    assert product_excess(4, RADIUS) > -1


def test_compositions() -> None:
    assert max(composition_excess(k, radius) for k in (2, 3, 4) for radius in (Fraction(0), RADIUS)) <= 0


def rounding_excess() -> float:
    """Products of floats, of which all is kept: nothing is lost but by rounding."""
    rng, worst = np.random.default_rng(3), -1.0
    for _ in range(20):
        a, b = rng.uniform(0.5, 1.0, (2, 3)) * [1.0, 1.0, 0.0]
        with precision(64):
            terms = [(1, products.exact(a, 1, 2), products.exact(b, 1, 2))]
            values, lost = products.sum_of_products(terms, 1, 2)
        first, second = ({0: Fraction(x[0]), X: Fraction(x[1])} for x in (a, b))
        worst = max(worst, float(apart(times(first, second), values, 1, 2) - Fraction(float(lost))))
        assert float(lost) < 1e-14
    return worst


def conversion_excess() -> float:
    """Coefficients of 62 bits as floats."""
    p = drawn(np.random.default_rng(4), MONOMIALS)
    with precision(64):
        flat = products.flat(balls(p), 2, 2)
    assert float(flat.missed) < 1e-14
    return float(apart(p, flat.values, 2, 2) - Fraction(float(flat.missed)))


def combination_excess(radius: Fraction = Fraction(0)) -> float:
    """A layer with weights of one sign, on balls."""
    rng = np.random.default_rng(5)
    A = rng.uniform(0.1, 1.0, (2, 3))
    p = [drawn(rng, MONOMIALS) for _ in range(3)]
    with precision(64):
        values, missed = products.combined(A, [products.flat(balls(one, radius), 2, 2) for one in p])
    worst = -1.0
    for line, row, lost in zip(A.tolist(), values, missed, strict=True):
        truth = {m: sum(Fraction(a) * (one[m] + radius) for a, one in zip(line, p, strict=True)) for m in MONOMIALS}
        worst = max(worst, 1 - float(Fraction(float(lost)) / apart(truth, row, 2, 2)))
        assert float(lost) < 1e-13 + 20 * radius
    return worst


def test_combinations() -> None:
    assert combination_excess() <= 0
    assert -1e-3 < combination_excess(RADIUS) <= 0


def test_numbers_whose_sum_is_no_float_are_not_bounded_and_give_no_warning() -> None:
    assert not products.flat({X: arb(1.7e308), Y: arb(1.7e308)}, 2, 2).size.is_finite()


def test_roundings() -> None:
    assert rounding_excess() <= 0
    assert conversion_excess() <= 0


FAULTS: list[tuple[str, str, Callable[[], float]]] = [
    ("tail(a.norms, b.norms) + ", "", lambda: product_excess(2)),
    ("lost += weight * ", "lost += ", lambda: product_excess(2)),
    ("values += weight * ", "values += ", lambda: product_excess(4)),
    ("a.missed * b.size + ", "", lambda: product_excess(4, RADIUS)),
    (" + b.missed * a.size", "", lambda: product_excess(4, RADIUS)),
    ("missed = sum(balls, ZERO).rad()", "missed = ZERO", lambda: product_excess(4, RADIUS)),
    ("_lost(rounded, size)", "ZERO", conversion_excess),
    ("(arb(lost) + TINY + ", "(TINY + ", lambda: combination_excess(RADIUS)),
    ("_lost(t.longest + 2 * len(terms), size)", "ZERO", rounding_excess),
    (
        "_with_norms(values, t, lost, rounded=0)",
        "_with_norms(values, t, ZERO, rounded=0)",
        lambda: composition_excess(3),
    ),
    ("(lost + (constant - values[0].item()).abs_upper())", "ZERO", lambda: composition_excess(3)),
]


@pytest.mark.parametrize(("text", "wrong", "excess"), FAULTS, ids=[text for text, _, _ in FAULTS])
def test_faults_are_seen(text: str, wrong: str, excess: Callable[[], float], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, products, text, wrong)
    assert excess() > 0


def test_what_is_not_finite_has_no_bound() -> None:
    large = products.flat({0: arb("1e300"), X: arb("1e300")}, 1, 2)
    values, lost = products.sum_of_products([(1, large, large)], 1, 2)
    assert not np.isfinite(values).all() or not lost.is_finite()
    assert not products.exact(values, 1, 2).size.is_finite()
    for bad in (arb("nan"), arb("inf"), arb("1e400"), arb(0, float("inf"))):
        p = products.flat({0: bad, X: arb(1)}, 1, 2)
        assert not p.size.is_finite() or not p.missed.is_finite()


def test_what_is_too_small_for_a_float_is_missed() -> None:
    small = arb("1e-400")
    assert products.flat({0: small}, 1, 2).missed > small
    assert products.flat({0: ZERO}, 1, 2).size.is_zero()
    one, other = (products.exact(np.array([x, 0.0, 0.0]), 1, 2) for x in (1e-200, 1e-200))
    assert products.sum_of_products([(1, one, other)], 1, 2)[1] > small


def test_tables() -> None:
    """Every pair of monomials that has room, once; the number of variables of a polynomial."""
    t = products.table(3, 4)
    assert sorted(t.monomials) == sorted({sum(m) for m in _words(3, 4)})
    pairs = {(t.monomials[a], t.monomials[b]) for a, b in zip(t.left.tolist(), t.right.tolist(), strict=True)}
    assert len(pairs) == len(t.left) == sum((a & 255) + (b & 255) <= 4 for a in t.monomials for b in t.monomials)
    assert [products.variables({m: ZERO}) for m in (0, X, Y, 8 * Y, 15 * variable(4))] == [1, 1, 2, 2, 5]
    assert [max(dict(exponents(m)), default=0) for m in (0, X, 3 * variable(6))] == [0, 0, 6]
    with pytest.raises(Unprovable, match="degree 8 in 30 variables"):
        products.table(30, 8)


def _words(d: int, k: int) -> list[tuple[int, ...]]:
    words: list[tuple[int, ...]] = [()]
    for _ in range(k):
        words += [(*word, variable(n)) for word in words for n in range(d)]
    return [word for word in words if len(word) <= k]
