"""A feedforward network as a graph."""

from __future__ import annotations

import numpy as np

from integraph.targets.graph import Builder, Graph
from integraph.targets.network import Layer, Network

NAMES = {"arctan": "atan"}  # activations that graphs call otherwise


def network_graph(network: Network) -> Graph:
    """One vector in, one vector out."""
    build = Builder(network.description)
    value = build.input("x", (network.inputs,))
    value = build.apply("reshape", value, data=((1, network.inputs),))
    for number, layer in enumerate(network.layers, 1):
        value = build.apply("matmul", value, build.constant(layer.A.T), text=f"affine {number}")
        value = build.apply("add", value, build.constant(layer.b), text=f"affine {number}")
        value = _activated(build, value, layer, f"{layer.activation} {number}")
    return build.graph([value])


def _activated(build: Builder, value: int, layer: Layer, text: str) -> int:
    if layer.activation == "identity":
        return value
    if layer.activation != "leaky_relu":
        return build.apply(NAMES.get(layer.activation, layer.activation), value, text=text)
    slope = np.asarray(layer.slope)  # max(x, 0) + c·min(x, 0) = (1 − c)·max(x, 0) + c·x
    above = build.apply("mul", build.apply("relu", value, text=text), build.constant(1.0 - slope), text=text)
    return build.apply("add", above, build.apply("mul", value, build.constant(slope), text=text), text=text)
