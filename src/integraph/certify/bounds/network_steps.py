"""A feedforward network as steps of linear bounds: the inputs, and for each layer its arguments and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from integraph.certify.bounds.network_models import NAMES
from integraph.certify.bounds.steps import Entrywise, Operand, Step, entrywise, known, product
from integraph.numbers.intervals import Interval
from integraph.numbers.models.lines import Lines, kink_lines, lines
from integraph.numbers.models.smooth_functions import SMOOTH
from integraph.targets.network import Layer, Network

Rule = Callable[[Sequence[Interval]], Step]  # from what is known of all values so far, its own the last


def network_rules(network: Network) -> list[Rule]:
    """One for each value that `network_models` announces."""
    rules: list[Rule] = [lambda ranges: known(ranges[-1])]
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


def _arguments(layer: Layer, operand: int) -> Rule:
    return lambda ranges: product(
        operand, np.ascontiguousarray(layer.A.T), False, (len(layer.A),), ranges[operand].size.T, layer.b
    )


def _values(layer: Layer) -> Rule:
    def rule(ranges: Sequence[Interval]) -> Step:
        x, y = ranges[-2:]
        anchor = 0.5 * x.low + 0.5 * x.high
        if layer.activation in ("relu", "leaky_relu"):
            below = np.asarray(layer.slope if layer.activation == "leaky_relu" else 0.0)
            drawn = kink_lines(np.broadcast_to(below, (len(layer.A),))[:, None], x, anchor, y)
        else:
            drawn = lines(SMOOTH[NAMES.get(layer.activation, layer.activation)], x, anchor, y)
        return of_lines(len(ranges) - 2, drawn, x)

    return rule


def of_lines(operand: int, drawn: Lines, x: Interval) -> Entrywise:
    """A function of each entry of an operand, between lines."""
    parts = (Operand(operand, drawn.low_slope.T, drawn.high_slope.T),)
    return entrywise(parts, (x.size.T,), drawn.low.T, drawn.high.T)
