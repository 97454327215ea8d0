"""Activations of layers in floats contain what they are of: beside functions at 300 bits, and kinks in fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops.replay import activations, layers
from integraph.certify.loops.replay.activations import activated
from integraph.certify.loops.replay.layers import Neurons, settled
from integraph.numbers.arb.conversion import precision
from integraph.targets.network import Layer
from neurons import COUNT, at, beyond, drawn, exact, values_of
from planted_faults import plant
from slow import mostly_slow


def interpolant_excess(k: int, off: float = 0.0) -> float:
    """Coefficients at 300 bits, of values that miss so much."""
    rng = np.random.default_rng(k)
    middles = rng.normal(size=(COUNT, k + 5)) * [0.01, *[1.0] * (k + 4)]
    values, middle = middles[:, 1 : k + 2], middles[:, 0]
    with precision(64):
        q, missed = activations._interpolants(middles, np.full_like(middles, off))
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
def test_interpolants(k: int) -> None:
    assert interpolant_excess(k) <= 0
    assert -1e-12 < interpolant_excess(k, 1e-3) <= 0


@mostly_slow("name", TRUTH, quick=2)
def test_functions(name: str) -> None:
    assert max(function_excess(name, *one) for one in SETS) <= 0


@mostly_slow("below", SLOPES, quick=2)
def test_kinks(below: float) -> None:
    assert max(kink_excess(seed, below, k) for seed, k in ((0, 1), (1, 2), (2, 3))) <= 0


def test_a_function_of_a_small_set_is_sharp() -> None:
    """What is lost on a set of 1e-6 is a few roundings of its value."""
    x = drawn(3, 3, 1e-6, 0.0, 0.4, bent=0.0)
    with precision(64):
        made = activated(Layer(np.eye(COUNT), np.zeros(COUNT), "tanh"), x)
    assert (made.r < 1e-14).all()
    assert np.allclose(made.p[:, 1:3] / x.p[:, 1:3], 1 / np.cosh(0.4) ** 2, atol=1e-5)


def test_of_what_is_not_finite_nothing_is_known() -> None:
    for name, bad in product((*TRUTH, "relu", "leaky_relu", "identity"), (np.nan, np.inf, -np.inf)):
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


LAWS: dict[str, Callable[[], float]] = {
    "interpolants": lambda: max(interpolant_excess(k) for k in (1, 2, 3, 4)),
    "wrong values": lambda: interpolant_excess(3, 1e-3),
    "tanh": lambda: max(function_excess("tanh", *one) for one in SETS),
    "kinks": lambda: max(kink_excess(0, below) for below in (0.0, 1.5)),
}
FAULTS = [  # what is wrong, instead of it, what sees that
    ("sizes, q = np.abs(inverse) + missed", "sizes, q = 0 * missed", "wrong values"),
    ("(off[:, NODES] @ sizes.T + np.abs", "(np.abs", "wrong values"),
    (
        "wrong += lost(k + 2, up((np.abs(values) @ sizes.T).sum(1), 2 * k + 4))",
        "wrong *= 0",
        "interpolants",
    ),
    ("remainder + highest * rho ** (x.k + 1) / 2.0**x.k", "remainder", "tanh"),
    ("own = missed + remainder + off", "own = remainder + off", "tanh"),
    ("missed + remainder + off", "missed + off", "tanh"),
    ("+ off[:, SLOPE] * x.errors", "", "tanh"),
    ("up(own + size * x.r", "up(own", "tanh"),
    ("up(wrong + off[:, 0] + lost", "up(wrong + lost", "wrong values"),
    ("off = up(radii + lost(0, np.abs(middles)), 1)", "off = 0 * radii", "tanh"),
    ("slope[:, None] * x.g", "0 * x.g", "tanh"),
    ("x.scaled(chord, middle, radius)", "x.scaled(chord, none, radius)", "kinks"),
    ("x.scaled(chord, middle, radius)", "x.scaled(chord, middle, none)", "kinks"),
    ("x.scaled(below, none, none)", "x.scaled(none, none, none)", "kinks"),
    ("np.abs(share) * cut + weight", "weight", "kinks"),
    ("weight * (reach / 8 + x.errors)", "weight * x.errors", "kinks"),
    ("weight * (reach / 8 + x.errors)", "weight * (reach / 8)", "kinks"),
    ("r = size * x.r + np.abs(share)", "r = np.abs(share)", "kinks"),
    ("p[:, 0] += beta * reach / 8", "pass", "kinks"),
]


@mostly_slow(("text", "wrong", "seen"), FAULTS, quick=3)
def test_faults_are_seen(text: str, wrong: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, activations, text, wrong)
    assert LAWS[seen]() > 0
