"""Rows of polynomial models one at a time, compiled: [p | g | r], a polynomial, shared symbols, a private radius.

This is the arithmetic of `numbers.models`, for one set of states and long chains of products: the norms of a row are
computed once and serve every product. `norms` of a row: its coefficients of degree 0 … k, then |g|₁.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.certify.loops.interval_kernels import defined, derivative, value
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit
from integraph.numbers.models.elementary_functions import TRUST
from integraph.numbers.models.functions import LONG, SAMPLES
from integraph.numbers.models.kernels import composition_kernel, span_kernel
from integraph.numbers.roundoff import UP, U

WORTH = 2.0  # how much wider than an interval a row may be: its symbols may cancel those of other rows


@cached_njit(error_model="numpy")
def copy(row: Floats, out: Floats) -> None:
    """out = row; as a slice it would compile a check of shapes, with its message, into every kernel."""
    for m in range(len(row)):
        out[m] = row[m]


@cached_njit(error_model="numpy")
def clear(row: Floats) -> None:
    for m in range(len(row)):
        row[m] = 0.0


@cached_njit(error_model="numpy")
def finish(row: Floats, norms: Floats, degrees: Indices) -> None:
    """Round the radius up, and take the norms."""
    count = len(degrees)
    clear(norms)
    for m in range(count):
        norms[degrees[m]] += abs(row[m])
    total = 0.0
    for e in range(count, len(row) - 1):
        total += abs(row[e])
    norms[-1] = total
    for i in range(len(norms)):
        norms[i] *= UP
    row[-1] = row[-1] * UP


@cached_njit(error_model="numpy")
def size(norms: Floats) -> float:
    """‖p‖ + |g|₁."""
    total = 0.0
    for i in range(len(norms)):
        total += norms[i]
    return total


@cached_njit(error_model="numpy")
def add_product(
    out: Floats, w: float, a: Floats, na: Floats, b: Floats, nb: Floats, degrees: Indices, pairs: Indices, gamma: float
) -> None:
    """out += w·a·b for w ≥ 0; `gamma` counts the rounding of all products that are added to `out`."""
    count, k = len(degrees), len(na) - 2
    sa, sb = size(na), size(nb)
    if sa + a[-1] == 0.0 or sb + b[-1] == 0.0:
        return
    for t in range(pairs.shape[1]):
        out[pairs[2, t]] += w * a[pairs[0, t]] * b[pairs[1, t]]
    a0, b0 = w * a[0], w * b[0]
    for e in range(count, len(out) - 1):
        out[e] += a0 * b[e] + b0 * a[e]
    tail, at, bt = 0.0, 0.0, 0.0
    for i in range(1, k + 1):
        at += na[i]
        bt += nb[i]
        for j in range(k + 1 - i, k + 1):
            tail += na[i] * nb[j]
    ea, eb = na[-1] + a[-1], nb[-1] + b[-1]
    r = tail + at * eb + na[0] * b[-1] + bt * ea + nb[0] * a[-1] + ea * eb
    out[-1] += w * (r + gamma * sa * sb) + TINY


@cached_njit(error_model="numpy")
def add_scaled(out: Floats, w: float, off: float, a: Floats, na: Floats) -> None:
    """out += (w ± off)·a."""
    for i in range(len(out) - 1):
        out[i] += w * a[i]
    out[-1] += abs(w) * a[-1] + (off + 4 * U * abs(w)) * (size(na) + a[-1]) + 2 * U * size(na) + TINY


@cached_njit(error_model="numpy")
def row_range(
    row: Floats, norms: Floats, degrees: Indices, d: int, squares: Indices, kinds: Indices
) -> tuple[float, float]:
    """Ends of the range of a row."""
    count = len(degrees)
    low, high = span_kernel(row[:count].reshape(1, count), d, squares, kinds, (count + 100) * U)
    e = (norms[-1] + row[-1]) * UP + TINY
    least, most = low[0] - e, high[0] + e
    return least - 2 * U * abs(least), most + 2 * U * abs(most)


@cached_njit(error_model="numpy")
def function_of_row(
    out: Floats, function: int, exponent: float, row: Floats, norms: Floats, low: float, high: float,
    degrees: Indices, pairs: Indices, chebyshev: tuple[Floats, Floats, Floats],
) -> bool:  # fmt: skip
    """out = F(row), whose range is [low, high]; False where F is not defined there. The formula is that of
    `numbers.models.functions`."""
    if not defined(function, low, high):
        return False
    count, k = len(degrees), len(norms) - 2
    nodes, transform, sizes = chebyshev
    centre = 0.5 * low + 0.5 * high
    rho = max(high - centre, centre - low) * UP + TINY
    flattest, steepest = derivative(function, exponent, 1, low, high)
    bent = derivative(function, exponent, k + 1, low, high)
    steep = max(abs(flattest), abs(steepest))
    values, q, u = np.empty(k + 1), np.zeros((1, k + 1)), np.empty((1, count))
    spread = 0.0
    for n in range(k + 1):
        x = min(max(centre + rho * nodes[n], low), high)
        values[n] = value(function, exponent, x)
        spread += abs(values[n]) * sizes[n]
    for m in range(k + 1):
        for n in range(k + 1):
            q[0, m] += transform[m, n] * values[n]
    off = max(abs(bent[0]), abs(bent[1])) * (math.pow(rho, k + 1) / math.pow(2.0, k)) * UP
    reading = 8 * U * steep * (abs(centre) + rho)
    off += (TRUST + (k + 30) * U) * spread + reading * size(sizes) + TINY
    if rho > LONG:
        shift, sampled = _sampled(function, exponent, q[0], centre, rho, low, high, reading)
        if sampled < off:
            off = sampled
            q[0, 0] += shift
    for m in range(count):
        u[0, m] = row[m] / rho
    u[0, 0] = (row[0] - centre) / rho
    p, tails = composition_kernel(u, q, degrees, pairs, k, (count + 100) * U)
    moved, norm = 0.0, 1.0
    for m in range(count):
        norm += abs(u[0, m])
    for m in range(k + 1):
        moved += m * abs(q[0, m])
    slope, turn = 0.5 * flattest + 0.5 * steepest, (0.5 * steepest - 0.5 * flattest) * UP + TINY
    errors = (norms[-1] + row[-1]) * UP
    copy(p[0], out)
    for e in range(count, len(out) - 1):
        out[e] = slope * row[e]
    r = tails[0] + off + 4 * U * norm * moved + (turn + 4 * U * abs(slope)) * errors + abs(slope) * row[-1]
    out[-1] = r
    least, most = derivative(function, exponent, 0, low, high)
    plain = (0.5 * most - 0.5 * least) * UP + 2 * U * (abs(least) + abs(most)) + TINY
    if not r + abs(slope) * norms[-1] <= WORTH * plain:  # an interval is better
        clear(out)
        out[0], out[-1] = 0.5 * least + 0.5 * most, plain
    return math.isfinite(out[-1])


@cached_njit(error_model="numpy")
def _sampled(
    function: int, exponent: float, q: Floats, centre: float, rho: float, low: float, high: float, reading: float
) -> tuple[float, float]:
    """What to add to q(u), and a bound of |F − q| then, by samples with Taylor's remainder between them."""
    least, most, largest, bend, total = math.inf, -math.inf, 0.0, 0.0, 0.0
    for n in range(SAMPLES + 1):
        x = min(max(centre + rho * (2.0 * n / SAMPLES - 1.0), low), high)
        u, y, fitted = (x - centre) / rho, value(function, exponent, x), 0.0
        for m in range(len(q) - 1, -1, -1):
            fitted = fitted * u + q[m]
        least, most, largest = min(least, y - fitted), max(most, y - fitted), max(largest, abs(y))
    for m in range(len(q)):
        bend += m * (m - 1.0) * abs(q[m])
        total += (m + 1.0) * abs(q[m])
    second = derivative(function, exponent, 2, low, high)
    bend += 2.0 * rho * rho * max(abs(second[0]), abs(second[1]))
    between = bend * (0.5 / SAMPLES**2) * (1 + 1e-6)  # h²/8 with h = 2/SAMPLES
    return 0.5 * least + 0.5 * most, (
        0.5 * most - 0.5 * least
    ) * UP + between + TRUST * largest + reading + 100 * U * total


@cached_njit(error_model="numpy")
def kink_of_row(
    row: Floats, norms: Floats, below: float, low: float, high: float, degrees: Indices, pairs: Indices
) -> None:
    """The row, in place, to x where x ≥ 0 and below·x elsewhere, its range being [low, high]: where it has either sign,
    the better of a chord, moved to the middle of what it misses, and a parabola."""
    chord, shift, off = below if high <= 0.0 else 1.0, 0.0, 0.0
    if low < 0.0 < high:
        chord = (high - below * low) / (high - low)
        start, end = below * low - chord * low, high - chord * high  # what it misses at the ends; at 0 nothing
        least, most = min(min(start, end), 0.0), max(max(start, end), 0.0)
        shift = 0.5 * least + 0.5 * most
        off = (0.5 * most - 0.5 * least) * UP + 16 * U * (1.0 + abs(below) + abs(chord)) * (abs(low) + high)
        if _parabola(row, norms, below, max(-low, high), abs(chord) * row[-1] + off, degrees, pairs):
            return
    if chord == 1.0 and off == 0.0:
        return
    total = abs(shift)
    for i in range(len(row) - 1):
        total += abs(row[i])
        row[i] *= chord
    row[0] += shift
    row[-1] = (abs(chord) * row[-1] + off + 4 * U * (1.0 + abs(chord)) * total) * UP + TINY


@cached_njit(error_model="numpy")
def _parabola(
    row: Floats, norms: Floats, below: float, reach: float, most: float, degrees: Indices, pairs: Indices
) -> bool:
    """The kink as αx + β|x| into the row, |x| ≤ L, if its radius is then less than `most`: |p| is p²/L + L/8 within
    L/8, and |x| is |p| within all that x has beside p."""
    k = len(norms) - 2
    alpha, beta = 0.5 + 0.5 * below, 0.5 - 0.5 * below
    tail, norm = 0.0, 0.0
    for i in range(k + 1):
        norm += norms[i]
        for j in range(k + 1 - i, k + 1):
            tail += norms[i] * norms[j]
    lost = (tail + 2 * (len(degrees) + 100) * U * norm * norm) / reach + reach / 8.0 + norms[-1] + row[-1]
    radius = abs(alpha) * row[-1] + abs(beta) * lost * UP + 16 * U * (1.0 + abs(below)) * (reach + size(norms))
    if not radius < most:
        return False
    square = np.zeros(len(degrees))
    for t in range(pairs.shape[1]):
        square[pairs[2, t]] += row[pairs[0, t]] * row[pairs[1, t]]
    for m in range(len(row) - 1):
        row[m] *= alpha
    for m in range(len(degrees)):
        row[m] += beta * (square[m] / reach)
    row[0] += beta * (reach / 8.0)
    row[-1] = radius * UP + TINY
    return True
