"""Runs with times and registers as a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from integraph import gadgets
from integraph.constructions.graph.allocation import DECAY, Allocation, names
from integraph.constructions.graph.forms import Form
from integraph.constructions.graph.runs import Start, Tape, Where
from integraph.constructions.graph.timing import Timing
from integraph.program import Block, Index, Ref, Registers, Segment, View, segment
from integraph.program.views import dense

LABEL = 72  # characters


def places(tape: Tape, allocation: Allocation) -> Where:
    """Where the registers of an atom are."""

    def where(atom: int, ref: Ref | None) -> Ref:
        base = allocation.place[atom]
        if ref is None:
            return dense(base, tape.atoms[atom].shape)
        if isinstance(ref, Index):
            return Index(ref.registers + base)
        return View(ref.offset + base, ref.shape, ref.strides)

    return where


def registers(tape: Tape, allocation: Allocation) -> Registers:
    """Named after those who live there: the first and the last, where there are many."""
    found, inhabitants = Registers(), names(tape, allocation.lots)
    cuts = sorted({lot.place for lot in allocation.lots} | {allocation.width})
    taken: set[str] = set()
    inputs = {allocation.place[n] for n, atom in enumerate(tape.atoms) if atom.run < 0}
    for start, end in zip(cuts, cuts[1:], strict=False):
        who = inhabitants[start]
        name = who[0] if len(set(who)) == 1 else f"{who[0]}…{who[-1]}"
        while name in taken:
            name += "'"
        taken.add(name)
        make = found.inputs if start in inputs else found.new
        make(name, end - start)
    return found


def load(where: Where, atom: int, start: Start, sign: float = 1.0) -> Iterator[Block]:
    """The blocks that add a form to registers, or subtract it."""
    target, form = where(atom, start.view), start.form
    bias = sign * form.b if form.b.any() else None
    for term in form.terms:
        refs = [where(a, ref) for a, ref in zip(term.atoms, term.refs, strict=True)]
        w = term.w if sign == 1.0 else sign * term.w
        if len(refs) == 2:
            yield gadgets.product(target, *refs, w=w)
        else:
            yield gadgets.affine(target, *refs, w=w, b=bias)
            bias = None
    if bias is not None:
        yield gadgets.ramp(target, b=bias)


def segments(tape: Tape, time: Timing, allocation: Allocation, free: str, r: float) -> tuple[Segment, ...]:
    where = places(tape, allocation)
    blocks: dict[int, list[Block]] = defaultdict(list)
    labels: dict[int, dict[str, None]] = defaultdict(dict)
    for number, run in enumerate(tape.runs):
        for atom in run.atoms:
            if atom not in time.taken:
                for start in run.starts.get(atom, ()):
                    blocks[time.load[number]].extend(load(where, atom, start))
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
    return tuple(segment(_label(labels[s]), *blocks[s]) for s in range(time.depth))


def _label(texts: dict[str, None]) -> str:
    text = "; ".join(texts) or "load"
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"


def readout(where: Where, outputs: Sequence[Form], one: int | None, width: int) -> scipy.sparse.csr_array:
    """C: every output is a linear form of registers; its constant is carried by the register that holds 1."""
    rows, columns, values, first = [], [], [], 0
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
    found = scipy.sparse.csr_array((data, where_), shape=(first, width))
    found.sum_duplicates()
    return found
