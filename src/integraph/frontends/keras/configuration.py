"""A Keras configuration → the layers in the order in which they run. Only chains: one input, one output, no branch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.weights import WeightPlace
from integraph.text import shortened

MODELS = ("Sequential", "Functional", "Model")
TOP = WeightPlace((), ())
DEPTH = 32  # of models inside models

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class LayerConfig:
    """One layer as it is stored: its class, its settings, where its weights are."""

    kind: str
    config: dict[str, Any]
    place: WeightPlace

    def __str__(self) -> str:
        return f"layer {str(self.place)!r} ({self.kind})" if self.place.names else "the input of the model"


def want(mapping: Any, key: str, kind: type[T], where: str) -> T:
    """An entry of the configuration, of the type it must have."""
    value = mapping.get(key) if isinstance(mapping, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FileError(f"the configuration of {where} has {key} = {_show(value)}: needs {kind.__name__}")
    return value


def parts(model: Any, above: WeightPlace = TOP) -> Iterator[LayerConfig]:
    """Every layer of a model, models inside unfolded."""
    kind = want(model, "class_name", str, "the model")
    if kind not in MODELS or foreign(model):
        raise SourceError(f"the model is of class {kind}: only Keras' own Sequential and Functional are read")
    if len(above.names) > DEPTH:
        raise FileError(f"models are nested more than {DEPTH} deep at {str(above)[:60]!r}")
    config = model.get("config")
    if isinstance(config, list):  # Sequential, before tf.keras 2.2
        config = {"layers": config}
    entries = want(config, "layers", list, f"model {kind}")
    places = _places(entries, above)
    order = range(len(entries)) if kind == "Sequential" else _order(config, [place.names[-1] for place in places])
    if kind == "Sequential" and isinstance(config.get("build_input_shape"), list):
        yield LayerConfig("InputLayer", {"batch_shape": config["build_input_shape"]}, above)
    for number in order:
        entry, place = entries[number], places[number]
        if entry["class_name"] in MODELS:
            yield from parts(entry, place)
        elif foreign(entry):
            raise SourceError(
                f"layer {str(place)!r} is of the class {entry['class_name']} from {_show(entry.get('module'))}: only "
                "Keras' own layers are known, and no other code is run"
            )
        else:
            yield LayerConfig(entry["class_name"], entry["config"], place)


def foreign(entry: dict[str, Any]) -> bool:
    """Is this a class that somebody else wrote? The name alone does not tell."""
    module, registered = entry.get("module"), entry.get("registered_name")
    own = module is None or (isinstance(module, str) and module.split(".")[0] == "keras")
    return not own or ">" in str(registered) or ">" in str(entry.get("class_name"))


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


def _order(config: dict[str, Any], names: list[str]) -> list[int]:
    """Indices of the layers of a Functional model from input to output; a layer called twice is there twice."""
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) != len(names):
        raise FileError("two layers have the same name")
    entries = config["layers"]
    start, _ = _end(config, "input_layers")
    at, call = _end(config, "output_layers")
    order: list[int] = []
    limit = sum(len(want(entry, "inbound_nodes", list, "a layer")) for entry in entries) + 1
    while True:
        if at not in numbers or len(order) > limit:
            raise FileError(f"the layers do not form a chain: {_show(at)} is missing or comes after itself")
        order.append(numbers[at])
        if at == start:
            return order[::-1]
        calls = entries[numbers[at]]["inbound_nodes"]
        if not 0 <= call < len(calls):
            raise FileError(f"layer {at!r} is called {len(calls)} times, but call {call} is used")
        at, call = _source(calls[call], at)


def _end(config: dict[str, Any], key: str) -> tuple[str, int]:
    """The one input or output of a model, as a layer and the number of its call."""
    ends = config.get(key)
    if isinstance(ends, dict):
        ends = list(ends.values())
    if isinstance(ends, list) and ends and isinstance(ends[0], list):
        if len(ends) != 1:
            raise SourceError(f"the model has {len(ends)} {key.replace('_layers', 's')}: a network has one")
        ends = ends[0]
    return _history(ends, key)


def _source(call: Any, name: str) -> tuple[str, int]:
    """Where the input of a call comes from: a mapping in Keras 3, [[layer, call, tensor, options]] in tf.keras."""
    if isinstance(call, dict):
        given, options = call.get("args"), call.get("kwargs")
        single = given[0] if isinstance(given, list) and len(given) == 1 else None
        if isinstance(single, dict) and single.get("class_name") == "__keras_tensor__":
            single = want(want(single, "config", dict, name), "keras_history", list, name)
        elif given is not None:
            raise SourceError(f"layer {name!r} takes {_show(given)}: a network is a chain, every layer takes one input")
    elif isinstance(call, list) and len(call) == 1 and isinstance(call[0], list):
        single, options = call[0], (call[0][3] if len(call[0]) > 3 else {})
    else:
        raise SourceError(f"layer {name!r} has several inputs: a network is a chain, every layer takes one input")
    odd = {k: v for k, v in options.items() if v not in (None, False)} if isinstance(options, dict) else options
    if odd:
        raise SourceError(f"layer {name!r} is called with {_show(odd)}, which is not read")
    return _history(single, f"the input of layer {name!r}")


def _history(history: Any, where: str) -> tuple[str, int]:
    good = isinstance(history, list) and len(history) >= 2 and isinstance(history[0], str) and type(history[1]) is int
    if not good:
        raise FileError(f"{where} is not [layer, call, tensor] but {_show(history)}")
    return history[0], history[1]


def _show(value: Any) -> str:
    return shortened(repr(value), 80)
