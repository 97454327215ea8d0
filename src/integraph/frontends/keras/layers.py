"""What each Keras layer does, as steps of a chain. One rule for a class; a class without a rule is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from integraph.errors import FileError, SourceError
from integraph.frontends.chain import ActivationLayer, Step, dense, scaling
from integraph.frontends.keras import activation_names as activations
from integraph.frontends.keras.activation_names import Chosen
from integraph.frontends.keras.configuration import LayerConfig, want
from integraph.frontends.keras.weights import WeightPlace, Weights
from integraph.numbers.arrays import Floats, numbers
from integraph.targets.affine_maps import Map
from integraph.text import counted

MOST = 10_000  # layers
WIDEST = 1 << 20  # inputs
SMALLEST = 1e-7  # Keras' own epsilon: Normalization divides by no less
IDLE = {  # do nothing once the model is trained
    "ActivityRegularization",
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "Identity",
}

Shape = tuple[int, ...]


@dataclass(slots=True, eq=False)
class Chain:
    """What has been read so far."""

    weights: Weights
    inputs: Shape | None = None
    shape: Shape | None = None
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stored: dict[WeightPlace, list[Floats]] = field(default_factory=dict)
    maps: dict[WeightPlace, Map] = field(default_factory=dict)

    @property
    def features(self) -> int:
        """How many numbers one input is."""
        return math.prod(self.inputs or ())

    def known(self, part: LayerConfig) -> Shape:
        if self.shape is None:
            raise SourceError(f"{part} comes before the shape of the input is known: start the model with keras.Input")
        return self.shape

    def read(self, part: LayerConfig, names: list[str]) -> list[Floats]:
        """Weights of a layer; one that is called twice is read once."""
        key = part.place
        if key not in self.stored:
            self.stored[key] = self.weights.read(part.place, names)
        return self.stored[key]

    def multiply(self, part: LayerConfig, A: Floats, b: Floats) -> None:
        """A z + b; a layer that is called twice is held once."""
        key = part.place
        if key not in self.maps:
            self.maps[key] = dense(A, b, str(part))
        self.steps.append(self.maps[key])

    def bend(self, part: LayerConfig, chosen: Chosen) -> None:
        name, slope = chosen
        if name != "identity":
            self.steps.append(ActivationLayer(name, slope, math.prod(self.known(part))))

    def scale(self, part: LayerConfig, factor: Floats, shift: Floats) -> None:
        """factor · z + shift over the last axis."""
        shape = self.known(part)
        try:
            flat = [np.broadcast_to(given, shape).ravel() for given in (factor, shift)]
        except ValueError:
            raise SourceError(f"{part} has {np.shape(factor)} factors for values of shape {shape}") from None
        self.steps.append(scaling(flat[0], flat[1], str(part)))


def read(parts: Iterable[LayerConfig], weights: Weights) -> Chain:
    """The chain of all layers."""
    chain = Chain(weights)
    for count, part in enumerate(parts):
        if count > MOST:
            raise FileError(f"the model has more than {MOST} layers, those that are called again included")
        if part.kind in activations.OPERATIONS:
            chain.bend(part, activations.operation(part))
        elif part.kind in activations.LAYERS:
            chain.bend(part, activations.LAYERS[part.kind](part))
        elif part.kind in RULES:
            RULES[part.kind](chain, part)
        elif part.kind in ("Softmax", "LogSoftmax"):
            raise SourceError(f"{part}: {activations.SOFTMAX}")
        elif part.kind not in IDLE:
            names = sorted({*RULES, *activations.LAYERS, *IDLE})
            raise SourceError(f"{part} is not supported: supported are {', '.join(names)}")
    if chain.inputs is None:
        raise SourceError("the model has no layers")
    if len(chain.inputs) > 1:
        chain.notes.append(f"inputs of shape {chain.inputs} are taken flat, the last axis fastest")
    return chain


def _input(chain: Chain, part: LayerConfig) -> None:
    given = part.config.get("batch_shape", part.config.get("batch_input_shape"))
    sizes = given[1:] if isinstance(given, list) else None
    kind = part.config.get("dtype") if part.kind == "InputLayer" else None
    if isinstance(kind, str) and "float" not in kind:
        raise SourceError(f"{part} takes {kind}: Keras rounds what comes in, and a network takes real numbers")
    if not sizes or not all(type(n) is int and n > 0 for n in sizes):
        raise SourceError(f"{part} has shape {given}: every size but that of the batch must be known")
    shape = tuple(sizes)
    if math.prod(shape) > WIDEST:
        raise SourceError(f"{part} has shape {given}: at most {WIDEST} inputs are accepted")
    if chain.shape is not None and chain.shape != shape:
        raise SourceError(f"{part} takes values of shape {shape}, but {chain.shape} come in")
    chain.inputs = chain.inputs or shape
    chain.shape = shape


def _dense(chain: Chain, part: LayerConfig) -> None:
    units = want(part.config, "units", int, str(part))
    _precision(chain, part)
    if chain.shape is None and part.config.get("batch_input_shape") is not None:
        _input(chain, part)
    kernel, *bias = chain.read(part, ["kernel", "bias"] if part.config.get("use_bias", True) else ["kernel"])
    shape = chain.shape or kernel.shape[:1]
    if math.prod(shape[:-1]) != 1:
        raise SourceError(f"{part} acts on the last axis of values of shape {shape}: put Flatten before it")
    if kernel.shape != (*shape[-1:], units) or any(b.shape != (units,) for b in bias):
        raise FileError(
            f"{part} has {kernel.shape} weights and {[b.shape for b in bias]} biases in the file: "
            f"for values of shape {shape} it needs {(*shape[-1:], units)} and {(units,)}"
        )
    chain.inputs = chain.inputs or shape
    chain.shape = (*shape[:-1], units)
    chain.multiply(part, kernel.T, bias[0] if bias else np.zeros(units))
    chain.bend(part, activations.activation(part))


def _precision(chain: Chain, part: LayerConfig) -> None:
    """In what Keras computes: refused if integers, noted if 16 bits."""
    policy = part.config.get("dtype")
    kind, config = (policy.get("class_name"), policy.get("config")) if isinstance(policy, dict) else (None, None)
    if part.config.get("quantization_config") is not None or "Quantized" in str(kind):
        raise SourceError(f"{part} is quantised, which is not read: save the model before it is quantised")
    name = config.get("name") if isinstance(config, dict) else policy
    if isinstance(name, str) and name.endswith("float16"):
        chain.notes.append(f"{part}: Keras rounds values here ({name}), the network does not")


def _flatten(chain: Chain, part: LayerConfig) -> None:
    shape = chain.known(part)
    if len(shape) > 1 and part.config.get("data_format") == "channels_first":
        raise SourceError(f"{part} reorders its values (channels_first), which is not read")
    chain.shape = (math.prod(shape),)


def _reshape(chain: Chain, part: LayerConfig) -> None:
    size = math.prod(chain.known(part))
    given = want(part.config, "target_shape", list, str(part))
    if not given or not all(type(n) is int and (n > 0 or n == -1) for n in given) or given.count(-1) > 1:
        raise FileError(f"{part} has target_shape {given}: needs sizes, one of them may be -1")
    fixed = math.prod(n for n in given if n > 0)
    shape = tuple(size // fixed if n == -1 else n for n in given)
    if math.prod(shape) != size:
        raise FileError(f"{part} reshapes {counted(size, 'value')} to {given}: these do not fit")
    chain.shape = shape


def _rescaling(chain: Chain, part: LayerConfig) -> None:
    factor, shift = (numbers(part.config.get(key), f"{key} of {part}", SourceError) for key in ("scale", "offset"))
    chain.scale(part, factor, shift)


def _last_axis(chain: Chain, part: LayerConfig) -> None:
    given = part.config.get("axis", -1)
    axes = given if isinstance(given, list) else [given]
    if len(axes) != 1 or type(axes[0]) is not int or axes[0] not in (-1, len(chain.known(part))):
        raise SourceError(f"{part} has axis {given}: only the last one is read")


def _normalization(chain: Chain, part: LayerConfig) -> None:
    _last_axis(chain, part)
    given = [part.config.get(key) for key in ("mean", "variance")]
    if all(value is None for value in given):
        mean, variance = chain.read(part, ["mean", "variance"])
    else:
        mean, variance = (numbers(value, f"mean or variance of {part}", SourceError) for value in given)
    deviation = np.maximum(_root(part, variance), SMALLEST)
    if part.config.get("invert"):
        chain.notes.append(f"√variance of {part} is rounded to float64")
        chain.scale(part, deviation, mean)
    else:
        chain.notes.append(f"1/√variance and mean/√variance of {part} are rounded to float64")
        chain.scale(part, 1.0 / deviation, -(mean / deviation))


def _batch_normalization(chain: Chain, part: LayerConfig) -> None:
    _last_axis(chain, part)
    names = [name for name, key in (("gamma", "scale"), ("beta", "center")) if part.config.get(key, True)]
    names += ["moving_mean", "moving_variance"]
    parameters: dict[str, Any] = {"gamma": 1.0, "beta": 0.0, **dict(zip(names, chain.read(part, names), strict=True))}
    epsilon = activations.number(part.config.get("epsilon", 0.001), "epsilon", part)
    root = np.maximum(_root(part, parameters["moving_variance"] + epsilon), np.finfo(float).tiny)
    factor = parameters["gamma"] / root
    chain.notes.append(f"gamma/√(variance + epsilon) of {part}, and its product with the mean, are rounded to float64")
    chain.scale(part, factor, parameters["beta"] - parameters["moving_mean"] * factor)


def _root(part: LayerConfig, variance: Floats) -> Floats:
    if not (variance >= 0).all() or not np.isfinite(variance).all():
        raise SourceError(f"{part} has a variance that is negative or not finite: {variance.min()}")
    return np.sqrt(variance)


RULES: dict[str, Callable[[Chain, LayerConfig], None]] = {
    "BatchNormalization": _batch_normalization,
    "Dense": _dense,
    "Flatten": _flatten,
    "InputLayer": _input,
    "Normalization": _normalization,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
}
