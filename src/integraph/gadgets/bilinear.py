"""Bilinear form: z_i' = Σ_r Σ_s w_irs x_r v_s, all lanes over the same x and v. Exact, and undone exactly by −w."""

from __future__ import annotations

from integraph.errors import SpecError
from integraph.gadgets.contraction import distinct
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget
from integraph.numbers.arrays import Indices
from integraph.program import Block, Terms, register
from integraph.program.terms import terms
from integraph.program.wording import times


class Bilinear(Gadget):
    """`bilinear(z, x, v, w=W)` with views z (K,), x (R,), v (S,) and W of shape (K, R, S)."""

    name = "bilinear"
    targets = ("z",)
    operands = ("x", "v")
    tensors = ("w",)
    additive = True

    def check(self, block: Block) -> None:
        views = (*block.targets, *block.operands)
        shape = tuple(view.size for view in views)
        if any(len(view.shape) != 1 for view in views):
            raise SpecError(
                f"bilinear: z, x and v must be one-dimensional, got shapes {[view.shape for view in views]}"
            )
        if "w" not in block.tensors or block.tensors["w"].shape != shape:
            got = block.tensors["w"].shape if "w" in block.tensors else None
            raise SpecError(f"bilinear needs the tensor 'w' of shape (z, x, v) = {shape}, got {got}")

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        x, v = (view.indices() for view in block.operands)
        i = block.targets[0].at(lanes)[:, None, None]
        return terms(i, x[:, None], v, block.tensors["w"][lanes])

    def per_lane(self, block: Block, role: int) -> int:
        return block.operands[0].size * block.operands[1].size

    def count(self, block: Block) -> int | None:
        x, v = block.operands
        (x_low, x_high), (v_low, v_high) = x.extent(), v.extent()
        apart = (x_high < v_low or v_high < x_low) and distinct(x) and distinct(v)
        return int((block.tensors["w"] != 0).sum()) if apart else None

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (x, v), w = operands, tensors["w"]
        pairs = f.sum(f.sum(w * v, -2) * x, -2)
        return Closed((start[0] + t * pairs,))

    def words(self, block: Block) -> str:
        z, x, v = (view.size for view in (*block.targets, *block.operands))
        weights = f", {x} × {v} weights{' each' * (z > 1)}" if x * v > 1 else ""
        return f"{times('bilinear', z)}{weights}: adds Σ w·x·v to z"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("z", "Σ w·x·v")]


bilinear = Bilinear()
register(bilinear)
