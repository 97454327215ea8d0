"""The builder of traced functions: activations that were written out become one node, if they are exactly that."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SourceError
from integraph.frontends import activation_patterns
from integraph.frontends.activation_patterns import PATTERNS, ElementwiseValue
from integraph.frontends.composer import Composer, Views
from integraph.targets.graph import Node

ULPS = 8 * 2.0**-52  # what a few roundings leave of constants such as √½


class ExactComposer(Composer):
    """GELU and SiLU with constants of float64, and softplus(x) = ln(1 + eˣ).

    ln(eˣ + e^y) is written max(x, y) + ln(1 + e^−|x − y|), and is y + softplus(x − y).
    """

    def apply(self, op: str, *args: int, data: tuple[Any, ...] = (), value: Any = None, text: str = "") -> int:
        number = super().apply(op, *args, data=data, value=value, text=text)
        node = self.nodes[number]
        if node.op == "log1p" and self.nodes[node.args[0]].op == "exp":
            return super().apply("softplus", self.nodes[node.args[0]].args[0], text=text)
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
