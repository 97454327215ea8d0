"""Choices between numbers: those that are known beforehand, masks, and the few that depend on inputs and are read.

max(x, y), relu and leaky_relu are nodes of their own; NaN and infinity are asked for and never there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends.jax import piecewise
from integraph.frontends.jax.stable_softmax import ExponentialSum, RowMaximum, ShiftedRows
from integraph.frontends.jax.values import (
    Known,
    MaskComparison,
    MaskedValue,
    PartialValue,
    PrimitiveCall,
    Value,
    same,
    uniform,
)
from integraph.frontends.jax.variance import variance


def extreme(at: PrimitiveCall, op: str, x: Value, y: Value) -> Value:
    """max and min of two: max(x, 0) is relu(x)."""
    for one, other in ((x, y), (y, x)):
        if uniform(other) == (-math.inf if op == "max" else math.inf):
            return at.spread(one, at.joint(x, y))
        if op == "max" and uniform(other) == 0.0 and at.joint(x, y) == at.shape(one):
            spread = variance(at, one) if isinstance(one, int) else None
            return at.apply("relu", one) if spread is None else spread
    return at.apply(op, x, y)


def masked(at: PrimitiveCall, x: Value, added: Known) -> Value:
    """x + a constant that is −∞ here and there."""
    shape = at.joint(x, added)
    mask = np.broadcast_to(added > -math.inf, shape)
    left = np.where(added > -math.inf, added, 0.0)
    kept = at.apply("add", x, left) if left.any() else at.broadcast(at.node(x), shape)
    return MaskedValue(kept, mask, at.where)


def compare(at: PrimitiveCall, x: Value, y: Value) -> Value:
    """x ≠ x asks for NaN, which is not, and x = ∞ for infinity. A sum of exponentials is positive."""
    if isinstance(x, int) and same(x, y):
        return np.full(at.shape(x), at.name in ("eq", "le", "ge"))
    for one, other in ((x, y), (y, x)):
        endless = uniform(other) in (-math.inf, math.inf) and isinstance(one, int | RowMaximum)
        if endless and at.name in ("eq", "ne"):
            return np.full(at.joint(x, y), at.name == "ne")
    if isinstance(x, ExponentialSum) and not x.log and uniform(y) == 0.0 and at.name in ("gt", "ge"):
        return np.full(at.joint(x, y), True)
    return MaskComparison(at.name, x, y, at.where)


def finite(at: PrimitiveCall, x: Value) -> Value:
    return np.full(at.shape(x), True)


def select(at: PrimitiveCall, which: Value, *cases: Value) -> Value:
    if isinstance(which, MaskComparison):
        return _chosen(at, which, *cases)
    if not isinstance(which, np.ndarray):
        raise SourceError(f"{at.where}: a choice that depends on the inputs is not analytic")
    number = which.astype(np.int64)
    if (chosen := uniform(number)) is not None:
        return cases[int(chosen)]
    numbers = np.zeros(at.joint(number, *cases))
    rest = []
    for n, case in enumerate(cases):
        if isinstance(case, np.ndarray):
            numbers = np.where(number == n, case, numbers)
        else:
            rest.append((case, np.broadcast_to(number == n, numbers.shape)))
    if len(rest) == 1 and (total := _left_out(at, *rest[0], numbers)) is not None:
        return total
    parts = [at.apply("mul", case, mask.astype(np.float64)) for case, mask in rest]
    total = at.apply("add", parts[0], numbers) if numbers.any() else parts[0]
    for part in parts[1:]:
        total = at.apply("add", total, part)
    return total


def _left_out(at: PrimitiveCall, x: Value, mask: Known, numbers: Known) -> Value | None:
    """What is −∞ in some places, which a softmax leaves out, and exp of it, which is 0 there."""
    hidden = numbers == -math.inf
    if isinstance(x, int) and hidden.any():
        whole = (mask | hidden).all()
        kept = x if whole else at.apply("add", at.apply("mul", x, 1.0 * mask), np.where(hidden, 0.0, numbers))
        return MaskedValue(at.broadcast(kept, hidden.shape), ~hidden, at.where)
    if not isinstance(x, ShiftedRows) or not x.grown or numbers.any():
        return None
    if isinstance(x.x, MaskedValue):
        return x if mask[x.x.mask].all() else None
    return replace(x, x=MaskedValue(x.x, mask, at.where), soft=None)


def _chosen(at: PrimitiveCall, which: MaskComparison, no: Value, yes: Value) -> Value:
    """x > y ? x : y is a maximum, x > 0 ? x : c·x is leaky_relu, and some others are continuous. What is not 0 may be
    asked for by log only."""
    x, y = (which.left, which.right) if which.op in ("gt", "ge") else (which.right, which.left)
    if which.op not in ("eq", "ne"):
        if same(yes, x) and same(no, y):
            return extreme(at, "max", x, y)
        if same(yes, y) and same(no, x):
            return extreme(at, "min", x, y)
        one, other, inner = (x, no, yes) if uniform(y) == 0.0 else (y, yes, no)
        if isinstance(one, int) and isinstance(other, int) and same(inner, one):
            slope = _slope(at, other, one)
            if slope is not None and (uniform(y) == 0.0 or uniform(x) == 0.0):
                return at.apply("leaky_relu", one, data=(slope,))
        for t, c, above, below in ((x, y, yes, no), (y, x, no, yes)):
            if isinstance(t, int) and isinstance(c, np.ndarray):
                total = piecewise.joined(at, t, c, above, below, extreme)
                if total is not None:
                    return total
    elif uniform(which.right) == 0.0 and isinstance(which.left, int):
        other, rest = (yes, no) if which.op == "eq" else (no, yes)
        if same(rest, which.left) and isinstance(other, np.ndarray):
            return NonzeroValue(which.left, which)
    return which.plain(at)


@dataclass(frozen=True, slots=True, eq=False)
class NonzeroValue(PartialValue):
    """x, or another number where x is 0: jax takes the logarithm of it for derivatives of powers."""

    x: int
    choice: MaskComparison

    @property
    def shape(self) -> tuple[int, ...]:
        self.choice.refuse()

    def plain(self, at: PrimitiveCall) -> int:
        self.choice.refuse()

    def moved(self, move: Callable[[Any], Any]) -> PartialValue:
        return NonzeroValue(move(self.x), self.choice)


def _slope(at: PrimitiveCall, n: int, x: int) -> float | None:
    """c, if node n is c·x."""
    node = at.build.nodes[n]
    if node.op != "mul" or x not in node.args:
        return None
    other = at.build.nodes[node.args[node.args[0] == x]]
    return uniform(other.value) if other.op == "constant" and other.value is not None else None
