"""The paper's equations as data: the register on the left, a coefficient, and at most two factors.

("y2", -1, "y2", "y3")   is the term −y₂y₃ of ẏ₂.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.gadgets import raw
from integraph.paper.integrator import Term, integrate
from integraph.program import ONE, Program, Registers, build, segment

Equation = tuple[Any, ...]  # (register, coefficient, factor, factor), with fewer factors or none


@dataclass(frozen=True)
class Equations:
    """Segments of duration 1 over named registers."""

    registers: tuple[str, ...]
    segments: tuple[tuple[Equation, ...], ...]

    def terms(self, number: int) -> list[Term]:
        """Those of a segment, by the numbers of registers, equal ones summed: as eq. (1) has them."""
        at = {name: place for place, name in enumerate(self.registers)}
        terms: dict[tuple[int, int, int], Any] = {}
        for target, value, *factors in self.segments[number]:
            j, k = sorted([ONE] * (2 - len(factors)) + [at[name] for name in factors])
            terms[at[target], j, k] = terms.get((at[target], j, k), 0) + value
        return [(*place, value) for place, value in sorted(terms.items()) if value]

    def program(self) -> Program:
        """The same for the engines, controls rounded to float64. All registers are inputs, and all are read out."""
        r = Registers()
        y = r.inputs("y", len(self.registers))
        parts = []
        for number in range(len(self.segments)):
            listed = self.terms(number)
            index = np.array([place for *place, _ in listed], np.int64).reshape(-1, 3)
            values = np.array([float(value) for *_, value in listed])
            parts.append(segment(f"step {number + 1}", raw(y, index=index, value=values)))
        return build(r, parts, y)

    def path(self, start: Mapping[str, Any], *, bits: int = 192, steps: int | None = None) -> list[dict[str, Any]]:
        """All registers after 0, 1, … segments, in many digits; what is not named starts at 0."""
        states = [[start.get(name, 0) for name in self.registers]]
        for number in range(len(self.segments) if steps is None else steps):
            states.append(integrate(self.terms(number), states[-1], bits=bits))
        return [dict(zip(self.registers, values, strict=True)) for values in states]


def program_terms(program: Program, number: int = 0) -> list[Term]:
    """The terms that a program has in a segment."""
    batches = list(program.segment_terms(number))
    return [term for b in batches for term in zip(*(x.tolist() for x in (b.i, b.j, b.k, b.value)), strict=True)]


def same_terms(terms: Sequence[Term], wanted: Sequence[Term], tolerance: float = 0.0) -> bool:
    """Whether two lists are the same terms, up to the rounding of their values."""
    if [term[:3] for term in terms] != [term[:3] for term in wanted]:
        return False
    pairs = [(float(a[3]), float(b[3])) for a, b in zip(terms, wanted, strict=True)]
    return all(abs(a - b) <= tolerance * abs(b) for a, b in pairs)
