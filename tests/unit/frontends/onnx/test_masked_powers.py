"""A masked softmax in a power: the value that its node holds is the mask, no constant."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import integraph
from lazy import Lazy, needs

onnx = Lazy("onnx")
pytestmark = needs("onnx")

MASK = np.array([[False, False, False], [False, False, True]])
TWO = np.array(2.0)


@pytest.mark.parametrize("operands", [("two", "soft"), ("raised", "two"), ("raised", "soft"), ("raised", "raised")])
def test_the_softmax_varies(operands: tuple[str, str]) -> None:
    helper, array = onnx.helper, onnx.numpy_helper.from_array
    nodes = [
        helper.make_node("Where", ["mask", "lowest", "x"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["soft"], axis=-1),
        helper.make_node("Add", ["soft", "two"], ["raised"]),
        helper.make_node("Pow", list(operands), ["y"]),
    ]
    tensors = [array(MASK, "mask"), array(np.array(-np.inf), "lowest"), array(TWO, "two")]
    inputs, outputs = ([helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [2, 3])] for name in ("x", "y"))
    model = helper.make_model(
        helper.make_graph(nodes, "powers", inputs, outputs, tensors),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )
    program = integraph.compile(model, method="exact", box=(0, 1))
    x = np.random.default_rng(4).random((5, 6))
    soft = softmax(np.where(MASK, -np.inf, x.reshape(-1, 2, 3)), axis=-1)
    given = {"two": TWO, "soft": soft, "raised": soft + TWO}
    np.testing.assert_allclose(program(x), (given[operands[0]] ** given[operands[1]]).reshape(5, 6), rtol=1e-12)
