"""The same network in other people's frameworks, in float64: what it is there, and how they evaluate it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from integraph import Network
from integraph.targets.activations import NAMES
from lazy import framework

OPSET = 21  # the newest that onnxruntime is sure about
Values = Callable[[np.ndarray], np.ndarray]


def to_torch(network: Network, folder: Path) -> tuple[Any, Values]:
    """A module with its own forward, for torch.export to trace."""
    torch = framework("torch")
    functional = torch.nn.functional
    known: dict[str, Callable[[Any], Any]] = {
        "identity": lambda z: z,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "arctan": torch.atan,
        "softplus": lambda z: functional.softplus(z, threshold=1000.0),
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda z: functional.gelu(z, approximate="tanh"),
        "sin": torch.sin,
        "exp": torch.exp,
        "gaussian": lambda z: torch.exp(-(z**2)),
        "erf": torch.erf,
        "relu": torch.relu,
        "leaky_relu": lambda z: functional.leaky_relu(z, 0.1),
    }

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.ModuleList()
            for layer in network.layers:
                dense = torch.nn.Linear(layer.A.shape[1], len(layer.A), dtype=torch.float64)
                with torch.no_grad():
                    dense.weight.copy_(torch.tensor(layer.A))
                    dense.bias.copy_(torch.tensor(layer.b))
                self.dense.append(dense)

        def forward(self, z: Any) -> Any:
            for dense, layer in zip(self.dense, network.layers, strict=True):
                z = known[layer.activation](dense(z))
            return z

    module = Net()
    return module, lambda x: module(torch.tensor(x)).detach().numpy()


def to_onnx(network: Network, folder: Path) -> tuple[Any, Values]:
    """A file; evaluated by onnx's own reference implementation, which has every operator in float64."""
    onnx = framework("onnx")
    from onnx.reference import ReferenceEvaluator

    from onnx_models import Builder, _gelu_tanh, gemm

    single = {"tanh": "Tanh", "sigmoid": "Sigmoid", "arctan": "Atan", "softplus": "Softplus", "sin": "Sin"}
    single |= {"exp": "Exp", "erf": "Erf", "relu": "Relu", "gelu": "Gelu", "identity": "Identity"}
    builder = Builder(OPSET)
    value = "x"
    for layer in network.layers:
        value = gemm(builder, value, layer.A, layer.b)
        if layer.activation in single:
            value = builder.node(single[layer.activation], value)
        elif layer.activation == "silu":
            value = builder.node("Mul", value, builder.node("Sigmoid", value))
        elif layer.activation == "gelu_tanh":
            value = _gelu_tanh(builder, value)
        elif layer.activation == "gaussian":
            value = builder.node("Exp", builder.node("Neg", builder.node("Mul", value, value)))
        else:
            value = builder.node("LeakyRelu", value, alpha=0.125)
    model = builder.model(value, ("batch", network.inputs), ("batch", network.outputs))
    path = folder / "net.onnx"
    onnx.save(model, path)
    if {"erf", "gelu"} & {layer.activation for layer in network.layers}:
        return path, network  # the reference has them in float32 only
    reference = ReferenceEvaluator(model)
    return path, lambda x: reference.run(None, {"x": x})[0]


def to_runtime(network: Network, folder: Path) -> tuple[Any, Values]:
    """A file, evaluated by onnxruntime."""
    runtime = framework("onnxruntime")
    path, _ = to_onnx(network, folder)
    session = runtime.InferenceSession(path)
    return path, lambda x: session.run(None, {"x": x})[0]


def to_sklearn(network: Network, folder: Path) -> tuple[Any, Values]:
    """A fitted MLPRegressor with other weights."""
    networks = framework("sklearn.neural_network")
    name = network.layers[0].activation
    known = {"tanh": "tanh", "sigmoid": "logistic", "relu": "relu", "identity": "identity"}
    model = networks.MLPRegressor(
        hidden_layer_sizes=network.sizes[1:-1], activation=known[name], max_iter=1, solver="adam", tol=1e9
    )
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step does not converge
        model.fit(rng.normal(size=(5, network.inputs)), rng.normal(size=(5, network.outputs)).squeeze())
    model.coefs_ = [layer.A.T.copy() for layer in network.layers]
    model.intercepts_ = [layer.b.copy() for layer in network.layers]
    return model, lambda x: model.predict(x).reshape(len(x), -1)


def to_keras(network: Network, folder: Path, suffix: str = ".keras") -> tuple[Any, Values]:
    """A file that Keras wrote, evaluated by Keras on its torch backend."""
    framework("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = framework("keras")
    from keras_models import outputs, precision, save

    names = {"exp": "exponential", "identity": "linear"}
    with precision(keras), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Keras about numpy
        model = keras.Sequential([keras.layers.Input((network.inputs,))])
        for layer in network.layers:
            name = names.get(layer.activation, layer.activation)
            model.add(keras.layers.Dense(len(layer.A), keras.layers.LeakyReLU(0.1) if name == "leaky_relu" else name))
        model.set_weights([part for layer in network.layers for part in (layer.A.T, layer.b)])
    return save(model, folder / f"net{suffix}"), lambda x: outputs(model, x)


def to_h5(network: Network, folder: Path) -> tuple[Any, Values]:
    return to_keras(network, folder, ".h5")


def to_list(network: Network, folder: Path) -> tuple[Any, Values]:
    return [
        (layer.A, layer.b, ("leaky_relu", layer.slope) if layer.activation == "leaky_relu" else layer.activation)
        for layer in network.layers
    ], network


IN_RUNTIME = ("identity", "tanh", "sigmoid", "silu", "gelu_tanh", "sin", "exp", "gaussian", "relu")  # in float64
IN_KERAS = ("identity", "tanh", "sigmoid", "softplus", "silu", "gelu", "exp", "relu", "leaky_relu")
ELSEWHERE = tuple(name for name in NAMES if name != "log_cosh")  # which no framework has
FRAMEWORKS: dict[str, tuple[Callable[[Network, Path], tuple[Any, Values]], tuple[str, ...] | None]] = {
    "list": (to_list, None),
    "torch": (to_torch, ELSEWHERE),
    "onnx": (to_onnx, ELSEWHERE),
    "onnxruntime": (to_runtime, IN_RUNTIME),
    "keras": (to_keras, IN_KERAS),
    "h5": (to_h5, IN_KERAS),
    "sklearn": (to_sklearn, ("tanh", "sigmoid", "relu", "identity")),
}
