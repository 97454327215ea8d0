"""jax behind the interpreter of closed forms."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from integraph.errors import UsageError
from integraph.flow.closed_forms.interpreter import Library
from integraph.flow.jax.decayed_tanh import decayed_tanh
from integraph.flow.jax.unit_flow import unit_flow


def backend() -> str:
    """The kind of device that jax prefers: "cpu", "gpu" or "tpu"."""
    try:
        return str(jax.default_backend())
    except RuntimeError as reason:
        raise UsageError(
            f"jax finds no device of the kind that it was told to use: set JAX_PLATFORMS=cpu, or unset it ({reason})"
        ) from None


def library(precision: str) -> Library:
    """`precision` of matrix products, as jax names it."""
    return Library(
        jnp,
        {"equal": jnp.equal, "power": jnp.power, "erf": jax.lax.erf},
        {"sum": partial(jnp.sum, axis=-1), "product": partial(jnp.prod, axis=-1), "largest": partial(jnp.max, axis=-1)},
        jnp.permute_dims,
        partial(jnp.einsum, precision=precision),
        partial(jnp.matmul, precision=precision),
        jax.lax.stop_gradient,
        unit_flow,
        decayed_tanh,
    )
