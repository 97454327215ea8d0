"""Functions written in jax.numpy → graphs: `jax.make_jaxpr` calls them once and writes down what they do.

The function is traced in float64, whatever jax is set to, and runs as it is: Python loops are unrolled, numbers and
arrays that it closes over are constants.

Read `recognition` (what is written in jax), `jaxpr` (equation by equation), `loops`, `values` (what a variable stands
for), `primitives` (one rule each), `structure` (moving entries, products), `placement` (setting them), `convolution`,
`selection` (choices and masks), `piecewise`, `stable_softmax` and its derivatives in `row_scale`. The graph is built by
`frontends.composer`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import IntegraphError, SourceError, UsageError
from integraph.frontends.composer import ExactComposer
from integraph.frontends.extras import need
from integraph.frontends.jax.jaxpr import JaxprTraversal, said
from integraph.frontends.jax.recognition import is_module
from integraph.frontends.jax.values import PrimitiveCall
from integraph.frontends.options import Inputs
from integraph.targets.graph import Graph

Shape = tuple[int, ...]
ROUNDED_TO = "traced with arguments in float32, because not in float64: numbers that it computes are rounded to float32"
SIZES = ("in_size", "in_features")  # where layers and models say how many inputs they have


def read(function: Callable[..., Any], inputs: Inputs) -> Graph:
    """The graph of a function of one vector with so many `inputs`, or of arrays of these shapes, as ((16, 32), ()).

    The inputs are its arguments one after the other, flat, and so are the outputs: all arrays that it returns.
    """
    jax = need("jax", "jax")
    if not callable(function):
        raise UsageError(f"needs a function written in jax.numpy, got {type(function).__name__}")
    shapes = _shapes(inputs)
    name = str(getattr(function, "__name__", type(function).__name__))
    build = ExactComposer(f"{name}()")
    with _float64(jax):
        args = [build.input(called, shape) for called, shape in zip(_names(function, len(shapes)), shapes, strict=True)]
        traced, note = _trace(jax, function, name, shapes)
        outputs = JaxprTraversal(build).run(traced.jaxpr, traced.consts, args, [True] * len(traced.jaxpr.outvars))
    if not outputs:
        raise SourceError(f"{name} returns no array")
    end = PrimitiveCall(build, name, {}, f"an output of {name}", lambda *_: [], {})
    graph = build.graph(map(end.node, outputs))
    for node in graph.nodes:
        if node.op == "constant" and node.value is not None and np.isneginf(node.value).any():
            raise SourceError(f"{name}: −inf in {node.text or 'a constant'} may go to a softmax only")
    return replace(graph, notes=(*graph.notes, note)) if note else graph


@contextmanager
def _float64(jax: Any) -> Iterator[None]:
    """float64 while a function is traced. What jax caches meanwhile it would use afterwards in float32, too, with numpy
    arrays of the wrong size (jax 0.10 does), so that its caches are cleared."""
    if jax.config.jax_enable_x64:
        yield
        return
    try:
        with jax.enable_x64(True):
            yield
    finally:
        jax.clear_caches()


def read_first(function: Callable[..., Any], choices: Sequence[Sequence[Shape]]) -> Graph:
    """The graph for the first of several choices of shapes that fits; of the errors, the first."""
    errors = []
    for shapes in choices:
        try:
            return read(function, shapes)
        except SourceError as error:
            errors.append(error)
    if choices == [[()]] and is_module(function):
        raise UsageError(
            f"{type(function).__name__} does not say how many inputs it has: give their number, as inputs=2, or the "
            "shapes of its arguments",
            argument="inputs",
        ) from errors[0]
    raise errors[0]


def shapes_of(function: Callable[..., Any], inputs: int | None, parameters: int) -> list[list[Shape]]:
    """The shapes that arguments of a Python function may have at one point: numbers, if it has several parameters.

    A single one is a vector of so many `inputs`, or a batch of one of them; it is a number if nobody says how many.
    Without parameters it takes *args, which may be either.
    """
    if parameters > 1:
        return [[()] * parameters]
    if inputs is None:
        inputs = next((n for name in SIZES if isinstance(n := getattr(function, name, None), int)), None)
    apart: list[list[Shape]] = [[()] * (inputs or 1)]
    if inputs is None:
        return apart
    vectors: list[list[Shape]] = [[(inputs,)], [(1, inputs)]]
    return vectors + apart if parameters == 1 else apart + vectors


def named(graph: Graph, variables: tuple[str, ...]) -> Graph:
    """With other names of its inputs; an argument that is an array keeps its own."""
    if len(variables) != graph.inputs:
        raise UsageError(f"{graph.name} has {graph.inputs} inputs: name each", argument="variables", value=variables)
    nodes = tuple(
        replace(node, text=variables[node.data[0]]) if node.op == "input" and node.size == 1 else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, variables=variables)


def _shapes(inputs: Inputs) -> list[Shape]:
    shapes: Any = [(inputs,)] if isinstance(inputs, int | np.integer) else inputs
    if not isinstance(shapes, list | tuple) or not shapes or not all(map(_is_shape, shapes)):
        raise UsageError(
            "needs the size of one vector, as 3, or a shape for each argument, as ((16, 32), ())",
            argument="inputs",
            value=inputs,
        )
    return [tuple(map(int, shape)) for shape in shapes]


def _is_shape(shape: Any) -> bool:
    if not isinstance(shape, list | tuple):
        return False
    return all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in shape)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of its first parameters, or x1, x2, …"""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # not every callable tells
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(named) >= count:
        return named[:count]
    return ["x"] if count == 1 else [f"x{n + 1}" for n in range(count)]


def _trace(jax: Any, function: Callable[..., Any], name: str, shapes: list[Shape]) -> tuple[Any, str]:
    """The jaxpr, and a note on it. Convolutions want all of their operands in float32 if their weights are."""
    try:
        return _jaxpr(jax, function, shapes, np.float64), ""
    except IntegraphError:
        raise
    except Exception as reason:  # whatever the function does with placeholders
        try:
            return _jaxpr(jax, function, shapes, np.float32), ROUNDED_TO
        except Exception:  # what it says of float64 is as good
            training = type(reason).__name__ == "TraceContextError"  # of flax.nnx: a model changes itself
            fix = "Call model.eval() first" if training else "Write it in jax.numpy, without `if` or `while` on values"
            raise SourceError(
                f"jax cannot trace {name} with arguments of shape {', '.join(map(str, shapes))}: "
                f"{type(reason).__name__}: {said(reason)}. {fix}"
            ) from None


def _jaxpr(jax: Any, function: Callable[..., Any], shapes: list[Shape], kind: type[np.floating[Any]]) -> Any:
    return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(shape, kind) for shape in shapes))
