"""Formulas and feedforward networks as graphs, and graphs inside of others."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from integraph.errors import SourceError
from integraph.targets.constants import constants
from integraph.targets.expression import CONDITION, VARIABLE, Expression
from integraph.targets.graph import ROUNDED, Graph
from integraph.targets.graph_builder import Builder
from integraph.targets.network import Layer, Network

NAMES = {"arctan": "atan"}  # activations that have another name in graphs


def to_graph(expression: Expression, name: str) -> Graph:
    """One input for each variable, one output for each formula. Constants are computed in many digits and rounded
    once."""
    builder = Builder(name)
    variables = {variable: builder.input(variable) for variable in expression.variables}
    fixed = constants(expression)
    numbers: list[int] = []
    for number, step in enumerate(expression.steps):
        args = tuple(numbers[n] for n in step.args)
        text = expression.source[slice(*step.where)] if step.args else step.text
        if number in fixed:
            value, exact = fixed[number]
            numbers.append(builder.constant(value, text, () if exact else ROUNDED))
        elif step.op == VARIABLE:
            numbers.append(variables[step.text])
        elif step.op == CONDITION:
            raise SourceError(f"{text} depends on the box, and a graph has none: compile the formula on a box")
        elif step.op == "power" and step.text:
            numbers.append(builder.power(args[0], Fraction(step.text), text))
        else:
            numbers.append(builder.apply("variable_power" if step.op == "power" else step.op, *args, text=text))
    graph = builder.graph(numbers[n] for n in expression.outputs)
    return replace(graph, formula=expression.source) if expression.formula else graph


def inlined(build: Builder, graph: Graph, x: int) -> int:
    """The outputs of a graph, one after the other, of the vector that a node of another graph is."""
    numbers: list[int] = []
    for node in graph.nodes:
        if node.op == "input":
            part = build.apply("slice", x, data=((node.data[0], 1, node.size),))
            numbers.append(build.apply("reshape", part, data=(node.shape,)))
        elif node.op == "constant":
            assert node.value is not None
            numbers.append(build.constant(node.value, node.text, node.data))
        else:
            args = (numbers[n] for n in node.args)
            numbers.append(build.apply(node.op, *args, data=node.data, value=node.value, text=node.text))
    parts = [build.apply("reshape", numbers[n], data=((graph.nodes[n].size,),)) for n in graph.outputs]
    return parts[0] if len(parts) == 1 else build.apply("concat", *parts, data=(0,))


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
    rest = 1.0 - slope
    exact = all(1 - Fraction(c) == r for c, r in zip(slope.ravel().tolist(), rest.ravel().tolist(), strict=True))
    factor = build.constant(rest, data=() if exact else ROUNDED)
    above = build.apply("mul", build.apply("relu", value, text=text), factor, text=text)
    return build.apply("add", above, build.apply("mul", value, build.constant(slope), text=text), text=text)
