"""The hash of a target: two targets have the same one exactly if they are the same function by definition."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from integraph.targets.expression import Expression
from integraph.targets.network import Network


def digest(target: Network | Expression) -> str:
    """SHA-256 over weights, biases and activations in order, or over the steps of a formula."""
    state = hashlib.sha256()
    if isinstance(target, Expression):
        steps = [[step.op, list(step.args), step.text] for step in target.steps]
        state.update(json.dumps(["formula", list(target.variables), steps, list(target.outputs)]).encode())
        return state.hexdigest()
    for layer in target.layers:
        leaks = layer.activation == "leaky_relu"
        slope = np.broadcast_to(layer.slope if leaks else 0.0, (len(layer.A),))
        state.update(json.dumps(["layer", list(layer.A.shape), layer.activation]).encode())
        for array in (layer.A, layer.b, slope):
            state.update(np.ascontiguousarray(array, "<f8").data)
    return state.hexdigest()
