"""Monomial, Lemma 3: z' = (w·ℓ + b) z with ℓ = ln ξ gives z(1) = z(0) e^b Π ξ^w; −w and −b divide."""

from __future__ import annotations

from integraph.gadgets.contraction import WeightedSum
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.numbers.arrays import Indices
from integraph.program import Block, Terms, register
from integraph.program.terms import terms
from integraph.program.wording import counted


class Monomial(WeightedSum):
    name = "monomial"
    targets = ("z",)
    operands = ("l",)
    domain = "z must stay below 1.8e308"

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """Those of the exponent, times z."""
        exponent = super().lower(block, role, lanes)
        return terms(exponent.i, exponent.k, exponent.i, exponent.value)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        exponent = f.sum(tensors["w"] * operands[0], -2) + tensors.get("b", 0.0)
        return Closed((f.grow(start[0], t * exponent),))

    def words(self, block: Block) -> str:
        lanes, bias = counted(block.targets[0].size, "register"), "b" in block.tensors
        power, rate = "e^b·Π ξ^w" if bias else "Π ξ^w", "Σ w·l + b" if bias else "Σ w·l"
        return f"monomial, {lanes}: with l = ln ξ, z(1) = z(0)·{power}; z' = ({rate})·z"


monomial = Monomial()
register(monomial)
