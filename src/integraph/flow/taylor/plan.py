"""How the Taylor engine runs a segment: linear components by exponentials, the others as lanes of the Taylor kernel.

Components of one structure form one group of lanes: they have the same terms, with coefficients of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.flow.taylor.components import NONE, ComponentKind, Components, TermSplit, components, split
from integraph.flow.taylor.exponentials import Advance, CoupledSystem, DiagonalSystem
from integraph.flow.taylor.quadratic_forms import Forms, Rows, as_slice, forms
from integraph.flow.taylor.wide import SPARSE, WIDE, WideSystem
from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE, Program


@dataclass(frozen=True, slots=True, eq=False)
class TaylorPlan:
    duration: float
    linear: tuple[DiagonalSystem | CoupledSystem, ...]
    written: Rows  # by the linear part
    whole: tuple[Advance, ...]  # the linear part over the whole segment
    lanes: tuple[TaylorLanes, ...]
    footprint: int  # numbers held for one input besides its states

    def over(self, span: float) -> tuple[Advance, ...]:
        return self.whole if span == self.duration else tuple(part.over(span) for part in self.linear)


def make(program: Program, number: int) -> TaylorPlan:
    terms = split(program, number)
    parts = components(terms)
    linear: tuple[DiagonalSystem | CoupledSystem, ...] = (*_decoupled(terms, parts), *_coupled(terms, parts))
    lanes = group_lanes(terms, parts)
    duration = program.segments[number].duration
    footprint = sum(part.footprint for part in linear) + sum(group.footprint for group in lanes)
    written = as_slice(terms.registers[parts.kind[parts.component] != ComponentKind.LANES])
    return TaylorPlan(duration, linear, written, tuple(part.over(duration) for part in linear), lanes, footprint)


def _decoupled(terms: TermSplit, parts: Components) -> tuple[DiagonalSystem, ...]:
    chosen = parts.kind[parts.component] == ComponentKind.DECOUPLED
    if not chosen.any():
        return ()
    terms = parts.of(terms, ComponentKind.DECOUPLED)
    diagonal = terms.b == terms.row
    rate = np.zeros(len(chosen))
    rate[terms.row[diagonal]] = terms.value[diagonal]
    sums = terms[~diagonal]
    moving = sums.b != NONE
    return (
        DiagonalSystem(
            terms.registers[chosen],
            rate[chosen],
            (np.cumsum(chosen) - 1)[sums.row],
            sums.f,
            np.where(moving, terms.registers[sums.b], sums.g),
            sums.value,
            np.where(moving, rate[sums.b], 0.0),
        ),
    )


def _coupled(terms: TermSplit, parts: Components) -> tuple[CoupledSystem, ...]:
    """One stack of matrices for each size of component."""
    terms = parts.of(terms, ComponentKind.COUPLED)
    systems = []
    for size in np.unique(parts.sizes[parts.kind == ComponentKind.COUPLED]).tolist():
        alike = np.flatnonzero((parts.kind == ComponentKind.COUPLED) & (parts.sizes == size))
        rank = np.full(len(parts.sizes), NONE)
        rank[alike] = np.arange(len(alike))
        here = terms[rank[parts.component[terms.row]] != NONE]
        stack, row = rank[parts.component[here.row]], parts.local[here.row]
        reads = here.b != NONE
        matrix = np.zeros((len(alike), size, size))
        matrix[stack[reads], row[reads], parts.local[here.b[reads]]] = here.value[reads]
        rest = here[~reads]
        at = stack[~reads] * size + row[~reads]
        sums = forms(len(alike) * size, at, rest.f, rest.g, rest.value) if len(at) else None
        systems.append(CoupledSystem(terms.registers[parts.members(alike)], matrix, sums))
    return tuple(systems)


@dataclass(frozen=True, slots=True, eq=False)
class TaylorLanes:
    """y_i' = Σ coefficient · source for the registers i of each component. A source is a register, a product of two, or
    the constant 1, numbered in this order; terms come row after row, as starts and sources."""

    registers: Indices  # (registers of a component, components)
    products: Indices  # (n, 2)
    shared: Indices  # terms whose coefficient is a number that all components share
    shared_source: Indices
    shared_value: Floats
    own: Indices  # the others
    own_source: Indices
    own_value: Forms  # (terms, components)
    wide: WideSystem | None  # how a single solution is computed, if there are many registers; terms: shared, own

    @property
    def footprint(self) -> int:
        return self.own_value.footprint


def group_lanes(terms: TermSplit, parts: Components) -> tuple[TaylorLanes, ...]:
    """All components of kind LANES, grouped by structure."""
    terms = parts.of(terms, ComponentKind.LANES)
    if len(terms.row) == 0:
        return ()
    base = int(parts.sizes.max()) + 1
    local = np.append(parts.local, NONE)  # which index −1 finds
    component = parts.component[terms.row]
    key = (local[terms.row] * base + local[terms.a] + 1) * base + local[terms.b] + 1
    order = np.lexsort((key, component))
    terms, component, key = terms[order], component[order], key[order]
    fresh = np.concatenate([[True], (np.diff(component) != 0) | (np.diff(key) != 0)])
    slot = np.cumsum(fresh) - 1  # terms with the same moving factors share a coefficient
    counts = np.bincount(component[fresh], minlength=len(parts.sizes))
    first = np.cumsum(counts) - counts
    lanes = np.flatnonzero(parts.kind == ComponentKind.LANES)
    lane_groups = []
    member = np.empty(len(parts.sizes), np.int64)
    structure = np.empty(len(parts.sizes), np.int64)
    groups = _alike(lanes, parts.sizes[lanes], counts[lanes], first[lanes], key[fresh])
    for number, those in enumerate(groups):
        structure[those], member[those] = number, np.arange(len(those))
    by_structure = np.argsort(structure[component], kind="stable")
    cuts = np.searchsorted(structure[component][by_structure], np.arange(1, len(groups)))
    for those, piece in zip(groups, np.split(by_structure, cuts), strict=True):
        keys = key[fresh][first[those[0]] + np.arange(counts[those[0]])]
        inside = slot[piece] - first[component[piece]]
        registers = np.ascontiguousarray(terms.registers[parts.members(those)].T)
        lane_groups.append(_lanes(registers, keys, base, terms[piece], inside, member[component[piece]]))
    return tuple(lane_groups)


def _alike(lanes: Indices, sizes: Indices, counts: Indices, first: Indices, keys: Indices) -> list[Indices]:
    """The components `lanes` by structure: as many registers, as many terms, and then the same keys."""
    groups = []
    for rough in _partition(lanes, sizes * (int(counts.max()) + 1) + counts):
        at = np.searchsorted(lanes, rough)
        count = int(counts[at[0]])
        table = np.ascontiguousarray(keys[first[at][:, None] + np.arange(count)])
        groups += _partition(rough, table.view(f"V{table.itemsize * count}").ravel())
    return groups


def _partition(items: Indices, label: NDArray[Any]) -> list[Indices]:
    """Items of equal label together, each part in the given order."""
    _, which = np.unique(label, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return np.split(items[order], np.flatnonzero(np.diff(which[order])) + 1)


def _lanes(
    registers: Indices, keys: Indices, base: int, terms: TermSplit, term: Indices, member: Indices
) -> TaylorLanes:
    """One structure, given by its keys; `term` and `member` say to which coefficient of which component a term adds."""
    count, components = registers.shape
    row, left, right = keys // base**2, keys // base % base - 1, keys % base - 1
    pairs, which = np.unique(np.stack([left, right])[:, left != NONE], axis=1, return_inverse=True)
    source = np.where(right == NONE, count + pairs.shape[1], right)
    source[left != NONE] = count + which
    same = np.ones(len(keys), np.bool_)
    same[term[terms.g != ONE]] = False
    numbers = np.zeros((len(keys), components))
    numbers[term, member] = terms.value
    same &= (numbers == numbers[:, :1]).all(1)
    rank = np.cumsum(~same) - 1
    varies = ~same[term]
    own_value = forms(
        int((~same).sum()) * components,
        rank[term[varies]] * components + member[varies],
        terms.f[varies],
        terms.g[varies],
        terms.value[varies],
    )
    rows = np.arange(count + 1)
    wide = None
    if count >= WIDE and len(keys) <= SPARSE * count:
        both = np.argsort(~same, kind="stable")
        wide = WideSystem(count, pairs.T, row[both], source[both], np.where(same, numbers[:, 0], 0.0)[both])
    return TaylorLanes(
        registers,
        np.ascontiguousarray(pairs.T),
        np.searchsorted(row[same], rows),
        source[same],
        numbers[same, 0],
        np.searchsorted(row[~same], rows),
        source[~same],
        own_value,
        wide,
    )
