"""Gadgets on symbols, where the closed form is a formula only from some starts.

A rule handles one lane: the time t, the starts, the operands (the first as the affine form that it is) and k. It
returns the ends, and what has to be > 0 for the solution to exist. A start from which there is no formula is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from integraph.certify.formula.symbols import Symbol
from integraph.certify.problem import Unprovable

Ends = tuple[Symbol, ...]
Quotient = Callable[[Symbol, Symbol], Symbol | None]  # q if the first is exactly q times the second
Rule = Callable[..., tuple[Ends, Ends]]
HALF = Fraction(1, 2)


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unprovable(otherwise)


def _tanh(quotient: Quotient, t: Symbol, alpha: Symbol, lam: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    _need(alpha.number == 0 and lam.number == 0, "tanh does not start at 0")
    tanh = (t * x).function("tanh")
    return (tanh, x * tanh), ()


def _log_cosh(quotient: Quotient, t: Symbol, m: Symbol, l: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    _need(m.number == 0, "log_cosh does not start with m = 0")
    v = t * x
    return (x * v.function("tanh"), l + v.function("cosh").function("ln")), ()


def _half(quotient: Quotient, s: Symbol, x: Symbol, name: str) -> None:
    """From s = x/2, N = 1 + s (e^{xt} − 1)/x is (1 + e^{xt})/2."""
    share = quotient(s, x)
    _need(share is not None and share.number == HALF, f"{name} does not start with s = x/2 exactly")


def _sigmoid(quotient: Quotient, t: Symbol, s: Symbol, g: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    _half(quotient, s, x, "sigmoid")
    sigmoid = (t * x).function("sigmoid")
    return (x * sigmoid, 2 * g * sigmoid), ()


def _silu(quotient: Quotient, t: Symbol, s: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    _half(quotient, s, x, "silu")
    return (x * (t * x).function("sigmoid"),), ()


def _relu(quotient: Quotient, t: Symbol, s: Symbol, x: Symbol, k: Symbol) -> tuple[Ends, Ends]:
    _half(quotient, s, x, "relu")
    return (x * (t * k * x).function("sigmoid"),), ()


def _softplus(quotient: Quotient, t: Symbol, s: Symbol, y: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    """ln N = ln(1 + e^{xt}) − ln 2."""
    _half(quotient, s, x, "softplus")
    v, two = t * x, s.book.symbol(2)
    return (x * v.function("sigmoid"), y + v.function("softplus") - two.function("ln")), ()


def _expm1(quotient: Quotient, t: Symbol, z: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    return ((z + 1) * (t * x).function("exp") - 1,), ()


def _sinh_cosh(quotient: Quotient, t: Symbol, u: Symbol, v: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    sinh, cosh = (t * x).function("sinh"), (t * x).function("cosh")
    return (u * cosh + v * sinh, v * cosh + u * sinh), ()


def _fall(h: Symbol, t: Symbol, w: Symbol, x: Symbol, c: int) -> Symbol:
    """h exp(−c (w t + x² t²/2))."""
    return h * (-c * (t * w + HALF * (t * x) * (t * x))).function("exp")


def _gaussian(quotient: Quotient, t: Symbol, w: Symbol, y: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    return (w + t * x * x, _fall(y, t, w, x, 2)), ()


def _erf(quotient: Quotient, t: Symbol, w: Symbol, h: Symbol, y: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    """∫ h exp(−x² s²) ds = (h/x) √π/2 erf(xt)."""
    share = quotient(h, x)
    if w.number != 0 or share is None:
        raise Unprovable("erf does not start with w = 0 and an h that is exactly a multiple of x")
    area = HALF * share * x.book.pi().power(HALF) * (t * x).function("erf")
    return (w + t * x * x, _fall(h, t, w, x, 2), y + area), ()


def _gelu(quotient: Quotient, t: Symbol, w: Symbol, h: Symbol, z: Symbol, x: Symbol) -> tuple[Ends, Ends]:
    """∫ x h exp(−x² s²/2) ds = h √(π/2) erf(xt/√2)."""
    _need(w.number == 0, "gelu does not start with w = 0")
    root = x.book.symbol(HALF).power(HALF)
    area = h * root * x.book.pi().power(HALF) * (t * x * root).function("erf")
    return (w + t * x * x, _fall(h, t, w, x, 1), z + area), ()


def _arctan(quotient: Quotient, t: Symbol, y: Symbol, v: Symbol, w: Symbol) -> tuple[Ends, Ends]:
    """ζ = w + iv becomes ζ/(1 + ζt), and y gains arg(1 + ζt), which is an arctan where 1 + wt > 0."""
    real, imaginary = 1 + t * w, t * v
    square = real * real + imaginary * imaginary
    return (y + (imaginary / real).function("atan"), v / square, (w * real + v * imaginary) / square), (real,)


def _asinh(quotient: Quotient, t: Symbol, y: Symbol, v: Symbol, u: Symbol, w: Symbol) -> tuple[Ends, Ends]:
    """∫ v/√(1 + u² s²) ds = (v/u) asinh(ut)."""
    share = quotient(v, u)
    if w.number != 0 or share is None:
        raise Unprovable("asinh does not start with w = 0 and a v that is exactly a multiple of u")
    side = t * u
    square = 1 + side * side
    ends = y + share * side.function("asinh"), v * square.power(-HALF), u / square, u * side / square
    return ends, ()


def _variable_power(quotient: Quotient, t: Symbol, p: Symbol, q: Symbol, z: Symbol) -> tuple[Ends, Ends]:
    """p becomes p/(1 + pt), q likewise, and z gains the factor exp((q/p) ln(1 + pt))."""
    share = quotient(q, p)
    if share is None:
        raise Unprovable("variable_power does not start with a q that is exactly a multiple of p")
    base = 1 + t * p
    return (p / base, q / base, z * (share * base.function("ln")).function("exp")), (base,)


RULES: dict[str, Rule] = {
    "tanh": _tanh,
    "log_cosh": _log_cosh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "relu": _relu,
    "softplus": _softplus,
    "expm1": _expm1,
    "sinh_cosh": _sinh_cosh,
    "gaussian": _gaussian,
    "erf": _erf,
    "gelu": _gelu,
    "arctan": _arctan,
    "asinh": _asinh,
    "variable_power": _variable_power,
}
