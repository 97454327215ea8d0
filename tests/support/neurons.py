"""Random neurons of the checker's layers, and their values in fractions, at corners of the symbols."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from integraph.certify.loops.replay.layers import Neurons, settled
from integraph.certify.loops.replay.polynomials import exponents
from integraph.certify.loops.replay.products import table

Exact = list[Fraction]
D, COUNT = 2, 12
CORNERS = list(product((-1, 1), repeat=2))


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
