"""Monomial, Lemma 3: z' = (w·ℓ + b) z with ℓ = ln ξ gives z(1) = z(0) e^b Π ξ^w; −w and −b divide."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.gadgets.contraction import check, distinct, linear, nonzeros, operand
from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, lane_values
from integraph.gadgets.wording import counted
from integraph.program import Block, Ref, Terms, register
from integraph.program.terms import terms
from integraph.program.views import Indices


class Monomial(Gadget):
    name = "monomial"
    targets = ("z",)
    operands = ("l",)
    tensors = ("w", "b")
    domain = "z must stay below 1.8e308"

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """`monomial(z, l, w=w, b=b)`: w is a matrix, or one exponent for each lane."""
        self.roles(refs)
        l, w = operand(refs[1], refs[0].shape, tensors.get("w"))
        tensors["w"] = np.ones(1) if w is None else w
        return super().__call__(refs[0], l, **tensors)

    def check(self, block: Block) -> None:
        check(block, weights=("w",))

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """Those of an affine map, times z."""
        l = block.operands[0]
        i, k = block.targets[0].at(lanes).astype(np.int32), l.rows(lanes, len(l.shape) - 1)
        b = lane_values(block, "b", lanes) if "b" in block.tensors else None
        exponent = linear(i, k, lane_values(block, "w", lanes, l.shape), b)
        return terms(exponent.i, exponent.k, exponent.i, exponent.value)

    def per_lane(self, block: Block, role: int) -> int:
        return block.operands[0].shape[-1] + ("b" in block.tensors)

    def count(self, block: Block) -> int | None:
        if not distinct(block.operands[0]):
            return None
        found = nonzeros(block, "w", block.operands[0].shape)
        return found + (nonzeros(block, "b", block.targets[0].shape) if "b" in block.tensors else 0)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        exponent = f.sum(tensors["w"] * operands[0], -2) + tensors.get("b", 0.0)
        return Closed((f.grow(start[0], t * exponent),))

    def words(self, block: Block) -> str:
        lanes, bias = counted(block.targets[0].size, "register"), "b" in block.tensors
        power, rate = "e^b·Π ξ^w" if bias else "Π ξ^w", "Σ w·l + b" if bias else "Σ w·l"
        return f"monomial, {lanes}: with l = ln ξ, z(1) = z(0)·{power}; z' = ({rate})·z"


monomial = Monomial()
register(monomial)
