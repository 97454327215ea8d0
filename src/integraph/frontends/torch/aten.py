"""An exported ATen graph, drawn on a `TensorBuilder`: constants are computed by torch in float64."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from integraph.errors import IntegraphError, SourceError
from integraph.frontends.tensor_builder import COMPARED, Operand, TensorBuilder, TensorValue
from integraph.frontends.torch.call import DOUBLE, TorchCall, array, dense
from integraph.frontends.torch.operations import ALIASES, GATES, MEANT, REASONS, RULES, known
from integraph.frontends.torch.structure import (
    BROADCASTS,
    INSERTIONS,
    PERMUTATIONS,
    RESHAPES,
    arranged,
    orders,
)

FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)')
SHORT = 16  # bits of a float type whose rounding is worth a note


def draw(torch: Any, program: Any, shapes: Sequence[tuple[int, ...]], builder: TensorBuilder) -> tuple[list[int], Any]:
    """The nodes of the outputs, one after the other, and notes."""
    walk = _AtenTraversal(torch, program, builder)
    walk.inputs(shapes)
    outputs = walk.outputs()
    for number, node in enumerate((n for n in program.graph.nodes if n.op not in ("placeholder", "output")), 1):
        if node in walk.needed:
            walk.visit(node, number)
    values = [walk.value(node) for node in outputs]
    if not any(isinstance(value, TensorValue) for value in values):
        raise SourceError(f"the output of {walk.source} does not depend on its input")
    named = "the output" if len(values) == 1 else "an output"
    nodes = [builder.node(x if isinstance(x, TensorValue) else array(x), named) for x in values]
    builder.mark(named)
    return nodes, walk.notes


def complete(program: Any) -> bool:
    """Whether there is a rule for every operation on what depends on the input; torch itself computes constants."""
    given = {s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"}
    traced: set[Any] = set()
    for node in program.graph.nodes:
        if node.name in given or not traced.isdisjoint(node.all_input_nodes):
            traced.add(node)
    return all(known(_op(node.target)) for node in traced if hasattr(node.target, "_schema"))


class _AtenTraversal:
    """Values of the nodes that the outputs need, in the order of the graph."""

    def __init__(self, torch: Any, program: Any, builder: TensorBuilder) -> None:
        self.torch, self.program, self.builder = torch, program, builder
        self.source = builder.composer.name
        self.notes: list[str] = []
        self.values: dict[Any, Any] = {}
        self.needed: set[Any] = set()

    def inputs(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """What the user gives, whether it is used or not."""
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        given = [s.arg.name for s in self.program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        tensors = [name for name in given if name in nodes and hasattr(nodes[name].meta.get("val"), "shape")]
        for name, shape in zip(tensors, shapes, strict=True):
            self.values[nodes[name]] = self.builder.input(name, shape)

    def outputs(self) -> list[Any]:
        """The nodes that are returned. Fills `needed`; whatever else forward computes does not matter."""
        specs = self.program.graph_signature.output_specs
        last = next(node for node in self.program.graph.nodes if node.op == "output")
        given = [node for node, spec in zip(last.args[0], specs, strict=True) if spec.kind.name == "USER_OUTPUT"]
        nodes = [node for node in given if hasattr(node, "op")]
        if not nodes or any(not hasattr(node, "op") and node is not None for node in given):
            raise SourceError(f"{self.source} returns {len(nodes)} tensors among {len(given)} values: it needs one")
        todo = list(nodes)
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
        return nodes

    def value(self, node: Any) -> Any:
        if node not in self.values:
            assert node.op == "placeholder"
            self.values[node] = self._stored(node)
        return self.values[node]

    def _stored(self, node: Any) -> Any:
        """A tensor of the module; −∞ is for masks."""
        spec = next(s for s in self.program.graph_signature.input_specs if s.arg.name == node.name)
        stored = self.program.state_dict.get(spec.target)
        tensor = self.program.constants.get(spec.target) if stored is None else stored
        if not isinstance(tensor, self.torch.Tensor):
            raise SourceError(f"{self.source} uses {spec.target!r}, a {type(tensor).__name__}: only tensors are read")
        wide = widened(self.torch, tensor)
        if wide.is_floating_point() and not (good := wide.isfinite() | wide.isneginf()).all():
            at = good.logical_not().nonzero()[0].tolist()
            raise SourceError(
                f"{spec.target!r} of {self.source} is {wide[tuple(at)].item()} at {at}: weights must be finite"
            )
        return wide

    def visit(self, node: Any, number: int) -> None:
        for source in node.all_input_nodes:
            self.value(source)
        args, kwargs = self.torch.fx.node.map_arg((node.args, node.kwargs), self.values.__getitem__)
        where = _where(self.torch, node, number)
        if node.target is operator.getitem:
            if args[1] >= len(args[0]):
                raise SourceError(f"{where} takes the places of the largest entries, which jump: use their values only")
            self.values[node] = args[0][args[1]]
            return
        if not isinstance(node.target, self.torch._ops.OpOverload):
            raise SourceError(f"{where} is not supported: control flow and calls of other graphs are no layers")
        traced = any(_depends(self.values[source]) for source in node.all_input_nodes)
        name = _op(node.target)
        if self.torch.Tag.nondeterministic_seeded in node.target.tags and (not traced or "dropout" in name):
            raise SourceError(
                f"{where} is random, in eval mode too: a network is a fixed function; for dropout, pass "
                "training=self.training"
            )
        if not traced:
            self.values[node] = self._constant(node, args, kwargs, where)
            return
        layers = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]
        self.builder.text = f"{layers[-1]} {name}" if layers else name
        try:
            with np.errstate(all="ignore"):
                self.values[node] = self._traced(node, args, kwargs, where)
        except IntegraphError:
            raise
        except (ValueError, IndexError, OverflowError) as reason:
            raise SourceError(f"{where}: {reason}") from None
        finally:
            self.builder.mark(where)

    def _constant(self, node: Any, args: Any, kwargs: Any, where: str) -> Any:
        """What torch makes of constants. Whatever looks at their bits gives other shapes in float64, and is refused."""
        try:
            value = node.target(*args, **kwargs)
        except Exception as reason:
            said = str(reason).strip().split("\n")[0]
            raise SourceError(f"{where} of constants cannot be computed in float64: {said}") from None
        several = isinstance(value, tuple | list)
        results = value if several else [value]
        for result, meant in zip(results, node.meta["val"] if several else [node.meta["val"]], strict=True):
            if getattr(result, "shape", None) != getattr(meant, "shape", None):
                raise SourceError(f"{where} of constants depends on their type, {meant.dtype}: it is not supported")
        return tuple(widened(self.torch, t) for t in results) if several else widened(self.torch, value)

    def _traced(self, node: Any, args: Any, kwargs: Any, where: str) -> Any:
        name, result = _op(node.target), node.meta["val"]
        several = isinstance(result, tuple | list)
        first = result[0] if several else result
        if name in REASONS:
            raise SourceError(f"{where} is not supported: {REASONS[name]}")
        if not isinstance(first, self.torch.Tensor):
            raise SourceError(f"{where} makes a number of Python of what depends on the input: keep it a tensor")
        if first.dtype is self.torch.bool:
            raise SourceError(f"{where} {COMPARED}; {GATES}")
        if not first.dtype.is_floating_point:
            raise SourceError(f"{where} gives {first.dtype}: values of a network are real numbers")
        if not known(name):
            raise SourceError(f"{where} is not supported: {MEANT}")
        if name == "to" and first.dtype.itemsize * 8 <= SHORT:
            self.notes.append(f"{where}: torch rounds values to {first.dtype} here, the network does not")
        precision = float(self.torch.finfo(first.dtype).eps)
        call = TorchCall(self.builder, where, _named(node, args, kwargs), self.notes, precision)
        if name == "rms_norm" and call["eps"] is None and precision != DOUBLE:
            self.notes.append(f"{where}: its eps is that of {first.dtype}, {precision:.3g}")
        value = RULES[name](call) if name in RULES else self._placed(name, call, node, args, kwargs)
        values = value if isinstance(value, tuple) else (value,)
        for one, meant in zip(values, result if several else (result,), strict=False):
            if one.shape != tuple(meant.shape):
                raise SourceError(f"{where} is read with shape {one.shape}, and torch gives {tuple(meant.shape)}")
        lifted = tuple(self.builder.lift(one, where) for one in values)
        return lifted if several else lifted[0]

    def _placed(self, name: str, call: TorchCall, node: Any, args: Any, kwargs: Any) -> Operand | tuple[Operand, ...]:
        """Entries put elsewhere: torch says where, by doing the same to their numbers."""
        if name == "pad" and call["mode"] == "constant":
            return RULES["constant_pad_nd"](call)
        if name in INSERTIONS:
            return self._inserted(call, node, args, kwargs)
        x, result = args[0], node.meta["val"]
        others = [] if name in ("expand_as", "view_as") else _parts((args[1:], kwargs))  # only shapes of others
        if not isinstance(x, TensorValue) or any(map(_depends, others)):
            raise SourceError(f"{call.where} arranges one tensor by another that depends on the input: not supported")
        if name in RESHAPES and call["dtype"] is None:
            return call.builder.reshape(x, result.shape, call.where)
        if name in BROADCASTS:
            return call.builder.spread(x, tuple(result.shape), call.where)
        if name in PERMUTATIONS:
            order = orders(self.torch, node.target, len(x.shape), args[1:], kwargs)
            return call.builder.transpose(x, order, call.where)
        numbers = self.torch.arange(math.prod(x.shape), dtype=self.torch.float64).reshape(x.shape)
        places = node.target(numbers, *args[1:], **kwargs)
        if isinstance(places, tuple | list):
            return tuple(arranged(call, x, part.long().numpy()) for part in places)
        return arranged(call, x, places.long().numpy())

    def _inserted(self, call: TorchCall, node: Any, args: Any, kwargs: Any) -> Operand:
        """Entries of one tensor put into another: both are joined, and torch says which entry goes where."""
        if call["accumulate"]:
            raise SourceError(f"{call.where} adds to entries in place, which is not supported: use a sum")
        name = "src" if "src" in call.args else "values"
        parts = [self.builder.lift(call.operand(part), call.where) for part in ("self", name)]
        starts = np.cumsum([0, *(math.prod(part.shape) for part in parts)])
        numbers = [
            (start + self.torch.arange(math.prod(part.shape), dtype=self.torch.float64)).reshape(part.shape)
            for start, part in zip(starts[:2].tolist(), parts, strict=True)
        ]
        places = node.target(**{**call.args, "self": numbers[0], name: numbers[1]})
        flat = [self.builder.reshape(part, (-1,), call.where) for part in parts]
        return arranged(call, self.builder.draw("concat", *flat, where=call.where, data=(0,)), places.long().numpy())


def widened(torch: Any, tensor: Any) -> Any:
    """A constant as float64 (exact), so that what is computed from constants is computed in float64."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return dense(tensor).double() if tensor.is_floating_point() else dense(tensor)


def _depends(value: Any) -> bool:
    return isinstance(value, TensorValue) or (isinstance(value, tuple) and any(map(_depends, value)))


def _parts(value: Any) -> Iterator[Any]:
    """What is inside lists, tuples and dictionaries."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    elif isinstance(value, dict):
        yield from _parts(list(value.values()))
    else:
        yield value


def _op(target: Any) -> str:
    space, _, name = str(target._schema.name).partition("::")
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
