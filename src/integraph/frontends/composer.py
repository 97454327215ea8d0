"""A builder of graphs that recognises activations written out in smaller operations: GELU, its tanh form, SiLU.

Beside a node stands what it is as a function of earlier ones, q(x)·f(p(x)) + r(x) (`elementwise.Value`, of one unit):
with several candidates for x, since x/√2 is a function of x and of what x was made from. A node whose function
is s·gelu(a·x) + t is replaced by that; its constants may differ by what float32 leaves of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import activation_patterns
from integraph.frontends.activation_patterns import PATTERNS, ElementwiseValue, argument, constant
from integraph.targets.graph_builder import Builder

ANCHORS = 8  # earlier nodes that a node is known as a function of, the last: GELU is six steps from x
INNER = {pattern.f for pattern in PATTERNS}

Views = dict[int, ElementwiseValue]  # by the number of the node that is x


class Composer(Builder):
    def __init__(self, name: str = "graph") -> None:
        super().__init__(name)
        self._views: dict[int, Views] = {}
        self._same: dict[int, int] = {}  # a node and the one that is used in its place

    def apply(self, op: str, *args: int, data: tuple[Any, ...] = (), value: Any = None, text: str = "") -> int:
        number = super().apply(op, *args, data=data, value=value, text=text)
        if number not in self._same:
            views = self._seen(number, op, args, data)
            self._views[number] = dict(sorted(views.items())[-ANCHORS:])
            self._same[number] = self._composite(number, views, text)
        return self._same[number]

    def _composite(self, number: int, views: Views, text: str) -> int:
        """The node, or an activation that is the same."""
        for x, value in sorted(views.items(), reverse=True):
            if value.f in INNER and activation_patterns.degree(value.q) == 1:
                try:
                    form = activation_patterns.form(value, text)
                except SourceError:
                    continue
                a, s, t = (float(c[0]) for c in (form.a, form.s, form.t))
                inner = x if a == 1 else super().apply("mul", x, self.constant(a), text=text)
                node = super().apply(form.f, inner, text=text)
                node = node if s == 1 else super().apply("mul", node, self.constant(s), text=text)
                return node if t == 0 else super().apply("add", node, self.constant(t), text=text)
        return number

    def _seen(self, number: int, op: str, args: tuple[int, ...], data: tuple[Any, ...]) -> Views:
        """What a node is as a function of earlier ones of the same shape."""
        rule = _rule(op, data)
        if rule is None or self.nodes[number].op == "constant":
            return {}
        constants = [self._constant(n) for n in args]
        views = [{**self._views.get(n, {}), n: argument(1)} for n in args]
        common = set.intersection(*(set(v) for v, c in zip(views, constants, strict=True) if c is None))
        patterns: Views = {}
        for x in common:
            if self.nodes[x].shape == self.nodes[number].shape:
                try:
                    patterns[x] = rule(*(c or v[x] for v, c in zip(views, constants, strict=True)))
                except SourceError:
                    continue  # no function of that form
        return patterns

    def _constant(self, number: int) -> ElementwiseValue | None:
        """A node that is one number everywhere."""
        value = self.nodes[number].value
        if self.nodes[number].op != "constant" or value is None or not value.size or not (value == value.flat[0]).all():
            return None
        return constant(value.reshape(-1)[:1])


def _rule(op: str, data: tuple[Any, ...]) -> Callable[..., ElementwiseValue] | None:
    if op in RULES:
        return RULES[op]
    if op in INNER:
        return lambda x: _applied(op, x)
    return POWERS.get(data[0]) if op == "power" else None


def _applied(f: str, x: ElementwiseValue) -> ElementwiseValue:
    if x.f is not None:
        raise SourceError(f"{f} of {x.f}")
    return activation_patterns.apply(f, x, 0.0)


def _mul(x: ElementwiseValue, y: ElementwiseValue) -> ElementwiseValue:
    return activation_patterns.mul(x, y, "")


def _sub(x: ElementwiseValue, y: ElementwiseValue) -> ElementwiseValue:
    return activation_patterns.add(x, _mul(y, MINUS), "")


def _div(x: ElementwiseValue, y: ElementwiseValue) -> ElementwiseValue:
    """By a constant."""
    if y.f is not None or y.r[1:].any() or not y.r[0, 0]:
        raise SourceError("division by what is no constant")
    with np.errstate(over="ignore"):
        return _mul(x, constant(1.0 / y.r[0]))


MINUS = constant(np.array([-1.0]))
RULES: dict[str, Callable[..., ElementwiseValue]] = {
    "add": lambda x, y: activation_patterns.add(x, y, ""),
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": lambda x: _mul(x, MINUS),
}
POWERS: dict[Any, Callable[[ElementwiseValue], ElementwiseValue]] = {
    2: lambda x: _mul(x, x),
    3: lambda x: _mul(_mul(x, x), x),
}
