"""Adaptive Taylor steps of a flow in unit time, which jax can compile, differentiate and map.

A loop of unknown length has no reverse mode. So the steps are loops of fixed lengths, one inside the other, that skip
what is left once all rows are at the end.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from integraph.flow.closed_forms.interpreter import Library
from integraph.flow.closed_forms.taylor_steps import Field, advance

Array = Any
State = tuple[Array, Array]  # times and states of all rows
LEVELS = (16, 16, 16)  # steps at most: their product


def unit_flow(library: Library, field: Field, y: Array, tolerance: Array | float | None = None) -> Array:
    """y(1) (B, W) from y(0) = y. Rows that blow up, overflow, or need too many steps are NaN."""

    def steps(state: State, levels: tuple[int, ...], field: Field) -> State:
        if not levels:
            return advance(library, field, *state, tolerance)

        def more(state: State, field: Field) -> State:
            return steps(state, levels[1:], field)

        @jax.checkpoint  # type: ignore[untyped-decorator]
        def unless_done(state: State, field: Field) -> State:
            unfinished = _any(jax.lax.stop_gradient(state[0]) < 1.0)
            result: State = jax.lax.cond(unfinished, more, lambda state, _: state, state, field)
            return result

        end: State = jax.lax.scan(lambda state, _: (unless_done(state, field), None), state, None, length=levels[0])[0]
        return end

    t, end = steps((jnp.zeros_like(y[:, 0]), y), LEVELS, field)
    return jnp.where((t < 1.0)[:, None], jnp.nan, end)


@jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator]
def _any(truth: Array) -> Array:
    """Whether any is true, of all rows that `vmap` maps over too: then a step is skipped or not, for all of them."""
    return jnp.any(truth)


@_any.def_vmap  # type: ignore[untyped-decorator]
def _any_of_all(size: int, batched: list[bool], truth: Array) -> tuple[Array, bool]:
    return _any(truth), False
