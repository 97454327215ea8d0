"""Networks on rows of the checker: values at all corners of the symbols, and symbols that depend on each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import arb

from integraph.certify.loops.replay.functions import apply
from integraph.certify.loops.replay.networks import network_rows
from integraph.certify.loops.replay.polynomials import CONSTANT, exponents, variable
from integraph.certify.loops.replay.rows import Row
from integraph.numbers.arb.conversion import ZERO, precision
from integraph.targets.network import Network, from_layers

EPS = list(product((-1.0, 1.0), repeat=3))
XI = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 2))
# Two rows over ξ₁, ξ₂ and three symbols, the first two of which nearly cancel in their sum; the second has a radius.
P = [(0.2, 0.3, 0.1), (-0.1, 0.2, -0.3)]
G, RADIUS = np.array([[0.2, 0.1, 0.0], [-0.2, -0.09, 0.01]]), (0.0, 0.02)


def rows_of(k: int = 3) -> list[Row]:
    monomials = (CONSTANT, variable(0), variable(1))
    return [
        Row(k, {m: arb(c) for m, c in zip(monomials, p, strict=True)}, [arb(float(x)) for x in g], arb(r))
        for p, g, r in zip(P, G, RADIUS, strict=True)
    ]


def net(kind: str, seed: int = 5, steep: float = 1.5) -> Network:
    rng = np.random.default_rng(seed)
    first = np.array([[1.0, 1.0], [1.0, 0.9], [-0.8, -0.7], [0.5, -1.0]])
    return from_layers(
        [
            (first * steep, rng.normal(size=4) * 0.2, kind),
            (rng.normal(size=(3, 4)) * steep, rng.normal(size=3) * 0.2, kind),
            (rng.normal(size=(2, 3)), np.zeros(2), None),
        ]
    )


def beyond(row: Row, xi: np.ndarray, eps: tuple[float, ...], y: float) -> float:
    """How far a value leaves a row at ξ and ε."""
    p = sum(float(c) * np.prod([xi[n] ** power for n, power in exponents(m)]) for m, c in row.p.items())
    return abs(y - p - sum(float(g) * e for g, e in zip(row.g, eps, strict=True))) - float(row.r)


@pytest.mark.parametrize(("k", "seed", "steep"), [(3, 5, 1.5), (1, 0, 5.0), (1, 1, 5.0), (1, 2, 5.0)])
@pytest.mark.parametrize("kind", ["tanh", "sigmoid", "relu", "leaky_relu"])
def test_values_are_in_the_rows(kind: str, k: int, seed: int, steep: float) -> None:
    network = net(kind, seed, steep)
    with precision(64):
        made = network_rows(network, rows_of(k))
    assert [len(row.g) for row in made] == [3, 3]
    worst = []
    for xi, eps, s in product(XI, EPS, (-1.0, 1.0)):
        x = np.array([p[0] + p[1:] @ xi for p in map(np.array, P)]) + G @ np.array(eps) + s * np.array(RADIUS)
        worst.append(max(beyond(row, xi, eps, y) for row, y in zip(made, network(x[None])[0], strict=True)))
    assert max(worst) <= 1e-12


def test_errors_that_cancel() -> None:
    """Of the sum of both inputs 0.04 is not known, of each 0.3: the remainder of tanh is that of the sum."""
    sum_of = from_layers([(np.array([[2.0, 2.0]]), np.zeros(1), "tanh"), (np.array([[1.0]]), np.zeros(1))])
    with precision(64):
        (made,) = network_rows(sum_of, rows_of())
        monomials = (CONSTANT, variable(0), variable(1))
        p = {m: arb(c) for m, c in zip(monomials, (0.2, 1.0, -0.4), strict=True)}
        direct = Row(3, p, [arb(0), arb("0.02"), arb("0.02")], arb("0.04"))
        (same,) = network_rows(from_layers([(np.eye(1), np.zeros(1), "tanh"), (np.eye(1), np.zeros(1))]), [direct])
    assert float(made.r) == pytest.approx(float(same.r), rel=0.02)
    assert [float(g) for g in made.g] == pytest.approx([float(g) for g in same.g], abs=1e-9)


def test_nothing_is_known_of_what_is_not_finite() -> None:
    bad = Row(2, {CONSTANT: ZERO}, [arb("inf"), ZERO], ZERO)
    for kind in ("tanh", "relu"):
        network = from_layers([(np.array([[0.0, 1.0]]), np.zeros(1), kind), (np.eye(1), np.zeros(1))])
        (made,) = network_rows(network, [bad, Row(2, {CONSTANT: ZERO}, [ZERO, ZERO], ZERO)])
        assert not made.finite


def test_coefficients_that_are_left_out_are_in_the_radius() -> None:
    """tanh on a set of 2e-5: its cubic coefficient is less than 1e-9 of the slope, but no rounding."""
    with precision(64):
        made = apply("tanh", Row(3, {CONSTANT: arb("0.3"), variable(0): arb("2e-5")}, [], ZERO))
    cubic = 3 * variable(0)
    assert made.p.get(cubic, ZERO).is_zero()
    with precision(300):
        for n in range(-10, 11):
            xi = arb(n) / 10
            y = sum((ball * xi ** (m & 255) for m, ball in made.p.items()), ZERO)
            assert ((arb("0.3") + arb("2e-5") * xi).tanh() - y).abs_lower() <= made.r
        assert made.r < 1e-14
