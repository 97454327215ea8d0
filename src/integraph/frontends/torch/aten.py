"""An exported ATen graph → a network: constants are computed by torch in float64, the rest is traced."""

from __future__ import annotations

import operator
import os
import re
from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.torch.call import TorchCall, dense
from integraph.frontends.torch.operations import ALIASES, RULES, SHAPES, SUPPORTED
from integraph.frontends.tracer import TracedValue, Tracer
from integraph.targets import Network

FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)')
LARGEST = 50_000_000  # entries of a matrix of zeros and ones that puts features into another order
SHORT = 16  # bits of a float type whose rounding is worth a note


def trace(torch: Any, program: Any, shape: tuple[int, ...], source: str) -> Network:
    """The network that the one output of the graph is."""
    walk = _AtenTraversal(torch, program, source)
    output = walk.output()
    for number, node in enumerate((n for n in program.graph.nodes if n.op not in ("placeholder", "output")), 1):
        if node in walk.needed:
            walk.visit(node, number, shape)
    value = walk.value(output, shape)
    if not isinstance(value, TracedValue):
        raise SourceError(f"the output of {source} does not depend on its input")
    network = walk.tracer.network(value)
    return replace(network, notes=(*network.notes, *dict.fromkeys(walk.notes)))


class _AtenTraversal:
    """Values of the nodes that the output needs, in the order of the graph."""

    def __init__(self, torch: Any, program: Any, source: str) -> None:
        self.torch, self.program, self.source = torch, program, source
        self.tracer = Tracer(source)
        self.notes: list[str] = []
        self.values: dict[Any, Any] = {}
        self.needed: set[Any] = set()

    def output(self) -> Any:
        """The node that is returned. Fills `needed`; whatever else forward computes does not matter."""
        specs = self.program.graph_signature.output_specs
        last = next(node for node in self.program.graph.nodes if node.op == "output")
        nodes = [node for node, spec in zip(last.args[0], specs, strict=True) if spec.kind.name == "USER_OUTPUT"]
        if len(nodes) != 1 or not hasattr(nodes[0], "op"):
            raise SourceError(
                f"{self.source} returns {len(nodes)} values: only networks with one tensor as output are read"
            )
        todo = [nodes[0]]
        while todo:
            node = todo.pop()
            if node not in self.needed:
                self.needed.add(node)
                todo += node.all_input_nodes
        signature = self.program.graph_signature
        changed = set(signature.buffers_to_mutate.values())
        for node in self.needed:
            name = signature.inputs_to_buffers.get(node.name)
            if name in changed:
                raise SourceError(
                    f"forward of {self.source} changes its buffer {name!r} and uses it: it is no fixed function"
                )
        return nodes[0]

    def value(self, node: Any, shape: tuple[int, ...]) -> Any:
        if node not in self.values:
            assert node.op == "placeholder"
            self.values[node] = self._given(node, shape)
        return self.values[node]

    def _given(self, node: Any, shape: tuple[int, ...]) -> Any:
        """The input, or a tensor of the module."""
        spec = next(s for s in self.program.graph_signature.input_specs if s.arg.name == node.name)
        if spec.kind.name == "USER_INPUT":
            return self.tracer.input(shape)
        stored = self.program.state_dict.get(spec.target)
        tensor = self.program.constants.get(spec.target) if stored is None else stored
        if not isinstance(tensor, self.torch.Tensor):
            raise SourceError(f"{self.source} uses {spec.target!r}, a {type(tensor).__name__}: only tensors are read")
        wide = widened(self.torch, tensor)
        if wide.is_floating_point() and not wide.isfinite().all():
            at = wide.isfinite().logical_not().nonzero()[0].tolist()
            raise SourceError(
                f"{spec.target!r} of {self.source} is {wide[tuple(at)].item()} at {at}: weights must be finite"
            )
        return wide

    def visit(self, node: Any, number: int, shape: tuple[int, ...]) -> None:
        for source in node.all_input_nodes:
            self.value(source, shape)
        args, kwargs = self.torch.fx.node.map_arg((node.args, node.kwargs), self.values.__getitem__)
        if node.target is operator.getitem:
            self.values[node] = args[0][args[1]]
            return
        where = _where(self.torch, node, number)
        if not isinstance(node.target, self.torch._ops.OpOverload):
            raise SourceError(f"{where} is not supported: control flow and calls of other graphs are no layers")
        traced = any(isinstance(self.values[source], TracedValue) for source in node.all_input_nodes)
        if self.torch.Tag.nondeterministic_seeded in node.target.tags and (not traced or "dropout" in _op(node)):
            raise SourceError(
                f"{where} is random, in eval mode too: a network is a fixed function; for dropout, pass "
                "training=self.training"
            )
        self.values[node] = (self._traced if traced else self._constant)(node, args, kwargs, where)

    def _constant(self, node: Any, args: Any, kwargs: Any, where: str) -> Any:
        """What torch makes of constants. Whatever looks at their bits gives other shapes in float64, and is refused."""
        try:
            value = node.target(*args, **kwargs)
        except Exception as reason:
            said = str(reason).strip().split("\n")[0]
            raise SourceError(f"{where} of constants cannot be computed in float64: {said}") from None
        several = isinstance(value, tuple | list)
        results = value if several else [value]
        for result, known in zip(results, node.meta["val"] if several else [node.meta["val"]], strict=True):
            if getattr(result, "shape", None) != getattr(known, "shape", None):
                raise SourceError(f"{where} of constants depends on their type, {known.dtype}: it is not supported")
        return tuple(widened(self.torch, t) for t in results) if several else widened(self.torch, value)

    def _traced(self, node: Any, args: Any, kwargs: Any, where: str) -> Any:
        name = _op(node)
        result = node.meta["val"]
        if name in SHAPES:
            return self._arranged(node, args, kwargs, where)
        if name not in RULES:
            raise SourceError(f"{where} is not supported. Supported are {SUPPORTED}")
        several = isinstance(result, tuple | list)
        first = result[0] if several else result
        if not first.dtype.is_floating_point:
            raise SourceError(f"{where} gives {first.dtype}: values of a network are real numbers")
        if name == "to" and first.dtype.itemsize * 8 <= SHORT:
            self.notes.append(f"{where}: torch rounds values to {first.dtype} here, the network does not")
        call = TorchCall(self.tracer, where, _named(node, args, kwargs), self.notes)
        value = replace(RULES[name](call), shape=tuple(first.shape))
        return (value,) if several else value

    def _arranged(self, node: Any, args: Any, kwargs: Any, where: str) -> TracedValue:
        """Features put elsewhere: torch says where, by doing the same to their numbers. Often all stay."""
        torch = self.torch
        inputs = [self.values[n] for n in node.all_input_nodes if isinstance(self.values[n], TracedValue)]
        x: TracedValue = args[0]
        if len(inputs) != 1 or x is not inputs[0]:
            raise SourceError(f"{where} arranges one tensor by another that depends on the input: not supported")
        index = node.target(torch.arange(x.features).reshape(x.shape), *args[1:], **kwargs)
        order = index.reshape(-1).numpy()
        if not order.size:
            raise SourceError(f"{where} keeps none of {x.features} features")
        if not np.array_equal(order, np.arange(x.features)):
            if order.size * x.features > LARGEST:
                raise SourceError(
                    f"{where} takes {order.size} of {x.features} features in another order: as a matrix that is "
                    f"more than {LARGEST} entries; arrange the weights instead"
                )
            matrix = np.zeros((order.size, x.features))
            matrix[np.arange(order.size), order] = 1.0
            x = self.tracer.dense(x, matrix, None, where)
        return replace(x, shape=tuple(index.shape))


def widened(torch: Any, tensor: Any) -> Any:
    """A constant as float64 (exact), so that what is computed from constants is computed in float64."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return dense(tensor).double() if tensor.is_floating_point() else dense(tensor)


def _op(node: Any) -> str:
    space, _, name = str(node.target._schema.name).partition("::")
    if space != "aten":
        return f"{space}::{name}"  # somebody's own, whatever it is called
    return ALIASES.get(name, name)


def _named(node: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by the names of the operation's schema, defaults too."""
    schema = node.target._schema.arguments
    defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
    return {**defaults, **dict(zip((a.name for a in schema), args, strict=False)), **kwargs}


def _where(torch: Any, node: Any, number: int) -> str:
    """op 3 aten.cos (layer 'net.1', model.py line 12: x = torch.cos(x)), as far as torch tells."""
    layers = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
    others = (os.path.dirname(torch.__file__), os.path.dirname(__file__))  # not the user's code
    frames = [f for f in FRAME.findall(node.meta.get("stack_trace") or "") if not f[0].startswith(others)]
    facts = [f"layer {layers[-1]!r}"] if layers else []
    if frames:
        path, line, code = frames[-1]
        facts.append(f"{os.path.basename(path)} line {line}: {code.strip()[:80]}")
    name = str(node.target).removesuffix(".default")
    return f"op {number} {name}" + (f" ({', '.join(facts)})" if facts else "")
