"""The variance as flax writes it for its norms, max(0, mean(x²) − mean(x)²).

It is never negative, so the maximum has no kink. It is compiled as the mean of (x − mean(x))², which loses no digits.
"""

from __future__ import annotations

import math

import numpy as np

from integraph.frontends.jax.values import PrimitiveCall, uniform


def variance(at: PrimitiveCall, n: int) -> int | None:
    """The same number as node n, if that is mean(x²) − mean(x)², else None."""
    node = at.build.nodes[n]
    if node.op != "sub":
        return None
    squares, square = node.args
    mean = _squared(at, square)
    of_squares, of_mean = _mean(at, squares), None if mean is None else _mean(at, mean)
    if mean is None or of_squares is None or of_mean is None:
        return None
    (x_squared, axes), (x, same_axes) = of_squares, of_mean
    if axes != same_axes or _squared(at, x_squared) != x:
        return None
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(at.shape(x)))
    deviation = at.apply("sub", x, at.reshape(mean, kept))
    count = math.prod(at.shape(x)[axis] for axis in axes)
    return at.apply("div", at.apply("sum", at.apply("mul", deviation, deviation), data=(axes,)), np.array(float(count)))


def _squared(at: PrimitiveCall, n: int) -> int | None:
    """x, if a node is x·x."""
    node = at.build.nodes[n]
    if node.op == "mul" and node.args[0] == node.args[1]:
        return node.args[0]
    return node.args[0] if node.op == "power" and node.data[0] == 2 else None


def _mean(at: PrimitiveCall, n: int) -> tuple[int, tuple[int, ...]] | None:
    """x and the axes, if a node is the mean of x over them."""
    node = at.build.nodes[n]
    if node.op != "div":
        return None
    total, count = (at.build.nodes[one] for one in node.args)
    if total.op != "sum" or count.op != "constant" or count.value is None:
        return None
    x, axes = total.args[0], tuple(total.data[0])
    return (x, axes) if uniform(count.value) == math.prod(at.shape(x)[axis] for axis in axes) else None
