"""The Taylor recurrence of y' = b + A z + U((V₁z) ∘ (V₂z)), z = (y, x) with x frozen, over an array library.

With y = Σ y_k tᵏ the coefficients obey (k + 1) y_{k+1} = A y_k + U Σ_i (V₁y_i) ∘ (V₂y_{k−i}); b and x add to those of
k = 0 only. A flow takes unit time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from integraph.flow.closed_forms.interpreter import Library

Array = Any
ORDER = 16
TRIAL = 1 / 16  # the length for which terms are computed, so that they stay in the range of float32
LAST = 3  # terms that say how long a step may be: one of them alone may be 0 by a symmetry
SAFETY = 0.9  # of a step
SHORTEST = 64.0  # ulps of 1: where steps must be shorter, the solution ends
ULPS = 4.0  # the tolerance of a step, where none is given


class Controls(NamedTuple):
    """Of one flow: b (W,), A (W, n), U (W, R), V₁ and V₂ (R, n), where n ≥ W counts frozen registers too. Of D flows:
    with a first axis of length D."""

    b: Array
    A: Array
    U: Array
    V1: Array
    V2: Array


class Field(NamedTuple):
    """V₁, V₂ and A of the registers that move, below each other (2R + W, W); what b and the frozen registers add to
    their products, (2R + W,) or (B, 2R + W); U."""

    forms: Array
    still: Array
    U: Array


def field(library: Library, controls: Controls, x: Array | None = None) -> Field:
    """`x` (B, n − W) are the frozen registers."""
    xp = library.module
    b, A, U, V1, V2 = controls
    forms, width = xp.concatenate((V1, V2, A), 0), len(b)
    still = (
        xp.concatenate((xp.zeros_like(V1[:, 0]), xp.zeros_like(V2[:, 0]), b), 0)
        if x is None
        else _frozen(library, forms, b, x)
    )
    return Field(forms[:, :width], still, U)


def _frozen(library: Library, forms: Array, b: Array, x: Array) -> Array:
    given = library.matmul(x, forms[:, len(b) :].T)
    bent = forms.shape[0] - len(b)
    return library.module.concatenate((given[:, :bent], given[:, bent:] + b), -1)


def series(
    field: Field, y: Array, h: Array | float, order: int, matmul: Callable[[Array, Array], Array]
) -> list[Array]:
    """y_0, y_1 h, …, y_order h^order (B, W) at states y (B, W); h is a number, or one a row (B, 1)."""
    rank = field.U.shape[1]
    coefficients, left, right = [y], list[Array](), list[Array]()
    for k in range(order):
        products = matmul(coefficients[k], field.forms.T)
        if k == 0:
            products = products + field.still
        left.append(products[:, :rank])
        right.append(products[:, rank : 2 * rank])
        slope = products[:, 2 * rank :] + matmul(_cauchy(left, right), field.U.T)
        coefficients.append(h / (k + 1) * slope)
    return coefficients


def _cauchy(left: Sequence[Array], right: Sequence[Array]) -> Array:
    """Σ_i left_i ∘ right_{k−i}."""
    return sum(p * q for p, q in zip(left, reversed(right), strict=True))


def advance(
    library: Library, field: Field, t: Array, y: Array, tolerance: Array | float | None = None
) -> tuple[Array, Array]:
    """Times (B,) and states (B, W) after one step of every row that has not come to t = 1: as long as its local error
    stays below the tolerance, relative to the row's largest register. A row without such a step is NaN, at t = 1."""
    xp, numbers = library.module, library.module.finfo(y.dtype)
    moving = t < 1.0
    terms = series(field, xp.where(moving[:, None], y, 0.0), TRIAL, ORDER, library.matmul)
    if tolerance is None:
        tolerance = ULPS * float(numbers.eps)
    sizes = [library.reductions["largest"](xp.abs(library.held(term))) for term in (*terms[:2], *terms[-LAST:])]
    scale = tolerance * xp.maximum(sizes[0], sizes[1]) + float(numbers.tiny)
    reach = xp.ones_like(t)
    for power, size in zip(range(ORDER + 1 - LAST, ORDER + 1), sizes[2:], strict=True):
        known = xp.where(size == 0.0, 1.0, size)
        own = (scale / known) ** (1.0 / power) * (SAFETY * TRIAL)
        reach = xp.minimum(reach, xp.where(size == 0.0, 1.0, own))
    h = xp.minimum(reach, 1.0 - t)
    ratio, end = h[:, None] / TRIAL, terms[-1]
    for term in reversed(terms[:-1]):
        end = term + ratio * end
    fine = reach > SHORTEST * float(numbers.eps)
    end = xp.where(fine[:, None], end, float("nan"))
    return xp.where(moving & fine, t + h, 1.0), xp.where(moving[:, None], end, y)
