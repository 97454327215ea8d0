"""Layers in floats lose no more than their bounds say: beside the same in fractions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest

from integraph.certify.loops.replay import layers
from integraph.certify.loops.replay.polynomials import exponents
from integraph.certify.loops.replay.products import table
from neurons import COUNT, D, Exact, beyond, drawn, exact, values_of
from planted_faults import plant
from slow import mostly_slow


def range_excess(k: int, width: float = 1.0) -> float:
    """The ends by the same formula, in fractions."""
    worst = -np.inf
    for seed in range(20):
        x = drawn(seed, k, width, error=0.0 if seed % 2 else 1e-3)
        for n, (low, high) in enumerate(zip(*x.range, strict=True)):
            least, most = ends(exact(x.p[n]), k)
            e = sum(map(abs, exact(x.g[n])), Fraction(x.r[n].item()))
            size = sum(map(abs, exact(x.p[n])), e)
            worst = max(worst, float((Fraction(low) - least + e) / size), float((most + e - Fraction(high)) / size))
            if k == 1:
                assert least - e - Fraction(low) < size * Fraction(1, 10**13)
    return worst


def ends(p: Exact, k: int) -> tuple[Fraction, Fraction]:
    low = high = p[0]
    lines = {n: [Fraction(0), Fraction(0)] for n in range(D)}
    for monomial, x in list(zip(table(D, k).monomials, p, strict=True))[1:]:
        powers = exponents(monomial)
        if len(powers) == 1 and powers[0][1] <= 2:
            lines[powers[0][0]][powers[0][1] - 1] = x
        elif all(power % 2 == 0 for _, power in powers):
            low, high = low + min(x, 0), high + max(x, 0)
        else:
            low, high = low - abs(x), high + abs(x)
    for b, a in lines.values():
        at_ends = [a - b, a + b]
        if abs(b) < 2 * abs(a):
            at_ends.append(-b * b / (4 * a))
        low, high = low + min(at_ends), high + max(at_ends)
    return low, high


def affine_excess() -> float:
    rng, worst = np.random.default_rng(0), -np.inf
    for seed in range(5):
        width = 1.0 if seed % 2 else 1e-9  # where all is in symbols, and the sums of these may cancel
        x = replace(drawn(seed, 2, width, sign=1), errors=np.zeros(COUNT))
        A, b = rng.uniform(0.1, 1.0, (3, COUNT)), width * rng.uniform(0.1, 1.0, 3)
        made = layers.affine(A, b, x)
        assert made.g.shape == (3, 2 + COUNT)
        for n in range(3):
            weights = exact(A[n])
            true = [sum(w * Fraction(y) for w, y in zip(weights, column.tolist(), strict=True)) for column in x.p.T]
            true[0] += Fraction(b[n])
            true += [sum(w * Fraction(y) for w, y in zip(weights, column.tolist(), strict=True)) for column in x.g.T]
            true += [w * Fraction(y) for w, y in zip(weights, x.r.tolist(), strict=True)]
            mine = exact(np.concatenate([made.p[n], made.g[n]]))
            off = sum((abs(a - c) for a, c in zip(true, mine, strict=True)), Fraction(0))
            worst = max(worst, float(off - Fraction(made.r[n].item())))
            assert made.r[n] < 1e-12
            assert made.errors[n] >= np.abs(made.g[n]).sum()
    return worst


def scaled_excess() -> float:
    rng, worst = np.random.default_rng(1), -np.inf
    for width, error in ((1.0, 0.1), (1.0, 0.0), (1e-9, 0.1)):
        x = replace(drawn(1, 2, width, error), errors=np.zeros(COUNT), r=width * drawn(1, 2).r)
        factor, shift, radius = rng.normal(size=(3, COUNT)) * [[1.0], [width], [width]]
        for extra in (np.abs(radius), 0 * radius):
            made = x.scaled(factor, shift, extra)
            for n in range(COUNT):
                moved = Fraction(factor[n]), Fraction(shift[n]), Fraction(extra[n])
                for xi, eps, value in values_of(x, n):
                    for sign in (-1, 1):
                        y = moved[0] * value + moved[1] + sign * moved[2]
                        worst = max(worst, beyond(made, n, xi, eps, y))
    return worst


def product_excess(k: int, low: bool = False) -> float:
    """Coefficients of one sign, or, of degree 1 in 4, of either: nothing is lost but by rounding."""
    worst = -np.inf
    for seed in range(5):
        a, b = (drawn(s, k, sign=0 if low else 1).p for s in (seed, seed + 50))
        if low:
            a[:, D + 1 :] = b[:, D + 1 :] = 0.0
        x = drawn(0, k)
        values, missed = layers.product(x, a, b)
        for n in range(COUNT):
            true: dict[int, Fraction] = {}
            for (one, u), (other, v) in pairs(*(zip(table(D, k).monomials, exact(q[n]), strict=True) for q in (a, b))):
                true[one + other] = true.get(one + other, Fraction(0)) + u * v
            mine = dict(zip(table(D, k).monomials, exact(values[n]), strict=True))
            off = sum((abs(y - mine.get(m, Fraction(0))) for m, y in true.items()), Fraction(0))
            worst = max(worst, float((off - Fraction(missed[n].item())) / sum(map(abs, true.values()), Fraction(0))))
    return worst


def composition_excess(k: int) -> float:
    """At ξ = (1, …, 1), where nothing that is left out cancels."""
    rng, worst = np.random.default_rng(k), -np.inf
    for seed in range(5):
        x = drawn(seed, k, sign=1)
        q, c = rng.uniform(0.1, 1.0, (COUNT, k + 1)), x.p[:, 0] * 0.9
        rho = (x.p.sum(1) - c) * 1.001
        values, missed = layers.composition(x, q, c, rho)
        for n in range(COUNT):
            u = (sum(exact(x.p[n]), Fraction(0)) - Fraction(c[n])) / Fraction(rho[n])
            true = sum((y * u**power for power, y in enumerate(exact(q[n]))), Fraction(0))
            off = abs(true - sum(exact(values[n]), Fraction(0)))
            worst = max(worst, float(off - Fraction(missed[n].item())))
    return worst


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_polynomials(k: int) -> None:
    assert range_excess(k) <= 0
    assert product_excess(k) <= 0
    assert composition_excess(k) <= 0
    assert k < 2 or -1e-12 < product_excess(k, low=True) <= 0


def test_affine_maps() -> None:
    assert affine_excess() <= 0
    assert scaled_excess() <= 0


def test_ends_of_numbers_whose_squares_are_no_floats() -> None:
    for size in (2.0**-540, 2.0**-1000, 1.5e307):
        x = drawn(0, 2, 0.0, 0.0)
        x.p[:, 1], x.p[:, 3] = size, size
        low, high = x.range
        assert (high >= 2 * size).all()
        assert (low <= -size / 4).all()
        assert size < 1 or np.isfinite(low).all()


def test_many_pairs_are_multiplied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(0, 4)
    whole = layers.product(x, x.p, x.p)
    monkeypatch.setattr(layers, "PAIRS", 3 * len(x.table.left))
    for one, other in zip(whole, layers.product(x, x.p, x.p), strict=True):
        assert np.array_equal(one, other)


LAWS: dict[str, Callable[[], float]] = {
    "ranges": lambda: max(range_excess(k) for k in (2, 3, 4)),
    "affine": affine_excess,
    "scaled": scaled_excess,
    "product": lambda: max(product_excess(3), product_excess(4)),
    "exact product": lambda: product_excess(4, low=True),
    "composition": lambda: max(composition_excess(k) for k in (2, 3)),
}
FAULTS = [  # what is wrong, instead of it, what sees that
    ("size * ((count + 4) * UNIT) + TINY", "size * 0", "affine"),
    ("size * ((count + 4) * UNIT) + TINY", "size * 0", "exact product"),
    ("off = self.errors + lost(self.p.shape[1] + 8, self.sizes + self.errors)", "off = self.errors", "ranges"),
    ("off = self.errors + lost", "off = lost", "ranges"),
    ("+ np.minimum(even, 0).sum(1)", "", "ranges"),
    ("+ np.maximum(even, 0).sum(1)", "", "ranges"),
    ("np.minimum(even, 0).sum(1) - rest", "np.minimum(even, 0).sum(1)", "ranges"),
    ("np.maximum(even, 0).sum(1) + rest", "np.maximum(even, 0).sum(1)", "ranges"),
    ("np.where(turns & (a > 0), -top, a - b)", "a - b", "ranges"),
    ("/ 4  # b·b", "/ 8  # b·b", "ranges"),
    ("np.where(turns & (a < 0), top, a + b)", "np.where(turns & (a < 0), -top, a + b)", "ranges"),
    ("r = size * self.r + radius + lost", "r = radius + lost", "scaled"),
    ("size * self.r + radius + lost", "size * self.r + lost", "scaled"),
    ("+ lost(2, size * (self.sizes + self.spread) + np.abs(shift))", "", "scaled"),
    ("p[:, 0] += b\n", "pass\n", "affine"),
    ("x.sizes + x.spread", "x.sizes + x.errors", "affine"),
    ("self.sizes + self.spread", "self.sizes + self.errors", "scaled"),
    ("values, tail + lost(", "values, lost(", "product"),
    ("tail + lost(t.longest + 1, up(one.sum(1) * other.sum(1), 2 * x.k + 3))", "tail", "exact product"),
    ("np.cumsum(other[:, :0:-1], 1)", "other[:, :0:-1]", "product"),
    ("missed = up(missed + cut", "missed = up(cut", "composition"),
    ("up(missed + cut + size", "up(missed + size", "composition"),
    ("u /= rho[:, None]", "u /= 1.01 * rho[:, None]", "composition"),
]


@mostly_slow(("text", "wrong", "seen"), FAULTS, quick=3)
def test_faults_are_seen(text: str, wrong: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, layers, text, wrong)
    assert LAWS[seen]() > 0
