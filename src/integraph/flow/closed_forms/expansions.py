"""Operations that a language may lack, written by others, to a few units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from integraph.flow.closed_forms.gauss_functions import HALF_ROOT_PI, erfcx
from integraph.flow.closed_forms.recorder import Array

if TYPE_CHECKING:
    from integraph.flow.closed_forms.functions import SymbolFunctions

ARCTAN = [(-1) ** n / (2 * n + 1) for n in range(21)]  # of arctan(q)/q in q², for |q| ≤ tan(π/8)
ERF = [(-1) ** n / (math.factorial(n) * (n + 0.5) * math.sqrt(math.pi)) for n in range(19)]  # of erf(x)/x in x² ≤ 1


def expm1(f: SymbolFunctions, x: Array) -> Array:
    """(u − 1)·x/ln u with u = e^x: the rounding of u cancels in the quotient."""
    u = f.exp(x)
    inner = f.both(f.less(-1.0, x), f.less(x, 1.0))
    log = f.log(f.where(inner, u, 2.0))
    return f.where(inner, f.where(f.equal(u, 1.0), x, (u - 1.0) * (x / f.nonzero(log))), u - 1.0)


def log1p(f: SymbolFunctions, x: Array) -> Array:
    """x·ln(u)/(u − 1) with u = 1 + x."""
    u = 1.0 + x
    inner = f.less(f.abs(x), 1.0)
    rise = f.nonzero(u - 1.0)
    return f.where(inner, f.where(f.equal(u, 1.0), x, x * (f.log(u) / rise)), f.log(u))


def hypot(f: SymbolFunctions, x: Array, y: Array) -> Array:
    x, y = f.abs(x), f.abs(y)
    large = f.nonzero(f.maximum(x, y))
    share = f.minimum(x, y) / large
    return large * f.sqrt(1.0 + share * share)


def asinh(f: SymbolFunctions, x: Array) -> Array:
    size = f.abs(x)
    return f.sign(x) * f.log1p(size + size * (size / (1.0 + f.hypot(size, 1.0))))


def atan2(f: SymbolFunctions, y: Array, x: Array) -> Array:
    """Four times the arc tangent of a quarter of the angle, which a series gives; from the other side for x < 0."""
    size = f.abs(x)
    half = y / f.nonzero(size + f.hypot(size, y))
    quarter = half / (1.0 + f.sqrt(1.0 + half * half))
    angle = 4.0 * quarter * _series(quarter * quarter, ARCTAN)
    return f.where(f.less(x, 0.0), f.sign(y) * math.pi - angle, angle)


def erf(f: SymbolFunctions, x: Array) -> Array:
    size = f.abs(x)
    near, far = f.minimum(size, 1.0), f.minimum(f.maximum(size, 1.0), 10.0)
    small = x * _series(near * near, ERF)
    large = f.sign(x) * (1.0 - f.exp(-far * far) * erfcx(f, far))
    return f.where(f.less(size, 1.0), small, large)


def _ratio(f: SymbolFunctions, function: Callable[[Array], Array], x: Array) -> Array:
    """function(x)/x with its limit at 0."""
    moved = f.nonzero(x)
    return function(moved) / moved


def _series(x: Array, coefficients: Sequence[float]) -> Array:
    """A power series by Horner's rule: the first term is the largest, and its rounding the only one that counts."""
    value: Array = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def expansions() -> dict[str, Callable[..., Array]]:
    """By the operation that they stand for, as a `Recorder` calls them."""
    from integraph.flow.closed_forms.functions import SymbolFunctions

    def of(function: Callable[..., Array]) -> Callable[..., Array]:
        return lambda recorder, *given: function(SymbolFunctions(recorder), *given)

    table: dict[str, Callable[..., Array]] = {
        "expm1": expm1,
        "log1p": log1p,
        "hypot": hypot,
        "arcsinh": asinh,
        "arctan2": atan2,
        "erf": erf,
        "expm1c": lambda f, x: _ratio(f, f.expm1, x),
        "log1pc": lambda f, x: _ratio(f, f.log1p, x),
        "asinhc": lambda f, x: _ratio(f, f.asinh, x),
        "gaussian_mean": lambda f, x: HALF_ROOT_PI * _ratio(f, f.erf, x),
    }
    return {op: of(function) for op, function in table.items()}
