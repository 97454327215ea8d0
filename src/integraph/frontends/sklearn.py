"""Fitted scikit-learn networks, alone or with scalers before and after them. Reads attributes, needs no import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.chain import ActivationLayer, Step, dense, division, network, scaling
from integraph.numbers.arrays import Floats
from integraph.targets import Network

ACTIVATIONS = {"identity": None, "logistic": "sigmoid", "tanh": "tanh", "relu": "relu", "exp": "exp"}
RAW = {"logistic": "the logistic function", "softmax": "softmax"}  # what a classifier applies last
ACCEPTED = (
    "MLPRegressor, MLPClassifier, and Pipeline or TransformedTargetRegressor of one of these with StandardScaler, "
    "MinMaxScaler, MaxAbsScaler, RobustScaler or 'passthrough'"
)


def read(estimator: Any) -> Network:
    """The network inside a fitted estimator; of a classifier, its raw outputs."""
    notes: list[str] = []
    steps = _steps(estimator, notes)
    inputs = next(step[0].shape[-1] for step in steps if isinstance(step, tuple))
    return network(steps, inputs, f"scikit-learn {_name(estimator)}", notes)


def _steps(estimator: Any, notes: list[str]) -> list[Step]:
    """What the estimator's predict does, in order."""
    name = _name(estimator)
    if not type(estimator).__module__.startswith("sklearn."):
        raise SourceError(
            f"{name} is not scikit-learn's own class, so its predict may do anything: pass the estimator inside, or "
            "a list of (A, b, activation)"
        )
    if name == "Pipeline":
        *scalers, last = [part for _, part in estimator.steps] or [None]
        before = [step for part in scalers for step in _transform(part, notes)]
        return before + _steps(last, notes)
    if name == "TransformedTargetRegressor":
        inner, transformer = _fitted(estimator, "regressor_"), _fitted(estimator, "transformer_")
        return _steps(inner, notes) + _undone(transformer, notes)
    if hasattr(estimator, "best_estimator_"):
        raise SourceError(f"{name} is a search: pass its best_estimator_")
    if not hasattr(estimator, "hidden_layer_sizes") and not hasattr(estimator, "coefs_"):
        called = "; its predict is a function, which compile(model.predict) approximates from its values"
        raise SourceError(
            f"scikit-learn's {name} is not a network we read: accepted are {ACCEPTED}"
            f"{called if hasattr(estimator, 'predict') else ''}"
        )
    return _perceptron(estimator, notes)


def _perceptron(net: Any, notes: list[str]) -> list[Step]:
    weights, biases = _fitted(net, "coefs_"), _fitted(net, "intercepts_")
    out = _fitted(net, "out_activation_")
    if len(weights) != len(biases) or not weights:
        raise SourceError(f"{_name(net)} has {len(weights)} weight matrices and {len(biases)} bias vectors")
    if out in RAW:
        notes.append(f"outputs of {_name(net)} are raw: before {RAW[out]}")
    kinds = [net.activation] * (len(weights) - 1) + ["identity" if out in RAW else out]
    steps: list[Step] = []
    for number, (W, b, kind) in enumerate(zip(weights, biases, kinds, strict=True), 1):
        if kind not in ACTIVATIONS:
            raise SourceError(f"layer {number} of {_name(net)} has the unknown activation {kind!r}")
        steps.append(dense(np.transpose(W), b, f"layer {number} of {_name(net)}"))
        name = ACTIVATIONS[kind]
        steps += [] if name is None else [ActivationLayer(name, 0.0, len(b))]
    return steps


def _standard(scaler: Any) -> tuple[Floats, Floats]:
    """mean and scale: z = (x − mean) / scale. A mean is stored even where it is not subtracted."""
    count = int(_fitted(scaler, "n_features_in_"))
    robust = _name(scaler) == "RobustScaler"
    centred, scaled = ("with_centering", "with_scaling") if robust else ("with_mean", "with_std")
    mean = _fitted(scaler, "center_" if robust else "mean_") if getattr(scaler, centred) else np.zeros(count)
    return mean, _fitted(scaler, "scale_") if getattr(scaler, scaled) else np.ones(count)


def _largest(scaler: Any) -> tuple[Floats, Floats]:
    scale = _fitted(scaler, "scale_")
    return np.zeros(len(scale)), scale


SCALERS: dict[str, Callable[[Any], tuple[Floats, Floats]]] = {
    "StandardScaler": _standard,
    "RobustScaler": _standard,
    "MaxAbsScaler": _largest,
}


def _transform(scaler: Any, notes: list[str]) -> list[Step]:
    """A scaler before the network."""
    name = _name(scaler)
    if scaler is None or (isinstance(scaler, str) and scaler == "passthrough"):
        return []
    _check(scaler, name)
    if name == "MinMaxScaler":
        return [scaling(_fitted(scaler, "scale_"), _fitted(scaler, "min_"), name)]
    mean, scale = SCALERS[name](scaler)
    return [division(mean, scale, name, notes)]


def _inverse(scaler: Any, notes: list[str]) -> list[Step]:
    """A scaler of the targets, undone after the network."""
    name = _name(scaler)
    _check(scaler, name)
    if name == "MinMaxScaler":
        return [division(_fitted(scaler, "min_"), _fitted(scaler, "scale_"), name, notes)]
    mean, scale = SCALERS[name](scaler)
    return [scaling(scale, mean, name)]


def _undone(transformer: Any, notes: list[str]) -> list[Step]:
    """What a TransformedTargetRegressor was fitted with: a scaler, or functions, which without any are the identity."""
    if _name(transformer) != "FunctionTransformer":
        return _inverse(transformer, notes)
    if transformer.func is not None or transformer.inverse_func is not None:
        raise SourceError(
            "TransformedTargetRegressor with func is not read: give it a scaler as transformer, or compile "
            "its regressor_ and apply inverse_func to the outputs"
        )
    return []


def _check(scaler: Any, name: str) -> None:
    if (name not in SCALERS and name != "MinMaxScaler") or not type(scaler).__module__.startswith("sklearn."):
        raise SourceError(f"the step {name} is not one we read: accepted are {ACCEPTED}")
    _fitted(scaler, "n_features_in_")
    if getattr(scaler, "clip", False):
        raise SourceError(f"{name} with clip=True is not affine: use clip=False")


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def _fitted(estimator: Any, attribute: str) -> Any:
    value = getattr(estimator, attribute, None)
    if value is None:
        raise SourceError(f"{_name(estimator)} is not fitted (it has no {attribute}): call fit first")
    return value
