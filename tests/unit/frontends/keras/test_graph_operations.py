"""Operations of keras.ops in Functional models, drawn as a graph, compute what Keras computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from integraph.frontends.keras.operations import FUNCTIONS, OPERATIONS
from keras_models import agree, graph_model
from slow import mostly_slow

ABOVE_1 = ("Arccosh",)
INSIDE = ("Arccos", "Arcsin", "Arctanh")  # of (−1, 1)
POSITIVE = ("Log", "Log10", "Log2", "Log1p", "Sqrt")

Rule = Callable[[Any, Any], Any]  # of keras.ops and a tensor of shape (4, 3)


def _function(name: str) -> Rule:
    """Where it has values and no kink."""

    def apply(ops: Any, x: Any) -> Any:
        if name in ABOVE_1 or name in POSITIVE:
            x = x * x + 1.5
        elif name in INSIDE or name == "Tan":
            x = 0.9 * ops.tanh(x)
        return getattr(ops, name.lower())(x)

    return apply


CASES: dict[str, Rule] = {
    **{name: _function(name) for name in FUNCTIONS if name not in ("Abs", "Cbrt")},
    "Cbrt": lambda ops, x: ops.cbrt(x * x + 1.0),
    "Reciprocal": lambda ops, x: ops.reciprocal(x * x + 1.0),
    "Rsqrt": lambda ops, x: ops.rsqrt(x * x + 1.0),
    "Square": lambda ops, x: ops.square(x),
    "Add": lambda ops, x: 1.0 + x + x + np.array([1.0, 2.0, 3.0]),
    "Subtract": lambda ops, x: 1.0 - (x - np.arange(12.0).reshape(1, 4, 3)),
    "Multiply": lambda ops, x: 0.3 * x * x,
    "Divide": lambda ops, x: ops.divide(x, 3.0),
    "TrueDivide": lambda ops, x: x / (x * x + 1.0) + 2.0 / (x * x + 3.0),
    "Power": lambda ops, x: x**3 + (x * x + 1.0) ** 0.5,
    "Maximum": lambda ops, x: ops.maximum(x, 0.1),
    "Minimum": lambda ops, x: ops.minimum(0.1, x),
    "Clip": lambda ops, x: ops.clip(x, -0.5, 0.7),
    "Celu": lambda ops, x: ops.celu(x, 0.7),
    "Elu": lambda ops, x: ops.elu(x, 0.7),
    "Gelu": lambda ops, x: ops.gelu(x) + ops.gelu(x, approximate=False),
    "Glu": lambda ops, x: ops.glu(x, axis=1),
    "HardSigmoid": lambda ops, x: ops.hard_sigmoid(x),
    "HardSilu": lambda ops, x: ops.hard_silu(x),
    "HardTanh": lambda ops, x: ops.hard_tanh(x),
    "LeakyRelu": lambda ops, x: ops.leaky_relu(x, 0.3),
    "LogSigmoid": lambda ops, x: ops.log_sigmoid(x),
    "LogSoftmax": lambda ops, x: ops.log_softmax(x, axis=1),
    "Relu": lambda ops, x: ops.relu(x),
    "Relu6": lambda ops, x: ops.relu6(5.0 * x),
    "Selu": lambda ops, x: ops.selu(x),
    "Sigmoid": lambda ops, x: ops.sigmoid(x),
    "Silu": lambda ops, x: ops.silu(x),
    "SoftShrink": lambda ops, x: ops.soft_shrink(x, 0.3),
    "Softmax": lambda ops, x: ops.softmax(x, axis=-1),
    "Softplus": lambda ops, x: ops.softplus(x),
    "Softsign": lambda ops, x: ops.softsign(x),
    "SparsePlus": lambda ops, x: ops.sparse_plus(x),
    "SparseSigmoid": lambda ops, x: ops.sparse_sigmoid(x),
    "Squareplus": lambda ops, x: ops.squareplus(x, 3),
    "TanhShrink": lambda ops, x: ops.tanh_shrink(x),
    "Amax": lambda ops, x: ops.amax(x, axis=1),
    "Amin": lambda ops, x: ops.amin(x, axis=(1, 2), keepdims=True),
    "Max": lambda ops, x: ops.max(x, axis=-1),
    "Min": lambda ops, x: ops.min(x, axis=1, keepdims=True),
    "Cast": lambda ops, x: ops.cast(x, "float64") + 1.0,
    "Concatenate": lambda ops, x: ops.concatenate([x, 2.0 * x], axis=1),
    "ExpandDims": lambda ops, x: ops.expand_dims(x, 1) + ops.expand_dims(x, -2)[:, :1],
    "GetItem": lambda ops, x: ops.concatenate([x[:, 1:3, 0:3:1], x[..., :2, :], x[:, -1, None, :]], axis=1),
    "Logsumexp": lambda ops, x: ops.logsumexp(x, axis=1),
    "Matmul": lambda ops, x: ops.matmul(ops.matmul(x, np.ones((3, 4)) / 3), x),
    "Mean": lambda ops, x: ops.mean(x, axis=1) + ops.mean(x, axis=1, keepdims=True)[:, 0],
    "Reshape": lambda ops, x: ops.reshape(x, (-1, 2, 6)),
    "Squeeze": lambda ops, x: ops.squeeze(x[:, :1], axis=1),
    "Stack": lambda ops, x: ops.stack([x, x * x], axis=2),
    "StopGradient": lambda ops, x: ops.stop_gradient(x) + 1.0,
    "Sum": lambda ops, x: ops.sum(x, axis=(1, 2)),
    "Transpose": lambda ops, x: ops.transpose(x, (0, 2, 1)),
    "Var": lambda ops, x: ops.var(x, axis=-1),
}


@mostly_slow("name", CASES, quick=20)
def test_operation(keras: Any, tmp_path: Path, name: str) -> None:
    agree(graph_model(keras, [(4, 3)], lambda x: CASES[name](keras.ops, x)), tmp_path)


def test_every_operation_of_the_table_is_compared() -> None:
    assert set(OPERATIONS) - {"Abs"} == set(CASES)
