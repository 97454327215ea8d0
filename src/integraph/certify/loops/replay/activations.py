"""Activations of all neurons of a layer: as `functions` does for a row, with polynomials in floats.

Arb bounds derivatives over the range [c − ρ, c + ρ] of a neuron, and has the values at the Chebyshev nodes; less that
at c, so that a float loses nothing of a small difference.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from flint import arb, ctx

from integraph.certify.loops.replay.functions import LONG, WORTH, beyond, chebyshev, coefficients_of
from integraph.certify.loops.replay.layers import Neurons, composition, lost, product, settled, up
from integraph.certify.properties.replay.functions import Coefficients
from integraph.numbers.arb.conversion import largest
from integraph.numbers.arrays import Floats
from integraph.targets.network import Layer

NODES = slice(1, -3)  # of what Arb says of a neuron, after f(c)
SLOPE, KNOWN, HIGHEST = -3, -2, -1  # f', f and F_(k+1) over the range


def activated(layer: Layer, x: Neurons) -> Neurons:
    """f of every neuron; nothing is known of one where f is not smooth on its range."""
    if layer.activation == "identity":
        return x
    if layer.activation in ("relu", "leaky_relu"):
        slope = layer.slope if layer.activation == "leaky_relu" else 0.0
        return kinks(x, np.broadcast_to(np.asarray(slope, float), x.r.shape))
    return smooth(coefficients_of(layer.activation), x)


def smooth(coefficients: Coefficients, x: Neurons) -> Neurons:
    low, high = x.range
    c = low / 2 + high / 2
    rho = up(np.maximum(high - c, c - low), 2)
    said = [_enclosures(coefficients, *pair, x.k) for pair in zip(c.tolist(), rho.tolist(), strict=True)]
    middles, radii = np.array(said).transpose(1, 0, 2)
    off = up(radii + lost(0, np.abs(middles)), 1)  # the middles are floats
    q, remainder = _interpolants(middles, off)
    highest = np.abs(middles[:, HIGHEST]) + off[:, HIGHEST]
    remainder = up(remainder + highest * rho ** (x.k + 1) / 2.0**x.k, x.k + 5)
    for n in np.flatnonzero(rho > LONG):
        q[n, 0], remainder[n] = _moved(coefficients, q[n], c[n].item(), rho[n].item(), remainder[n].item())
    values, missed = composition(x, q, c, rho)
    slope, size = middles[:, SLOPE], np.abs(middles[:, SLOPE])
    own = missed + remainder + off[:, SLOPE] * x.errors
    r = up(own + size * x.r + lost(1, size * x.spread), 8)
    made = settled(x, values, slope[:, None] * x.g, r)
    better = own + size * x.errors < WORTH * off[:, KNOWN]
    return made.where(better & np.isfinite(made.errors), constants(x, middles[:, KNOWN], off[:, KNOWN]))


def constants(like: Neurons, middle: Floats, r: Floats) -> Neurons:
    """Neurons of which only a range is known."""
    p = np.zeros_like(like.p)
    p[:, 0] = middle
    return settled(like, p, np.zeros_like(like.g), r)


def _enclosures(coefficients: Coefficients, c: float, rho: float, k: int) -> tuple[list[float], list[float]]:
    """f(c), f at the nodes less that, and f', f and F_(k+1) over the range: middles, to nearest, and radii."""
    domain, at = arb(c, rho), arb(c)
    over = coefficients(domain, k + 1) if domain.is_finite() else [arb.nan()] * (k + 2)
    if all(ball.is_finite() for ball in over):
        middle = coefficients(at, 0)[0]
        balls = [middle, *(coefficients(at + rho * node, 0)[0] - middle for node in chebyshev(k, ctx.prec)[0])]
    else:
        balls = [arb.nan()] * (k + 2)
    balls += [over[1], over[0], over[-1]]
    return [float(ball) for ball in balls], [float(ball.rad()) for ball in balls]


@lru_cache
def _inverse(k: int, bits: int) -> tuple[Floats, Floats]:
    """From values at nodes to coefficients: in floats, and what each of them misses."""
    inverse = chebyshev(k, bits)[1]
    floats = [float(ball) for ball in inverse.entries()]
    missed = [largest(ball - x) for ball, x in zip(inverse.entries(), floats, strict=True)]
    return np.array(floats).reshape(k + 1, k + 1), np.array(missed).reshape(k + 1, k + 1)


def _interpolants(middles: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Coefficients q of interpolants in u, and what they miss of those of the exact values."""
    values = middles[:, NODES]
    k = values.shape[1] - 1
    inverse, missed = _inverse(k, ctx.prec)
    sizes, q = np.abs(inverse) + missed, values @ inverse.T
    wrong = up((off[:, NODES] @ sizes.T + np.abs(values) @ missed.T).sum(1), 2 * k + 4)
    wrong += lost(k + 2, up((np.abs(values) @ sizes.T).sum(1), 2 * k + 4))
    q[:, 0] += middles[:, 0]
    return q, up(wrong + off[:, 0] + lost(1, np.abs(q[:, 0])), 4)


def _moved(coefficients: Coefficients, q: Floats, c: float, rho: float, remainder: float) -> tuple[float, float]:
    """The constant of q and its remainder, f − q being bounded piece by piece and q moved to the middle of that."""
    missed = beyond(coefficients, [arb(x) for x in q.tolist()], arb(c), arb(rho))
    moved = float(q[0]) + (float(missed.mid()) if missed.is_finite() else 0.0)
    left = largest(missed - (arb(moved) - arb(float(q[0]))))
    return (moved, left) if left < remainder else (float(q[0]), remainder)


def kinks(x: Neurons, below: Floats) -> Neurons:
    """x where x ≥ 0, below·x elsewhere; of either sign, a parabola or the chord, moved to the middle of its error."""
    low, high = x.range
    start, none = below * low, np.zeros_like(low)
    chord = (high - start) / (high - low)
    gaps = np.stack([start - chord * low, high - chord * high, none])
    least, most = gaps.min(0), gaps.max(0)
    middle = least / 2 + most / 2
    radius = up(most - middle + lost(4, np.abs(start) + np.abs(chord) * np.maximum(-low, high) + high), 4)
    straight, bent = x.scaled(chord, middle, radius), _bent(x, below, np.maximum(-low, high))
    made = bent.where(bent.r < straight.r, straight)
    made = x.scaled(below, none, none).where(high <= 0, made)
    return x.where(low >= 0, made)


def _bent(x: Neurons, below: Floats, reach: Floats) -> Neurons:
    """The kink as αx + β|x|, |x| ≤ L: |p| is p²/L + L/8 within L/8, |x| is |p| within all that x has beside p."""
    alpha, beta = (1 + below) / 2, (1 - below) / 2
    squares, cut = product(x, x.p, x.p)
    share = beta / reach
    p = squares * share[:, None] + alpha[:, None] * x.p
    p[:, 0] += beta * reach / 8
    size, weight = np.abs(alpha), np.abs(beta)
    r = size * x.r + np.abs(share) * cut + weight * (reach / 8 + x.errors)
    off = lost(8, np.abs(share) * up(x.sizes * x.sizes, 1) + (1 + size + weight) * (x.sizes + x.spread + reach))
    return settled(x, p, alpha[:, None] * x.g, up(r + off, 12))
