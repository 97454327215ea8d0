"""Split a segment's terms by which registers move. Registers without terms are frozen; the others split into components
that do not depend on each other, and each component is solved in the simplest way that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import scipy
from numpy.typing import NDArray

from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE, Program, Segment
from integraph.program.lowering import stream_segment
from integraph.program.terms import concatenate

NONE = -1
MAX_COUPLED = 128  # registers of a linear component up to which its matrix exponential pays
MAX_NORM = 1e6  # of its matrix times the duration: squaring multiplies rounding errors by about as much

Mask = NDArray[np.bool_]


class ComponentKind(IntEnum):
    DECOUPLED = 0  # linear, and what a row reads has no sum of its own
    COUPLED = 1  # linear: chains and cycles
    LANES = 2  # everything else


@dataclass(frozen=True, slots=True, eq=False)
class TermSplit:
    """Terms value · y_a y_b · y_f y_g in the derivative of `row`: a ≤ b move (positions among `registers`, −1 if none),
    f ≤ g are frozen (registers, −1 for the constant 1)."""

    duration: float
    registers: Indices  # those that move
    row: Indices  # position among them
    a: Indices
    b: Indices
    f: Indices
    g: Indices
    value: Floats

    def __getitem__(self, chosen: Mask | Indices) -> TermSplit:
        row, a, b, f, g = (array[chosen] for array in (self.row, self.a, self.b, self.f, self.g))
        return TermSplit(self.duration, self.registers, row, a, b, f, g, self.value[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Which moving registers (by position) belong together, and how each component is solved."""

    component: Indices  # of every register
    local: Indices  # its number inside
    sizes: Indices
    kind: NDArray[np.int8]
    order: Indices  # registers, component after component

    def members(self, components: Indices) -> Indices:
        """The registers of components of one size: (components, size)."""
        starts: Indices = (np.cumsum(self.sizes) - self.sizes)[components]
        result: Indices = self.order[starts[:, None] + np.arange(self.sizes[components[0]])]
        return result

    def of(self, terms: TermSplit, kind: ComponentKind) -> TermSplit:
        return terms[self.kind[self.component[terms.row]] == kind]


def split(program: Program, segment: Segment) -> TermSplit:
    """The terms of a segment of the program, or of some of its blocks."""
    terms = concatenate(list(stream_segment(segment, program.width, program.scales)))
    i, j, k = (index.astype(np.int64) for index in (terms.i, terms.j, terms.k))
    moves = np.zeros(program.width + 1, np.bool_)  # the last is the constant 1, which index −1 finds
    moves[i] = True
    registers = np.flatnonzero(moves)
    position = np.full(program.width + 1, NONE)
    position[registers] = np.arange(len(registers))
    both, neither = moves[j] & moves[k], ~(moves[j] | moves[k])
    a = np.where(both, position[j], NONE)
    b = np.maximum(position[j], position[k])
    f = np.where(neither, j, ONE)
    g = np.where(both, ONE, np.where(moves[k], j, k))
    return TermSplit(segment.duration, registers, position[i], a, b, f, g, terms.value)


def components(terms: TermSplit) -> Components:
    count = len(terms.registers)
    reads_a, reads_b = terms.a != NONE, terms.b != NONE
    row = np.concatenate([terms.row[reads_a], terms.row[reads_b]])
    column = np.concatenate([terms.a[reads_a], terms.b[reads_b]])
    graph = scipy.sparse.coo_array((np.ones(len(row), np.bool_), (row, column)), shape=(count, count))
    from scipy.sparse.csgraph import connected_components  # slow to import

    component = connected_components(graph, directed=False)[1].astype(np.int64)
    sizes = np.bincount(component)
    order = np.argsort(component, kind="stable")
    local = np.empty(count, np.int64)
    local[order] = np.arange(count) - (np.cumsum(sizes) - sizes)[component[order]]
    return Components(component, local, sizes, _kinds(terms, component, sizes), order)


def _kinds(terms: TermSplit, component: Indices, sizes: Indices) -> NDArray[np.int8]:
    reads = terms.b != NONE
    others = reads & (terms.b != terms.row)
    sums = np.zeros(len(component), np.bool_)
    sums[terms.row[others | ~reads]] = True
    chains = others & sums[terms.b]
    varying = (terms.a != NONE) | (reads & (terms.g != ONE))  # the matrix depends on the states
    kind = np.full(len(sizes), ComponentKind.DECOUPLED, np.int8)
    kind[component[terms.row[chains]]] = ComponentKind.COUPLED
    norm = np.zeros(len(sizes))
    rows = np.bincount(terms.row[reads], np.abs(terms.value[reads]), minlength=len(component))
    np.maximum.at(norm, component, rows)
    exact = (sizes <= MAX_COUPLED) & (norm * terms.duration <= MAX_NORM)
    kind[(kind == ComponentKind.COUPLED) & ~exact] = ComponentKind.LANES
    kind[component[terms.row[varying]]] = ComponentKind.LANES
    return kind
