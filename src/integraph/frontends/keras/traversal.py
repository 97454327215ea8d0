"""Calls the layers of a model one after the other, and the models inside it, from its inputs to its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from integraph.errors import FileError, SourceError
from integraph.frontends.keras.arguments import Call, TensorName, show
from integraph.frontends.keras.configuration import LayerConfig, ModelConfig
from integraph.frontends.keras.layer_call import LayerCall, Reading
from integraph.frontends.keras.layers import IDLE, KEYWORDS, LAYERS, REASONS, input_shape, kernel_and_bias
from integraph.frontends.keras.operations import OPERATIONS
from integraph.frontends.tensor_builder import Operand

MOST = 10_000  # calls of layers

Values = list[Operand]


class KerasTraversal:
    """Values are tensors for a batch of one."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.count = 0

    def outputs(self, model: ModelConfig) -> tuple[list[tuple[int, ...]], Values]:
        """The shapes of the inputs of a model, which are drawn, and its outputs."""
        shapes = self._shapes(model)
        draw = self.reading.builder
        names = [name.layer for name in model.inputs] if model.calls is not None else ["x"]
        drawn: Values = [draw.input(name, (1, *shape)) for name, shape in zip(names, shapes, strict=True)]
        return shapes, self._model(model, drawn)

    def _shapes(self, model: ModelConfig) -> list[tuple[int, ...]]:
        """Of the inputs, as the model states them; of a Sequential one its first layer may tell."""
        if model.calls is not None:
            parts = {part.place.names[-1]: part for part in model.layers}
            return [input_shape(self._input_layer(parts.get(name.layer), name.layer)) for name in model.inputs]
        if model.shape is not None:
            return [input_shape(LayerConfig("InputLayer", {"batch_shape": model.shape}, model.place))]
        for part in model.layers:
            if isinstance(part, ModelConfig):
                return self._shapes(part)
            if part.kind == "InputLayer" or part.config.get("batch_input_shape") is not None:
                return [input_shape(part)]
            if part.kind == "Dense":
                return [kernel_and_bias(self._call_of(part, []))[0].shape[:1]]
            if part.kind not in IDLE:
                raise SourceError(
                    f"{part} comes before the shape of the input is known: start the model with keras.Input"
                )
        raise SourceError("the model has no layers")

    def _input_layer(self, part: LayerConfig | ModelConfig | None, name: str) -> LayerConfig:
        if not isinstance(part, LayerConfig) or part.kind != "InputLayer":
            raise FileError(f"the input {show(name)} is missing among the layers")
        return part

    def _model(self, model: ModelConfig, given: Values) -> Values:
        if model.calls is not None:
            return self._functional(model, model.calls, given)
        values: Values = given
        if model.shape is not None:
            start = LayerConfig("InputLayer", {"batch_shape": model.shape}, model.place)
            values = self._run(start, Call(values, {}))
        for part in model.layers:
            values = self._run(part, Call(values, {}))
        return values

    def _functional(self, model: ModelConfig, calls: dict[str, list[Call]], given: Values) -> Values:
        """Every call that an output needs, after those that it needs."""
        if len(given) != len(model.inputs):
            raise FileError(f"{model} has {len(model.inputs)} inputs and is called with {len(given)}")
        parts = {part.place.names[-1]: part for part in model.layers}
        values: dict[tuple[str, int], Values] = {}
        for name, value in zip(model.inputs, given, strict=True):
            start = self._input_layer(parts.get(name.layer), name.layer)
            values[name.layer, name.call] = self._run(start, Call([value], {}))
        waiting, entered = [(name.layer, name.call) for name in model.outputs], set[tuple[str, int]]()
        while waiting:
            layer, number = waiting[-1]
            if (layer, number) in values:
                waiting.pop()
                continue
            entered.add((layer, number))
            call = _numbered(calls, layer, number)
            missing = [(n.layer, n.call) for n in call.tensors() if (n.layer, n.call) not in values]
            if not missing:
                values[layer, number] = self._run(parts[layer], _filled(call, values))
            elif entered.intersection(missing):
                raise FileError(f"the layers are in no order: {show(layer)} comes after itself")
            waiting += missing
        return [_output(values, name) for name in model.outputs]

    def _run(self, part: LayerConfig | ModelConfig, call: Call) -> Values:
        if isinstance(part, ModelConfig):
            _refuse(str(part), call.kwargs, ())
            given = call.args[0] if len(call.args) == 1 and isinstance(call.args[0], list) else call.args
            flat = list(given.values()) if isinstance(given, dict) else given
            return self._model(part, self._call_of(LayerConfig("Model", {}, part.place), flat).operands())
        self.count += 1
        if self.count > MOST:
            raise FileError(f"the model has more than {MOST} layers, those that are called again included")
        rules = OPERATIONS if part.operation and (part.certain or part.kind in OPERATIONS) else LAYERS
        if part.kind not in rules:
            raise SourceError(_unknown(part))
        _refuse(str(part), call.kwargs, KEYWORDS.get(part.kind, ()))
        site = self._call_of(part, call.args, call.kwargs)
        self._precision(part)
        self.reading.builder.text = str(part.place)
        value = rules[part.kind](site)
        values = value if isinstance(value, list) else [value]
        if any(x.shape[:1] != (1,) for x in values):
            raise SourceError(f"{part} moves rows of the batch: the first axis has to stay where it is")
        self.reading.builder.mark(str(part))
        return values

    def _call_of(self, part: LayerConfig, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> LayerCall:
        return LayerCall(part, args, kwargs or {}, self.reading)

    def _precision(self, part: LayerConfig) -> None:
        """In what Keras computes: refused if integers, noted if 16 bits."""
        policy = part.config.get("dtype")
        kind, config = (policy.get("class_name"), policy.get("config")) if isinstance(policy, dict) else (None, None)
        if part.config.get("quantization_config") is not None or "Quantized" in str(kind):
            raise SourceError(f"{part} is quantised, which is not read: save the model before it is quantised")
        name = config.get("name") if isinstance(config, dict) else policy
        if isinstance(name, str) and name.endswith("float16") and part.kind not in ("InputLayer", *IDLE):
            self.reading.notes.append(f"{part}: Keras rounds values here ({name}), the network does not")


def _numbered(calls: dict[str, list[Call]], layer: str, number: int) -> Call:
    if layer not in calls:
        raise FileError(f"the layers are in no order: {show(layer)} is missing")
    if not 0 <= number < len(calls[layer]):
        raise FileError(f"layer {show(layer)} is called {len(calls[layer])} times, but call {number} is used")
    return calls[layer][number]


def _filled(call: Call, values: dict[tuple[str, int], Values]) -> Call:
    """The call with tensors in the places of their names."""

    def fill(part: Any) -> Any:
        if isinstance(part, TensorName):
            return _output(values, part)
        if isinstance(part, list):
            return [fill(inner) for inner in part]
        return {key: fill(inner) for key, inner in part.items()} if isinstance(part, dict) else part

    return Call(fill(call.args), fill(call.kwargs))


def _output(values: dict[tuple[str, int], Values], name: TensorName) -> Operand:
    results = values[name.layer, name.call]
    if not 0 <= name.output < len(results):
        raise FileError(f"layer {show(name.layer)} has {len(results)} outputs, but output {name.output} is used")
    return results[name.output]


def _refuse(where: str, kwargs: dict[str, Any], known: Sequence[str]) -> None:
    """Options of a call that no rule reads."""
    odd = {key: value for key, value in kwargs.items() if key not in known and not _blank(value)}
    if odd:
        raise SourceError(f"{where} is called with {show(odd)}, which is not read")


def _blank(value: Any) -> bool:
    """None, false, or a list of these."""
    return value is None or value is False or (isinstance(value, list) and all(map(_blank, value)))


def _unknown(part: LayerConfig) -> str:
    """Why a class is not read, and the way round."""
    if part.kind in REASONS:
        return f"{part} is not supported: {REASONS[part.kind]}"
    if part.operation:
        return f"{part} is not supported: of keras.ops supported are {', '.join(sorted(OPERATIONS))}"
    return f"{part} is not supported: supported are {', '.join(sorted(LAYERS))}"
