"""ln Σ exp(s_j) of rows s_1 … s_n of any size, bounded and with O(n) terms.

u_j' = σ_j u_j − u_j m, m' = Σ σ_j u_j − m², l' = m, with σ = s + c. From u = σ/n, m = mean σ, l = ln n − c: l(1) =
ln Σ e^s. As for `shifted_softmax`, c is a register for each row, and −mean(s) serves every row.

u and m are those of a softmax, so from any start l = l₀ + ∫m = l₀ + ln N. There is no exponential of a score anywhere:
softmax underflows where scores lie far apart, and its logarithm with it; l is off by a few ulp of max |s − mean s|.
"""

from __future__ import annotations

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.gadgets.softmax import ShiftedSoftmax, divided, spread
from integraph.numbers.arrays import Indices
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import terms
from integraph.text import counted


class LogSumExp(ShiftedSoftmax):
    name = "log_sum_exp"
    targets = ("l", "u", "m")
    domain = "start at l = ln(n) − c, u = (s + c)/n, m = mean(s) + c, and choose c ≥ −max(s) in every row"

    def shapes(self, block: Block) -> None:
        l, u, m = block.targets
        s = block.operands[0]
        if not u.shape or u.shape != s.shape or not l.shape == m.shape == u.shape[:-1]:
            raise SpecError(
                f"{self.name}: u and s need one shape rows + (n,), l and m need rows; got {u.shape}, {s.shape}, "
                f"{l.shape}, {m.shape} (for a single row give one register, m[0], whose shape is ())"
            )

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """l: [m]; u and m as in softmax."""
        if role:
            return super().lower(block, role, lanes)
        l, m = (block.targets[k].rows(lanes, len(block.targets[k].shape)) for k in (0, 2))
        return terms(l, np.full(m.shape, ONE, np.int32), m, np.ones(m.shape))

    def per_lane(self, block: Block, role: int) -> int:
        return super().per_lane(block, role) if role else 1

    def count(self, block: Block) -> int | None:
        return 5 * block.targets[1].size + 2 * block.targets[2].size

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        l, u, m = start
        s, c = operands[0], spread(operands[1])
        row = divided(f, t, u, m, s, c)
        grown = row.top[..., 0, :] + f.log_normaliser(t, u, m, s + c, row.top, row.n)
        return Closed((l + grown, row.u, row.m), {"m": row.alive})

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("l", "m"), ("u", "(s + c − m)·u"), ("m", "Σ (s + c)·u − m²")]

    def words(self, block: Block) -> str:
        return (
            f"{self.name}, {counted(block.targets[2].size, 'row')} of {block.targets[1].shape[-1]}: "
            "with σ = s + c, from l = ln n − c, u = σ/n and m = mean σ, l(1) = ln Σ exp s"
        )


log_sum_exp = LogSumExp()
register(log_sum_exp)
