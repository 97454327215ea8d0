"""Monomial, Lemma 3: z' = (w·ℓ + b) z with ℓ = ln ξ gives z(1) = z(0) e^b Π ξ^w; −w and −b divide."""

from __future__ import annotations

from integraph.gadgets.contraction import WeightedSum
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.numbers.arrays import Indices
from integraph.program import Block, Terms, register
from integraph.program.terms import terms
from integraph.program.wording import times


class Monomial(WeightedSum):
    name = "monomial"
    restores = True
    targets = ("z",)
    operands = ("l",)
    domain = "z must stay below 1.8e308"

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """The terms of the exponent, times z."""
        exponent = super().lower(block, role, lanes)
        return terms(exponent.i, exponent.k, exponent.i, exponent.value)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        exponent = f.sum(tensors["w"] * operands[0], -2) + tensors.get("b", 0.0)
        return Closed((f.grow(start[0], t * exponent),))

    def words(self, block: Block) -> str:
        head, exponent = times("monomial", block.targets[0].size), self._exponent(block)
        return f"{head}: z(1) = z(0)·e^({exponent})"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("z", f"({self._exponent(block)})·z")]

    def _exponent(self, block: Block) -> str:
        return f"{'Σ ' * (block.operands[0].shape[-1] > 1)}w·l{' + b' * ('b' in block.tensors)}"


monomial = Monomial()
register(monomial)
