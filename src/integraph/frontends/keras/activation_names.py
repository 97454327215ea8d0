"""Which of our activations a Keras layer, activation or operation is. What is not Keras' own is never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.configuration import LayerConfig, foreign
from integraph.numbers.arrays import numbers

LEAK = 0.2  # of the activation "leaky_relu", where nothing is said
NAMES = {
    "linear": "identity",
    **{name: name for name in ("relu", "silu", "sigmoid", "softplus", "tanh", "gelu", "leaky_relu")},
    "swish": "silu",
    "exponential": "exp",
}
OPERATIONS = {  # keras.ops in a Functional model: no layer, no weights
    "Arctan": "arctan",
    "Erf": "erf",
    "Exp": "exp",
    "Gelu": "gelu",
    "LeakyRelu": "leaky_relu",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Silu": "silu",
    "Sin": "sin",
    "Softplus": "softplus",
    "Tanh": "tanh",
}
SOFTMAX = (
    "softmax is not a function of each value alone: end the model before it and compile the raw outputs; "
    "the largest stays the largest"
)

Chosen = tuple[str, float]  # our name, and the slope of leaky_relu


def number(value: Any, what: str, part: LayerConfig) -> float:
    """A number of the configuration."""
    if type(value) not in (int, float):
        raise FileError(f"{what} of {part} is {value!r}: needs a number")
    return float(numbers(value, f"{what} of {part}", FileError))


def operation(part: LayerConfig) -> Chosen:
    """keras.ops.tanh(x) and its like."""
    return _chosen(OPERATIONS[part.kind], part)


def activation(part: LayerConfig) -> Chosen:
    """The entry `activation` of a layer: a name, or a layer that does it."""
    given = part.config.get("activation")
    if isinstance(given, dict):
        return _layer(given, part)
    if given in ("softmax", "log_softmax"):
        raise SourceError(f"{part}: {SOFTMAX}")
    name = "linear" if given is None else given
    if not isinstance(name, str) or name not in NAMES:
        raise SourceError(f"{part} has the activation {name!r}: known are {', '.join(NAMES)}")
    return _chosen(NAMES[name], LayerConfig(part.kind, {}, part.place))


def _layer(given: dict[str, Any], part: LayerConfig) -> Chosen:
    kind, settings = given.get("class_name"), given.get("config")
    if isinstance(kind, str) and kind in LAYERS and isinstance(settings, dict) and not foreign(given):
        return LAYERS[kind](LayerConfig(kind, settings, part.place))
    name = settings if isinstance(settings, str) else kind
    raise SourceError(f"{part} has the activation {name!r}, which is not Keras' own: code from a file is never run")


def _chosen(name: str, part: LayerConfig) -> Chosen:
    if name == "gelu" and part.config.get("approximate", False):
        return "gelu_tanh", 0.0
    if name == "leaky_relu":
        return name, number(part.config.get("negative_slope", LEAK), "negative_slope", part)
    return name, 0.0


def leaky_relu(part: LayerConfig) -> Chosen:
    """The layer; `alpha` in tf.keras."""
    slope = part.config.get("negative_slope", part.config.get("alpha"))
    return "leaky_relu", number(slope, "negative_slope", part)


def relu(part: LayerConfig) -> Chosen:
    """The layer, plain or leaky."""
    slope = number(part.config.get("negative_slope") or 0.0, "negative_slope", part)
    if part.config.get("max_value") is not None or part.config.get("threshold") not in (None, 0):
        raise SourceError(f"{part} has a max_value or a threshold: only the plain and the leaky one are read")
    return ("leaky_relu", slope) if slope else ("relu", 0.0)


LAYERS: dict[str, Callable[[LayerConfig], Chosen]] = {"Activation": activation, "LeakyReLU": leaky_relu, "ReLU": relu}
