"""ONNX operators that are affine maps: products with stored weights, convolutions that cover all."""

from __future__ import annotations

import math

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.onnx.node import OnnxNode
from integraph.frontends.onnx.shape_operators import transposed
from integraph.frontends.onnx.tensors import Array
from integraph.frontends.tracer import Operand, TracedValue, Tracer, broadcast

NetworkNode = OnnxNode[TracedValue, Tracer]


def matmul(n: NetworkNode) -> Operand:
    a, b = n.operand(0), n.operand(1)
    _one_computed(n, a, b)
    if isinstance(a, TracedValue):
        x, W = a, _matrix(n, n.weights(1, "weights")).T
        fits = a.shape[-1:] == (a.features,)
    else:
        x, W = n.traced(1), _matrix(n, n.weights(0, "weights"))
        W = W.T if len(a.shape) == 1 else W
        fits = x.shape in ((x.features,), (*x.shape[:-2], x.features, 1))
    if not fits or W.shape[1] != x.features:
        raise SourceError(_mismatch(n, x))
    lead = broadcast(a.shape[:-2], b.shape[:-2], n.where)
    shape = (*lead, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ()))
    return n.tracer.reshape(n.tracer.dense(x, W, None, n.where), shape, n.where)


def _one_computed(n: NetworkNode, a: Operand, b: Operand) -> None:
    if isinstance(a, TracedValue) == isinstance(b, TracedValue):
        kind = "computed tensors" if isinstance(a, TracedValue) else "constants"
        raise SourceError(
            f"{n.where} multiplies two {kind}: a dense layer has weights from the file and one computed operand"
        )


def _mismatch(n: NetworkNode, x: TracedValue) -> str:
    return (
        f"{n.where} multiplies shapes {n.operand(0).shape} and {n.operand(1).shape}: a dense layer takes all "
        f"{x.features} features at once. If the first axis is a batch, save the model with a batch of 1 or any size"
    )


def _matrix(n: NetworkNode, W: Array) -> Array:
    """A matrix with leading axes of size 1 dropped; a vector is a column."""
    if W.ndim == 1:
        return W[:, None]
    if W.ndim < 2 or math.prod(W.shape[:-2]) != 1:
        raise SourceError(f"{n.where} has weights of shape {W.shape}: a dense layer has one matrix")
    return W.reshape(W.shape[-2:])


def gemm(n: NetworkNode) -> Operand:
    alpha, beta = n.number("alpha", 1.0), n.number("beta", 1.0)
    a, b = (
        transposed(n, n.operand(k), (1, 0)) if n.attributes.get(f"trans{'AB'[k]}") else n.operand(k) for k in (0, 1)
    )
    if any(len(x.shape) != 2 for x in (a, b)):
        raise SourceError(f"{n.where} multiplies shapes {a.shape} and {b.shape}: both must be matrices")
    _one_computed(n, a, b)
    n.weights(1 if isinstance(a, TracedValue) else 0, "weights")
    if isinstance(a, TracedValue):
        assert not isinstance(b, TracedValue)
        x, W, shape = a, n.scaled(alpha, b, "weights").T, (1, b.shape[1])
        fits = a.shape == (1, a.features) and W.shape[1] == a.features
    else:
        assert isinstance(b, TracedValue)
        x, W, shape = b, n.scaled(alpha, a, "weights"), (len(a), 1)
        fits = x.shape == (x.features, 1) and W.shape[1] == x.features
    if not fits:
        raise SourceError(_mismatch(n, x))
    bias = None
    if n.given(2) is not None:
        C = n.scaled(beta, n.weights(2, "biases"), "biases")
        try:
            bias = np.broadcast_to(C, shape).ravel()
        except ValueError:
            raise SourceError(f"{n.where} has biases of shape {C.shape} for a result of shape {shape}") from None
    return n.tracer.reshape(n.tracer.dense(x, W, bias, n.where), shape, n.where)


def conv(n: NetworkNode) -> Operand:
    """A dense layer, if the kernel covers all there is (MATLAB writes them so)."""
    x, W = n.traced(), n.weights(1, "weights")
    space = x.shape[2:]
    pads, auto = n.attributes.get("pads", []), n.attributes.get("auto_pad", "NOTSET")
    dense = (
        n.attributes.get("group", 1) == 1
        and len(x.shape) > 2
        and W.shape[1:] == x.shape[1:]
        and x.shape[0] == 1
        and tuple(n.attributes.get("kernel_shape", space)) == space
        and not any(pads)
        and (auto in ("NOTSET", "VALID") or set(space) == {1})
        and all(d == 1 or size == 1 for d, size in zip(n.attributes.get("dilations", []), space, strict=False))
        and all(step > 0 for name in ("dilations", "strides") for step in n.attributes.get(name, []))
    )
    if not dense:
        raise SourceError(
            f"{n.where} is a convolution, kernel of shape {W.shape} over shape {x.shape}: only one that covers its "
            "whole input, without padding or groups, is a dense layer"
        )
    bias = None if n.given(2) is None else n.weights(2, "biases")
    layer = n.tracer.dense(x, W.reshape(len(W), -1), bias, n.where)
    return n.tracer.reshape(layer, (1, len(W), *(1,) * len(space)), n.where)
