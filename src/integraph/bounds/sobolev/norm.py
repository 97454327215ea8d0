"""The Sobolev norm of W^{n,∞}: the largest |f^(α)| over the box, |α| ≤ n, derivative by derivative, from both sides.

From a formula both sides are rigorous. Without one there are only values at points, and the upper bound is infinite; a
polynomial close to f may estimate the derivatives, and an estimate is no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph.bounds.sobolev.singularities import first_singularity
from integraph.bounds.sobolev.supremum import cover
from integraph.errors import SourceError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import Alphas, below, factorials
from integraph.targets.function import Alpha, Function, finite

Derivative = Callable[[Alpha, Floats], Floats]  # f^(α): (α, (B, d)) → (B, outputs)
ROUNDED = 1e-13  # more than α! and the product with it can lose
NO_FORMULA = "there is no formula, and values at points bound nothing"
SAMPLES, FEW = 4096, 256  # points at which a function without a formula is looked at; few where a call may cost much


@dataclass(frozen=True, slots=True, eq=False)
class Sobolev:
    """lower ≤ sup |f^(α)| ≤ upper over the box, (M, outputs) for the rows of `alphas`; `why` an upper is infinite.

    `estimate` is sup |p^(α)| of a polynomial p through values of f, if there is one: it bounds nothing."""

    order: int
    low: Floats
    high: Floats
    alphas: Alphas
    lower: Floats
    upper: Floats
    why: str = ""
    estimate: Floats | None = None

    @property
    def norm(self) -> tuple[float, float]:
        """The norm of W^{order,∞}, from below and from above."""
        return float(self.lower.max()), float(self.upper.max())

    def table(self) -> str:
        """α, lower, upper: one line for each derivative, several outputs side by side."""
        lines = []
        for alpha, lower, upper in zip(self.alphas, self.lower, self.upper, strict=True):
            bounds = "   ".join(f"{a:12.6g} ≤ sup ≤ {b:<12.6g}" for a, b in zip(lower, upper, strict=True))
            lines.append(f"{tuple(map(int, alpha))!s:>{3 * len(alpha) + 2}}   {bounds}".rstrip())
        if self.estimate is not None:
            guesses = ("   ".join(f"about {value:.4g}" for value in row) for row in self.estimate)
            lines = [f"{line}   {guess}" for line, guess in zip(lines, guesses, strict=True)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        lower, upper = self.norm
        about = "" if self.estimate is None else f", about {self.estimate.max():.4g} by a polynomial through values"
        return f"W^({self.order},∞) norm between {lower:.6g} and {upper:.6g}{about}\n{self.table()}"


def derivative_bounds(
    function: Function, n: int, low: Floats, high: Floats, *, loose: float = 1.1, like: Derivative | None = None
) -> Sobolev:
    """Bounds of sup |f^(α)| for |α| ≤ n over low…high (d,); with a formula upper ≤ loose·lower is aimed at.

    `like` gives derivatives of something close to a function that has no formula: it says where f is looked at, and
    estimates what f does not tell."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    if function.expression is None:
        seen, estimate = _seen(function, n, low, high, like)
        return Sobolev(n, low, high, below(len(low), n + 1), seen, np.full_like(seen, np.inf), NO_FORMULA, estimate)
    suprema = cover(function.expression, n, low, high, loose)
    why = "" if suprema.dead is None else first_singularity(function.expression, *suprema.dead, n + 1)
    alphas, factor = below(len(low), n + 1), factorials(len(low), n + 1)[:, None]
    with np.errstate(over="ignore"):
        lower, upper = suprema.lower * factor * (1 - ROUNDED), suprema.upper * factor * (1 + ROUNDED)
    return Sobolev(n, low, high, alphas, lower, upper, why)


def explain(function: Function, low: Floats, high: Floats, n: int) -> str:
    """Why the derivatives up to order n are not all known over the box: "" if they are."""
    if function.expression is None:
        return NO_FORMULA
    suprema = cover(function.expression, n, np.asarray(low, float), np.asarray(high, float), np.inf)
    return "" if suprema.dead is None else first_singularity(function.expression, *suprema.dead, n + 1)


def _seen(
    function: Function, n: int, low: Floats, high: Floats, like: Derivative | None
) -> tuple[Floats, Floats | None]:
    """The largest |f^(α)| at some points, 0 where a derivative is not given; and that of what f is like."""
    count = FEW if like is None and function.meter is not None else SAMPLES
    spread = np.random.default_rng(0).random((count, len(low)))
    x = np.concatenate([[low, high], low + (high - low) * spread])
    alphas = [tuple(map(int, alpha)) for alpha in below(len(low), n + 1)]
    if like is None:
        return np.stack([_largest(function, alpha, x) for alpha in alphas]), None
    near = [np.abs(like(alpha, x)) for alpha in alphas]
    seen = [_largest(function, alpha, x[sizes.argmax(0)]) for alpha, sizes in zip(alphas, near, strict=True)]
    return np.stack(seen), np.stack([sizes.max(0) for sizes in near])


def _largest(function: Function, alpha: tuple[int, ...], x: Floats) -> Floats:
    if function.table is not None:
        given = function.table.derivatives.get(alpha, np.zeros((1, function.outputs)))
        return _top(np.asarray(given, float))
    if not any(alpha) and function.values is not None:
        return _top(function.values(x))
    try:
        values = None if function.derivative is None else function.derivative(alpha, x)
    except SourceError:
        values = None
    if values is None:
        return np.zeros(function.outputs)
    return _top(finite(values, x, f"derivative {alpha} of {function.name}", function.variables))


def _top(values: Floats) -> Floats:
    result: Floats = np.abs(values).reshape(-1, values.shape[-1]).max(0)
    return result
