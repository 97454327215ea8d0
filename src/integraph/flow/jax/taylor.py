"""The generic engine of jax: y' = b + A y + U((V₁y) ∘ (V₂y)) on each of D segments of length 1, by Taylor steps.

Segments and steps are scanned. The orders of one step are written out: a scan would move the whole series at every
order, three times slower, to save a second or two of compiling. Reverse mode computes each step again instead of
storing its series. `flow` takes equal steps; `solution` adapts the steps of each row to a tolerance.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from integraph.flow.closed_forms.taylor_steps import Controls as Controls
from integraph.flow.closed_forms.taylor_steps import field, series
from integraph.flow.jax.library import library
from integraph.flow.jax.unit_flow import unit_flow

Array = Any
LIBRARY = library("highest")  # accelerators would round products to ten bits
times = LIBRARY.matmul


def terms_of(controls: Controls, y: Array, h: Array | float, order: int) -> list[Array]:
    """y_0, y_1 h, …, y_order h^order of one segment at states y (B, W)."""
    return series(field(LIBRARY, controls), y, h, order, times)


@partial(jax.jit, static_argnames=("order", "steps"))
def flow(controls: Controls, y: Array, *, order: int, steps: int) -> tuple[Array, Array]:
    """y(D) (B, W) by `steps` equal steps a segment, and for each row (B,) the mean square of the last terms of its
    series, which says how far the steps are from the true flow. Differentiable in controls and y."""
    h = 1.0 / steps

    def step(controls: Controls, y: Array) -> tuple[Array, Array]:
        terms = terms_of(controls, y, h, order)
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
    """y(D) (B, W) with a local error of `tolerance`, relative to the largest register of each row. Every row has its
    own steps; rows that blow up, overflow, or need too many steps in a segment are NaN. Differentiable like `flow`."""

    def segment(y: Array, controls: Controls) -> tuple[Array, None]:
        return unit_flow(LIBRARY, field(LIBRARY, controls), y, tolerance), None

    return jax.lax.scan(segment, y, controls)[0]
