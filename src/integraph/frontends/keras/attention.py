"""Attention layers of Keras. Masks are constants: causal, a sliding window, or one that a call is given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.keras.layer_call import LayerCall
from integraph.frontends.tensor_builder import Array, Operand, TensorValue
from integraph.frontends.tensor_operations import product, reshaped, rows, transposed
from integraph.numbers.arrays import Floats

PARTS = {"query": ("query_dense", "query"), "key": ("key_dense", "key"), "value": ("value_dense", "value")}
OUTPUT = ("output_dense", "attention_output")


def multi_head(n: LayerCall) -> Operand | list[Operand]:
    """Of (tokens, width): softmax(q kᵀ/√size + mask) v for each head, and a dense layer of all heads."""
    if n.flag("use_gate", False):
        raise SourceError(f"{n.where} has a gate, which is not read: build it from Dense and Multiply")
    given = {name: _argument(n, name, number) for number, name in enumerate(("query", "value", "key"))}
    given["key"] = given["value"] if given["key"] is None else given["key"]
    if any(x is None or len(x.shape) != 3 for x in given.values()):
        raise SourceError(f"{n.where} takes a query and a value of two axes, tokens and width; of more it is not read")
    heads, size = n.whole("num_heads"), n.whole("key_dim")
    width = n.whole("value_dim", size)
    query, key, value = (
        _projected(n, given[name], name, heads, width if name == "value" else size)
        for name in ("query", "key", "value")
    )
    query = n.builder.apply("mul", query, np.array(1.0 / math.sqrt(size)), where=n.where)
    scores = product(n, query, transposed(n, key, (0, 1, 3, 2)))
    weights = rows(n, "softmax", _masked(n, scores))
    context = transposed(n, product(n, weights, value), (0, 2, 1, 3))
    kernel, *bias = _dense(n, OUTPUT)
    outputs = kernel.shape[2:]
    n.fitting(kernel, (heads, width, *outputs), "output weights")
    flat = reshaped(n, context, (1, context.shape[1], heads * width))
    total = product(n, flat, kernel.reshape(heads * width, -1))
    total = reshaped(n, total, (1, context.shape[1], *outputs))
    total = n.builder.apply("add", total, n.fitting(bias[0], outputs, "biases"), where=n.where) if bias else total
    return [total, weights] if n.kwargs.get("return_attention_scores") else total


def dot_product(n: LayerCall) -> Operand | list[Operand]:
    """softmax(q kᵀ·scale) v of a list: query, value and, where it differs, key."""
    operands = n.operands()
    if len(operands) not in (2, 3) or any(len(x.shape) != 3 for x in operands):
        raise SourceError(f"{n.where} takes a query, a value and perhaps a key, each of two axes, tokens and width")
    query, value = operands[:2]
    key = operands[2] if len(operands) == 3 else value
    mode, scaled = n.choice("score_mode", "dot", "concat"), n.flag("use_scale", False)
    names = [*(["scale"] if scaled else []), *(["concat_score_weight"] if mode == "concat" else [])]
    constants = dict(zip(names, n.weights(*names) if names else [], strict=True))
    if mode == "dot":
        scores = product(n, query, transposed(n, key, (0, 2, 1)))
        scores = n.builder.apply("mul", scores, constants["scale"], where=n.where) if scaled else scores
    else:
        scores = _additive_scores(n, query, key, constants.get("scale"), constants["concat_score_weight"])
    return _combined(n, scores, value)


def additive(n: LayerCall) -> Operand | list[Operand]:
    """softmax(Σ scale·tanh(q + k)) v of a list: query, value and, where it differs, key."""
    operands = n.operands()
    if len(operands) not in (2, 3) or any(len(x.shape) != 3 for x in operands):
        raise SourceError(f"{n.where} takes a query, a value and perhaps a key, each of two axes, tokens and width")
    (scale,) = n.weights("scale") if n.flag("use_scale", True) else [np.array(1.0)]
    return _combined(n, _additive_scores(n, operands[0], operands[-1], None, scale), operands[1])


def _additive_scores(n: LayerCall, query: Operand, key: Operand, inner: Floats | None, outer: Floats) -> Operand:
    """Σ outer·tanh(inner·(q + k)) over the width, for every query and every key."""
    tokens, keys, width = query.shape[1], key.shape[1], query.shape[2]
    left = reshaped(n, query, (1, tokens, 1, width))
    right = reshaped(n, key, (1, 1, keys, key.shape[2]))
    total = n.builder.apply("add", left, right, where=n.where)
    total = total if inner is None else n.builder.apply("mul", total, inner, where=n.where)
    curved = n.builder.apply("mul", n.builder.apply("tanh", total, where=n.where), outer, where=n.where)
    return n.builder.apply("sum", curved, where=n.where, data=((3,),))


def _combined(n: LayerCall, scores: Operand, value: Operand) -> Operand | list[Operand]:
    weights = rows(n, "softmax", _masked(n, scores))
    result = product(n, weights, value)
    return [result, weights] if n.kwargs.get("return_attention_scores") else result


def _argument(n: LayerCall, name: str, number: int) -> Operand | None:
    given: Any = n.args[number] if number < len(n.args) else n.kwargs.get(name)
    return given if isinstance(given, TensorValue | np.ndarray) else None


def _dense(n: LayerCall, inner: tuple[str, str]) -> list[Floats]:
    return n.weights("kernel", *(("bias",) if n.flag("use_bias", True) else ()), inner=inner)


def _projected(n: LayerCall, x: Operand | None, name: str, heads: int, size: int) -> Operand:
    """(1, tokens, width) → (1, heads, tokens, size)."""
    assert x is not None
    kernel, *bias = _dense(n, PARTS[name])
    n.fitting(kernel, (x.shape[2], heads, size), f"{name} weights")
    flat = product(n, x, kernel.reshape(x.shape[2], heads * size))
    if bias:
        shift = n.fitting(bias[0], (heads, size), f"{name} biases").reshape(-1)
        flat = n.builder.apply("add", flat, shift, where=n.where)
    return transposed(n, reshaped(n, flat, (1, x.shape[1], heads, size)), (0, 2, 1, 3))


def _masked(n: LayerCall, scores: Operand) -> TensorValue:
    """The scores of what a token may see."""
    x, mask = n.builder.lift(scores, n.where), _mask(n, *scores.shape[-2:])
    if mask is None:
        return x
    added = np.where(mask, 0.0, -np.inf)
    return n.builder.add(x, added, n.where)


def _mask(n: LayerCall, tokens: int, keys: int) -> Array | None:
    n.room((tokens, keys))
    masks = []
    if n.kwargs.get("use_causal_mask"):
        masks.append(np.tri(tokens, keys, dtype=np.bool_))
    if n.get("sliding_window") is not None:
        distance = np.abs(np.arange(tokens)[:, None] - np.arange(keys))
        masks.append(distance < n.whole("sliding_window"))
    given = n.kwargs.get("attention_mask")
    if given is not None:
        if not isinstance(given, np.ndarray) or given.shape not in ((tokens, keys), (1, tokens, keys)):
            raise SourceError(f"{n.where} has a mask that is no constant of shape {(tokens, keys)}: only such are read")
        masks.append(given.reshape(tokens, keys).astype(np.bool_))
    return np.logical_and.reduce(masks) if masks else None
