"""Networks on rows: the outputs that mpmath computes lie in their rows, and a layer's rounding in its radius."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from integraph.certify.loops import network_kernels
from integraph.certify.loops.rows import ModelRows, of_box
from integraph.numbers.arrays import Floats
from integraph.targets.network import Network, from_layers

FUNCTIONS = {"tanh": mpmath.tanh, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x))}


def one_neuron(kind: str, width: float) -> Network:
    return from_layers([(np.array([[width]]), np.array([0.1 * width]), kind)])


def beyond(rows: ModelRows, true: list[mpmath.mpf], xi: Floats) -> float:
    """How far values at points leave the first row, in radii."""
    row = rows.values[0]
    count = rows.monomials.count
    p = [sum(mpmath.mpf(float(c)) * mpmath.mpf(float(x)) ** n for n, c in enumerate(row[:count])) for x in xi]
    e = mpmath.fsum(abs(float(g)) for g in row[count:])
    return float(max(abs(y - q) / e for y, q in zip(true, p, strict=True)))


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_activations(kind: str, width: float) -> None:
    """All of the radius is used somewhere, but for what is not known of the function between samples."""
    xi = np.linspace(-1.0, 1.0, 801)
    rows = of_box(np.array([-1.0]), np.array([1.0])).fresh()
    out = rows.with_values(network_kernels.network_rows(one_neuron(kind, width), rows.values, rows.table))
    true = [FUNCTIONS[kind](mpmath.mpf(width) * (mpmath.mpf(float(x)) + mpmath.mpf(0.1))) for x in xi]
    assert 0.5 < beyond(out, true, xi) <= 1.0


def test_rounding_of_a_layer() -> None:
    """A x + b of exact numbers that nearly cancel: each sum is exact in fractions, and in its ball of floats."""
    rng = np.random.default_rng(0)
    A, b, x = rng.normal(size=(200, 30)), rng.normal(size=200), rng.normal(size=30)
    A[:, -1] -= (A @ x + b) / x[-1]
    point = of_box(x, x)
    out = network_kernels.affine_rows(point.values, A, b)
    lost = []
    for row, line, shift in zip(out, A, b, strict=True):
        exact = Fraction(shift) + sum((Fraction(a) * Fraction(c) for a, c in zip(line, x, strict=True)), Fraction(0))
        lost.append(abs(Fraction(row[0]) - exact))
        assert lost[-1] <= sum(map(Fraction, np.abs(row[1:])), Fraction(0))
    assert max(lost) > 0


def test_symbols_of_neurons_stay_in_the_radius() -> None:
    """Two layers: what the first does not know is known to be in the second."""
    rng = np.random.default_rng(1)
    net = from_layers(
        [(rng.normal(size=(6, 1)) * 4, rng.normal(size=6), "relu"), (rng.normal(size=(1, 6)), np.zeros(1))]
    )
    rows = of_box(np.array([-1.0]), np.array([1.0])).fresh()
    out = rows.with_values(network_kernels.network_rows(net, rows.values, rows.table))
    xi = np.linspace(-1.0, 1.0, 401)
    assert beyond(out, [mpmath.mpf(float(y)) for y in net(xi[:, None])[:, 0]], xi) <= 1.0
