"""Products of matrices of torch, and attention."""

from __future__ import annotations

import math

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.tensor_builder import Operand
from integraph.frontends.tensor_operations import choice, moved, product, rows, transposed
from integraph.frontends.torch.arithmetic import Rule, scaled
from integraph.frontends.torch.call import TorchCall


def linear(call: TorchCall) -> Operand:
    """x Wᵀ + b over the last axis."""
    weight = call.operand("weight")
    value = product(call, call.operand("input"), _turned(call, weight))
    return value if call["bias"] is None else call.builder.add(value, call.operand("bias"), call.where)


def factors(left: str, right: str) -> Rule:
    return lambda call: product(call, call.operand(left), call.operand(right))


def inner(call: TorchCall) -> Operand:
    """Last axis with last axis."""
    other = call.operand("other")
    if len(other.shape) > 2:
        raise SourceError(f"{call.where} multiplies by shape {other.shape}: a vector or a matrix is read")
    return product(call, call.operand("self"), _turned(call, other))


def weighted_sum(left: str, right: str) -> Rule:
    """beta·self + alpha·left@right."""

    def rule(call: TorchCall) -> Operand:
        value = scaled(call, product(call, call.operand(left), call.operand(right)), call.number("alpha", 1.0))
        bias = scaled(call, call.operand("self"), call.number("beta", 1.0))
        return call.builder.add(value, bias, call.where)

    return rule


def outer(call: TorchCall) -> Operand:
    a, b = call.traced("self"), call.traced("vec2")
    return call.builder.mul(call.builder.reshape(a, (-1, 1), call.where), b, call.where)


def attention(call: TorchCall) -> Operand:
    """softmax(scale·q kᵀ + mask) v; a mask is of truth values, or is added, with −∞ for what takes no part."""
    if call.number("dropout_p", 0.0):
        raise SourceError(f"{call.where} drops entries at random: pass dropout_p=0 unless self.training")
    q, k, v = (call.operand(name) for name in ("query", "key", "value"))
    if call["enable_gqa"]:
        k, v = (_repeated(call, x, q.shape[-3]) for x in (k, v))
    scale = call.number("scale", 1.0 / math.sqrt(q.shape[-1]))
    scores = product(call, scaled(call, q, scale), _turned(call, k))
    mask = call["attn_mask"]
    if call["is_causal"]:
        scores = choice(call, np.tri(*scores.shape[-2:], dtype=np.bool_), scores, np.array(-np.inf))
    if mask is not None and "bool" in str(getattr(mask, "dtype", "")):
        scores = choice(call, call.truth("attn_mask"), scores, np.array(-np.inf))
    elif mask is not None:
        scores = call.builder.add(scores, call.operand("attn_mask"), call.where)
    return product(call, rows(call, "softmax", call.builder.lift(scores, call.where)), v)


def _repeated(call: TorchCall, x: Operand, heads: int) -> Operand:
    """Each head as often as there are queries for it."""
    axis = len(x.shape) - 3
    return moved(call, "take", x, (axis, tuple(np.repeat(range(x.shape[axis]), heads // x.shape[axis]).tolist())))


def _turned(call: TorchCall, x: Operand) -> Operand:
    """The last two axes exchanged; a vector stays."""
    rank = len(x.shape)
    return x if rank < 2 else transposed(call, x, (*range(rank - 2), rank - 1, rank - 2))
