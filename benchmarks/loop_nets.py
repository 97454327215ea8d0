"""The nets of examples/loops: of usual sizes, hidden layers at random (seeded), the last one fitted to a good law.

    python benchmarks/loop_nets.py      writes examples/loops/*.onnx, in float32, which needs onnx

TORA's controller has no output scaling here: u = N(x). CartPole's law is the linear-quadratic regulator of the plant at
rest, docking's brakes to a speed in proportion to the distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from integraph.numbers.arrays import Floats
from integraph.targets.network import Network, from_layers

FOLDER = Path(__file__).parents[1] / "examples" / "loops"
SAMPLES = 4000
OPERATORS = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}


@dataclass(frozen=True)
class Fit:
    """`law` maps the states (n, B) to inputs; the net is fitted to it on |x| ≤ `reach`."""

    hidden: tuple[int, ...]
    activation: str
    law: Callable[..., Sequence[Floats]]
    reach: tuple[float, ...]
    gain: float = 1.0  # of the random weights
    ridge: float = 1e-3  # of the fit
    pinned: bool = False  # the net has the law's value at 0, so that 0 stays an equilibrium

    def network(self) -> Network:
        """The net, its weights rounded to float32."""
        rng, reach = np.random.default_rng(0), np.array(self.reach)
        x = rng.uniform(-1.0, 1.0, (SAMPLES, len(reach)))
        layers, width, scale = [], len(reach), reach
        for units in self.hidden:
            A, b = rng.normal(size=(units, width)) * self.gain / np.sqrt(width), rng.uniform(-0.5, 0.5, units)
            layers.append((_rounded(A / scale), _rounded(b), self.activation))
            width, scale = units, np.ones(())
        features = np.concatenate([from_layers(layers)(reach * x), np.ones((SAMPLES, 1))], 1)
        normal = features.T @ features + self.ridge * np.eye(features.shape[1])
        last = np.linalg.solve(normal, features.T @ np.stack(self.law(*(reach * x).T), 1))
        A, b = _rounded(last[:-1].T), last[-1]
        if self.pinned:
            zero = np.zeros((1, len(reach)))
            b = (np.stack(self.law(*zero.T), 1) - from_layers([*layers, (A, 0 * b, None)])(zero))[0]
        return from_layers([*layers, (A, _rounded(b), None)])


def _rounded(weights: Floats) -> Floats:
    return weights.astype(np.float32).astype(np.float64)


def tora(a: Floats, b: Floats, c: Floats, d: Floats) -> Sequence[Floats]:
    return [-c - 1.5 * d]


def pendulum(a: Floats, b: Floats) -> Sequence[Floats]:
    return [-1.5 * a - 0.6 * b]


def quadrotor(*x: Floats) -> Sequence[Floats]:
    roll, pitch = x[6] + 0.1 * x[4], x[7] - 0.1 * x[3]
    return 2.0 * (1.0 - x[2]) + 3.0 * x[5], -0.3 * roll - 0.2 * x[9], -0.3 * pitch - 0.2 * x[10]


NETS = {
    "b1": Fit((20, 20), "tanh", lambda a, b: [0.2 * a - 0.8 * b], (1.5,) * 2),
    "b3": Fit((20, 20), "tanh", lambda a, b: [-a - 2.0 * b], (1.5,) * 2),
    "b4": Fit((20, 20), "tanh", lambda a, b, c: [-c - 0.5 * b], (1.5,) * 3),
    "tora-sigmoid": Fit((20, 20, 20), "sigmoid", tora, (2.0,) * 4),
    "tora-tanh": Fit((20, 20, 20), "tanh", tora, (2.0,) * 4),
    "double-integrator": Fit((25, 20), "tanh", lambda a, b: [-0.4 * a - 1.2 * b], (3.0,) * 2),
    "pendulum": Fit((25, 25), "tanh", pendulum, (2.0,) * 2),
    "pendulum-relu": Fit((25, 25), "relu", pendulum, (2.0,) * 2),
    "unicycle": Fit(
        (100,), "tanh", lambda x, y, th, v: [1.0 - v, np.sin(np.arctan2(-y, -x) - th)], (6.0,) * 4
    ),
    "attitude": Fit(
        (64, 64, 64), "sigmoid", lambda a, b, c, p, q, s: [-2 * a - p, -1.5 * b - 0.8 * q, -c - 0.5 * s], (1.0,) * 6
    ),
    "cartpole": Fit(
        (64, 64), "tanh", lambda a, b, c, d: [2.678 * a + 2.843 * b + 18.38 * c + 3.337 * d], (1.0,) * 4, gain=0.3,
        ridge=0.1, pinned=True,
    ),
    "docking": Fit(
        (256, 256), "tanh", lambda x, y, vx, vy: [-0.6 * (vx + 0.001 * x), -0.6 * (vy + 0.001 * y)],
        (120.0, 120.0, 0.5, 0.5), gain=0.5, ridge=1e-2,
    ),
    "quadrotor": Fit((64, 64, 64), "sigmoid", quadrotor, (1.5,) * 12, gain=0.5, ridge=1e-5),
}  # fmt: skip


def onnx_model(network: Network) -> bytes:
    """The net as a chain of Gemm and activations."""
    from onnx import TensorProto, helper, numpy_helper

    names = ["x", *(f"z{n}" for n in range(2 * len(network.layers) - 1))]
    steps, tensors = iter(pairwise(names)), []
    nodes = []
    for n, layer in enumerate(network.layers):
        for name, values in ((f"W{n}", layer.A), (f"b{n}", layer.b)):
            tensors.append(numpy_helper.from_array(values.astype(np.float32), name))
        given, made = next(steps)
        nodes.append(helper.make_node("Gemm", [given, f"W{n}", f"b{n}"], [made], transB=1))
        if layer.activation in OPERATORS:
            given, made = next(steps)
            nodes.append(helper.make_node(OPERATORS[layer.activation], [given], [made]))
    ends = [(names[0], network.inputs), (names[-1], network.outputs)]
    inputs, outputs = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])] for name, size in ends)
    graph = helper.make_graph(nodes, "controller", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


if __name__ == "__main__":
    for name, fit in NETS.items():
        (FOLDER / f"{name}.onnx").write_bytes(onnx_model(fit.network()))
