"""Which bump a linear form is the logarithm of: Σ w·t + Σ w·ℓ + b = ln φ_k + δ, for many lanes at once.

t are the variables, ℓ = ln cosh of the steps. A lane is described by the cell k (NONE in a variable that does not
matter) and by δ, a ball that holds for every t in the box: a constant, and the part of the form that is not ln φ_k, at
its largest. The weights are floats and are added without rounding, or nothing is proved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from integraph.certify.controls import summed
from integraph.certify.problem import Unprovable
from integraph.certify.theorem1.bumps import BallBumps
from integraph.certify.theorem1.cells import Objects
from integraph.clock import check_deadline
from integraph.numbers.arb.conversion import ZERO, Balls, above, symmetric
from integraph.numbers.arrays import Floats, Indices

NONE = -1
LARGEST = 1 << 26  # numbers in a table of lanes and registers


@dataclass(frozen=True, slots=True, eq=False)
class ExponentLanes:
    """φ_k e^δ."""

    cells: Indices  # (lanes, d)
    delta: Objects  # (lanes,)


class Exponents:
    """Columns are t_1, ℓ_11 … ℓ_1N, t_2, ℓ_21 …; `cube` is the box of t."""

    def __init__(self, bumps: tuple[BallBumps, ...], cube: Balls) -> None:
        self.bumps = bumps
        self.first = np.concatenate([[0], np.cumsum([1 + b.N for b in bumps])])
        self.constants = [np.array(b.constants(), object) for b in bumps]
        self.most = [above(abs(ball)) for b, t in zip(bumps, cube, strict=True) for ball in (t, *b.z(t))]  # ℓ ≤ |z|

    def column(self, j: int, k: int) -> int:
        """That of t_j, k = 0, or of ℓ_jk."""
        return int(self.first[j]) + k

    def ones(self, lanes: int) -> ExponentLanes:
        """e^0."""
        return ExponentLanes(np.full((lanes, len(self.bumps)), NONE, np.int64), np.full(lanes, ZERO, object))

    def grown(self, old: ExponentLanes, columns: Indices, weights: Floats, b: Floats) -> ExponentLanes:
        """Lanes that were multiplied by e^{Σ w·column + b}; columns and weights are (lanes, reads)."""
        lanes = len(columns)
        if lanes * int(self.first[-1]) > LARGEST:
            raise Unprovable(f"{lanes} bumps of {self.first[-1]} registers are more than {LARGEST}")
        added, row = np.zeros((lanes, int(self.first[-1]))), np.arange(lanes)
        for read in range(columns.shape[1]):
            at = row, columns[:, read]
            added[at] = _sum(added[at], weights[:, read])
        form = _sum(self._form(old.cells), added)
        cells = self._guess(form)
        delta = old.delta + self._constant(old.cells) + b.astype(object) - self._constant(cells)
        rest = np.abs(_sum(form, -self._form(cells)))
        for lane in np.flatnonzero(rest.any(1)).tolist():
            check_deadline()
            far = sum((arb(w) * most for w, most in zip(rest[lane].tolist(), self.most, strict=True) if w), ZERO)
            delta[lane] += symmetric(far.abs_upper())
        return ExponentLanes(cells, delta)

    def _form(self, cells: Indices) -> Floats:
        """The weights of ln φ_k."""
        form, row = np.zeros((len(cells), int(self.first[-1]))), np.arange(len(cells))
        for j, (b, k) in enumerate(zip(self.bumps, cells.T, strict=True)):
            for chosen, column, weight in (
                (k == 0, 0, -b.slope),
                (k == 0, 1, -1.0),
                (k == b.N, 0, b.slope),
                (k == b.N, b.N, -1.0),
                ((k > 0) & (k < b.N), k, -1.0),
                ((k > 0) & (k < b.N), k + 1, -1.0),
            ):
                where = chosen & (b.N > 0)
                form[row[where], self.first[j] + np.broadcast_to(column, k.shape)[where]] = weight
        return form

    def _constant(self, cells: Indices) -> Objects:
        logarithms = np.full(len(cells), ZERO, object)
        for constants, k in zip(self.constants, cells.T, strict=True):
            used = k != NONE
            logarithms[used] += constants[k[used]]
        return logarithms

    def _guess(self, form: Floats) -> Indices:
        """The cells whose forms are like these; what is not like any stays in δ."""
        cells = np.full((len(form), len(self.bumps)), NONE, np.int64)
        for j, b in enumerate(self.bumps):
            if b.N:
                t, falls = form[:, self.first[j]], form[:, self.first[j] + 1 : self.first[j + 1]] < -0.5
                inner = np.where(falls.any(1), 1 + np.argmax(falls, 1), NONE)
                inner[inner == b.N] = NONE  # ℓ_N alone
                cells[:, j] = np.where(t < -0.5 * b.slope, 0, np.where(t > 0.5 * b.slope, b.N, inner))
        return cells


def _sum(a: Floats, b: Floats) -> Floats:
    """a + b, if no bit is lost."""
    total, fine = summed(a, b)
    if not fine.all():
        raise Unprovable("weights cannot be added in float64 without rounding")
    return total
