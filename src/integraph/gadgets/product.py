"""Products: z' = Σ_r w_r x_r v_r. Exact, and undone exactly by −w. Several r: a matrix product of two activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.gadgets.contraction import check, distinct, nonzeros, operand, spread
from integraph.gadgets.functions import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, lane_values, row
from integraph.program import Block, Ref, Terms, register
from integraph.program.terms import terms
from integraph.program.views import Indices


class Product(Gadget):
    name = "product"
    targets = ("z",)
    operands = ("x", "v")
    tensors = ("w",)
    additive = True

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        """`product(z, x, v)`: lane by lane if x has z's shape, a sum over the last axis if it has one axis more."""
        if len(refs) == 3:
            lanes = refs[0].shape
            w = tensors.get("w")
            if len(refs[1].shape) > len(lanes):
                reads = np.broadcast_shapes(refs[1].shape, refs[2].shape)
                refs = (refs[0], spread(refs[1], reads), spread(refs[2], reads))
                tensors["w"] = np.ones(1) if w is None else w
            else:
                x, w = operand(refs[1], lanes, w)
                refs = (refs[0], x, row(spread(refs[2], lanes)))
                tensors["w"] = np.ones(1) if w is None else w
        return super().__call__(*refs, **tensors)

    def check(self, block: Block) -> None:
        check(block, weights=("w",), lane_tensors=())

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
        lanes, reads = block.targets[0].size, block.operands[0].shape[-1]
        return f"products into {lanes} registers, {reads} summed in each: z' = Σ w·x·v"


def _apart(block: Block) -> bool:
    """No pair (x_r, v_r) of a lane can come twice, in either order."""
    x, v = block.operands
    (x_low, x_high), (v_low, v_high) = x.extent(), v.extent()
    return (x_high < v_low or v_high < x_low) and (distinct(x) or distinct(v))


product = Product()
register(product)
