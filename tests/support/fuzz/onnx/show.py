"""A case as a program that needs nothing of the fuzzer."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.onnx.case import INPUT, MICROSOFT, Case, Node, Tensor, ir_version

HEAD = """import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import integraph
"""
TAIL = """graph = helper.make_graph(nodes, "fuzz", inputs, outputs, tensors)
model = helper.make_model(graph, opset_imports={opsets}, ir_version={ir})
x = np.array({point})
program = integraph.compile(model, {eps}method="exact", box={box})
print(program.flow(x).outputs)
session = onnxruntime.InferenceSession(model.SerializeToString())
print(session.run(None, {{"x": x.reshape({shape}){cast}}}))
"""


def show(case: Case, eps: float | None = None) -> str:
    low, high, kind = np.array(case.low), np.array(case.high), "FLOAT" if case.single else "DOUBLE"
    dims = ["N", *case.shape[1:]] if case.batch else list(case.shape)
    opsets = f'[helper.make_opsetid("", {case.opset})'
    opsets += f', helper.make_opsetid("{MICROSOFT}", 1)]' if any(node.domain for node in case.nodes) else "]"
    lines = [
        HEAD,
        "nodes = [",
        *(f"    {_node(node, case.single)}," for node in case.nodes),
        "]",
        "tensors = [",
        *(f'    numpy_helper.from_array({_array(held, case.single)}, "{name}"),' for name, held in case.tensors),
        "]",
        f'inputs = [helper.make_tensor_value_info("{INPUT}", TensorProto.{kind}, {dims})]',
        f"outputs = [helper.make_tensor_value_info(n, TensorProto.{kind}, None) for n in {list(case.outputs)}]",
        TAIL.format(
            opsets=opsets,
            ir=ir_version(case.opset),
            point=np.round(low + 0.3 * (high - low), 6).tolist(),
            eps="" if eps is None else f"{eps}, ",
            box=list(zip(case.low, case.high, strict=True)),
            shape=case.shape,
            cast='.astype("f4")' if case.single else "",
        ),
    ]
    law = [f"# the law {case.law!r}, seed {case.seed}, of:"] if case.law else []
    return "\n".join([*law, *lines])


def _node(node: Node, single: bool) -> str:
    options = "".join(f", {name}={_value(value, single)}" for name, value in node.attributes)
    if node.op == "Cast" and single:
        options = ", to=TensorProto.FLOAT"
    domain = f', domain="{node.domain}"' if node.domain else ""
    return f'helper.make_node("{node.op}", {list(node.inputs)}, {list(node.outputs)}{options}{domain})'


def _value(value: Any, single: bool) -> str:
    if isinstance(value, Tensor):
        return f"numpy_helper.from_array({_array(value, single)})"
    return repr(list(value) if isinstance(value, tuple) else value)


def _array(held: Tensor, single: bool) -> str:
    values = str(held.array.tolist()).replace("inf", "np.inf")
    kind = "f4" if single and held.dtype == "f8" else held.dtype
    return f'np.array({values}, "{kind}")' + (f".reshape({held.shape})" if 0 in held.shape else "")
