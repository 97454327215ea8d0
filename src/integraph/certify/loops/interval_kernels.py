"""Intervals [low, high] of single numbers, compiled: sums, products, and smooth functions with all their derivatives.

Every end moves outward by more than its rounding. What is not finite becomes (−∞, ∞), or NaN in a sum: a comparison
with such an end fails, and so does the proof.
"""

from __future__ import annotations

import math

from integraph.numbers.balls import TINY
from integraph.numbers.jit import cached_njit
from integraph.numbers.models.elementary_functions import TRUST
from integraph.numbers.roundoff import U

Ends = tuple[float, float]

EXP, LN, POWER, RECIPROCAL, SIN, COS, TAN, TANH, ATAN, ERF = range(10)
PIECE, PIECES = (
    0.25,
    16,
)  # derivatives of tan, tanh and erf are bounded on so many pieces at most, of this length
ORDER = 24  # the highest derivative
LOST = 4 * U
FAR = 1e6  # where the phase of a wave is not known to 1e-9 of a turn any more


@cached_njit(error_model="numpy")
def down(x: float) -> float:
    return x - (abs(x) * LOST + TINY)


@cached_njit(error_model="numpy")
def up(x: float) -> float:
    return x + (abs(x) * LOST + TINY)


@cached_njit(error_model="numpy")
def times(a: float, b: float, c: float, d: float) -> Ends:
    """[a, b]·[c, d]."""
    p, q, r, s = a * c, a * d, b * c, b * d
    if not math.isfinite(abs(p) + abs(q) + abs(r) + abs(s)):
        return -math.inf, math.inf
    return down(min(min(p, q), min(r, s))), up(max(max(p, q), max(r, s)))


@cached_njit(error_model="numpy")
def square(a: float, b: float) -> Ends:
    """[a, b]²."""
    p, q = a * a, b * b
    if not math.isfinite(p + q):
        return -math.inf, math.inf
    least = 0.0 if a <= 0.0 <= b else max(down(min(p, q)), 0.0)
    return least, up(max(p, q))


@cached_njit(error_model="numpy")
def value(function: int, a: float, x: float) -> float:
    """F(x), to a relative error of `TRUST`; a is the exponent of a power."""
    if function == EXP:
        return math.exp(x)
    if function == LN:
        return math.log(x)
    if function == POWER:
        return math.pow(x, a)
    if function == RECIPROCAL:
        return 1.0 / x
    if function == SIN:
        return math.sin(x)
    if function == COS:
        return math.cos(x)
    if function == TAN:
        return math.tan(x)
    if function == TANH:
        return math.tanh(x)
    if function == ATAN:
        return math.atan(x)
    return math.erf(x)


@cached_njit(error_model="numpy")
def defined(function: int, low: float, high: float) -> bool:
    """Whether F is smooth on the interval, and its values are in float64."""
    if not (low <= high and math.isfinite(low) and math.isfinite(high)):
        return False
    if function == EXP:
        return high < 700.0
    if function in (LN, POWER):
        return low > 1e-150 and high < 1e150
    if function == RECIPROCAL:
        return (low > 1e-150 or high < -1e-150) and max(abs(low), abs(high)) < 1e150
    if function == TAN:
        turns = math.floor(low / math.pi + 0.5 - 1e-9)
        return max(abs(low), abs(high)) < FAR and turns == math.floor(high / math.pi + 0.5 + 1e-9)
    return True


@cached_njit(error_model="numpy")
def _ordered(p: float, q: float, off: float) -> Ends:
    """The interval of two ends with a relative error."""
    return min(p, q) - off * abs(min(p, q)) - TINY, max(p, q) + off * abs(max(p, q)) + TINY


@cached_njit(error_model="numpy")
def _wave(quarters: int, low: float, high: float) -> Ends:
    """The range of sin(x + quarters·π/2)."""
    q = quarters % 4
    if max(abs(low), abs(high)) > FAR:
        return -1.0, 1.0
    sign = -1.0 if q >= 2 else 1.0
    p, r = (
        (sign * math.sin(low), sign * math.sin(high)) if q % 2 == 0 else (sign * math.cos(low), sign * math.cos(high))
    )
    least, most = min(p, r) - TRUST, max(p, r) + TRUST
    peak = (1 - q) / 4  # sin(x + qπ/2) is 1 where x/(2π) − peak is an integer
    if math.floor(high / (2 * math.pi) - peak + 1e-9) >= math.ceil(low / (2 * math.pi) - peak - 1e-9):
        most = 1.0
    dip = peak + 0.5
    if math.floor(high / (2 * math.pi) - dip + 1e-9) >= math.ceil(low / (2 * math.pi) - dip - 1e-9):
        least = -1.0
    return max(least, -1.0), min(most, 1.0)


@cached_njit(error_model="numpy")
def _riccati(sign: float, order: int, low: float, high: float) -> Ends:
    """Taylor coefficient `order` of y' = 1 + sign·y² for y in [low, high]: tan has sign 1, tanh −1."""
    lows, highs = [low], [high]
    for j in range(order):
        a, b = (1.0, 1.0) if j == 0 else (0.0, 0.0)
        for i in range((j + 1) // 2):
            c, d = times(2.0 * lows[i], 2.0 * highs[i], lows[j - i], highs[j - i])
            a, b = down(a + min(sign * c, sign * d)), up(b + max(sign * c, sign * d))
        if j % 2 == 0:
            c, d = square(lows[j // 2], highs[j // 2])
            a, b = down(a + min(sign * c, sign * d)), up(b + max(sign * c, sign * d))
        lows.append(down(a / (j + 1)))
        highs.append(up(b / (j + 1)))
    return lows[order], highs[order]


@cached_njit(error_model="numpy")
def _gauss(order: int, low: float, high: float) -> Ends:
    """Taylor coefficient `order` ≥ 1 of erf over [low, high]: erf' = y with y' = −2xy, y = 2/√π at 0."""
    near, far = max(max(low, -high), 0.0), max(abs(low), abs(high))
    peak = 2.0 / math.sqrt(math.pi)
    before, here = (0.0, 0.0), _ordered(peak * math.exp(-far * far), peak * math.exp(-near * near), 8.0 * TRUST)
    for j in range(order - 1):
        c, d = times(low, high, here[0], here[1])
        c, d = down(c + before[0]), up(d + before[1])
        before, here = here, (down(-2.0 * d / (j + 1)), up(-2.0 * c / (j + 1)))
    return down(here[0] / order), up(here[1] / order)


@cached_njit(error_model="numpy")
def derivative(function: int, a: float, order: int, low: float, high: float) -> Ends:
    """The range of F^(order)/order! over an interval where F is `defined`, to rounding and, from order 2 on of tan,
    tanh, atan and erf, to some more."""
    off = 4.0 * TRUST
    if function == EXP:
        least, most = math.exp(low), math.exp(high)
        for i in range(order):
            least, most = least / (i + 1), most / (i + 1)
        return _ordered(least, most, off)
    if function == LN and order == 0:
        return _ordered(math.log(low), math.log(high), off)
    if function in (LN, POWER, RECIPROCAL):
        factor, power = 1.0, a
        if function == LN:
            factor, power, order = 1.0 / order, -1.0, order - 1  # (1/x)^(m−1)/m!
            factor = -factor if order % 2 else factor
        elif function == RECIPROCAL:
            power = -1.0
            factor = -1.0 if order % 2 else 1.0
        else:
            for i in range(order):
                factor *= (a - i) / (i + 1)
        side = -1.0 if high < 0 and int(power - order) % 2 else 1.0
        least, most = math.pow(abs(low), power - order), math.pow(abs(high), power - order)
        return _ordered(side * factor * least, side * factor * most, off)
    if function in (SIN, COS):
        least, most = _wave(order + (1 if function == COS else 0), low, high)
        for i in range(order):
            least, most = least / (i + 1), most / (i + 1)
        return down(least), up(most)
    if order == 0:
        return _ordered(value(function, a, low), value(function, a, high), off)
    if function == ATAN:
        near, far = max(max(low, -high), 0.0), max(abs(low), abs(high))
        most = math.pow(1.0 + near * near, -0.5 * order) / order
        least = 1.0 / (1.0 + far * far) if order == 1 else -most
        return _ordered(least, most, off)
    pieces = min(max(int((high - low) / PIECE), 1), PIECES)
    least, most = math.inf, -math.inf
    for n in range(pieces):
        start = low + (high - low) * (n / pieces) if n else low
        end = low + (high - low) * ((n + 1) / pieces) if n < pieces - 1 else high
        if function == ERF:
            c, d = _gauss(order, start, end)
        else:
            p, q = _ordered(value(function, a, start), value(function, a, end), off)
            if function == TANH:
                p, q = max(p, -1.0), min(q, 1.0)
            c, d = _riccati(1.0 if function == TAN else -1.0, order, p, q)
        least, most = min(least, c), max(most, d)
    return least, most
