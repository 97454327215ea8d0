"""How the Taylor engine runs a segment: linear components by exponentials, the others as lanes of the Taylor kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from integraph.flow.taylor.components import NONE, ComponentKind, Components, TermSplit, components, split
from integraph.flow.taylor.exponentials import Advance, CoupledSystem, DiagonalSystem
from integraph.flow.taylor.factors import factor_lanes, factored
from integraph.flow.taylor.lanes import TaylorLanes, group_lanes
from integraph.flow.taylor.quadratic_forms import Rows, as_slice, forms
from integraph.program import Program


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
    segment = program.segments[number]
    low_rank = [block for block in segment.blocks if factored(block)]
    rest = replace(segment, blocks=tuple(block for block in segment.blocks if not factored(block)))
    terms = split(program, rest)
    parts = components(terms)
    linear: tuple[DiagonalSystem | CoupledSystem, ...] = (*_decoupled(terms, parts), *_coupled(terms, parts))
    lanes = (
        *group_lanes(terms, parts),
        *(factor_lanes(block, segment.rate, program.scales) for block in low_rank),
    )
    duration = segment.duration
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
