"""Rows of inputs for functions of jax, checked: jax itself rounds to float32 without a word."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from integraph.errors import UsageError

Array = Any


def batch_of(x: Array, d: int, whose: str) -> Array:
    """Rows (B, d) of x, which has shape (B, d), or (d,) for one row, in float32 or float64 as it comes."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and not jax.config.jax_enable_x64:
        raise UsageError(
            "x is float64, which jax would round to float32 without a word: call jax.config.update('jax_enable_x64', "
            "True) first, or pass x.astype('float32') if float32 will do",
            argument="x",
        )
    try:
        given = jnp.asarray(x)
    except (TypeError, ValueError) as reason:
        raise UsageError(f"x must be an array of numbers: {reason}", argument="x") from None
    if jnp.issubdtype(given.dtype, jnp.integer) or given.dtype == jnp.bool_:
        given = given.astype(jnp.result_type(float))
    if given.ndim not in (1, 2) or given.shape[-1] != d:
        raise UsageError(f"x has shape {given.shape}: {whose} takes ({d},) or (batch, {d})", argument="x")
    if given.dtype not in (jnp.float32, jnp.float64):
        raise UsageError(f"{whose} needs the digits of float32 or float64", argument="x", value=given.dtype.name)
    return given.reshape(-1, d)
