"""Sparse polynomials of ξ ∈ [−1, 1]^d with Arb balls as coefficients.

A monomial is one integer: its degree in the lowest byte, then four bits for each exponent, so that a product of
monomials is a sum of integers.
"""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from itertools import count

from flint import arb

from integraph.numbers.arb.conversion import ONE, ZERO, above, below

Polynomial = dict[int, arb]
CONSTANT = 0


def variable(n: int) -> int:
    """The monomial ξ_n."""
    return 1 | 1 << (8 + 4 * n)


@lru_cache(maxsize=1 << 16)
def exponents(monomial: int) -> tuple[tuple[int, int], ...]:
    """Numbers of the variables in it, with their exponents."""
    rest = monomial >> 8
    pairs: list[tuple[int, int]] = []
    for n in count():
        if not rest:
            break
        if rest & 15:
            pairs.append((n, rest & 15))
        rest >>= 4
    return tuple(pairs)


def tail(a: list[arb], b: list[arb]) -> arb:
    """A bound of what a product has above degree k, from the norms of its factors."""
    k, total = len(a) - 1, ZERO
    for i in range(1, k + 1):
        for j in range(k + 1 - i, k + 1):
            total += a[i] * b[j]
    return total


def span(p: Polynomial) -> tuple[arb, arb]:
    """Ends of the range: aξ + bξ² exactly for each variable, other monomials one by one."""
    low = high = p.get(CONSTANT, ZERO)
    lines: dict[int, list[arb]] = {}
    for monomial, ball in p.items():
        variable, power, even = _kind(monomial)
        if power:
            lines.setdefault(variable, [ZERO, ZERO])[power - 1] = ball
        elif even:
            low, high = low + ball.lower().min(ZERO), high + ball.upper().max(ZERO)
        elif monomial != CONSTANT:
            low, high = low - ball.abs_upper(), high + ball.abs_upper()
    for slope, square in lines.values():
        least, most = _parabola(slope.abs_upper(), square)
        low, high = low + least, high + most
    return low.lower(), high.upper()


@lru_cache(maxsize=1 << 16)
def _kind(monomial: int) -> tuple[int, int, bool]:
    """The variable and the exponent of ξ and ξ², else 0; and whether another one is never negative."""
    powers = exponents(monomial)
    if len(powers) == 1 and powers[0][1] <= 2:
        return *powers[0], False
    return 0, 0, bool(powers) and all(power % 2 == 0 for _, power in powers)


def _parabola(slope: arb, square: arb) -> tuple[arb, arb]:
    """Ends of bξ + aξ² over [−1, 1], for b ≥ 0."""
    low, high = square - slope, square + slope
    if 2 * abs(square) <= slope:
        return low, high
    if square > 0:
        return -slope * slope / (4 * square), high
    if square < 0:
        return low, -slope * slope / (4 * square)
    return -(square.abs_upper() + slope), square.abs_upper() + slope


def attained(p: Polynomial) -> tuple[float, float]:
    """About the values in the corners where the linear part is least and largest: no bound is better."""
    falls = [n for n in range(max(p, default=0).bit_length() // 4) if float(p.get(variable(n), ZERO)) < 0]
    odd = sum(1 << (8 + 4 * n) for n in falls)
    one = other = 0.0
    for monomial, ball in p.items():
        value = -float(ball) if (monomial & odd).bit_count() & 1 else float(ball)
        one += value
        other += -value if monomial & 1 else value  # ξ ↦ −ξ; the degree is the lowest byte
    return min(one, other), max(one, other)


def lower_bound(p: Polynomial, pieces: int, wanted: float = math.inf) -> float:
    """A number that p does not fall short of, [−1, 1]^d being divided where p may be lowest, until that is `wanted`, or
    there are so many pieces."""
    order = count()
    queue = [(below(span(p)[0]), next(order), p)]
    while len(queue) < pieces and queue[0][0] < wanted:
        _, _, worst = heapq.heappop(queue)
        n = _axis(worst)
        if n is None:
            return below(span(worst)[0])
        for side in (-1, 1):
            part = _half(worst, n, side)
            heapq.heappush(queue, (below(span(part)[0]), next(order), part))
    return queue[0][0]


def upper_bound(p: Polynomial, pieces: int) -> float:
    return above(-arb(lower_bound({monomial: -ball for monomial, ball in p.items()}, pieces)))


def _axis(p: Polynomial) -> int | None:
    """The variable to divide: where most is lost by taking monomials one by one."""
    weights: dict[int, float] = {}
    for monomial, ball in p.items():
        if monomial & 255 > 1:
            size = float(ball.abs_upper())
            for n, power in exponents(monomial):
                weights[n] = weights.get(n, 0.0) + size * power
    return max(weights, key=lambda n: weights[n]) if weights else None


def _half(p: Polynomial, n: int, side: int) -> Polynomial:
    """p with ξ_n = (side + ξ_n)/2."""
    out: Polynomial = {}
    place = 8 + 4 * n
    for monomial, ball in p.items():
        power = monomial >> place & 15
        scaled = ball / (1 << power) if power else ball
        for kept in range(power + 1):
            lost = power - kept
            target = monomial - lost - (lost << place)
            term = scaled * (math.comb(power, kept) * side**lost)
            out[target] = out.get(target, ZERO) + term
    return out


def identity(low: arb, high: arb, n: int | None) -> Polynomial:
    """middle + radius·ξ_n; a number if there is no variable."""
    p = {CONSTANT: (low + high) / 2}
    if n is not None:
        p[variable(n)] = (high - low) / 2 * ONE
    return p
