"""A feedforward network as steps of linear bounds: the inputs, and for each layer its arguments and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from integraph.certify.bounds.network_models import NAMES
from integraph.certify.bounds.steps import Operand, Read, Step, affine, entrywise, known
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.numbers.models.elementary_functions import Smooth
from integraph.numbers.models.lines import Lines, families, kink_lines
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.targets.activations import activation
from integraph.targets.network import Layer, Network

Steps = tuple[Step, ...]  # one, or others with other lines
Rule = Callable[[Sequence[Interval]], Steps]  # from what is known of all values so far, its own the last


def network_rules(network: Network) -> list[Rule]:
    """One for each value that `network_models` announces."""
    rules: list[Rule] = [lambda ranges: (known(ranges[-1]),)]
    for layer in network.layers:
        rules.append(_arguments(layer, len(rules) - 1))
        if layer.activation != "identity":
            rules.append(_values(layer))
    return rules


def network_wanted(network: Network) -> list[bool]:
    """Which of these values to bound: arguments and outputs."""
    wanted = [False]
    for layer in network.layers:
        wanted += [True] if layer.activation == "identity" else [True, False]
    return wanted


def network_values(network: Network, points: Floats) -> list[Floats]:
    """All of these values at points (B, inputs), in float64: (B, size) each."""
    values = [points]
    for layer in network.layers:
        values.append(values[-1] @ layer.A.T + layer.b)
        if layer.activation != "identity":
            values.append(activation(layer.activation, layer.slope).value(values[-1]))
    return values


def _arguments(layer: Layer, operand: int) -> Rule:
    return lambda ranges: (affine([(operand, layer.A)], layer.b, [ranges[operand].size]),)


def _values(layer: Layer) -> Rule:
    def rule(ranges: Sequence[Interval]) -> Steps:
        (x, y), operand = ranges[-2:], Read(len(ranges) - 2)
        if layer.activation in ("relu", "leaky_relu"):
            below = np.asarray(layer.slope if layer.activation == "leaky_relu" else 0.0)
            return kinked(operand, np.broadcast_to(below, (len(layer.A),))[:, None], x, y)
        return curved(operand, SMOOTH[NAMES.get(layer.activation, layer.activation)], x, y)

    return rule


def curved(operand: Read, f: Smooth, x: Interval, y: Interval) -> Steps:
    """A smooth function of each entry of an operand."""
    return tuple(_of_lines(operand, drawn, x) for drawn in families(f, x, y))


def kinked(operand: Read, below: Floats, x: Interval, y: Interval) -> Steps:
    """An operand where it is positive, and `below` times it elsewhere."""
    return (_of_lines(operand, kink_lines(below, x, 0.5 * x.low + 0.5 * x.high, y), x),)


def _of_lines(operand: Read, drawn: Lines, x: Interval) -> Step:
    parts = (Operand(operand, drawn.low_slope.T, drawn.high_slope.T),)
    return entrywise(parts, (x.size.T,), drawn.low.T, drawn.high.T)
