"""Blocks with any quadratic right-hand side, y' = b + A z + Q(z, z) with z = (y, x), and therefore no closed form."""

from __future__ import annotations

from abc import abstractmethod

from integraph.errors import UsageError
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget
from integraph.numbers.quadratic_field import QuadraticField
from integraph.program import Block


class FreeForm(Gadget):
    """What `raw` and `low_rank` share."""

    targets = ("y",)
    operands = ("x",)
    escapes = True
    exact = False

    @abstractmethod
    def field(self, block: Block) -> QuadraticField:
        """The right-hand side, with the numbers as they are stored."""

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        raise UsageError(f"a {self.name} block has no closed form: use the taylor engine")
