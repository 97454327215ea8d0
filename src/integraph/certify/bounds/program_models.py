"""The flow of a program on polynomial models: every register a row, every block its closed form.

A block whose closed form would be wide on models is computed on balls, cell by cell. A segment with blocks that have no
closed form, or with rounded controls, is a linear flow if it can be; else it takes Taylor steps on models, by a tape of
its terms if they are few, by the factors of its free-form blocks if they are many, and on balls if it has neither.
Where a solution may end before its segment does, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb
from numpy.typing import NDArray

from integraph.certify.bounds.free_models import free_models
from integraph.certify.bounds.gadget_models import LINEAR, closed_models
from integraph.certify.bounds.linear_segments import LinearSegment, linear_segment
from integraph.certify.bounds.model_arrays import ModelArray, times
from integraph.certify.bounds.quadratic_flow import QuadraticFlow, quadratic_flow
from integraph.certify.enclosure import taylor_step
from integraph.certify.enclosure.closed_forms import advance
from integraph.certify.enclosure.systems import systems
from integraph.certify.problem import Unprovable
from integraph.certify.ranges.segment_flow import ends, has_closed_form
from integraph.clock import check_deadline
from integraph.gadgets import Closed
from integraph.gadgets.free_form import FreeForm
from integraph.gadgets.functions.arb import BALLS
from integraph.numbers.arb import conversion
from integraph.numbers.arb.conversion import FIRST, precision
from integraph.numbers.arrays import Floats, Indices
from integraph.numbers.intervals import Interval
from integraph.numbers.models.models import Models, folded, of_interval, together
from integraph.program import Block, Program, Segment

_ball = np.frompyfunc(conversion.interval, 2, 1)
SegmentForm = LinearSegment | QuadraticFlow | Literal["closed", "free"] | None  # None: nothing but balls
_FORMS: WeakKeyDictionary[Program, tuple[SegmentForm, ...]] = WeakKeyDictionary()


def program_models(program: Program, x: Models) -> Models:
    """The outputs C y(T), from the inputs."""
    forms = segment_forms(program)
    states = at_start(program, x)
    with precision(FIRST):
        for number, segment in enumerate(program.segments):
            check_deadline()
            form = forms[number]
            if form is None:
                states = _by_taylor_steps(program, number, states)
                continue
            if isinstance(form, QuadraticFlow):
                states = form.ends(states)
                continue
            if isinstance(form, LinearSegment):
                states = _written(states, form.moved, form.ends(states))
                continue
            free, rest = _parted(segment)
            for block in free:
                states = _free(program, segment, block, states)
            if rest:
                states = advance_models(segment, rest, states, program.scales)
    readout = program.readout
    return states.affine(readout.toarray(), np.zeros(program.outputs), fresh=False)


def segment_forms(program: Program) -> tuple[SegmentForm, ...]:
    """What is known of the flow of each segment, with its controls as stored."""
    forms = _FORMS.get(program)
    if forms is None:
        forms = _FORMS[program] = tuple(_form(program, number) for number in range(program.depth))
    return forms


def _form(program: Program, number: int) -> SegmentForm:
    segment = program.segments[number]
    if has_closed_form(program, segment):
        return "closed"
    linear = linear_segment(program, number)
    if linear is not None:
        return linear
    flow = quadratic_flow(program, number)
    free, rest = _parted(segment)
    if flow is not None or not free:
        return flow
    return "free" if not rest or has_closed_form(program, replace(segment, blocks=rest)) else None


def _parted(segment: Segment) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Free-form blocks, and the others. They do not depend on each other: what a block reads, no other writes."""
    free = tuple(block for block in segment.blocks if isinstance(block.op, FreeForm))
    return free, tuple(block for block in segment.blocks if not isinstance(block.op, FreeForm))


def _free(program: Program, segment: Segment, block: Block, states: Models) -> Models:
    """The states after a free-form block, in the units of the program."""
    assert isinstance(block.op, FreeForm)
    y, x = (ref.indices().reshape(-1) for ref in block.refs())
    scales = None if program.scales is None else program.scales[np.concatenate([y, x])]
    field = block.op.field(block).scaled(segment.rate, scales)
    ends, alive = free_models(field, states.take(y), states.take(x) if len(x) else None, segment.duration)
    return _where(_written(states, y, ends), alive)


def at_start(program: Program, x: Models) -> Models:
    """The inputs, and 0 in every other register."""
    rows = np.zeros(program.width, np.int64)
    rows[: program.inputs] = np.arange(program.inputs)
    states = x.take(rows)
    for array in (states.p, states.g, states.r, states.known.low, states.known.high):
        array[program.inputs :] = 0.0
    return states


def scaled(states: Models, scales: Floats | None) -> Models:
    return states if scales is None else times(states, Interval(scales[:, None], scales[:, None]))


def advance_models(segment: Segment, blocks: Iterable[Block], states: Models, scales: Floats | None) -> Models:
    """The states after blocks that have closed forms, in the units of the program."""
    states, t = scaled(states, scales), arb(segment.duration) * arb(segment.rate)
    for block in blocks:
        rows, alive = block_models(segment, block, t, states)
        for registers, values in rows:
            states = _written(states, registers, values if block.op in LINEAR else values.with_symbols())
        states = _where(states, alive)
    return scaled(states, None if scales is None else 1.0 / scales)  # powers of 2


def block_models(
    segment: Segment, block: Block, t: arb, states: Models
) -> tuple[list[tuple[Indices, Models]], NDArray[np.bool_]]:
    """What the registers of a block are after time t, of its own units, and the cells in which they have values."""
    with np.errstate(all="ignore"):
        closed = closed_models(block, t, states)
        if closed is None:
            closed = _on_balls(segment, block, t, states)
    rows = [
        (ref.indices().reshape(-1), value.placed((*ref.shape, 1)).rows)
        for ref, value in zip(block.targets, closed.ends, strict=True)
    ]
    return rows, _alive(closed, states.space.cells)


def _where(states: Models, alive: NDArray[np.bool_]) -> Models:
    """The states, of which nothing is known in cells where the flow may have ended."""
    return ModelArray(states, (len(states), 1)).known_where(np.broadcast_to(alive, states.r.shape)).rows


def _alive(closed: Closed, cells: int) -> NDArray[np.bool_]:
    """The cells from which the solutions of a block provably exist."""
    alive = np.ones(cells, np.bool_)
    for quantity in closed.alive.values():
        if isinstance(quantity, ModelArray):
            alive &= (quantity.known.low > 0).all(0)
        else:
            alive &= bool(np.greater(quantity, 0).all())
    return alive


def _written(states: Models, registers: Indices, rows: Models) -> Models:
    """The states with other rows in some registers."""
    states, rows = together(states, rows)
    parts = []
    for old, new in ((states.p, rows.p), (states.g, rows.g), (states.r, rows.r)):
        parts.append(old.copy())
        parts[-1][registers] = new
    low, high = states.known.low.copy(), states.known.high.copy()
    low[registers], high[registers] = rows.known.low, rows.known.high
    p, g, r = parts
    return folded(Models(states.space, p, g, states.names, r, Interval(low, high)))


def _on_balls(segment: Segment, block: Block, t: arb, states: Models) -> Closed:
    """The closed form on Arb's balls, cell by cell; it forgets what registers have in common."""
    balls: Any = _ball(states.known.low, states.known.high)
    closed = advance(BALLS, segment, block, t, balls)
    cells = states.space.cells

    def rows(value: Any, shape: tuple[int, ...]) -> ModelArray:
        array = np.broadcast_to(np.asarray(value, object), (*shape, cells))
        around = ends(array.reshape(-1, cells))
        return ModelArray(of_interval(states.space, around), (*shape, 1))

    values = [rows(value, ref.shape) for ref, value in zip(block.targets, closed.ends, strict=True)]
    alive = {role: rows(value, np.shape(value)[:-1]) for role, value in closed.alive.items()}
    return Closed(tuple(values), alive)


def _by_taylor_steps(program: Program, number: int, states: Models) -> Models:
    """Cell by cell, from the terms."""
    balls: Any = _ball(states.known.low, states.known.high)
    after: Any = balls.copy()
    alive = np.ones(states.space.cells, np.bool_)
    for cell in range(states.space.cells):
        check_deadline()
        column = balls[:, cell].tolist()
        try:
            for system in systems(program, number, column):
                start = [column[r] for r in system.registers]
                after[system.registers, cell] = taylor_step.integrate(system, start, program.segments[number].duration)
        except Unprovable:
            alive[cell] = False
    moved = np.unique(np.concatenate([part.i for part in program.segment_terms(number)] or [np.zeros(0, np.int64)]))
    rows = of_interval(states.space, ends(after[moved])).with_symbols()
    return _where(_written(states, moved, rows), alive)
