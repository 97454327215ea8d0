"""Values that have no gradient by reverse mode, and say so instead of failing somewhere inside jax."""

from __future__ import annotations

from typing import Any

from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from integraph.errors import UsageError

Array = Any


def forward_only(values: Array, refusal: str) -> Array:
    """The values themselves; forward mode goes through, and reverse mode raises UsageError with this sentence."""
    return _SAME.bind(values, refusal=refusal)


def _refuse(cotangent: Array, values: Array, *, refusal: str) -> Array:
    raise UsageError(refusal)


_SAME = Primitive("forward_only")
_SAME.def_impl(lambda values, *, refusal: values)
_SAME.def_abstract_eval(lambda values, *, refusal: values)
ad.deflinear2(_SAME, _refuse)
batching.defvectorized(_SAME)
mlir.register_lowering(_SAME, lambda context, values, *, refusal: [values])
