"""A segment's terms as independent systems y' = c + L y + Q(y, y) over balls, for the validated Taylor step.

Registers without terms are frozen: they go into the coefficients. The others split into components that do not
depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy
from flint import arb

from integraph.numbers.arb.conversion import ZERO, Balls, largest
from integraph.numbers.arb.majorant import LEAST, Sizes
from integraph.program import ONE, Program, Terms
from integraph.program.terms import concatenate

Entries = dict[tuple[int, int], arb]


@dataclass(slots=True, eq=False)
class System:
    """Of the registers listed; everything else counts them from 0."""

    registers: list[int]
    constant: Balls
    linear: Entries = field(default_factory=dict)  # (i, a) → coefficient of y_a
    quadratic: dict[tuple[int, int], list[tuple[int, arb]]] = field(default_factory=dict)  # (a, b) → i, coefficient

    def each(self, change: Callable[[arb], arb]) -> System:
        """The system with every coefficient changed."""
        linear = {spot: change(c) for spot, c in self.linear.items()}
        quadratic = {pair: [(i, change(c)) for i, c in rows] for pair, rows in self.quadratic.items()}
        return System(self.registers, [change(c) for c in self.constant], linear, quadratic)

    def coefficients(self) -> Iterator[arb]:
        yield from self.constant
        yield from self.linear.values()
        yield from (c for rows in self.quadratic.values() for _, c in rows)

    def slope(self, y: Balls) -> Balls:
        """F = y'."""
        slope = list(self.constant)
        for (i, a), c in self.linear.items():
            slope[i] += c * y[a]
        for (a, b), rows in self.quadratic.items():
            product = y[a] * y[b]
            for i, c in rows:
                slope[i] += c * product
        return slope

    def jacobian(self, y: Balls) -> Entries:
        entries = dict(self.linear)
        for (a, b), rows in self.quadratic.items():
            for i, c in rows:
                entries[i, a] = entries.get((i, a), ZERO) + c * y[b]
                entries[i, b] = entries.get((i, b), ZERO) + c * y[a]
        return entries

    def series(self, y: Balls, order: int) -> list[Balls]:
        """For each register the Taylor coefficients of its solution from y, up to t^order."""
        result = [[start] for start in y]
        for n in range(order):
            rate = list(self.constant) if n == 0 else [ZERO] * len(y)
            for (i, a), c in self.linear.items():
                rate[i] += c * result[a][n]
            for (a, b), rows in self.quadratic.items():
                product = sum((p * q for p, q in zip(result[a], reversed(result[b]), strict=True)), ZERO)
                for i, c in rows:
                    rate[i] += c * product
            for coefficients, r in zip(result, rate, strict=True):
                coefficients.append(r / (n + 1))
        return result


def sizes(system: System, slope: Balls, jacobian: Entries) -> Sizes:
    """|F|, |J| and |Q| of the system."""
    spots = np.array(list(jacobian), np.int64).reshape(-1, 2)
    listed = [(i, a, b, largest(c)) for (a, b), rows in system.quadratic.items() for i, c in rows]
    i, a, b = np.array([row[:3] for row in listed], np.int64).reshape(-1, 3).T
    entries, bent = np.array([largest(c) for c in jacobian.values()]), np.array([row[3] for row in listed])
    slopes = np.array([max(largest(f), LEAST) for f in slope])
    return Sizes(slopes, spots[:, 0], spots[:, 1], entries, i, a, b, bent)


def systems(program: Program, number: int, states: Balls) -> Iterator[System]:
    """Of segment `number`, with the frozen registers at their values in `states`."""
    terms = concatenate(list(program.segment_terms(number)))
    if not len(terms):
        return
    moving = np.unique(terms.i)
    local = np.full(program.width + 1, -1)  # index −1, the constant 1, does not move
    local[moving] = np.arange(len(moving))
    edges = [(terms.i[seen], read[seen]) for read in (terms.j, terms.k) for seen in (local[read] >= 0,)]
    rows, columns = (np.concatenate(part) for part in zip(*edges, strict=True))
    shape = (len(moving), len(moving))
    graph = scipy.sparse.coo_array((np.ones(len(rows), np.int8), (local[rows], local[columns])), shape=shape)
    count, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    by_label, order = np.argsort(label, kind="stable"), np.argsort(label[local[terms.i]], kind="stable")
    members = np.split(moving[by_label], np.cumsum(np.bincount(label, minlength=count))[:-1])
    pieces = np.cumsum(np.bincount(label[local[terms.i]], minlength=count))
    for registers, first, last in zip(members, [0, *pieces[:-1]], pieces, strict=True):
        yield _system(registers.tolist(), terms[order[first:last]], states)


def _system(registers: list[int], terms: Terms, states: Balls) -> System:
    position = {register: n for n, register in enumerate(registers)}
    system = System(registers, [ZERO] * len(registers))
    listed = (terms.i.tolist(), terms.j.tolist(), terms.k.tolist(), terms.value.tolist())
    for i, j, k, value in zip(*listed, strict=True):
        row, c = position[i], arb(value)
        moving = [position[r] for r in (j, k) if r in position]
        for r in (j, k):
            if r not in position and r != ONE:
                c *= states[r]
        if len(moving) == 2:
            system.quadratic.setdefault((moving[0], moving[1]), []).append((row, c))
        elif moving:
            system.linear[row, moving[0]] = system.linear.get((row, moving[0]), ZERO) + c
        else:
            system.constant[row] += c
    return system
