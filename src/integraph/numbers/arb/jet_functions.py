"""Taylor coefficients F^(k)(x)/k!, k = 0 … n, of functions of one variable, for all x in a ball.

For most functions a recurrence gives them; over a wide ball it ignores that all its terms depend on the same x. There
each coefficient is bounded again by the next one, its slope: where that has one sign the coefficient is largest and
smallest at the ends, elsewhere the mean value theorem holds it near its value in the middle. Outside of the domain, and
where there is no derivative, coefficients are not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from integraph.numbers.arb import ranges
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, intersection
from integraph.numbers.arb.jet_powers import cbrt, power
from integraph.numbers.arb.ranges import UNKNOWN, monotone

Recurrence = Callable[[arb, int], Balls]
HALF = arb(0.5)
ACCURATE = 20  # bits of a ball that is as good as a number
ROOT, INVERSE = Fraction(-1, 2), Fraction(-1)


def thin(x: arb) -> bool:
    return x.is_exact() or bool(x.rel_one_accuracy_bits() > ACCURATE)


def coefficients(name: str, x: arb, n: int) -> Balls:
    """Of a function of `targets.expression.FUNCTIONS`, abs apart."""
    if not x.is_finite():
        return [UNKNOWN] * (n + 1)
    if name in CLOSED:
        return CLOSED[name](x, n)
    return sharpened(RECURRENCES[name], x, n) if n else RECURRENCES[name](x, 0)


def sharpened(recurrence: Recurrence, x: arb, n: int) -> Balls:
    """The coefficients over a wide ball."""
    if thin(x):
        return recurrence(x, n)
    whole = recurrence(x, n + 1)
    low, high, centre = x.lower(), x.upper(), x.mid()
    at_low, at_high, at_centre = recurrence(low, n), recurrence(high, n), recurrence(centre, n)
    for k in range(n, -1, -1):
        slope = whole[k + 1]
        if slope >= 0 or slope <= 0:
            whole[k] = at_low[k].union(at_high[k])
        else:
            form = at_centre[k] + (k + 1) * slope * (x - centre)
            whole[k] = intersection(whole[k], form)
    return whole[: n + 1]


def _cycle(signs: tuple[int, ...], pair: Balls, n: int) -> Balls:
    """Derivatives that come back: ±pair in turn, over k!."""
    coefficients, scale = [], ONE
    for k in range(n + 1):
        coefficients.append(pair[k % len(pair)] * scale * signs[k % len(signs)])
        scale = scale / (k + 1)
    return coefficients


def _exp(x: arb, n: int) -> Balls:
    return _cycle((1,), [ranges.exp(x)], n)


def _sin(x: arb, n: int) -> Balls:
    return _cycle((1, 1, -1, -1), [ranges.sin(x), ranges.cos(x)], n)


def _cos(x: arb, n: int) -> Balls:
    return _cycle((1, -1, -1, 1), [ranges.cos(x), ranges.sin(x)], n)


def _sinh(x: arb, n: int) -> Balls:
    return _cycle((1,), [ranges.sinh(x), ranges.cosh(x)], n)


def _cosh(x: arb, n: int) -> Balls:
    return _cycle((1,), [ranges.cosh(x), ranges.sinh(x)], n)


def _ln(x: arb, n: int) -> Balls:
    """F' = 1/x."""
    return integral(ranges.log(x), power(x, INVERSE, n - 1) if n else [])


def integral(value: arb, slope: Balls) -> Balls:
    return [value, *(c / (k + 1) for k, c in enumerate(slope))]


def _scaled_ln(base: int) -> Recurrence:
    def of(x: arb, n: int) -> Balls:
        scale = arb(base).log()
        return [c / scale for c in _ln(x, n)]

    return of


def _log1p(x: arb, n: int) -> Balls:
    return [ranges.log1p(x), *_ln(1 + x, n)[1:]]


def _replaced(first: Recurrence, value: Callable[[arb], arb]) -> Recurrence:
    return lambda x, n: [value(x), *first(x, n)[1:]]


def _root_slope(a: int, b: int, p: Fraction, value: Callable[[arb], arb], sign: int = 1) -> Recurrence:
    """F' = ±(a + b x²)^p: k q₀ s_k = (p + 1 − k) q₁ s_{k−1} + (2p + 2 − k) q₂ s_{k−2} of q = a + b (x + t)²."""

    def of(x: arb, n: int) -> Balls:
        coefficients = [value(x)]
        if n == 0 or not coefficients[0].is_finite():
            return coefficients + [UNKNOWN] * n
        q0, q1 = a + b * ranges.square(x), 2 * b * x
        slope = [sign * power(q0, p, 0)[0]]
        for k in range(1, n):
            term = (p.numerator + p.denominator * (1 - k)) * q1 * slope[k - 1]
            if k > 1:
                term += (2 * p.numerator + p.denominator * (2 - k)) * b * slope[k - 2]
            slope.append(term / (k * p.denominator * q0))
        return integral(coefficients[0], slope)

    return of


def _tangent(value: Callable[[arb], arb], slope: Callable[[arb], arb], sign: int) -> Recurrence:
    """T' = 1 + sign·T²; the first slope is not left to cancellation."""

    def of(x: arb, n: int) -> Balls:
        coefficients = [value(x)]
        if n:
            coefficients.append(slope(x))
        for k in range(1, n):
            half = sum((coefficients[j] * coefficients[k - j] for j in range((k + 1) // 2)), ZERO) * 2
            if k % 2 == 0:
                half += ranges.square(coefficients[k // 2])
            coefficients.append(half * sign / (k + 1))
        return coefficients

    return of


def _tan_value(x: arb) -> arb:
    """Rising between its poles, where the cosine is 0."""
    return monotone(arb.tan)(x) if ranges.cos(x) != 0 else UNKNOWN


def _tan_slope(x: arb) -> arb:
    return 1 + ranges.square(_tan_value(x))


_tanh = _tangent(ranges.tanh, ranges.sech2, -1)


def _sigmoid(x: arb, n: int) -> Balls:
    """½ + ½ tanh(x/2)."""
    coefficients, scale = [ranges.sigmoid(x)], HALF
    for c in _tanh(x * HALF, n)[1:]:
        scale = scale * HALF
        coefficients.append(c * scale)
    return coefficients


def _softplus(x: arb, n: int) -> Balls:
    return integral(ranges.softplus(x), _sigmoid(x, n - 1) if n else [])


def _erf(x: arb, n: int) -> Balls:
    """F' = g = 2/√π e^(−x²), k g_k = −2 (x g_{k−1} + g_{k−2})."""
    slope = [2 * ranges.gaussian(x) / arb.const_sqrt_pi()]
    for k in range(1, n):
        slope.append(-2 * (x * slope[k - 1] + (slope[k - 2] if k > 1 else 0)) / k)
    return integral(ranges.erf(x), slope[:n])


CLOSED: dict[str, Recurrence] = {  # every coefficient is a range already
    "exp": _exp,
    "expm1": _replaced(_exp, ranges.expm1),
    "ln": _ln,
    "log1p": _log1p,
    "log2": _scaled_ln(2),
    "log10": _scaled_ln(10),
    "sqrt": lambda x, n: power(x, Fraction(1, 2), n),
    "cbrt": cbrt,
    "sin": _sin,
    "cos": _cos,
    "sinh": _sinh,
    "cosh": _cosh,
}
RECURRENCES: dict[str, Recurrence] = {
    "tan": _tangent(_tan_value, _tan_slope, 1),
    "tanh": _tanh,
    "asin": _root_slope(1, -1, ROOT, monotone(arb.asin)),
    "acos": _root_slope(1, -1, ROOT, monotone(arb.acos), -1),
    "atan": _root_slope(1, 1, INVERSE, ranges.atan),
    "asinh": _root_slope(1, 1, ROOT, ranges.asinh),
    "acosh": _root_slope(-1, 1, ROOT, monotone(arb.acosh)),
    "atanh": _root_slope(1, -1, INVERSE, monotone(arb.atanh)),
    "erf": _erf,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
}
