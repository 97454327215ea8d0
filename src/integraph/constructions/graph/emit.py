"""Runs with times and registers as a program."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from integraph import gadgets
from integraph.constructions.graph.allocation import DECAY, Allocation
from integraph.constructions.graph.forms import GraphForm, Shape, Term
from integraph.constructions.graph.packing import last_lots
from integraph.constructions.graph.runs import INPUT, RunTape, Start, Where
from integraph.constructions.graph.schedule import Schedule
from integraph.constructions.graph.vectorisation import joined, merged
from integraph.numbers.arrays import Floats
from integraph.program import Block, Index, Ref, Registers, Segment, View, segment
from integraph.program.views import dense
from integraph.text import DistinctNames, shortened

LABEL = 72  # characters


def places(tape: RunTape, allocation: Allocation) -> Where:
    """Where the registers of an atom are."""

    def where(atom: int, ref: Ref | None) -> Ref:
        base = allocation.place[atom]
        if ref is None:
            return dense(base, tape.atoms[atom].shape)
        if isinstance(ref, Index):
            return Index(ref.registers + base)
        return View(ref.offset + base, ref.shape, ref.strides)

    return where


def registers(tape: RunTape, allocation: Allocation) -> Registers:
    """Named after those who live there: the first and the last, where there are many. Inputs keep their names."""
    file, distinct = Registers(), DistinctNames()
    for atom in (atom for atom in tape.atoms if atom.run == INPUT):
        file.inputs(distinct(atom.name), max(math.prod(atom.shape), 1))
    lots = sorted(allocation.lots, key=lambda lot: lot.first)
    last, first = last_lots(lots, allocation.width), len(lots) - 1 - last_lots(lots[::-1], allocation.width)
    cuts = sorted({file.width, allocation.width} | {lot.place for lot in lots if lot.place > file.width})
    for start, end in itertools.pairwise(cuts):
        names = [tape.atoms[lots[n].atoms[k]].name for n, k in ((first[start], 0), (last[start], -1))]
        file.new(distinct("…".join(dict.fromkeys(names))), end - start)
    return file


def load(where: Where, atom: int, start: Start, sign: float = 1.0) -> Iterator[Block]:
    """The blocks that add a form to registers, or subtract it. What a single register gets is one sum."""
    target, form = where(atom, start.view), start.form
    bias = sign * form.b if form.b.any() or not form.terms else None
    for degree in (1, 2):
        alike = [term for term in form.terms if len(term.atoms) == degree]
        for terms in [alike] if target.size == 1 and len(alike) > 1 else [[term] for term in alike]:
            refs = [joined([where(term.atoms[n], term.refs[n]) for term in terms]) for n in range(degree)]
            w = terms[0].w if len(terms) == 1 else _side_by_side(terms, form.shape)
            if degree == 2:
                yield gadgets.product(target, *refs, w=sign * w)
            else:
                yield gadgets.affine(target, *refs, w=w if sign == 1.0 else sign * w, b=bias)
                bias = None
    if bias is not None:
        yield gadgets.ramp(target, b=bias)


def _side_by_side(terms: Sequence[Term], shape: Shape) -> Floats:
    return np.concatenate([np.broadcast_to(term.w, (*shape, term.reads)) for term in terms], -1)


def segments(tape: RunTape, time: Schedule, allocation: Allocation, free: str, r: float) -> tuple[Segment, ...]:
    where = places(tape, allocation)
    blocks: dict[int, list[Block]] = defaultdict(list)
    labels: dict[int, dict[str, None]] = defaultdict(dict)
    loaded: dict[int, dict[str, None]] = defaultdict(dict)
    for number, run in enumerate(tape.runs):
        for atom in run.atoms:
            if atom not in time.taken:
                for start in run.starts.get(atom, ()):
                    blocks[time.load[number]].extend(load(where, atom, start))
                    loaded[time.load[number]][f"start of {run.text}"] = None
        for s, stage in enumerate(run.stages, time.begin[number]):
            blocks[s].extend(stage(where))
        for s in range(time.begin[number], time.end[number] + 1):
            labels[s][run.text] = None
    for lot in allocation.lots:
        if lot.freed and free == DECAY:
            blocks[lot.last + 1].append(gadgets.decay(dense(lot.place, (lot.size,)), r=r))
        elif lot.freed:
            for start in allocation.left[lot.atoms[-1]]:
                blocks[lot.last + 1].extend(load(where, lot.atoms[-1], start, -1.0))
    return tuple(segment(_label(labels[s] or loaded[s]), *merged(blocks[s])) for s in range(time.depth))


def _label(texts: dict[str, None]) -> str:
    return shortened("; ".join(filter(None, texts)) or "constant", LABEL)


def readout(where: Where, outputs: Sequence[GraphForm], one: int | None, width: int) -> scipy.sparse.csr_array:
    """C: every output is a linear form of registers; its constant is carried by the register that holds 1."""
    rows, columns, values, first = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)], 0
    for form in outputs:
        lanes = np.arange(first, first + int(np.prod(form.shape)))
        for term in form.terms:
            rows.append(np.repeat(lanes, term.reads))
            columns.append(where(term.atoms[0], term.refs[0]).indices().reshape(-1))
            values.append(np.broadcast_to(term.w, (*form.shape, term.reads)).reshape(-1))
        if form.b.any():
            assert one is not None
            rows.append(lanes)
            columns.append(np.full(len(lanes), where(one, None).indices().reshape(-1)[0]))
            values.append(np.broadcast_to(form.b, form.shape).reshape(-1))
        first += len(lanes)
    where_, data = (np.concatenate(rows), np.concatenate(columns)), np.concatenate(values)
    matrix = scipy.sparse.csr_array((data, where_), shape=(first, width))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
