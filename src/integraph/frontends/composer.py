"""A builder of graphs that recognises activations written out in smaller operations: GELU, its tanh form, SiLU.

Beside a node stands what it is as a function of earlier ones, q(x)·f(p(x)) + r(x) (`ElementwiseValue`, of one unit):
with several candidates for x, since x/√2 is a function of x and of what x was made from. A node whose function
is s·gelu(a·x) + t is replaced by that; its constants may differ by what float32 leaves of them, or, for functions that
jax traced (`ExactComposer`), by what float64 does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import activation_patterns
from integraph.frontends.activation_patterns import PATTERNS, ElementwiseValue, argument, constant
from integraph.targets.graph import Node
from integraph.targets.graph_builder import Builder

ANCHORS = 8  # earlier nodes that a node is known as a function of, the last: GELU is six steps from x
INNER = {pattern.f for pattern in PATTERNS}
VIEWED = INNER | {"softplus"}
ULPS = 8 * 2.0**-52  # what a few roundings leave of constants such as √½

Views = dict[int, ElementwiseValue]  # by the number of the node that is x


class Composer(Builder):
    def __init__(self, name: str = "graph") -> None:
        super().__init__(name)
        self._views: dict[int, Views] = {}
        self._same: dict[int, int] = {}  # a node and the one that is used in its place
        self.remarks: dict[int, str] = {}  # what was rounded or matched where an activation was recognised

    def apply(self, op: str, *args: int, data: tuple[Any, ...] = (), value: Any = None, text: str = "") -> int:
        number = super().apply(op, *args, data=data, value=value, text=text)
        if number not in self._same:
            views = self._seen(number, op, args, data)
            self._views[number] = dict(sorted(views.items())[-ANCHORS:])
            self._same[number] = self._composite(number, views, text)
        return self._same[number]

    def softplus_note(self, condition: int, above: int, below: int, limit: float, where: str) -> str | None:
        """What is changed where a choice, condition > limit ? above : below, is read as `below`, a softplus whose
        argument is `above`; None if it is another choice."""
        views = [{**self._views.get(n, {}), n: argument(1)} for n in (condition, above, below)]
        for x in sorted(set.intersection(*map(set, views)), reverse=True):
            value, high, low = (view[x] for view in views)
            try:
                test = activation_patterns.greater(value, np.array([limit]))
                return activation_patterns.choose(test, high, low, where).notes[-1]
            except SourceError:
                continue
        return None

    def _composite(self, number: int, views: Views, text: str) -> int:
        """The node, or an activation that is the same."""
        for x, value in sorted(views.items(), reverse=True):
            if value.f in INNER and activation_patterns.degree(value.q) == 1:
                try:
                    form = activation_patterns.form(replace(value, notes=()), text)
                except SourceError:
                    continue
                a, s, t = (float(c[0]) for c in (form.a, form.s, form.t))
                inner = x if a == 1 else super().apply("mul", x, self.constant(a), text=text)
                node = super().apply(form.f, inner, text=text)
                self.remarks.update((node, note) for note in form.notes)
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
    if op in VIEWED:
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
        raise SourceError("division by something that is not a constant")
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


class ExactComposer(Composer):
    """GELU and SiLU with constants of float64, softplus(x) = ln(1 + eˣ) and sigmoid(x) = e^(x − softplus(x)).

    ln(eˣ + e^y) is written max(x, y) + ln(1 + e^−|x − y|), and is y + softplus(x − y).
    """

    def apply(self, op: str, *args: int, data: tuple[Any, ...] = (), value: Any = None, text: str = "") -> int:
        number = super().apply(op, *args, data=data, value=value, text=text)
        node = self.nodes[number]
        if node.op == "log1p" and self.nodes[node.args[0]].op == "exp":
            return super().apply("softplus", self.nodes[node.args[0]].args[0], text=text)
        if node.op == "exp" and (inner := self.nodes[node.args[0]]).op == "sub":  # as jax writes the slope of softplus
            x, soft = inner.args
            if self.nodes[soft].op == "softplus" and self.nodes[soft].args == (x,):
                return super().apply("sigmoid", x, text=text)
        return self._sum(number, node) if node.op == "add" else number

    def _composite(self, number: int, views: Views, text: str) -> int:
        return super()._composite(number, {x: view for x, view in views.items() if _exact(view)}, text)

    def _sum(self, number: int, node: Node) -> int:
        for top, small in (node.args, node.args[::-1]):
            difference = self._inside(small, "softplus", "neg", "abs", "sub")
            if difference is None or not self._is_maximum(self.nodes[top], *difference):
                continue
            x, y = difference
            for one, other in ((x, y), (y, x)):
                if self._is_zero(other) and self.nodes[one].shape == node.shape:
                    return super().apply("softplus", one, text=node.text)
            above = super().apply("sub", x, y, text=node.text)
            return super().apply("add", y, super().apply("softplus", above, text=node.text), text=node.text)
        return number

    def _inside(self, number: int, *ops: str) -> tuple[int, int] | None:
        """What the last of these operations is applied to, if each is inside the one before."""
        for op in ops:
            if self.nodes[number].op != op:
                return None
            number, *rest = self.nodes[number].args
        return number, rest[0]

    def _is_maximum(self, node: Node, x: int, y: int) -> bool:
        if node.op == "relu":
            return any(node.args == (one,) and self._is_zero(other) for one, other in ((x, y), (y, x)))
        return node.op == "max" and set(node.args) == {x, y}

    def _is_zero(self, number: int) -> bool:
        value = self.nodes[number].value
        return self.nodes[number].op == "constant" and value is not None and not value.any()


def _exact(value: ElementwiseValue) -> bool:
    """Whether a function is one of the patterns up to rounding in float64, not only in float32."""
    try:
        form = activation_patterns.form(value, "")
    except SourceError:
        return False
    pattern = next((p for p in PATTERNS if (p.f, p.activation) == (value.f, form.f)), None)
    if pattern is None or value.p is None:
        return False
    wanted = (
        (value.p[1], pattern.inner * form.a),
        (value.p[3], pattern.cube * form.a**3),
        (value.q[1], form.s * form.a / pattern.gain),
        (value.r[1], value.q[1] * pattern.shifted),
    )
    return all(bool((np.abs(candidate - true) <= ULPS * np.abs(true)).all()) for candidate, true in wanted)
