"""Drain, step 1 of Theorem 2: z' = r/(1 − e^{−r}) · A x + b while x' = −r x.

The factor makes z(1) = z(0) + A x(0) + b exactly although x is on its way to e^{−r} x(0).
"""

from __future__ import annotations

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.contraction import nonzeros
from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, fits
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import terms
from integraph.program.views import Floats, Indices


class Drain(Gadget):
    name = "drain"
    targets = ("z", "x")
    tensors = ("w", "b", "r")

    def check(self, block: Block) -> None:
        z, x = block.targets
        if len(z.shape) != 1 or len(x.shape) != 1:
            raise SpecError(f"drain: z and x must be one-dimensional, got shapes {z.shape} and {x.shape}")
        for name in ("w", "r"):
            if name not in block.tensors:
                raise SpecError(f"drain needs the tensor {name!r}")
        if block.tensors["w"].shape != (z.size, x.size):
            raise SpecError(f"drain: w has shape {block.tensors['w'].shape}, needs {(z.size, x.size)}")
        fits("drain", "r", block.tensors["r"].shape, ())
        fits("drain", "b", block.tensors.get("b", np.zeros(())).shape, z.shape)

    def gain(self, block: Block) -> Floats:
        """r/(1 − e^{−r}) · A: the controls that are stored in eq. (1)."""
        r = float(block.tensors["r"])
        factor = 1.0 if r == 0 else -r / np.expm1(-r)
        scaled: Floats = factor * block.tensors["w"]
        return scaled

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        i, x = block.targets[role].rows(lanes, 1), block.targets[1].indices()
        if role == 1:
            return terms(i, ONE, i, -block.tensors["r"])
        bias = "b" in block.tensors
        k = np.empty((len(i), len(x) + bias), np.int64)
        value = np.empty(k.shape)
        k[:, bias:], value[:, bias:] = x, self.gain(block)[lanes]
        if bias:
            k[:, 0], value[:, 0] = ONE, np.broadcast_to(block.tensors["b"], block.targets[0].shape)[lanes]
        return terms(i, ONE, k, value)

    def per_lane(self, block: Block, role: int) -> int:
        return 1 if role == 1 else block.targets[1].size + ("b" in block.tensors)

    def count(self, block: Block) -> int | None:
        z, x = block.targets
        found = nonzeros(block, "w", (z.size, x.size)) + x.size * int(block.tensors["r"] != 0)
        return found + (nonzeros(block, "b", z.shape) if "b" in block.tensors else 0)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        z, x = start
        r = tensors["r"]
        reach = t * f.expm1c(-t * r) / f.expm1c(-r)  # 1 for t = 1
        gain = f.sum(tensors["w"] * x[None], -2)
        return Closed((z + reach * gain + t * tensors.get("b", 0.0), x * f.exp(-t * r)))

    def words(self, block: Block) -> str:
        z, x = block.targets
        r = float(block.tensors["r"])
        return f"drain {x.size} registers into {z.size}: z gains A·x + b while x decays at rate {r:g}"


drain = Drain()
register(drain)
