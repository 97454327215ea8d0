"""The linear part of a segment, y' = A y + c with constant A, by exponentials: exact for any step.

What decays must keep its digits (a state of size e^−60 matters), and a matrix exponential that is accurate only in norm
loses them. So the common case, where nothing longer than i ← j exists, is written out with divided differences of exp;
the rest is summed and squared in extended precision, without cancellation along chains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from integraph.flow.taylor.quadratic_forms import Forms, as_slice, compact, forms
from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE

LARGEST = 700.0  # e^700 is still a float
MAX_TERMS = 400  # of the exponential series of a scaled matrix; it needs its longest chain + 20

Advance = Callable[[Floats], None]  # states (W, B), in place


def expm1c(x: Floats) -> Floats:
    """(e^x − 1)/x."""
    tiny = np.abs(x) < 1e-300
    safe = np.where(tiny, 1.0, x)
    return np.where(tiny, 1.0, np.expm1(safe) / safe)


@dataclass(frozen=True, slots=True, eq=False)
class DiagonalSystem:
    """Rows y_i' = a_i y_i + Σ value · y_f · y_g. Factors are frozen; or f is 1 and g moves, by a row without a sum."""

    registers: Indices
    rate: Floats  # a_i
    row: Indices  # position in `registers`
    f: Indices
    g: Indices
    value: Floats
    moving: Floats  # a_g, where g moves, else 0

    @property
    def footprint(self) -> int:
        return 2 * len(self.registers) + 2 * int(np.count_nonzero(self.f != ONE))

    def over(self, t: float) -> Advance:
        """∫ e^{a_i(t−s)} e^{a_g s} ds is the divided difference of exp, seen from the larger exponent."""
        pieces = 1 if np.abs(self.rate * t).max(initial=0.0) < LARGEST else 2
        grows = np.flatnonzero(self.rate)
        growing, growth = as_slice(self.registers[grows]), np.exp(self.rate[grows, None] * (t / pieces))
        a, b = self.rate[self.row], self.moving
        weight = t * np.exp(np.maximum(a, b) * t) * expm1c(-np.abs(a - b) * t)
        rows, position = compact(self.row)
        sums = forms(len(rows), position, self.f, self.g, weight * self.value)
        summed = as_slice(self.registers[rows])

        def advance(states: Floats) -> None:
            gain = sums(states) if len(rows) else None
            for _ in range(pieces if len(grows) else 0):
                states[growing] *= growth
            if gain is not None:
                states[summed] += gain

        return advance


@dataclass(frozen=True, slots=True, eq=False)
class CoupledSystem:
    """Components of one size, y' = A y + sums, of any structure."""

    registers: Indices  # (components, n)
    matrix: Floats  # (components, n, n)
    sums: Forms | None  # rows as registers.ravel()

    @property
    def footprint(self) -> int:
        return 3 * self.registers.size + (self.sums.footprint if self.sums is not None else 0)

    def over(self, t: float) -> Advance:
        flow, gain = exponentials(self.matrix * t)
        gain = gain * t

        def advance(states: Floats) -> None:
            new = flow @ states[self.registers]
            if self.sums is not None:
                new += gain @ self.sums(states).reshape(new.shape)
            states[self.registers] = new

        return advance


def exponentials(matrices: Floats) -> tuple[Floats, Floats]:
    """e^X and (e^X − 1)/X of a stack of square matrices, entry by entry accurate where the entries of X allow it.

    Scaled to norm ≤ 1/2, summed until no entry changes, and squared: e^{2X} = (e^X)², φ(2X) = (e^X + 1) φ(X) / 2."""
    norm = np.abs(matrices).sum(2).max(initial=0.0)
    halvings = max(int(np.frexp(norm)[1]) + 1, 0)
    x: NDArray[np.longdouble] = np.ldexp(matrices.astype(np.longdouble), -halvings)
    identity = np.broadcast_to(np.eye(x.shape[1], dtype=np.longdouble), x.shape)
    term, flow, gain = identity.copy(), identity.copy(), identity.copy()
    smallest = np.finfo(np.longdouble).eps
    for n in range(1, MAX_TERMS):
        term = np.matmul(term, x) / n
        flow += term
        gain += term / (n + 1)
        if (np.abs(term) <= smallest * np.abs(flow)).all():
            break
    for _ in range(halvings):
        gain = (np.matmul(flow, gain) + gain) / 2
        flow = np.matmul(flow, flow)
    return flow.astype(np.float64), gain.astype(np.float64)
