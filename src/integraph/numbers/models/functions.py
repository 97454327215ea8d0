"""A function of rows: an interpolating polynomial of p, the mean slope for the symbols, and all that is lost.

Let a row and its polynomial have values in [c − ρ, c + ρ], and q interpolate f there in k + 1 Chebyshev nodes. Then

    f(x) = q(p) + s·g·ε + [−R, R],    R = tail of q(p) + sup|f − q| + rad(f')·e + |s|·r

with s the middle of the range of f'. sup|f − q| is at most max|f^(k+1)| ρ^(k+1) / ((k+1)! 2^k); on long intervals the
largest difference at equidistant points plus h²/8·max|f'' − q''| is often less, and then q is moved to its middle.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.balls import TINY, quiet
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import TRUST, Power, Smooth
from integraph.numbers.models.kernels import composition_kernel
from integraph.numbers.models.models import Models, settled
from integraph.numbers.roundoff import UP, U

LONG = 0.4  # ρ from which differences are sampled
SAMPLES = 32


@quiet
def apply(f: Smooth, x: Models) -> Models:
    """f(x), row by row; nothing is known of a row that leaves the domain."""
    table, shape = x.space.monomials, x.r.shape
    domain, errors = _domain(x), x.errors
    inside = (domain.low >= f.domain[0]) & (domain.high <= f.domain[1])
    some = min(max(f.domain[0], 1.0), f.domain[1])
    low, high = (np.where(inside, end, some) for end in (domain.low, domain.high))
    centre = 0.5 * low + 0.5 * high
    rho = np.maximum(high - centre, centre - low) * UP + TINY
    slopes = f.extremes(1, low, high)
    q, off = _interpolant(f, table.k, centre, rho, low, high, np.maximum(np.abs(slopes[0]), np.abs(slopes[1])))
    slope, turn = 0.5 * slopes[0] + 0.5 * slopes[1], (0.5 * slopes[1] - 0.5 * slopes[0]) * UP + TINY
    u = x.p / rho[..., None]
    u[..., 0] = (x.p[..., 0] - centre) / rho
    out, tails = composition_kernel(
        u.reshape(-1, table.count), q.reshape(-1, table.k + 1), table.degrees,
        np.stack([table.first, table.second, table.product]), table.k, x.space.gamma,
    )  # fmt: skip
    norms = np.abs(u).sum(-1)
    moved = 4 * U * (norms + 1.0) * (np.abs(q) @ np.arange(table.k + 1.0))  # by the rounding of u
    r = tails.reshape(shape) + off + moved + (turn + 4 * U * np.abs(slope)) * errors + np.abs(slope) * x.r
    p, g = out.reshape(x.p.shape), slope[..., None] * x.g
    return settled(x.space, p, g, x.names, np.where(inside, r, np.inf), interval_of(f, x.known))


@quiet
def interval_of(f: Smooth, x: Interval) -> Interval:
    """The range of f over intervals; everything where they leave the domain."""
    inside = (x.low >= f.domain[0]) & (x.high <= f.domain[1])
    some = min(max(f.domain[0], 1.0), f.domain[1])
    low, high = f.extremes(0, np.where(inside, x.low, some), np.where(inside, x.high, some))
    return intervals.interval(low, high, inside)


@quiet
def kink(x: Models, below: Floats) -> Models:
    """x where x ≥ 0, below·x elsewhere: ReLU with below = 0, |x| with −1. Where x has either sign, the chord, moved to
    the middle of what it misses."""
    low, high = x.known.low, x.known.high
    start, end = below * np.minimum(low, 0.0), np.maximum(high, 0.0)
    crossing = (low < 0) & (high > 0)
    chord = np.where(crossing, (end - start) / (high - low), np.where(low < 0, below, 1.0))
    misses = start - chord * low, end - chord * high, np.zeros_like(low)  # at the ends and at 0; linear between
    least, most = np.minimum.reduce(misses), np.maximum.reduce(misses)
    shift = np.where(crossing, 0.5 * least + 0.5 * most, 0.0)
    sizes = np.abs(start) + end + np.abs(chord) * (np.abs(low) + np.abs(high))
    off = np.where(crossing, (0.5 * most - 0.5 * least) * UP + 16 * U * sizes, 0.0)
    ends = [np.where(edge < 0, below * edge, edge) for edge in (low, high)]
    bottom, top = np.minimum(*ends), np.maximum(*ends)
    bottom, top = (
        np.where(crossing, choose(end, 0.0), end) for choose, end in ((np.minimum, bottom), (np.maximum, top))
    )
    moved = x.scale(chord, shift, Interval(np.full_like(low, -np.inf), np.full_like(low, np.inf)))
    return settled(x.space, moved.p, moved.g, moved.names, moved.r + off, intervals.outward(bottom, top))


def reciprocal(x: Models) -> Models:
    """1/x; nothing is known where 0 is inside."""
    return odd(Power(-1.0), x)


def odd(f: Smooth, x: Models) -> Models:
    """f(x) for x > 0 and −f(−x) for x < 0; nothing is known where 0 is inside."""
    sign = np.where(x.known.high < 0, -1.0, 1.0)
    zero = np.zeros((1, 1))
    return apply(f, x.scale(sign, zero)).scale(sign, zero)


def _domain(x: Models) -> Interval:
    """What contains the value of a row, and of its polynomial, and all between them."""
    span = x.polynomial_span()
    return Interval(np.minimum(span.low, x.known.low), np.maximum(span.high, x.known.high))


def _interpolant(
    f: Smooth, k: int, centre: Floats, rho: Floats, low: Floats, high: Floats, steep: Floats
) -> tuple[Floats, Floats]:
    """Coefficients of q in u = (x − centre)/ρ, (rows, cells, k+1), and sup |f − q| over [low, high], where |f'| is at
    most `steep`."""
    nodes, transform, sizes = chebyshev(k)
    values = f.value(centre[..., None] + rho[..., None] * nodes)
    reading = f.slack + 4 * U * steep * (np.abs(centre) + rho)  # of f at a rounded node
    q = values @ transform.T
    lost = (TRUST + (k + 30) * U) * (np.abs(values) @ sizes) + reading * sizes.sum()
    rest = _largest(f, k + 1, low, high) + TINY
    for _ in range(k + 1):
        rest = rest * rho  # ρ^(k+1) alone may underflow
    off = rest / (math.factorial(k + 1) * 2.0**k) * UP + lost + TINY
    long = np.nonzero(rho > LONG)
    if len(long[0]):
        q[long], off[long] = _centred(f, q[long], off[long], *(a[long] for a in (centre, rho, low, high, reading)))
    return q, off


def _centred(
    f: Smooth, q: Floats, off: Floats, centre: Floats, rho: Floats, low: Floats, high: Floats, reading: Floats
) -> tuple[Floats, Floats]:
    """The same for long intervals, by sampling, where that is better."""
    x = np.clip(centre[:, None] + rho[:, None] * np.linspace(-1.0, 1.0, SAMPLES + 1), low[:, None], high[:, None])
    u = (x - centre[:, None]) / rho[:, None]
    degrees = np.arange(q.shape[1])
    fitted = np.zeros_like(u)
    for coefficients in q.T[::-1]:
        fitted = fitted * u + coefficients[:, None]
    values = f.value(x)
    differences = values - fitted
    least, most = differences.min(1), differences.max(1)
    bent = rho**2 * _largest(f, 2, low, high) + np.abs(q) @ (degrees * (degrees - 1.0))
    between = bent * (0.5 / SAMPLES**2) * (1 + 1e-6)  # h²/8 with h = 2/SAMPLES
    size = np.abs(q) @ (degrees + 1.0)
    lost = TRUST * np.abs(values).max(1) + reading + 100 * U * size
    sampled = (0.5 * most - 0.5 * least) * UP + between + lost
    better = sampled < off
    q[:, 0] += np.where(better, 0.5 * least + 0.5 * most, 0.0)
    return q, np.where(better, sampled, off)


def _largest(f: Smooth, order: int, low: Floats, high: Floats) -> Floats:
    """sup |f^(order)|."""
    least, most = f.extremes(order, low, high)
    return np.maximum(np.abs(least), np.abs(most))


@lru_cache
def chebyshev(k: int) -> tuple[Floats, Floats, Floats]:
    """k + 1 nodes, the matrix from values there to coefficients of u^m, and how much an error of each value can change
    the polynomial on [−1, 1]."""
    angles = np.pi * (np.arange(k + 1) + 0.5) / (k + 1)
    waves = np.cos(np.arange(k + 1)[:, None] * angles) * (2.0 / (k + 1))
    waves[0] *= 0.5
    powers = np.zeros((k + 1, k + 1))  # row m: the coefficients of T_m, integers
    powers[0, 0] = 1.0
    if k:
        powers[1, 1] = 1.0
    for m in range(2, k + 1):
        powers[m, 1:] = 2.0 * powers[m - 1, :-1]
        powers[m] -= powers[m - 2]
    return np.cos(angles), powers.T @ waves, (np.abs(powers.T) @ np.abs(waves)).sum(0)
