"""Layers in floats lose no more than their bounds say: beside the same in fractions, and functions at 300 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops.replay import activations, layers
from integraph.certify.loops.replay.activations import activated
from integraph.certify.loops.replay.layers import Neurons, settled
from integraph.certify.loops.replay.polynomials import exponents
from integraph.certify.loops.replay.products import table
from integraph.numbers.arb.conversion import precision
from integraph.targets.network import Layer
from planted_faults import plant

Exact = list[Fraction]
D, COUNT = 2, 12
CORNERS = list(pairs((-1, 1), repeat=2))


def drawn(
    seed: int, k: int, width: float = 1.0, error: float = 0.1, middle: float = 0.0, sign: int = 0, bent: float = 1.0
) -> Neurons:
    """Random neurons with two symbols; with a sign all coefficients have it. `bent` shrinks those of degree 2."""
    rng = np.random.default_rng(seed)
    p = width * rng.uniform(-1.0, 1.0, (COUNT, len(table(D, k).monomials)))
    p[:, D + 1 :] *= bent
    g, r = error * rng.uniform(-1.0, 1.0, (COUNT, 2)), error * rng.uniform(0.0, 1.0, COUNT)
    if sign:
        p, g = sign * np.abs(p), sign * np.abs(g)
    p[:, 0] += middle
    return settled(Neurons(D, k, p, g, r, r), p, g, r)


def exact(values: np.ndarray) -> Exact:
    return [Fraction(x) for x in values.tolist()]


def at(p: Exact, xi: tuple[Fraction, ...], k: int) -> Fraction:
    """A polynomial at a point."""
    total = Fraction(0)
    for monomial, x in zip(table(D, k).monomials, p, strict=True):
        for n, power in exponents(monomial):
            x *= xi[n] ** power
        total += x
    return total


def points(k: int, seed: int = 0) -> Iterator[tuple[Fraction, ...]]:
    rng = np.random.default_rng(seed)
    yield from (tuple(map(Fraction, xi)) for xi in CORNERS)
    yield from (tuple(map(Fraction, xi)) for xi in rng.uniform(-1.0, 1.0, (3, D)).tolist())


def values_of(x: Neurons, n: int) -> Iterator[tuple[tuple[Fraction, ...], tuple[int, int], Fraction]]:
    """ξ, ε and the values of a neuron there, its radius with either sign."""
    p, g = exact(x.p[n]), exact(x.g[n])
    for xi in points(x.k):
        value = at(p, xi, x.k)
        for eps in CORNERS:
            for sign in (-1, 1):
                yield xi, eps, value + g[0] * eps[0] + g[1] * eps[1] + sign * Fraction(x.r[n].item())


def beyond(x: Neurons, n: int, xi: tuple[Fraction, ...], eps: tuple[int, int], y: Fraction) -> float:
    """How far a value is outside a neuron, beside its radius."""
    middle = at(exact(x.p[n]), xi, x.k) + sum(g * e for g, e in zip(exact(x.g[n, :2]), eps, strict=True))
    r = Fraction(x.r[n].item()) + sum(map(abs, exact(x.g[n, 2:])), Fraction(0))
    return float((abs(y - middle) - r) / (r + Fraction(1, 10**30)))


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
        x = drawn(seed, 2, sign=1)
        A, b = rng.uniform(0.1, 1.0, (3, COUNT)), rng.uniform(0.1, 1.0, 3)
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
    for error in (0.1, 0.0):
        x = drawn(1, 2, error=error)
        factor, shift, radius = rng.normal(size=(3, COUNT))
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


def interpolant_excess(k: int, off: float = 0.0) -> float:
    """Coefficients at 300 bits, of values that miss so much."""
    rng = np.random.default_rng(k)
    values, middle, size = rng.normal(size=(COUNT, k + 1)), rng.normal(size=COUNT), np.full((COUNT, k + 2), off)
    with precision(64):
        q, missed = activations._interpolants(values, middle, size)
    worst = -np.inf
    with precision(300):
        inverse = activations.chebyshev(k, 300)[1]
        for n in range(COUNT):
            true = [arb(0)] * (k + 1)
            for m in range(k + 1):
                weights = [inverse[m, j] for j in range(k + 1)]
                true[m] = sum((w * x for w, x in zip(weights, values[n].tolist(), strict=True)), arb(0))
                if off:  # each value is wrong by so much, with the sign that adds
                    true[m] += sum((abs(w) for w in weights), arb(0)) * off * (1 if q[n, m] <= true[m] else -1)
            true[0] += middle[n].item() + (off if q[n, 0] <= true[0] + middle[n].item() else -off)
            apart = sum((abs(a - b) for a, b in zip(true, q[n].tolist(), strict=True)), arb(0))
            worst = max(worst, float(apart - missed[n].item()))
    return worst


TRUTH: dict[str, Callable[[arb], arb]] = {
    "tanh": arb.tanh,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "exp": arb.exp,
    "sin": arb.sin,
    "softplus": lambda x: (1 + x.exp()).log(),
    "silu": lambda x: x / (1 + (-x).exp()),
}
SETS = [
    (3, 0.1, 0.01, 0.3),
    (3, 0.02, 0.2, 0.5),
    (4, 0.4, 0.3, -0.2),
    (2, 1e-6, 1e-9, 1.0),
    (3, 1e-14, 0.0, 0.4),
    (1, 0.2, 1e-12, 0.1),
]


def function_excess(name: str, k: int, width: float, error: float, middle: float) -> float:
    x, worst = drawn(3, k, width, error, middle), -np.inf
    with precision(64):
        made = activated(Layer(np.eye(COUNT), np.zeros(COUNT), name), x)
    with precision(300):
        for n in range(COUNT):
            for xi, eps, value in values_of(x, n):
                y = TRUTH[name](arb(value.numerator) / value.denominator)
                worst = max(worst, outside(made, n, xi, eps, y))
    return worst


def outside(x: Neurons, n: int, xi: tuple[Fraction, ...], eps: tuple[int, int], y: arb) -> float:
    middle = at(exact(x.p[n]), xi, x.k) + sum(g * e for g, e in zip(exact(x.g[n]), eps, strict=True))
    r = arb(x.r[n].item())
    return float((abs(y - arb(middle.numerator) / middle.denominator) - r) / (r + 1e-30))


def kink_excess(seed: int, below: float, k: int = 2) -> float:
    worst = -np.inf
    for middle in (-2.0, -0.3, 0.1, 2.0):
        for width, error, bent in ((0.2, 0.1, 1.0), (0.5, 0.001, 0.0), (0.5, 0.1, 0.1), (1e-3, 1e-5, 0.0)):
            x = drawn(seed, k, width, error, middle * width, bent=bent)
            made = activations.kinks(x, np.full(COUNT, below))
            for n in range(0, COUNT, 3):
                for xi, eps, value in values_of(x, n):
                    y = value if value >= 0 else Fraction(below) * value
                    worst = max(worst, beyond(made, n, xi, eps, y))
    return worst


SLOPES = (0.0, 0.1, -0.7, 1.5)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_polynomials(k: int) -> None:
    assert range_excess(k) <= 0
    assert product_excess(k) <= 0
    assert composition_excess(k) <= 0
    assert interpolant_excess(k) <= 0
    assert -1e-12 < interpolant_excess(k, 1e-3) <= 0
    assert k < 2 or -1e-12 < product_excess(k, low=True) <= 0


def test_affine_maps() -> None:
    assert affine_excess() <= 0
    assert scaled_excess() <= 0


@pytest.mark.parametrize("name", TRUTH)
def test_functions(name: str) -> None:
    assert max(function_excess(name, *one) for one in SETS) <= 0


@pytest.mark.parametrize("below", SLOPES)
def test_kinks(below: float) -> None:
    assert max(kink_excess(seed, below, k) for seed, k in ((0, 1), (1, 2), (2, 3))) <= 0


def test_a_function_of_a_small_set_is_sharp() -> None:
    """What is lost on a set of 1e-6 is a few roundings of its value."""
    x = drawn(3, 3, 1e-6, 0.0, 0.4, bent=0.0)
    with precision(64):
        made = activated(Layer(np.eye(COUNT), np.zeros(COUNT), "tanh"), x)
    assert (made.r < 1e-14).all()
    assert np.allclose(made.p[:, 1:3] / x.p[:, 1:3], 1 / np.cosh(0.4) ** 2, atol=1e-5)


def test_ends_of_numbers_whose_squares_are_no_floats() -> None:
    for size in (2.0**-540, 2.0**-1000, 1.5e307):
        x = drawn(0, 2, 0.0, 0.0)
        x.p[:, 1], x.p[:, 3] = size, size
        low, high = x.range
        assert (high >= 2 * size).all()
        assert (low <= -size / 4).all()
        assert size < 1 or np.isfinite(low).all()


def test_of_what_is_not_finite_nothing_is_known() -> None:
    for name, bad in pairs((*TRUTH, "relu", "leaky_relu", "identity"), (np.nan, np.inf, -np.inf)):
        for place in ("p", "g", "r"):
            x = drawn(0, 2)
            array = getattr(x, place)
            array[(0,) * array.ndim] = bad if place != "r" else abs(bad)
            x = settled(x, x.p, x.g, x.r)
            with np.errstate(all="ignore"), precision(64):
                made = activated(Layer(np.eye(COUNT), np.zeros(COUNT), name), x)
                moved = layers.affine(np.ones((1, COUNT)), np.zeros(1), made)
            if name not in ("tanh", "sigmoid", "sin") or np.isnan(bad):  # these have a range everywhere
                assert not np.isfinite(moved.errors[0] + moved.sizes[0])
            assert np.isfinite(made.errors[1:]).all()


def test_many_pairs_are_multiplied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(0, 4)
    whole = layers.product(x, x.p, x.p)
    monkeypatch.setattr(layers, "PAIRS", 3 * len(x.table.left))
    for one, other in zip(whole, layers.product(x, x.p, x.p), strict=True):
        assert np.array_equal(one, other)


def law(name: str) -> Callable[[], float]:
    return {
        "ranges": lambda: max(range_excess(k) for k in (2, 3, 4)),
        "affine": affine_excess,
        "scaled": scaled_excess,
        "product": lambda: max(product_excess(3), product_excess(4)),
        "exact product": lambda: product_excess(4, low=True),
        "composition": lambda: max(composition_excess(k) for k in (2, 3)),
        "interpolants": lambda: max(interpolant_excess(k) for k in (1, 3)),
        "wrong values": lambda: interpolant_excess(3, 1e-3),
        "tanh": lambda: max(function_excess("tanh", *one) for one in SETS),
        "kinks": lambda: max(kink_excess(0, below) for below in (0.0, 1.5)),
    }[name]


FAULTS = [  # module, what is wrong, instead of it, what sees that
    (layers, "size * ((count + 4) * UNIT) + TINY", "size * 0", "affine"),
    (layers, "size * ((count + 4) * UNIT) + TINY", "size * 0", "exact product"),
    (layers, "off = self.errors + lost(self.p.shape[1] + 8, self.sizes + self.errors)", "off = self.errors", "ranges"),
    (layers, "off = self.errors + lost", "off = lost", "ranges"),
    (layers, "+ np.minimum(even, 0).sum(1)", "", "ranges"),
    (layers, "+ np.maximum(even, 0).sum(1)", "", "ranges"),
    (layers, "np.minimum(even, 0).sum(1) - rest", "np.minimum(even, 0).sum(1)", "ranges"),
    (layers, "np.maximum(even, 0).sum(1) + rest", "np.maximum(even, 0).sum(1)", "ranges"),
    (layers, "np.where(turns & (a > 0), -top, a - b)", "a - b", "ranges"),
    (layers, "/ 4  # b·b", "/ 8  # b·b", "ranges"),
    (layers, "np.where(turns & (a < 0), top, a + b)", "np.where(turns & (a < 0), -top, a + b)", "ranges"),
    (layers, "r = size * self.r + radius + lost", "r = radius + lost", "scaled"),
    (layers, "size * self.r + radius + lost", "size * self.r + lost", "scaled"),
    (layers, "+ lost(2, size * (self.sizes + self.errors) + np.abs(shift))", "", "scaled"),
    (layers, "p[:, 0] += b\n", "pass\n", "affine"),
    (layers, "values, tail + lost(", "values, lost(", "product"),
    (layers, "tail + lost(t.longest + 1, up(one.sum(1) * other.sum(1), 2 * x.k + 3))", "tail", "exact product"),
    (layers, "np.cumsum(other[:, :0:-1], 1)", "other[:, :0:-1]", "product"),
    (layers, "missed = up(missed + cut", "missed = up(cut", "composition"),
    (layers, "up(missed + cut + size", "up(missed + size", "composition"),
    (layers, "u /= rho[:, None]", "u /= 1.01 * rho[:, None]", "composition"),
    (activations, "sizes, q = np.abs(inverse) + missed", "sizes, q = 0 * missed", "wrong values"),
    (activations, "(off[:, 1:] @ sizes.T + np.abs", "(np.abs", "wrong values"),
    (
        activations,
        "wrong += lost(k + 2, up((np.abs(values) @ sizes.T).sum(1), 2 * k + 4))",
        "wrong *= 0",
        "interpolants",
    ),
    (activations, "remainder + facts[:, HIGHEST] * rho ** (x.k + 1) / 2.0**x.k", "remainder", "tanh"),
    (activations, "own = missed + remainder + facts", "own = remainder + facts", "tanh"),
    (activations, "missed + remainder + facts", "missed + facts", "tanh"),
    (activations, "+ facts[:, TURN] * x.errors", "", "tanh"),
    (activations, "up(own + size * x.r", "up(own", "tanh"),
    (activations, "slope[:, None] * x.g", "0 * x.g", "tanh"),
    (activations, "x.scaled(chord, middle, radius)", "x.scaled(chord, none, radius)", "kinks"),
    (activations, "x.scaled(chord, middle, radius)", "x.scaled(chord, middle, none)", "kinks"),
    (activations, "x.scaled(below, none, none)", "x.scaled(none, none, none)", "kinks"),
    (activations, "np.abs(share) * cut + weight", "weight", "kinks"),
    (activations, "weight * (reach / 8 + x.errors)", "weight * x.errors", "kinks"),
    (activations, "weight * (reach / 8 + x.errors)", "weight * (reach / 8)", "kinks"),
    (activations, "r = size * x.r + np.abs(share)", "r = np.abs(share)", "kinks"),
    (activations, "p[:, 0] += beta * reach / 8", "pass", "kinks"),
]


@pytest.mark.parametrize(("module", "text", "wrong", "seen"), FAULTS)
def test_faults_are_seen(module: object, text: str, wrong: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, module, text, wrong)  # type: ignore[arg-type]
    assert law(seen)() > 0
