"""Sine and cosine: u' = x v, v' = −x u; from (0, 1): (sin x, cos x)."""

from __future__ import annotations

from collections.abc import Mapping

from integraph.gadgets.functions import Array, Functions
from integraph.gadgets.gadget import Closed, Elementwise
from integraph.program import register


class SinCos(Elementwise):
    name = "sin_cos"
    targets = ("u", "v")
    operands = ("x",)
    equations = (
        ("u", 1, "x", "v"),
        ("v", -1, "x", "u"),
    )

    def closed(
        self, f: Functions, t: float, start: tuple[Array, ...], operands: tuple[Array, ...], tensors: Mapping[str, Array]
    ) -> Closed:
        (u, v), (x,) = start, operands
        sin, cos = f.sin(t * x), f.cos(t * x)
        return Closed((u * cos + v * sin, v * cos - u * sin))


sin_cos = SinCos()
register(sin_cos)
