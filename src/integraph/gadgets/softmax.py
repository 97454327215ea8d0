"""Softmax of s_1 … s_n, bounded and with O(n) terms.

a_j' = σ_j a_j − a_j m, u_j' = σ_j u_j − u_j m, m' = Σ σ_j u_j − m², with σ = s + c. From a = 1/n, u = σ/n, m = mean σ:
a(t) = softmax(t s). c ≥ −(lowest row maximum) keeps rounding small.

In `shifted_softmax` c is not a number but a register for each row: −mean(s) serves every row whatever its scores are,
because the largest of s − mean(s) is never negative.

From any start: with N = exp ∫m, N'' = Σ σ_j u_j(0) e^{σ_j t}, so N = 1 + t(m₀ − Σu₀) + Σ u₀ (e^{σt} − 1)/σ, and
a = a₀ e^{σt}/N, u = u₀ e^{σt}/N, m = N'/N. Everything is divided by e^M, where M is the largest σt of
the lanes with u₀ ≠ 0, so that nothing overflows on the way.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.functions.namespace import Array, Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, fits
from integraph.numbers.arrays import Floats, Indices, Int32
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import terms
from integraph.text import counted


class Softmax(Gadget):
    name = "softmax"
    targets = ("a", "u", "m")
    operands: ClassVar[tuple[str, ...]] = ("s",)
    tensors: ClassVar[tuple[str, ...]] = ("c",)
    escapes = True
    domain = "start at a = 1/n, u = (s + c)/n, m = mean(s) + c, and choose c ≥ −max(s) in every row"

    def check(self, block: Block) -> None:
        self.shapes(block)
        if "c" in block.tensors:
            fits("softmax", "c", block.tensors["c"].shape, block.targets[2].shape)

    def shapes(self, block: Block) -> None:
        """Check the shapes of targets and scores."""
        a, u, m = block.targets
        s = block.operands[0]
        if not a.shape or not a.shape == u.shape == s.shape or a.shape[:-1] != m.shape:
            raise SpecError(
                f"{self.name}: a, u and s need one shape rows + (n,), m needs rows; got {a.shape}, {u.shape}, "
                f"{s.shape}, {m.shape} (for a single row give one register, m[0], whose shape is ())"
            )

    def shift(self, operands: Arrays, tensors: Tensors) -> Array:
        """c, for each row."""
        return tensors.get("c", 0.0)

    def _shift(self, block: Block, rows: Indices) -> tuple[Int32, Floats]:
        """c of each row as register and coefficient, columns both."""
        c = np.broadcast_to(block.tensors.get("c", np.zeros(())), block.targets[2].shape)
        return np.full((len(rows), 1), ONE, np.int32), c.reshape(-1)[rows, None]

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """a and u: [c y, s y, −m y]; m: [−m², c u_j, s_j u_j]."""
        lead = len(block.targets[2].shape)
        i = block.targets[role].rows(lanes, len(block.targets[role].shape))
        m = block.targets[2]
        if role == 2:
            u, s = block.targets[1].rows(lanes, lead), block.operands[0].rows(lanes, lead)
            register, c = (np.broadcast_to(part, u.shape) for part in self._shift(block, lanes))
            j = np.concatenate([register, s, i], 1)
            k = np.concatenate([u, u, i], 1)
            return terms(i, j, k, np.concatenate([c, np.ones(u.shape), np.full(i.shape, -1.0)], 1))
        rows = lanes // block.targets[1].shape[-1]
        s = block.operands[0].rows(lanes, lead + 1)
        register, c = self._shift(block, rows)
        j = np.concatenate([register, s, m.rows(rows, lead)], 1)
        return terms(i, j, i, np.concatenate([c, np.ones(i.shape), np.full(i.shape, -1.0)], 1))

    def per_lane(self, block: Block, role: int) -> int:
        return 2 * block.targets[1].shape[-1] + 1 if role == 2 else 3

    def count(self, block: Block) -> int | None:
        n, rows = block.targets[1].size, block.targets[2].size
        shifted = int(np.count_nonzero(self._shift(block, np.arange(rows))[1]))
        return 5 * n + rows + 3 * shifted * block.targets[1].shape[-1]

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        a, u, m = start
        row = divided(f, t, u, m, operands[0], spread(self.shift(operands, tensors)))
        return Closed((f.grow(a, row.gap) / spread(row.n), row.u, row.m), {"m": row.alive})

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("a", "(s + c − m)·a"), ("u", "(s + c − m)·u"), ("m", "Σ (s + c)·u − m²")]

    def words(self, block: Block) -> str:
        return (
            f"{self.name}, {counted(block.targets[2].size, 'row')} of {block.targets[0].shape[-1]}: "
            "with σ = s + c, from a = 1/n, u = σ/n and m = mean σ, a(1) = softmax s"
        )


class ScoreRow(NamedTuple):
    """The end of the flow, for rows of scores: what softmax and its logarithms share."""

    gap: Array  # σt − M
    top: Array  # M, with an axis of lanes
    n: Array  # N e^{−M}
    u: Array
    m: Array
    alive: Array  # positive if N is, all the way


def divided(f: Functions, t: float, u: Array, m: Array, s: Array, c: Array) -> ScoreRow:
    gap, top = f.gaps(t, s, c, u)
    sigma, grown = s + c, f.grow(u, gap)
    n, alive = f.normaliser(t, u, m, sigma, top, grown)
    slope = (m - f.sum(u, -2)) * f.exp(-top)[..., 0, :] + f.sum(grown, -2)
    return ScoreRow(gap, top, n, grown / spread(n), slope / n, alive)


def spread(x: Array) -> Array:
    """A quantity of a row, over its lanes (the axis before the inputs)."""
    return x[..., None, :] if getattr(x, "ndim", 0) else x


class ShiftedSoftmax(Softmax):
    name = "shifted_softmax"
    operands = ("s", "c")
    tensors = ()
    domain = "start at a = 1/n, u = (s + c)/n, m = mean(s) + c, and choose c ≥ −max(s) in every row"

    def check(self, block: Block) -> None:
        super().check(block)
        if block.operands[1].shape != block.targets[2].shape:
            raise SpecError(
                f"{self.name}: c has shape {block.operands[1].shape}, m has {block.targets[2].shape}: they must agree"
            )

    def shift(self, operands: Arrays, tensors: Tensors) -> Array:
        return operands[1]

    def _shift(self, block: Block, rows: Indices) -> tuple[Int32, Floats]:
        c = block.operands[1]
        return c.rows(rows, len(c.shape)), np.ones((len(rows), 1))


softmax, shifted_softmax = Softmax(), ShiftedSoftmax()
register(softmax)
register(shifted_softmax)
