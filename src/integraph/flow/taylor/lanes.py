"""Lanes of the Taylor kernel: components of a segment that are not linear, those of one structure together.

They have the same terms, with coefficients of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from integraph.flow.taylor.components import NONE, ComponentKind, Components, TermSplit
from integraph.flow.taylor.quadratic_forms import Forms, forms
from integraph.numbers.arrays import Floats, Indices
from integraph.program import ONE


@dataclass(frozen=True, slots=True, eq=False)
class TaylorLanes:
    """y_i' = Σ coefficient · source for the registers i of each component. A source is a register, a linear form of
    registers, a product of two of these, or the constant 1, numbered in this order; terms come row after row, as starts
    and sources."""

    registers: Indices  # (registers of a component, components)
    forms: Indices  # terms of the linear forms
    forms_source: Indices
    forms_value: Floats
    forms_start: Forms  # what they add to that: (forms, components)
    products: Indices  # (n, 2), registers or forms
    shared: Indices  # terms whose coefficient is a number that all components share
    shared_source: Indices
    shared_value: Floats
    own: Indices  # the others
    own_source: Indices
    own_value: Forms  # (terms, components)

    @property
    def footprint(self) -> int:
        return self.own_value.footprint + self.forms_start.footprint


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
    rows, none = np.arange(count + 1), np.zeros(0, np.int64)
    return TaylorLanes(
        registers,
        np.zeros(1, np.int64),
        none,
        np.zeros(0),
        forms(0, none, none, none, np.zeros(0)),
        np.ascontiguousarray(pairs.T),
        np.searchsorted(row[same], rows),
        source[same],
        numbers[same, 0],
        np.searchsorted(row[~same], rows),
        source[~same],
        own_value,
    )
