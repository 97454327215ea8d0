"""Drain, step 1 of Theorem 2: z' = r/(1 − e^{−r}) · A x + b while x' = −r x.

The factor makes z(1) = z(0) + A x(0) + b exactly although x is on its way to e^{−r} x(0). z may have any shape, such as
(k, m) for k banks that are filled at once; A has that shape and one axis more, for x.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.contraction import linear, nonzeros
from integraph.gadgets.functions.namespace import Array, Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, fits, lane_values
from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import terms
from integraph.text import counted


class Drain(Gadget):
    name = "drain"
    targets = ("z", "x")
    tensors = ("w", "b", "r")

    def check(self, block: Block) -> None:
        z, x = block.targets
        if len(x.shape) != 1:
            raise SpecError(f"drain: x must be one-dimensional, got shape {x.shape}: only z may have any shape")
        needs = (*z.shape, x.size)
        for name in ("w", "r"):
            if name not in block.tensors:
                raise SpecError(f"drain needs the tensors w, of shape {needs}, and r, a number: {name} is missing")
        if block.tensors["w"].shape != needs:
            raise SpecError(f"drain: w has shape {block.tensors['w'].shape}, needs {needs}: that of z, then x's length")
        fits("drain", "r", block.tensors["r"].shape, ())
        fits("drain", "b", block.tensors.get("b", np.zeros(())).shape, z.shape)

    def gain(self, block: Block, lanes: Indices | slice = slice(None)) -> Floats:
        """r/(1 − e^{−r}) · A, one row a lane: the controls that are stored in eq. (1)."""
        z, x = block.targets
        scaled: Floats = block.tensors["w"].reshape(z.size, x.size)[lanes] * _factor(float(block.tensors["r"]))
        return scaled

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        i = block.targets[role].at(lanes).astype(np.int32)
        if role == 1:
            return terms(i, ONE, i, -block.tensors["r"])
        k = block.targets[1].indices().astype(np.int32)[None, :]
        b = lane_values(block, "b", lanes) if "b" in block.tensors else None
        return linear(i, k, self.gain(block, lanes), b)

    def per_lane(self, block: Block, role: int) -> int:
        return 1 if role == 1 else block.targets[1].size + ("b" in block.tensors)

    def count(self, block: Block) -> int | None:
        z, x = block.targets
        terms = int(np.count_nonzero(self.gain(block))) + x.size * int(block.tensors["r"] != 0)
        return terms + (nonzeros(block, "b", z.shape) if "b" in block.tensors else 0)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        z, x = start
        gained = self.gained(f, t, tensors["r"], f.dot(tensors["w"], x))
        return Closed((z + gained + t * tensors.get("b", 0.0), f.grow(x, -t * tensors["r"])))

    def gained(self, f: Functions, t: float, r: Array, wx: Array) -> Array:
        """t·expm1c(−tr)/expm1c(−r) times A x, which is A x for t = 1; expm1c(v) = e^{max(v, 0)} expm1c(−|v|)."""
        reach = t * f.expm1c(-f.abs(t * r)) / f.expm1c(-f.abs(r))
        return f.grow(reach * wx, f.relu(-t * r) - f.relu(-r))

    def words(self, block: Block) -> str:
        z, x = block.targets
        r, bias = float(block.tensors["r"]), " + b" * ("b" in block.tensors)
        into = " × ".join(map(str, z.shape)) or "1"
        return (
            f"drain, {counted(x.size, 'register')} into {into}: z(1) = z(0) + w·x(0){bias} while x decays at rate "
            f"r = {r:g}"
        )

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("z", f"r/(1 − e^(−r))·w·x{' + b' * ('b' in block.tensors)}"), ("x", "−r·x")]


def _factor(r: float) -> float:
    """r/(1 − e^{−r}), correctly rounded: a stored program has the same controls on every machine, whatever its libm."""
    if abs(r) < 1e-17 or abs(r) > 1000:  # the limits, to the last bit
        return 1.0 if abs(r) < 1 else max(r, 0.0)
    with localcontext(Context(prec=60, rounding=ROUND_HALF_EVEN)):
        exact = Decimal(r)
        return float(exact / (1 - (-exact).exp()))


drain = Drain()
register(drain)
