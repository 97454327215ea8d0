"""A feedforward network on polynomial models: one matrix product a layer, one interpolant a neuron."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from integraph.clock import check_deadline
from integraph.numbers.models.functions import apply, kink
from integraph.numbers.models.models import Models
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.targets.network import Layer, Network

Watch = Callable[[Models], Models]
NAMES = {"arctan": "atan"}  # activations that have another name in `SMOOTH`


def network_models(network: Network, x: Models, watch: Watch | None = None) -> Models:
    """The outputs, from the inputs. The rows of every value go through `watch`, in order."""
    last = len(network.layers) - 1
    see = watch or (lambda rows: rows)
    x = see(x)
    for number, layer in enumerate(network.layers):
        check_deadline()
        linear = number == last and layer.activation == "identity"
        x = see(x.affine(layer.A, layer.b, fresh=not linear))
        x = x if layer.activation == "identity" else see(_activated(layer, x))
    return x


def _activated(layer: Layer, x: Models) -> Models:
    if layer.activation in ("relu", "leaky_relu"):
        slope = layer.slope if layer.activation == "leaky_relu" else 0.0
        return kink(x, np.broadcast_to(np.asarray(slope), (len(x),))[:, None])
    return apply(SMOOTH[NAMES.get(layer.activation, layer.activation)], x)
