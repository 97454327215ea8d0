"""Functions of one number x, unit by unit: q(x)·f(p(x)) + r(x), polynomials up to the cube, and what activation it is.

The form is closed under what exporters write for GELU, SiLU and the Gaussian, so these are recognised by what they
compute and in any order of writing: x·½·(1 + erf(x/√2)) and ½·(x + x·erf(x/√2)) end in the same three polynomials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.chain import sum_is_exact, times
from integraph.numbers.arrays import Floats
from integraph.targets.activations import CUBIC, ROOT_2_PI

DEGREE = 3
MANY = 16  # notes of one value
THRESHOLD = 20.0  # above, softplus and the identity differ by less than e^−20 = 2e-9
TOLERANCE = 2e-7  # of constants such as √2: what float32 leaves of them, after a product or two


@dataclass(frozen=True, slots=True)
class Pattern:
    """activation(u) = u·f(inner·u + cube·u³), or ½·u·(f(…) + 1) if `shifted`."""

    f: str
    activation: str
    inner: float
    cube: float
    shifted: bool

    @property
    def gain(self) -> float:
        return 2.0 if self.shifted else 1.0


PATTERNS = (
    Pattern("sigmoid", "silu", 1.0, 0.0, False),
    Pattern("tanh", "silu", 0.5, 0.0, True),
    Pattern("erf", "gelu", math.sqrt(0.5), 0.0, True),
    Pattern("tanh", "gelu_tanh", ROOT_2_PI, ROOT_2_PI * CUBIC, True),
    Pattern("sigmoid", "gelu_tanh", 2.0 * ROOT_2_PI, 2.0 * ROOT_2_PI * CUBIC, False),
)


@dataclass(frozen=True, slots=True, eq=False)
class ElementwiseValue:
    """q(x)·f(p(x)) + r(x); polynomials are (4, units) arrays of coefficients, and f None means r alone."""

    r: Floats
    q: Floats
    f: str | None = None
    p: Floats | None = None
    slope: float | Floats = 0.0
    notes: tuple[str, ...] = ()

    @property
    def affine(self) -> bool:
        return self.f is None and degree(self.r) <= 1


@dataclass(frozen=True, slots=True, eq=False)
class ActivationForm:
    """s·f(a x + b) + t with f one of our activations."""

    f: str
    slope: float | Floats
    a: Floats
    b: Floats
    s: Floats
    t: Floats
    notes: tuple[str, ...] = ()


def degree(p: Floats) -> int:
    return max((n for n in range(DEGREE + 1) if p[n].any()), default=0)


def argument(units: int) -> ElementwiseValue:
    """x itself."""
    r = np.zeros((DEGREE + 1, units))
    r[1] = 1.0
    return ElementwiseValue(r, np.zeros_like(r))


def apply(f: str, x: ElementwiseValue, slope: float | Floats) -> ElementwiseValue:
    """f of a polynomial."""
    q = np.zeros_like(x.r)
    q[0] = 1.0
    return ElementwiseValue(np.zeros_like(q), q, f, x.r, slope, x.notes)


def greater(x: ElementwiseValue, c: Floats) -> ElementwiseValue:
    """Whether x > c; no activation by itself."""
    p = x.r.copy()
    p[0] -= c
    return apply("greater", replace(x, r=p), 0.0)


def choose(condition: ElementwiseValue, x: ElementwiseValue, y: ElementwiseValue, where: str) -> ElementwiseValue:
    """x where the condition holds, else y. Known is one case: softplus, and its argument where that is above 20."""
    if condition.f == "greater" and x.f is None and y.f == "softplus" and condition.p is not None and y.p is not None:
        lowest = -condition.p[0]  # of the argument
        same = np.array_equal(condition.p[1:], y.p[1:]) and not (y.p[0].any() or degree(y.q) or y.r.any())
        if same and (lowest >= THRESHOLD).all() and _close(x.r, y.q[0] * y.p) and _close(y.q[0] * y.p, x.r):
            note = f"{where}: softplus is linear above {lowest.min():g} there and ln(1 + eˣ) everywhere here"
            return replace(y, notes=(*_joint(x, y), note))
    raise SourceError(f"{where} chooses between {_words(x)} and {_words(y)}: only softplus with its threshold is known")


@np.errstate(over="ignore", invalid="ignore")
def add(x: ElementwiseValue, y: ElementwiseValue, where: str) -> ElementwiseValue:
    if x.f is not None and y.f is not None and not _same(x, y):
        raise SourceError(f"{where} adds two activations, {x.f} and {y.f}: a unit of a feedforward net has one")
    one = x if x.f is not None else y
    exact = sum_is_exact(x.q, y.q) and sum_is_exact(x.r, y.r)
    notes = _joint(x, y) + (() if exact else (f"{where}: sum of coefficients rounded to float64",))
    return replace(one, r=x.r + y.r, q=x.q + y.q, notes=notes)


@np.errstate(over="ignore", invalid="ignore")
def mul(x: ElementwiseValue, y: ElementwiseValue, where: str) -> ElementwiseValue:
    if x.f is not None and y.f is not None:
        raise SourceError(f"{where} multiplies two activations, {x.f} and {y.f}: only x·f(x) is an activation")
    one, other = (x, y) if x.f is not None else (y, x)
    q, exact_q = _product(one.q, other.r, where)
    r, exact_r = _product(one.r, other.r, where)
    notes = _joint(x, y) + (() if exact_q and exact_r else (f"{where}: product of coefficients rounded to float64",))
    return replace(one, r=r, q=q, notes=notes)


def constant(c: Floats) -> ElementwiseValue:
    """One number for each unit."""
    r = np.zeros((DEGREE + 1, len(c)))
    r[0] = c
    return ElementwiseValue(r, np.zeros_like(r))


@np.errstate(over="ignore", invalid="ignore")
def form(x: ElementwiseValue, where: str) -> ActivationForm:
    """The activation that a value is, or a SourceError."""
    form_ = _direct(x) or _gaussian(x, where) or next(filter(None, (_match(x, p, where) for p in PATTERNS)), None)
    if form_ is None:
        raise SourceError(
            f"{where}: {_words(x)} is not a known activation s·f(a·x + b) + t. Composite ones that are recognised: "
            "x·sigmoid(k·x) (SiLU), x·½·(1 + erf(x/√2)) and its tanh form (GELU), exp(−k·x²)"
        )
    if not all(np.isfinite(c).all() for c in (form_.a, form_.b, form_.s, form_.t)):
        raise SourceError(f"{where}: a coefficient of {_words(x)} is larger than float64 holds")
    return form_


def _direct(x: ElementwiseValue) -> ActivationForm | None:
    zero, one = np.zeros(x.r.shape[1]), np.ones(x.r.shape[1])
    if x.f is None:
        return ActivationForm("identity", 0.0, x.r[1], zero, one, x.r[0], x.notes) if degree(x.r) <= 1 else None
    assert x.p is not None
    if degree(x.q) or degree(x.r) or degree(x.p) > 1:
        return None
    return ActivationForm(x.f, x.slope, x.p[1], x.p[0], x.q[0], x.r[0], x.notes)


def _gaussian(x: ElementwiseValue, where: str) -> ActivationForm | None:
    """exp(−(a x)²)."""
    if x.f != "exp" or x.p is None or degree(x.q) or degree(x.r) or x.p[[0, 1, 3]].any() or (x.p[2] >= 0).any():
        return None
    a = np.sqrt(-x.p[2])
    square = times(a, a)
    exact = square is not None and np.array_equal(square, -x.p[2])
    notes = () if exact else (f"{where}: exp(−k·x²) read as a Gaussian of √k·x, √k rounded to float64",)
    return ActivationForm("gaussian", 0.0, a, np.zeros_like(a), x.q[0], x.r[0], x.notes + notes)


def _match(x: ElementwiseValue, pattern: Pattern, where: str) -> ActivationForm | None:
    if x.f != pattern.f or x.p is None or x.p[[0, 2]].any() or not x.p[1].all():
        return None
    q, r = x.q[1], x.r[1]
    if x.q[[0, 2, 3]].any() or x.r[[2, 3]].any() or not q.all() or not _close(r, q if pattern.shifted else 0.0 * q):
        return None
    a = x.p[1] / pattern.inner
    plain = math.frexp(pattern.inner)[0] == 0.5  # a power of two: the division was exact
    if not plain:
        near = np.copysign(np.ldexp(np.abs(q), np.rint(np.log2(np.abs(a / q))).astype(np.int64)), a)
        a = np.where(np.abs(near - a) <= TOLERANCE * np.abs(a), near, a)
    if not _close(x.p[3], pattern.cube * a**3):
        return None
    s = pattern.gain * q / a
    back = times(s, a)
    exact = plain and back is not None and np.array_equal(back, pattern.gain * q)
    exact = exact and np.array_equal(r, q if pattern.shifted else 0.0 * q)
    why = "1/k rounded to float64" if plain else f"its constants matched within {TOLERANCE:g}"
    notes = () if exact else (f"{where}: read as {pattern.activation}(k·x)/k, {why}",)
    return ActivationForm(pattern.activation, 0.0, a, np.zeros_like(a), s, x.r[0], (x.notes if plain else ()) + notes)


def _close(coefficients: Floats, wanted: Floats) -> bool:
    return bool((np.abs(coefficients - wanted) <= TOLERANCE * np.abs(wanted)).all())


def _same(x: ElementwiseValue, y: ElementwiseValue) -> bool:
    return (
        x.f == y.f
        and x.p is not None
        and y.p is not None
        and np.array_equal(x.p, y.p)
        and np.array_equal(x.slope, y.slope)
    )


def _joint(x: ElementwiseValue, y: ElementwiseValue) -> tuple[str, ...]:
    """The notes of both, only the first where there are very many: a value stays small however long its graph is."""
    notes = tuple(dict.fromkeys(x.notes + y.notes))
    return notes if len(notes) <= MANY else (*notes[:MANY], "and more of the same")


def _product(p: Floats, q: Floats, where: str) -> tuple[Floats, bool]:
    """The product of two polynomials, and whether no coefficient was rounded."""
    product, exact = np.zeros_like(p), True
    for i, j in ((i, j) for i in range(DEGREE + 1) for j in range(DEGREE + 1) if p[i].any() and q[j].any()):
        if i + j > DEGREE:
            raise SourceError(f"{where} gives a power of x above {DEGREE}: no known activation has one")
        term = p[i] * q[j]
        exact = exact and times(p[i], q[j]) is not None and sum_is_exact(product[i + j], term)
        product[i + j] += term
    return product, exact


def _words(x: ElementwiseValue) -> str:
    """A value as one would say it."""
    r = _polynomial(x.r)
    if x.f is None or x.p is None:
        return r
    return f"({_polynomial(x.q)})·{x.f}({_polynomial(x.p)})" + (f" + {r}" if x.r.any() else "")


def _polynomial(p: Floats) -> str:
    names = ("", "·x", "·x²", "·x³")
    parts = [f"{_number(c)}{name}" for c, name in zip(p, names, strict=True) if c.any()]
    return " + ".join(parts) or "0"


def _number(c: Floats) -> str:
    return f"{c[0]:.6g}" if (c == c[0]).all() else "c"
