"""ONNX: the closed forms of the ODE's segments as array nodes, for onnxruntime and all that reads ONNX.

Opset 17, an input x (batch, inputs) and an output y (batch, outputs), which is NaN where the flow has no solution.
Weights are initializers. What onnxruntime does not compute in float64 (erf, arctan, …) is written by what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.export.header import header
from integraph.export.onnx.onnx_nodes import Nodes
from integraph.flow.closed_forms import ClosedForms, Operation, trace
from integraph.version import VERSION

if TYPE_CHECKING:
    from integraph.program import Program

OPSET, IR = 17, 8
PRECISIONS = {"float64": np.float64, "float32": np.float32}
ELEMENTWISE = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negate": "Neg", "abs": "Abs", "sqrt": "Sqrt",
    "maximum": "Max", "minimum": "Min", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tanh": "Tanh",
    "power": "Pow", "less": "Less", "equal": "Equal", "both": "And", "either": "Or", "where": "Where",
}  # fmt: skip
REDUCTIONS = {"product": "ReduceProd", "largest": "ReduceMax"}
ABOUT = "The closed forms of the ODE's segments. y is NaN where the flow has no solution."


def write(program: Program, name: str, *, precision: str = "float64") -> bytes:
    """`precision` is float64 or float32."""
    if precision not in PRECISIONS:
        raise UsageError("the numbers of an ONNX file are float64 or float32", argument="precision", value=precision)
    try:
        import onnx
    except ImportError:
        raise UsageError("the format onnx needs a package: pip install 'integraph[onnx]'") from None
    kind, helper = PRECISIONS[precision], onnx.helper
    nodes = Nodes(helper, kind)
    _graph(nodes, trace(program, native=frozenset(ELEMENTWISE), kind=kind))
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    x, y = (
        helper.make_tensor_value_info(one, number, ("batch", count))
        for one, count in (("x", program.inputs), ("y", program.outputs))
    )
    about = "\n".join([*header(program, name, exact=precision == "float64"), ABOUT])
    model = helper.make_model(
        helper.make_graph(nodes.nodes, name, [x], [y], nodes.initializers, doc_string=about),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="integraph",
        producer_version=VERSION,
        doc_string=about,
    )
    helper.set_model_props(model, {"about": about, "digest": program.digest})
    written: bytes = model.SerializeToString(deterministic=True)
    return written


def _graph(nodes: Nodes, forms: ClosedForms) -> None:
    """The operations, then the outputs plus a column for each guard: 0, or NaN where it fails."""
    for number, operation in enumerate(forms.operations):
        _operation(nodes, f"v{number}", operation)
    sizes, flags = [operation.size for operation in forms.operations], []
    for number in (*forms.finite, forms.outputs):
        value = f"v{number}"
        flags.append(nodes.flag("Sub", value, value, name=f"finite{number}", size=sizes[number]))
    for number in forms.positive:
        zero, nan = (nodes.constant(np.full((1, 1), value)) for value in (0.0, np.nan))
        row = nodes.node("Reshape", f"v{number}", nodes.integers([0, sizes[number]]), name=f"row{number}")
        alive = nodes.node("Less", zero, row, name=f"alive{number}")
        flags.append(nodes.flag("Where", alive, zero, nan, name=f"positive{number}", size=sizes[number]))
    nodes.node("Sum", f"v{forms.outputs}", *flags, name="y")


def _operation(nodes: Nodes, name: str, own: Operation) -> None:
    first = own.arguments[0] if own.arguments else None
    if own.op in ("multiply", "divide"):
        factors = [nodes.factor(f"{name}_{n}", argument, own.lanes) for n, argument in enumerate(own.arguments)]
        nodes.node(ELEMENTWISE[own.op], *factors, name=name)
    elif own.op in ELEMENTWISE:
        nodes.node(ELEMENTWISE[own.op], *map(nodes.argument, own.arguments), name=name)
    elif own.op == "sum":
        nodes.node("ReduceSum", nodes.argument(first), nodes.integers([-1]), name=name, keepdims=0)
    elif own.op in REDUCTIONS:
        nodes.node(REDUCTIONS[own.op], nodes.argument(first), name=name, axes=[-1], keepdims=0)
    elif own.op == "input":
        nodes.node("Identity", "x", name=name)
    elif own.op == "reshape":
        nodes.node("Reshape", nodes.argument(first), nodes.integers([0, *own.lanes]), name=name)
    elif own.op == "broadcast":
        nodes.node("Expand", nodes.repeated(name, first), nodes.integers([1, *own.lanes]), name=name)
    elif own.op == "gather":
        nodes.node("Gather", nodes.argument(first), nodes.integers(own.indices), name=name, axis=1)
    elif own.op == "concatenate":
        parts = [nodes.repeated(f"{name}_{n}", argument) for n, argument in enumerate(own.arguments)]
        nodes.node("Concat", *parts, name=name, axis=1)
    else:
        nodes.node("MatMul", nodes.argument(first), nodes.constant(own.arguments[1]), name=name)
