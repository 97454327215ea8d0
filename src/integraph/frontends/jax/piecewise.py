"""Choices by the inputs that are continuous after all: elu, hard_tanh and whatever people write with jnp.where.

t > c ? f(t) : g(t) with f(c) = g(c) is f(max(t, c)) + g(min(t, c)) − f(c), which has a kink at most, and a kink can be
smoothed. f and g are read off the graph: entry by entry they may depend on t and on constants only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax.values import Known, PrimitiveCall, Value, uniform
from integraph.targets.expression import FUNCTIONS
from integraph.targets.graph import ACTIVATIONS
from integraph.targets.graph_evaluation import compute

ULPS = 8 * 2.0**-52  # what rounding leaves of a jump that is none
ENTRYWISE = frozenset(
    (*FUNCTIONS, *ACTIVATIONS, "add", "sub", "mul", "div", "min", "max", "neg", "power", "variable_power")
)
FACTORS = ("mul", "div", "neg", "power")
Extreme = Callable[[PrimitiveCall, str, Value, Value], Value]


def joined(at: PrimitiveCall, t: int, c: Known, above: Value, below: Value, extreme: Extreme) -> Value | None:
    """t > c ? above : below, or None where it jumps or depends on more than t."""
    if uniform(c) == 0.0 and uniform(below) == 0.0 and isinstance(above, int) and _vanishes(at, above, t):
        return above
    shape = at.shape(t)
    if at.joint(t, c) != shape or not all(isinstance(side, int | np.ndarray) for side in (above, below)):
        return None
    ends = [_at(at, side, t, np.broadcast_to(c, shape)) for side in (above, below)]
    if ends[0] is None or ends[1] is None or not _meet(ends[0], ends[1]):
        return None
    high, low = (at.node(extreme(at, op, t, c)) for op in ("max", "min"))
    if isinstance(above, np.ndarray):
        return at.spread(_instead(at, below, {t: low, low: low}), shape)
    total = at.spread(_instead(at, above, {t: high, high: high}), shape)
    if isinstance(below, np.ndarray):
        return total
    rest = _instead(at, below, {t: low, low: low})
    return at.apply("add", total, at.apply("sub", rest, ends[0]) if ends[0].any() else rest)


def _meet(one: Known, other: Known) -> bool:
    with np.errstate(invalid="ignore"):
        return bool((np.abs(one - other) <= ULPS * np.maximum(np.abs(one), np.abs(other))).all())


def _vanishes(at: PrimitiveCall, n: int, t: int) -> bool:
    """Whether a node has max(t, 0) as a factor, entry by entry."""
    node = at.build.nodes[n]
    if node.op == "relu" and node.args == (t,):
        return True
    if node.op not in FACTORS or (node.op == "power" and node.data[0] <= 0):
        return False
    if node.op == "div" and at.build.nodes[node.args[1]].op != "constant":  # which may vanish, too
        return False
    factors = node.args if node.op == "mul" else node.args[:1]
    return any(at.shape(one) == node.shape and _vanishes(at, one, t) for one in factors)


def _at(at: PrimitiveCall, side: Value, t: int, value: Known) -> Known | None:
    """A side where t has this value; None if it depends on more."""
    if isinstance(side, np.ndarray):
        return np.broadcast_to(side, value.shape)
    seen: dict[int, Known] = {t: value}

    def of(n: int) -> Known:
        if n not in seen:
            node = at.build.nodes[n]
            if node.op == "constant" and node.value is not None:
                seen[n] = node.value
            elif node.op in ENTRYWISE:
                seen[n] = np.asarray(compute(node, [of(one) for one in node.args]))
            else:
                raise SourceError(f"{node.op} is not computed entry by entry")
        return seen[n]

    try:
        with np.errstate(all="ignore"):
            end = of(at.node(side))
    except SourceError:
        return None
    return np.broadcast_to(end, value.shape) if np.isfinite(end).all() and end.shape in ((), value.shape) else None


def _instead(at: PrimitiveCall, side: Value, known: dict[int, int]) -> int:
    """A side with other nodes in place of some."""

    def of(n: int) -> int:
        if n not in known:
            node = at.build.nodes[n]
            args = [of(one) for one in node.args]
            known[n] = n if tuple(args) == node.args else at.build.apply(node.op, *args, data=node.data, text=node.text)
        return known[n]

    return of(at.node(side))
