"""A Keras configuration → its layers, models inside models, and how layers are called. Nothing in it is executed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.arguments import Call, TensorName, calls_of, ends_of, show
from integraph.frontends.keras.weights import WeightPlace

MODELS = ("Sequential", "Functional", "Model")
OPERATION_MODULES = ("keras.ops", "keras.src.ops")
TOP = WeightPlace((), ())
DEPTH = 32  # of models inside models

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class LayerConfig:
    """One layer as it is stored: its class, its settings, where its weights are.

    An operation of keras.ops, as x + y, is one without weights. Some have the names of layers; in an `.h5` file, which
    names no modules, they are those without the settings that all layers have.
    """

    kind: str
    config: dict[str, Any]
    place: WeightPlace
    operation: bool = False
    certain: bool = True  # whether the file says which of the two it is

    def __str__(self) -> str:
        return f"layer {str(self.place)!r} ({self.kind})" if self.place.names else "the input of the model"


@dataclass(frozen=True, slots=True, eq=False)
class ModelConfig:
    """A model: its layers, and, if it is Functional, how they are called and which tensors come in and go out.

    A layer that is called twice has two calls. A Sequential one calls each layer once, in order; `shape` is what it
    was built for.
    """

    place: WeightPlace
    layers: list[LayerConfig | ModelConfig]
    calls: dict[str, list[Call]] | None = None
    inputs: list[TensorName] = field(default_factory=list)
    outputs: list[TensorName] = field(default_factory=list)
    shape: list[Any] | None = None

    def __str__(self) -> str:
        return f"model {str(self.place)!r}" if self.place.names else "the model"


def want(mapping: Any, key: str, kind: type[T], where: str) -> T:
    """An entry of the configuration, of the type it must have."""
    value = mapping.get(key) if isinstance(mapping, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FileError(f"the configuration of {where} has {key} = {show(value)}: needs {kind.__name__}")
    return value


def model_of(model: Any, above: WeightPlace = TOP) -> ModelConfig:
    """The model of a configuration, with models inside."""
    kind = want(model, "class_name", str, "the model")
    if kind not in MODELS or foreign(model):
        raise SourceError(
            f"the model is of class {kind}: only Keras' own Sequential and Functional are read, since the code of "
            "another class is in no file; convert it to .onnx, which has what it computes"
        )
    if len(above.names) > DEPTH:
        raise FileError(f"models are nested more than {DEPTH} deep at {str(above)[:60]!r}")
    config = model.get("config")
    if isinstance(config, list):  # Sequential, before tf.keras 2.2
        config = {"layers": config}
    entries = want(config, "layers", list, f"model {kind}")
    layers = [_layer(entry, place) for entry, place in zip(entries, _places(entries, above), strict=True)]
    if kind == "Sequential":
        built = config.get("build_input_shape")
        return ModelConfig(above, layers, shape=built if isinstance(built, list) else None)
    names = [part.place.names[-1] for part in layers]
    if len(set(names)) != len(names):
        raise FileError("two layers have the same name")
    nodes = [want(entry, "inbound_nodes", list, "a layer") for entry in entries]
    old = any(isinstance(node, list) for given in nodes for node in given)
    later = {part.place.names[-1] for part in layers if _has_own_node(part, old)}
    calls = {name: calls_of(given, name, later if old else ()) for name, given in zip(names, nodes, strict=True)}
    return ModelConfig(above, layers, calls, ends_of(config, "input_layers"), ends_of(config, "output_layers", later))


def foreign(entry: dict[str, Any]) -> bool:
    """Is this a class that somebody else wrote? The name alone does not tell."""
    module, registered = entry.get("module"), entry.get("registered_name")
    own = module is None or (isinstance(module, str) and module.split(".")[0] == "keras")
    return not own or ">" in str(registered) or ">" in str(entry.get("class_name"))


def _has_own_node(part: LayerConfig | ModelConfig, old: bool) -> bool:
    """Whether a layer is a model whose first node is the model itself, so that its calls are numbered from 1: a
    Functional one where it is an output, and in tf.keras every model that begins with its input, everywhere."""
    if isinstance(part, LayerConfig):
        return False
    first = part.layers[0] if part.layers else None
    return part.calls is not None or (old and isinstance(first, LayerConfig) and first.kind == "InputLayer")


def _layer(entry: dict[str, Any], place: WeightPlace) -> LayerConfig | ModelConfig:
    if entry["class_name"] in MODELS:
        return model_of(entry, place)
    if foreign(entry):
        raise SourceError(
            f"layer {str(place)!r} is of the class {entry['class_name']} from {show(entry.get('module'))}: only "
            "Keras' own layers are known, and no other code is run; convert the model to .onnx, which has what it "
            "computes"
        )
    module, config = entry.get("module"), entry["config"]
    operation = "trainable" not in config if module is None else module.startswith(OPERATION_MODULES)
    return LayerConfig(entry["class_name"], config, place, operation, module is not None)


def _places(entries: list[Any], above: WeightPlace) -> list[WeightPlace]:
    """Names of groups as Keras gives them: dense, dense_1, … in the order of the configuration."""
    used: dict[str, int] = {}
    places = []
    for entry in entries:
        kind = want(entry, "class_name", str, "a layer")
        config = want(entry, "config", dict, f"layer {kind}")
        name = config.get("name", entry.get("name"))
        if not isinstance(name, str):
            raise FileError(f"a layer of class {kind} has no name")
        group = _snake(kind)
        number = used[group] = used.get(group, -1) + 1
        places.append(WeightPlace((*above.groups, f"{group}_{number}" if number else group), (*above.names, name)))
    return places


def _snake(name: str) -> str:
    """BatchNormalization → batch_normalization, LeakyReLU → leaky_re_lu."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
