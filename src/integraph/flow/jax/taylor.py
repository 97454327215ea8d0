"""The generic engine of jax: y' = b + A y + U((V₁y) ∘ (V₂y)) on each of D segments of length 1, by Taylor steps.

With y = Σ y_k tᵏ the coefficients obey (k + 1) y_{k+1} = A y_k + U Σ_i (V₁y_i) ∘ (V₂y_{k−i}), plus b for k = 0.
Segments and steps are scanned. The orders of one step are written out: a scan would move the whole series at every
order, three times slower, to save a second or two of compiling. `flow` takes equal steps, and reverse mode computes
each of them again instead of storing its series. `solution` adapts the steps of each row to a tolerance, and has no
reverse mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

Array = Any
ORDER = 16  # of `solution`
STEPS = 2000  # of a segment, at most, in `solution`
SAFETY = 0.9  # of a step


class Controls(NamedTuple):
    """Of D segments: b (D, W), A (D, W, W), U (D, W, R), V₁ and V₂ (D, R, W)."""

    b: Array
    A: Array
    U: Array
    V1: Array
    V2: Array


def series(controls: Controls, y: Array, h: Array | float, order: int) -> list[Array]:
    """y_0, y_1 h, …, y_order h^order (B, W) of one segment at states y (B, W); h is a number, or one a row (B, 1)."""
    b, A, U, V1, V2 = controls
    rank = len(V1)
    linear = jnp.concatenate([V1, V2, A]).T  # one product for all three
    coefficients, left, right = [y], [], []
    for k in range(order):
        products = times(coefficients[k], linear)
        left.append(products[:, :rank])
        right.append(products[:, rank : 2 * rank])
        slope = products[:, 2 * rank :] + times(_cauchy(left, right), U.T)
        coefficients.append(h / (k + 1) * (slope + b if k == 0 else slope))
    return coefficients


def _cauchy(left: Sequence[Array], right: Sequence[Array]) -> Array:
    """Σ_i left_i ∘ right_{k−i}."""
    return sum(p * q for p, q in zip(left, reversed(right), strict=True))


def times(rows: Array, matrix: Array) -> Array:
    """Their product in full precision: accelerators would round to ten bits."""
    return jnp.matmul(rows, matrix, precision="highest")


@partial(jax.jit, static_argnames=("order", "steps"))
def flow(controls: Controls, y: Array, *, order: int, steps: int) -> tuple[Array, Array]:
    """y(D) (B, W) by `steps` equal steps a segment, and for each row (B,) the mean square of the last terms of its
    series, which says how far the steps are from the true flow. Differentiable in controls and y."""
    h = 1.0 / steps

    def step(controls: Controls, y: Array) -> tuple[Array, Array]:
        terms = series(controls, y, h, order)
        return sum(terms[1:], terms[0]), jnp.mean(terms[-1] ** 2, axis=-1)

    again = jax.checkpoint(step)

    def segment(carry: tuple[Array, Array], controls: Controls) -> tuple[tuple[Array, Array], None]:
        def one(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            y, last = again(controls, carry[0])
            return (y, carry[1] + last), None

        return jax.lax.scan(one, carry, None, length=steps)[0], None

    (end, last), _ = jax.lax.scan(segment, (y, jnp.zeros(len(y), y.dtype)), controls)
    return end, last / (steps * len(controls.b))


@partial(jax.jit)
def solution(controls: Controls, y: Array, *, tolerance: Array | float = 1e-13) -> Array:
    """y(D) (B, W) with a local error of `tolerance`, relative to the norm of each row. Every row has its own steps;
    rows that blow up, overflow, or need more than STEPS steps in a segment are NaN."""

    def segment(y: Array, controls: Controls) -> tuple[Array, None]:
        def unfinished(state: tuple[Array, Array, Array]) -> Array:
            count, t, _ = state
            return jnp.logical_and(count < STEPS, jnp.any(t < 1.0))

        def advance(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            count, t, y = state
            terms = series(controls, y, 1.0, ORDER)
            h = jnp.minimum(jax.lax.stop_gradient(_step(terms, tolerance)), 1.0 - t)  # a choice, not a function
            end = terms[-1]
            for term in reversed(terms[:-1]):
                end = term + h[:, None] * end
            done = jnp.where(h > 0.0, t + h, 1.0)  # no step, and NaN: the row is lost
            lost = jnp.logical_and(jnp.logical_not(h > 0.0), t < 1.0)
            return count + 1, done, jnp.where(lost[:, None], jnp.nan, jnp.where((t < 1.0)[:, None], end, y))

        _, t, end = jax.lax.while_loop(unfinished, advance, (0, jnp.zeros(len(y), y.dtype), y))
        return jnp.where((t < 1.0)[:, None], jnp.nan, end), None

    return jax.lax.scan(segment, y, controls)[0]


def _step(terms: Sequence[Array], tolerance: Array | float) -> Array:
    """Where the last two terms are below the tolerance, relative to the largest of the series' start (B,)."""
    sizes = [jnp.linalg.norm(term, axis=-1) for term in (terms[0], terms[1], terms[-2], terms[-1])]
    scale = tolerance * jnp.maximum(sizes[0], sizes[1])
    ends = [(scale / size) ** (1.0 / power) for size, power in zip(sizes[2:], (ORDER - 1, ORDER), strict=True)]
    return SAFETY * jnp.minimum(
        *(jnp.where(size == 0.0, jnp.inf, end) for size, end in zip(sizes[2:], ends, strict=True))
    )
