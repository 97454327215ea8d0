"""The logarithms of a softmax of s_1 … s_n, bounded and with O(n) terms.

y_j' = σ_j − m, u_j' = σ_j u_j − u_j m, m' = Σ σ_j u_j − m², with σ = s + c. From y = −ln n, u = σ/n, m = mean σ: y(1) =
s − ln Σ e^s. As for `shifted_softmax`, c is a register for each row, and −mean(s) serves every row.

u and m are those of a softmax, so from any start y = y₀ + σt − ln N. A softmax underflows where scores lie far apart,
and its logarithm with it; s − `log_sum_exp` loses the digits that the largest |s| rounds away. y loses nothing.
"""

from __future__ import annotations

import numpy as np

from integraph.gadgets.functions.namespace import Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed
from integraph.gadgets.softmax import ShiftedSoftmax, divided, spread
from integraph.numbers.arrays import Indices
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import terms
from integraph.text import counted


class LogSoftmax(ShiftedSoftmax):
    name = "log_softmax"
    targets = ("y", "u", "m")
    domain = "start at y = −ln(n), u = (s + c)/n, m = mean(s) + c, and choose c ≥ −max(s) in every row"

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """y: [s, c, −m]; u and m as in softmax."""
        if role:
            return super().lower(block, role, lanes)
        lead = len(block.targets[2].shape)
        y, s = (ref.rows(lanes, lead + 1) for ref in (block.targets[0], block.operands[0]))
        rows = lanes // block.targets[1].shape[-1]
        m, c = (ref.rows(rows, lead) for ref in (block.targets[2], block.operands[1]))
        k = np.concatenate([s, c, m], 1)
        return terms(y, np.full(k.shape, ONE, np.int32), k, np.broadcast_to([1.0, 1.0, -1.0], k.shape))

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        y, u, m = start
        s, c = operands[0], spread(operands[1])
        row = divided(f, t, u, m, s, c)
        log_n = f.log_normaliser(t, u, m, s + c, row.top, row.n)
        return Closed((y + (row.gap - spread(log_n)), row.u, row.m), {"m": row.alive})

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("y", "s + c − m"), ("u", "(s + c − m)·u"), ("m", "Σ (s + c)·u − m²")]

    def words(self, block: Block) -> str:
        return (
            f"{self.name}, {counted(block.targets[2].size, 'row')} of {block.targets[0].shape[-1]}: "
            "with σ = s + c, from y = −ln n, u = σ/n and m = mean σ, y(1) = ln softmax s"
        )


log_softmax = LogSoftmax()
register(log_softmax)
