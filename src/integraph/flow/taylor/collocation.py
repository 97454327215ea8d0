"""Wide stiff systems: collocation at the seven Radau points, of order 13 and L-stable, for sparse quadratic fields.

A step finds the polynomial of degree 7 through its start whose derivative is the field's at the points c_1 < … < c_7 =
1. Newton's iteration takes its matrix once a step, at the mean of the predicted stages; in the eigenvectors of the
inverse tableau it falls apart into one real and three complex shifts of the Jacobian, which `sparse_lu` factors
together. The error is that of an embedded formula of order 7, damped where the field is stiff, so that the solution is
more accurate than asked for: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8.

Arrays are (registers, 8): the seven stages, as distances from the start of the step, and the start; or the modes, the
coefficients of eigenvectors, four real parts and four imaginary parts.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Legendre

from integraph.flow.taylor.kernel import NEAR
from integraph.flow.taylor.sparse_field import COLUMNS, SparseField, shifted, slopes
from integraph.flow.taylor.sparse_lu import SHIFTS, Floats, factor, solve
from integraph.flow.taylor.wide_series import LARGE
from integraph.numbers.jit import cached_njit

STAGES = 7
ABSOLUTE = 1e-3  # of the largest register: smaller ones have no relative accuracy of their own
CONVERGED = 1e-2  # of the tolerance: what Newton's iteration may leave
ITERATIONS = 12
SLOW = 0.7  # a contraction not worth waiting for
SAFETY, SHRINK, GROW = 0.9, 0.2, 8.0
OUTLIER = 30.0  # times the tolerance is the most that one register among many may be off by
DIVERGED = 0.3  # of a step whose iteration does not converge


class Tableau(NamedTuple):
    points: Floats  # the last is 0
    shifts: Floats  # eigenvalues of the inverse tableau, the real one first: real parts, then imaginary parts
    to_modes: Floats  # (8, 8)
    to_stages: Floats  # (8, 8)
    error: Floats  # of stages


@cache
def tableau() -> Tableau:
    c = np.sort((Legendre.basis(STAGES) - Legendre.basis(STAGES - 1)).roots().real + 1) / 2
    c[-1] = 1.0
    powers = np.arange(1, STAGES + 1)
    vandermonde = c[:, None] ** (powers - 1)
    inverse = vandermonde @ np.linalg.inv(c[:, None] ** powers / powers)
    eigenvalues, vectors = np.linalg.eig(inverse)
    chosen = np.argsort(np.abs(eigenvalues.imag) + (eigenvalues.imag < -1e-9) * 1e9)[:SHIFTS]
    left, right, values = np.linalg.inv(vectors)[chosen], vectors[:, chosen].T, eigenvalues[chosen]
    both = np.where(np.arange(SHIFTS) == 0, 1.0, 2.0)[:, None]  # of a conjugate pair
    to_modes, to_stages = np.zeros((COLUMNS, COLUMNS)), np.zeros((COLUMNS, COLUMNS))
    to_modes[:-1] = np.concatenate([left.real, left.imag]).T
    to_stages[:, :-1] = np.concatenate([both * right.real, -both * right.imag])
    embedded = -np.linalg.solve(vandermonde.T, powers == 1.0) @ inverse
    shifts = np.concatenate([values.real, values.imag])
    return Tableau(np.append(c, 0.0), shifts, to_modes, to_stages, np.append(embedded, 0.0))


@cached_njit(nogil=True, error_model="numpy")
def residual(forces: Floats, modes: Floats, shifts: Floats) -> None:
    """forces −= shifts · modes, as complex numbers."""
    for i in range(len(modes)):
        for s in range(SHIFTS):
            x, y, a, b = modes[i, s], modes[i, SHIFTS + s], shifts[s], shifts[SHIFTS + s]
            forces[i, s] -= x * a - y * b
            forces[i, SHIFTS + s] -= x * b + y * a


@cached_njit(nogil=True, error_model="numpy")
def correct(modes: Floats, change: Floats, stages: Floats, shift: Floats, weight: Floats) -> float:
    """Add changes; the mean size of those of stages."""
    total = 0.0
    for i in range(len(modes)):
        for s in range(COLUMNS):
            modes[i, s] += change[i, s]
            stages[i, s] += shift[i, s]
            total += (shift[i, s] * weight[i]) ** 2
    return float(np.sqrt(total / (STAGES * len(modes))))


class Collocation:
    """One solution on its way."""

    def __init__(self, field: SparseField, value: Floats, y: Floats, rtol: float) -> None:
        self.field, self.value, self.rtol, self.y = field, value[field.term], rtol, y[field.order]
        self.last: tuple[float, Floats] | None = None  # the last step and its stages
        self.slopes, self.sources = np.empty((len(y), COLUMNS)), np.ones((len(y) + len(field.products) + 1, COLUMNS))
        self.factors = np.empty((len(field.pattern[1]), COLUMNS))
        self.steps = 0

    def run(self, span: float, shortest: float, max_steps: int) -> bool:
        """Advance y by `span`; False if steps get too short or too many, or where a pole may be near."""
        rest, h, longest = span, span, 0.0
        large = LARGE * float(np.abs(self.y).max())
        while rest > 0.0:
            if not h >= shortest or self.steps == max_steps:
                return False
            self.steps += 1
            ends = h >= rest
            h = rest if ends else h
            weight = 1.0 / (self.rtol * np.maximum(np.abs(self.y), ABSOLUTE * np.abs(self.y).max()))
            stages = self._stages(h, weight)
            if stages is None:
                h *= DIVERGED
                continue
            error = self._error(stages, h, weight)
            if error <= 1.0:
                self.y, self.last = self.y + stages[:, STAGES - 1], (h, stages)
                rest, longest = 0.0 if ends else rest - h, max(longest, h)
            h *= min(GROW, max(SHRINK, SAFETY * error ** (-1.0 / (STAGES + 1)))) if error > 0.0 else GROW
            if h < NEAR * longest and float(np.abs(self.y).max()) > large:
                return False
        return True

    def _stages(self, h: float, weight: Floats) -> Floats | None:
        """By Newton's iteration; None if it does not converge."""
        field, table = self.field, tableau()
        stages, shifts = self._predicted(h), table.shifts / h
        middle = self.y + stages[:, :-1].mean(1)
        diagonal = field.pattern[2]
        shifted(middle, field.products, field.source, self.value, field.entry, diagonal, shifts, self.factors)
        factor(self.factors, *field.pattern)
        modes, before = stages @ table.to_modes, 0.0
        terms = (field.products, field.starts, field.source, self.value)
        for iteration in range(ITERATIONS):
            slopes(self.y, stages, *terms, self.sources, self.slopes)
            change = self.slopes @ table.to_modes
            residual(change, modes, shifts)
            solve(self.factors, *field.pattern, change)
            size = correct(modes, change, stages, change @ table.to_stages, weight)
            if not size < np.inf or (iteration and size > max(SLOW * before, CONVERGED)):
                return None
            if size == 0.0 or (iteration and size * size <= CONVERGED * (before - size)):
                return stages
            before = size
        return None

    def _predicted(self, h: float) -> Floats:
        """The polynomial of the last step, continued."""
        if self.last is None:
            return np.zeros((len(self.y), COLUMNS))
        before, stages = self.last
        powers, points = np.arange(COLUMNS), tableau().points[:, None]
        continued: Floats = stages @ np.linalg.solve((points**powers).T, ((1.0 + points * (h / before)) ** powers).T)
        return continued - continued[:, -1:]

    def _error(self, stages: Floats, h: float, weight: Floats) -> float:
        """The distance from the embedded solution, in tolerances: the mean, or a share of the largest."""
        table = tableau()
        right = np.zeros((len(self.y), COLUMNS))
        right[:, 0] = stages @ (table.error / h) + self.slopes[:, -1]
        solve(self.factors, *self.field.pattern, right)
        size = np.abs(right[:, 0] * weight)
        return max(float(np.sqrt(np.mean(size * size))), float(size.max()) / OUTLIER)
