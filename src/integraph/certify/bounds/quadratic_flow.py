"""A segment that has no closed form, on models: its terms as a tape, followed by validated steps of polynomial models.

What registers have in common at the start of the segment, they have in common at its end: every row is a polynomial of
the same inputs, with the same symbols. So the flow of a lifted system is nearly as narrow as that of its source.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.tape import ADD, INPUT, Assembler, Operations
from integraph.certify.solutions.integration import Advance, integrate
from integraph.certify.solutions.vector_field import VectorField
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models
from integraph.program import ONE, Program, Terms
from integraph.program.lowering import count_segment
from integraph.program.terms import concatenate

MOST = 2_000  # terms of a tape
WIDEST = 200  # registers: every step follows all of them


class QuadraticFlow:
    """The flow of these terms: `moved` are the registers that move, `order` lists these and then all others."""

    def __init__(self, terms: Terms, width: int, duration: float) -> None:
        self.duration = duration
        self.moved: Indices = np.unique(terms.i)
        others = np.setdiff1d(np.arange(width), self.moved)
        self.order = np.concatenate([self.moved, others])
        self.tape = _tape(terms, self.moved, self.order)
        used = np.union1d(terms.j, terms.k)
        self.unused = np.setdiff1d(others, used)

    def ends(self, states: Models) -> Models:
        """All registers at the end, in every cell; ±∞ in cells where solutions may end before."""
        after = [self._end(states, cell) for cell in range(states.space.cells)]
        return _cells(states, self.moved, after)

    def _end(self, states: Models, cell: int) -> ModelRows | None:
        m = states.space.monomials
        values = np.concatenate([states.p[:, cell], states.g[:, cell], states.r[:, cell, None]], 1)
        lost = self.unused[~np.isfinite(states.r[self.unused, cell])]
        values[lost] = 0.0
        end = None
        for advance in self.steps(ModelRows(m, values[self.order])):
            end = advance if advance.end == self.duration else None
        if end is None:
            return None
        after = np.empty_like(end.rows.values)
        after[self.order] = end.rows.values
        after[lost, -1] = np.inf
        return ModelRows(m, after)

    def steps(self, rows: ModelRows) -> Iterator[Advance]:
        """The steps from rows of all registers, in the order of `order`, as far as solutions exist."""
        if np.isfinite(rows.values).all():
            yield from integrate(
                VectorField(self.tape, rows.fresh(), np.arange(len(self.order))), np.array([self.duration])
            )


def quadratic_flow(program: Program, number: int) -> QuadraticFlow | None:
    """None where the segment is linear in what moves, or has too many terms, or the program too many registers."""
    if program.width > WIDEST or count_segment(program.segments[number], program) > MOST:
        return None
    terms = concatenate(list(program.segment_terms(number)))
    if not (np.isin(terms.j, terms.i) & np.isin(terms.k, terms.i)).any():
        return None
    return QuadraticFlow(terms, program.width, program.segments[number].duration)


def _tape(terms: Terms, moved: Indices, order: Indices) -> Operations:
    """The derivatives of the moved registers, of values of all registers in this order."""
    tape = Assembler()
    inputs = [tape.add(INPUT, place) for place in range(len(order))]
    value = {int(register): inputs[place] for place, register in enumerate(order)}
    sums: dict[int, int] = {}
    for i, j, k, weight in zip(*(part.tolist() for part in (terms.i, terms.j, terms.k, terms.value)), strict=True):
        factors = [value[register] for register in (j, k) if register != ONE]
        if len(factors) == 2:
            term = tape.times(weight, tape.mul(*factors))
        else:
            term = tape.times(weight, factors[0]) if factors else tape.constant(weight)
        sums[i] = tape.add(ADD, sums[i], term) if i in sums else term
    held = [place >= len(moved) for place in range(len(order))]
    return tape.operations([sums[i] for i in moved.tolist()], held)


def _cells(states: Models, moved: Indices, after: list[ModelRows | None]) -> Models:
    """Models of all cells; symbols of one cell have nothing to do with those of another."""
    space, m = states.space, states.space.monomials.count
    symbols = max((rows.symbols for rows in after if rows is not None), default=0)
    p, g = np.zeros_like(states.p), np.zeros((*states.r.shape, symbols))
    r = np.full(states.r.shape, np.inf)
    low, high = states.known.low.copy(), states.known.high.copy()
    for cell, rows in enumerate(after):
        if rows is None:
            low[:, cell], high[:, cell] = -np.inf, np.inf
            continue
        p[:, cell], r[:, cell] = rows.values[:, :m], rows.values[:, -1]
        g[:, cell, : rows.symbols] = rows.values[:, m:-1]
        ends: Floats = rows.ranges()[moved]
        low[moved, cell], high[moved, cell] = ends[:, 0], ends[:, 1]
    names = np.array([next(space.supply) for _ in range(symbols)], np.int64)
    return Models(space, p, g, names, r, Interval(low, high))
