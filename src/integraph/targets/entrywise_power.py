"""x^c with an exponent c for each entry: entries with equal whole exponents are one power each, of any base.

x^y for a y that varies is e^(y·ln x), which needs x > 0; a whole exponent needs no such thing, and x⁻¹ only x ≠ 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from integraph.numbers.arrays import Floats, Indices

if TYPE_CHECKING:
    from integraph.targets.graph import Builder

FEW = 16  # different exponents that are worth a run each


def entrywise_power(b: Builder, base: int, exponents: Floats, text: str) -> int | None:
    """The number of the node, or None where this is no better than a power that varies."""
    shape = np.broadcast_shapes(b.nodes[base].shape, exponents.shape)
    flat = np.broadcast_to(exponents, shape).reshape(-1)
    whole = np.unique(flat[flat == np.rint(flat)])
    if not 0 < len(whole) <= FEW:
        return None
    if len(whole) == 1 and (flat == whole[0]).all():
        power = b.power(base, float(whole[0]), text)
        return power if b.nodes[power].shape == shape else b.apply("broadcast", power, data=(shape,), text=text)
    places = [np.flatnonzero(flat == c) for c in whole]
    rest = np.flatnonzero(flat != np.rint(flat))
    x = b.apply("reshape", b.apply("broadcast", base, data=(shape,), text=text), data=((flat.size,),), text=text)
    parts = [b.power(_taken(b, x, own, text), float(c), text) for c, own in zip(whole, places, strict=True)]
    if len(rest):
        own = _taken(b, x, rest, text)
        parts.append(b.apply("variable_power", own, b.constant(flat[rest], text), text=text))
        places.append(rest)
    joined = b.apply("concat", *parts, data=(0,), text=text)
    back = _taken(b, joined, np.argsort(np.concatenate(places)), text)
    return b.apply("reshape", back, data=(shape,), text=text)


def _taken(b: Builder, x: int, places: Indices, text: str) -> int:
    return b.apply("take", x, data=(0, tuple(int(n) for n in places)), text=text)
