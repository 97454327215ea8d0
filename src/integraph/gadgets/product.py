"""Products: z' = Σ_r w_r x_r v_r. Exact, and undone exactly by −w. Several r: a matrix product of two activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.contraction import check, distinct, nonzeros, operand, spread
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, lane_values, row
from integraph.numbers.arrays import Indices
from integraph.program import Block, Ref, Terms, register
from integraph.program.terms import terms
from integraph.program.wording import each, times


class Product(Gadget):
    name = "product"
    targets = ("z",)
    operands = ("x", "v")
    tensors = ("w",)
    additive = True

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """`product(z, x, v)`: lane by lane if x has z's shape, a sum over the last axis if it has one axis more."""
        self.roles(refs)
        z, x, v = refs
        w = tensors.get("w")
        if len(x.shape) > len(z.shape):
            try:
                reads = np.broadcast_shapes(x.shape, v.shape)
            except ValueError:
                raise SpecError(f"product: x has shape {x.shape} and v {v.shape}: they must broadcast") from None
            x, v = spread(x, reads), spread(v, reads)
        else:
            x, w = operand(x, z.shape, w)
            v = row(spread(v, z.shape))
        tensors["w"] = np.ones(1) if w is None else w
        return super().__call__(z, x, v, **tensors)

    def check(self, block: Block) -> None:
        check(block, weights=("w",))

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        i = block.targets[0].at(lanes)[:, None]
        x, v = (ref.rows(lanes, len(ref.shape) - 1) for ref in block.operands)
        return terms(i, x, v, lane_values(block, "w", lanes, block.operands[0].shape))

    def per_lane(self, block: Block, role: int) -> int:
        return block.operands[0].shape[-1]

    def count(self, block: Block) -> int | None:
        reads = block.operands[0].shape
        if reads[-1] > 1 and not _apart(block):
            return None
        return nonzeros(block, "w", reads)

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        return Closed((start[0] + t * f.sum(tensors["w"] * operands[0] * operands[1], -2),))

    def words(self, block: Block) -> str:
        size, reads = block.targets[0].size, block.operands[0].shape[-1]
        return f"{times('product', size)}{each(reads, 'term', size)}: adds {self._gain(block)} to z"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("z", self._gain(block))]

    def _gain(self, block: Block) -> str:
        return "w·x·v" if block.operands[0].shape[-1] == 1 else "Σ w·x·v"


def _apart(block: Block) -> bool:
    """No pair (x_r, v_r) of a lane can come twice, in either order."""
    x, v = block.operands
    (x_low, x_high), (v_low, v_high) = x.extent(), v.extent()
    return (x_high < v_low or v_high < x_low) and (distinct(x) or distinct(v))


product = Product()
register(product)
