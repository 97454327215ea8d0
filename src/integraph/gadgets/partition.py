"""Partition of unity, Lemma 4, step 2 as corrected: in one segment λ goes from tanh to ψ, and μ is cleared.

With S the shift, (Sλ)_k = λ_{k+1}, and A = ln((1 − S)/2) = −ln 2 − Σ S^m/m, λ' = Aλ + b gives ½(λ_k − λ_{k+1}), where
λ_{N+1} stands for −1. With z_k = a·x + b_k, μ_k' = −z_k[(Bλ)_k − κ_k] gives μ_k − z_k λ_k, which is 0 after Lemma 1.
Here B = A(e^A − I)^{−1} = −2A/(1 + S), v = (0, …, 0, ½), b = Bv, κ = (e^A − I)^{−1}(v − b).

From any start, with the fixed point λ*_k = (−1)^{N−k}, E = e^{tA} = 2^{−t}(1 − S)^t and G = (e^A − I)^{−1}(E − I):
λ(t) = Eλ + (I − E)λ*, μ(t) = μ − z[Gλ + (t − G)λ*]. At t = 1, E and G are exactly (1 − S)/2 and I.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.functions.namespace import Array, Arrays, Functions, Tensors
from integraph.gadgets.gadget import Closed, Gadget, fits
from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE, Block, Terms, register
from integraph.program.terms import concatenate, terms
from integraph.text import counted

EXTENDED = 160  # bits: enough to round every control of N < 2^60 correctly but for ties


@dataclass(frozen=True, slots=True, eq=False)
class PartitionControls:
    """The controls of step 2, fixed by N: coefficients of S^m in A and B, and b_k, κ_k; m and k are 0 … N."""

    A: Array
    B: Array
    b: Array
    kappa: Array


def controls(N: int, bits: int) -> PartitionControls:
    """The controls to `bits` bits, as object arrays of Arb balls.

    B_m = 2I_m, I_m = ∫_0^1 x^m/(1 + x) dx = 1/m − I_{m−1}; counted from the end, b is I and κ is −2y with
    y_m + y_{m−1} = ½δ_m − I_m.
    """
    from flint import arb

    from integraph.numbers.arb.conversion import precision

    with precision(bits + 2 * N.bit_length() + 8):  # radii add up, twice, on numbers as small as 1/(2N)
        integrals = [arb.const_log2()]
        sums = [0.5 - integrals[0]]
        for m in range(1, N + 1):
            integrals.append(arb(1) / m - integrals[-1])
            sums.append(-integrals[-1] - sums[-1])
        logarithm = [-integrals[0], *(arb(-1) / m for m in range(1, N + 1))]
        rows = (logarithm, [2 * i for i in integrals], integrals[::-1], [-2 * y for y in sums[::-1]])
    return PartitionControls(*(np.array(row, object) for row in rows))


@lru_cache(maxsize=64)
def rounded(N: int) -> PartitionControls:
    """The controls in float64, as eq. (1) stores them."""
    exact = controls(N, EXTENDED)
    return PartitionControls(*(row.astype(np.float64) for row in (exact.A, exact.B, exact.b, exact.kappa)))


class PartitionGadget(Gadget):
    name = "partition"
    targets = ("lam", "mu")
    operands = ("x",)
    tensors = ("a", "b")

    def check(self, block: Block) -> None:
        (lam, mu), (x,) = block.targets, block.operands
        if not lam.shape or lam.shape[-1] < 2 or mu.shape != (*lam.shape[:-1], lam.shape[-1] - 1):
            raise SpecError(
                f"partition: lam needs the shape rows + (N + 1,) with N ≥ 1 and mu rows + (N,), got {lam.shape} and "
                f"{mu.shape}: give mu_1 … mu_N, and transpose views that have k as their first axis"
            )
        if x.shape != lam.shape[:-1]:
            raise SpecError(f"partition: 'x' has shape {x.shape}, needs {lam.shape[:-1]}: one x for each row of lam")
        for name, tensor in block.tensors.items():
            fits("partition", name, tensor.shape, mu.shape)

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        lam, (x,) = block.targets[0], block.operands
        N = lam.shape[-1] - 1
        fixed = rounded(N)
        row, k = np.divmod(lanes, N + 1 - role)
        k = k + role  # mu begins at k = 1
        lane, ahead = np.nonzero(np.arange(N + 1) >= k[:, None])
        reads, shift = lam.rows(row, len(lam.shape) - 1)[lane, ahead], ahead - k[lane]
        i = block.targets[role].at(lanes)
        if role == 0:
            return concatenate([terms(i[lane], ONE, reads, fixed.A[shift]), terms(i, ONE, ONE, fixed.b[k])])
        at = x.at(row)
        a, b = (self._form(block, name, lanes) for name in ("a", "b"))
        return concatenate(
            [
                terms(i[lane], at[lane], reads, -a[lane] * fixed.B[shift]),
                terms(i[lane], ONE, reads, -b[lane] * fixed.B[shift]),
                terms(i, ONE, at, a * fixed.kappa[k]),
                terms(i, ONE, ONE, b * fixed.kappa[k]),
            ]
        )

    def _form(self, block: Block, name: str, lanes: Indices) -> Floats:
        """a or b of z = a·x + b, for each lane of mu."""
        if name not in block.tensors:
            return np.full(len(lanes), 1.0 if name == "a" else 0.0)
        tensor, shape = block.tensors[name], block.targets[1].shape
        return np.broadcast_to(tensor, shape).reshape(-1)[lanes]

    def per_lane(self, block: Block, role: int) -> Indices:
        size = block.targets[role].shape[-1]
        reads = np.arange(size, 0, -1)  # of lam, for one row
        counts = reads + 1 if role == 0 else 2 * reads + 2
        return np.tile(counts, block.targets[role].size // size)

    def count(self, block: Block) -> int | None:
        return None  # b may be 0 in some lanes

    def closed(self, f: Functions, t: float, start: Arrays, operands: Arrays, tensors: Tensors) -> Closed:
        (lam, mu), (x,) = start, operands
        size = lam.shape[-2]
        z = tensors.get("a", 1.0) * x[..., None, :] + tensors.get("b", 0.0)
        flow, rest = _coefficients(t, size)
        lam_end = f.dot(_toeplitz(flow), lam) + _from_fixed_point(flow, 1.0)
        gone = f.dot(_toeplitz(rest)[1:], lam) + _from_fixed_point(rest, t)[1:]
        return Closed((lam_end, mu - z * gone))

    def words(self, block: Block) -> str:
        lam = block.targets[0]
        rows = counted(lam.size // lam.shape[-1], "row")
        return (
            f"partition, {rows} of {lam.shape[-1]}: entry k of lam becomes half its difference to entry k + 1, where "
            f"−1 follows the last, and mu(1) = mu − ({_argument(block)})·lam, which is 0 after tanh; with S the shift, "
            "A = ln((1 − S)/2) and B = −2·A/(1 + S)"
        )

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        return [("lam", "A·lam + b"), ("mu", f"−({_argument(block)})·(B·lam − κ)")]


def _argument(block: Block) -> str:
    return f"{'a·' * ('a' in block.tensors)}x{' + b' * ('b' in block.tensors)}"


def _coefficients(t: Any, size: int) -> tuple[list[Any], list[Any]]:
    """The coefficients of S^m in E = 2^{−t}(1 − S)^t and in G = 2(1 − E)/(1 + S)."""
    flow = [np.exp2(-t) if isinstance(t, float) else 2.0 ** (-t)]  # 2.0 ** 1024 is an exception, exp2(1024) is ∞
    rest = [2.0 - 2.0 * flow[0]]
    for m in range(1, size):
        flow.append(flow[-1] * (m - 1 - t) / m)
        rest.append(-2.0 * flow[-1] - rest[-1])
    return flow, rest


def _toeplitz(coefficients: Sequence[Any]) -> Array:
    """The upper triangular matrix Σ c_m S^m, with a last axis of inputs."""
    n = np.arange(len(coefficients))
    ahead = n - n[:, None]
    return np.where(ahead >= 0, np.array(coefficients)[ahead], 0.0)[..., None]


def _from_fixed_point(coefficients: Sequence[Any], unit: Any) -> Array:
    """(unit − Σ c_m S^m)λ*, with a last axis of inputs."""
    series = [unit - coefficients[0]]
    for c in coefficients[1:]:
        series.append(-c - series[-1])
    return np.array(series[::-1])[:, None]


partition = PartitionGadget()
register(partition)
