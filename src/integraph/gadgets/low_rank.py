"""A free-form block in factors: y' = b + A z + U((V₁z) ∘ (V₂z)) with z = (y, x), for learned models. No closed form.

Stored as the factors alone, r(m + 2n) numbers for a Q of m·n² with n = len(z). Engines that know the factors need r
products of two numbers where the terms need up to n²/2; the terms of eq. (1) are their sums, each rounded to float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from integraph.errors import SpecError
from integraph.gadgets.free_form import FreeForm
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.quadratic_field import Matrix, QuadraticField
from integraph.program import ONE, Block, Ref, Terms, register
from integraph.program.terms import concatenate, terms
from integraph.program.views import dense
from integraph.text import counted


class LowRank(FreeForm):
    """`low_rank(y, x, U=U, V1=V1, V2=V2, A=A, b=b)` with y (m,), x (n − m,), U (m, r), V1 and V2 (r, n), A (m, n) and
    b (m,); x, A and b may be left out."""

    name = "low_rank"
    tensors = ("U", "V1", "V2", "A", "b")

    def __call__(self, *refs: Ref, **tensors: Any) -> Block:
        return super().__call__(*(refs if len(refs) != 1 else (refs[0], dense(0, (0,)))), **tensors)

    def check(self, block: Block) -> None:
        y, x = block.targets[0], block.operands[0]
        if len(y.shape) != 1 or len(x.shape) != 1:
            raise SpecError(f"low_rank: y and x must be one-dimensional, got shapes {y.shape} and {x.shape}")
        missing = [name for name in ("U", "V1", "V2") if name not in block.tensors]
        if missing:
            raise SpecError(f"low_rank needs the tensors U (m, r), V1 and V2 (r, n): {missing[0]} is missing")
        m, n = y.size, y.size + x.size
        U = block.tensors["U"]
        if U.ndim != 2 or len(U) != m:
            raise SpecError(f"low_rank: U has shape {U.shape}, needs ({m}, r): a row for each register of y")
        r = U.shape[1]
        shapes = {"V1": (r, n), "V2": (r, n), "A": (m, n), "b": (m,)}
        for name, shape in shapes.items():
            if name in block.tensors and block.tensors[name].shape != shape:
                raise SpecError(
                    f"low_rank: {name} has shape {block.tensors[name].shape}, needs {shape}: the rank is {r}, y has "
                    f"{m} registers and x {x.size}"
                )

    def lower(self, block: Block, role: int, lanes: Indices) -> Terms:
        """Sums over the rank in its order, number by number: the same on every machine, which BLAS does not promise."""
        i, z = block.targets[0].at(lanes)[:, None], registers(block)
        pieces = []
        if "b" in block.tensors:
            pieces.append(terms(i, ONE, ONE, block.tensors["b"][lanes, None]))
        if "A" in block.tensors:
            pieces.append(terms(i, ONE, z, block.tensors["A"][lanes]))
        bent = lanes[block.tensors["U"][lanes].any(1)]
        if len(bent):
            U, V1, V2 = block.tensors["U"][bent], block.tensors["V1"], block.tensors["V2"]
            read = _columns(block)
            j, k = (read[side] for side in np.triu_indices(len(read)))
            value = np.zeros((len(bent), len(j)))
            for u, v1, v2 in zip(U.T, V1, V2, strict=True):
                value += u[:, None] * np.where(j == k, v1[j] * v2[j], v1[j] * v2[k] + v1[k] * v2[j])
            pieces.append(terms(block.targets[0].at(bent)[:, None], z[j], z[k], value))
        return concatenate(pieces)

    def per_lane(self, block: Block, role: int) -> Indices:
        count, n = len(_columns(block)), block.tensors["V1"].shape[1]
        linear = n * ("A" in block.tensors) + ("b" in block.tensors)
        counts = np.full(block.targets[0].size, linear)
        counts[block.tensors["U"].any(1)] += count * (count + 1) // 2
        return counts

    def count(self, block: Block) -> int | None:
        return None

    def field(self, block: Block) -> QuadraticField:
        U, V1, V2 = (block.tensors[name] for name in ("U", "V1", "V2"))
        m, n = len(U), V1.shape[1]
        forms, which = np.unique(np.concatenate([V1, V2]), axis=0, return_inverse=True)  # used twice, it is one form
        left, right = which.reshape(2, -1)
        A, b = block.tensors.get("A", np.zeros((m, n))), block.tensors.get("b", np.zeros(m))
        return QuadraticField(Matrix(U), Matrix(forms), left, right, Matrix(A), b)

    def words(self, block: Block) -> str:
        size, rank = counted(block.targets[0].size, "register"), block.tensors["U"].shape[1]
        return f"low_rank, {size}, rank {rank}: a quadratic right-hand side in factors"

    def derivatives(self, block: Block) -> list[tuple[str, str]]:
        z = "(y, x)" if block.operands[0].size else "y"
        parts = ["b"] * ("b" in block.tensors) + [f"A·{z}"] * ("A" in block.tensors)
        return [("y", " + ".join([*parts, f"U((V1·{z}) ∘ (V2·{z}))"]))]


def registers(block: Block) -> Indices:
    """Those of z = (y, x)."""
    return np.concatenate([ref.indices().reshape(-1) for ref in block.refs()])


def _columns(block: Block) -> Indices:
    """The entries of z that a product reads."""
    used: Floats = np.abs(block.tensors["V1"]).sum(0) + np.abs(block.tensors["V2"]).sum(0)
    return np.flatnonzero(used)


low_rank = LowRank()
register(low_rank)
