"""The image of a source: exact numbers that no output is below or above, whatever its inputs.

What follows from operations alone needs no rounding: a ReLU is not below 0, a share not above 1. Operations of which
nothing is known that way leave (−∞, ∞). It says nothing of whether an output has a value at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isfinite

import numpy as np

from integraph.numbers import intervals
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets.graph import ROUNDED, Graph, Node
from integraph.targets.graph_evaluation import STRUCTURE
from integraph.targets.network import Network
from integraph.targets.property import Property, Quantity

Image = tuple[Fraction | None, Fraction | None]  # of a quantity; None where nothing is known

IMAGES = {
    "abs": (0.0, inf),
    "cos": (-1.0, 1.0),
    "cosh": (1.0, inf),
    "erf": (-1.0, 1.0),
    "exp": (0.0, inf),
    "gaussian": (0.0, 1.0),
    "log_cosh": (0.0, inf),
    "relu": (0.0, inf),
    "sigmoid": (0.0, 1.0),
    "sin": (-1.0, 1.0),
    "softmax": (0.0, 1.0),
    "softplus": (0.0, inf),
    "sqrt": (0.0, inf),
    "tanh": (-1.0, 1.0),
}
WHOLE = (-inf, inf)
MOVES = tuple(STRUCTURE.keys() - {"sum", "leaky_relu", "power"})  # entries, which stay as they are


def output_image(source: Network | Graph) -> Interval:
    """Ends of all outputs, flat."""
    if isinstance(source, Network):
        low, high = IMAGES.get(source.layers[-1].activation, WHOLE)
        return Interval(np.full(source.outputs, low), np.full(source.outputs, high))
    images: list[Interval] = []
    for node in source.nodes:
        images.append(_image(node, [images[n] for n in node.args]))
    ends = [[side.ravel() for side in (images[n].low, images[n].high)] for n in source.outputs]
    return Interval(*(np.concatenate(sides) for sides in zip(*ends, strict=True)))


def _image(node: Node, args: Sequence[Interval]) -> Interval:
    match node.op:
        case "constant":
            assert node.value is not None
            value: Floats = np.asarray(node.value, float)
            if node.data != ROUNDED:
                return Interval(value, value)
            return Interval(np.nextafter(value, -inf), np.nextafter(value, inf))
        case "relu":
            return Interval(np.maximum(args[0].low, 0.0), np.maximum(args[0].high, 0.0))
        case "neg":
            return intervals.neg(args[0])
        case "max":
            return intervals.maximum(*args)
        case "min":
            return intervals.minimum(*args)
        case "concat":
            low, high = (np.concatenate([getattr(x, end) for x in args], node.data[0]) for end in ("low", "high"))
            return Interval(low, high)
        case "power" if node.data[0].denominator == 1 and node.data[0] % 2 == 0:
            return _everywhere(node, (0.0, inf))
        case op if op in MOVES:
            return Interval(STRUCTURE[op](args[0].low, node.data), STRUCTURE[op](args[0].high, node.data))
    return _everywhere(node, IMAGES.get(node.op, WHOLE))


def _everywhere(node: Node, ends: tuple[float, float]) -> Interval:
    return Interval(np.full(node.shape, ends[0]), np.full(node.shape, ends[1]))


def quantity_images(source: Network | Graph, stated: Property) -> list[Image]:
    """Of every quantity; nothing is said of those that inputs or formulas are part of."""
    image = output_image(source)
    low, high = image.low.tolist(), image.high.tolist()
    return [_combined(one, low, high) for one in stated.quantities]


def _combined(one: Quantity, low: list[float], high: list[float]) -> Image:
    if one.inputs or one.expression is not None:
        return None, None
    least = [
        a * Fraction(end) if isfinite(end) else None for n, a in one.outputs for end in [(low if a > 0 else high)[n]]
    ]
    most = [
        a * Fraction(end) if isfinite(end) else None for n, a in one.outputs for end in [(high if a > 0 else low)[n]]
    ]
    return _total(least), _total(most)


def _total(parts: list[Fraction | None]) -> Fraction | None:
    return None if None in parts else sum((part for part in parts if part is not None), Fraction(0))
