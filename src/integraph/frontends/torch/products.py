"""Dense layers as torch writes them: linear, matrix products with one constant factor, addmm."""

from __future__ import annotations

import math

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.torch.call import TorchCall
from integraph.frontends.tracer import TracedValue
from integraph.numbers.arrays import Floats


def linear(call: TorchCall) -> TracedValue:
    x, W = call.traced("input"), call.constant("weight")
    bias = None if call["bias"] is None else call.constant("bias")
    return call.tracer.dense(_row(call, x), W if W.ndim == 2 else W[None], bias, call.where)


def inner(call: TorchCall) -> TracedValue:
    """Last axis with last axis."""
    left = isinstance(call["self"], TracedValue)
    x, W = ("self", "other") if left else ("other", "self")
    return linear(TorchCall(call.tracer, call.where, {"input": call[x], "weight": call[W]}))


def product(call: TorchCall, left: str = "self", right: str = "other") -> TracedValue:
    """Matrix products with one constant factor, whichever side it is on."""
    a, b = call.operand(left), call.operand(right)
    if isinstance(a, TracedValue) and isinstance(b, TracedValue):
        raise SourceError(
            f"{call.where} multiplies two computed tensors, from {a.where} and {b.where}: one must be a constant"
        )
    if isinstance(a, TracedValue):
        return call.tracer.dense(_row(call, a), _matrix(call, b).T if b.ndim > 1 else b[None], None, call.where)
    if isinstance(b, TracedValue):
        if len(b.shape) > 1 and b.shape[-1] != 1:
            raise SourceError(
                f"{call.where} multiplies a constant with shape {b.shape}: needs one column, or the input on the left"
            )
        return call.tracer.dense(b, _matrix(call, a), None, call.where)
    raise SourceError(f"{call.where}: its product has no factor that depends on the input")


def add_product(call: TorchCall, left: str, right: str) -> TracedValue:
    """beta·self + alpha·left@right."""
    alpha, beta = (1.0 if call[n] is None else float(call[n]) for n in ("alpha", "beta"))
    result = product(call, left, right)
    if alpha != 1:
        result = call.tracer.mul(result, np.array(alpha), call.where)
    return call.tracer.add(result, beta * call.constant("self").ravel(), call.where)


def _row(call: TorchCall, x: TracedValue) -> TracedValue:
    if not x.shape or x.shape[-1] != x.features:
        raise SourceError(
            f"{call.where} acts on the last axis only of shape {x.shape}: flatten the features into one axis first"
        )
    return x


def _matrix(call: TorchCall, weights: Floats) -> Floats:
    """(1, …, 1, m, n) as (m, n); a vector as one row."""
    if weights.ndim < 2:
        return weights.reshape(1, -1)
    if math.prod(weights.shape[:-2]) != 1:
        raise SourceError(f"{call.where} multiplies by weights of shape {weights.shape}: one matrix is supported")
    return weights.reshape(weights.shape[-2:])
