"""From a plan to a tape: the closed forms of a small program run once on nodes.

A tape is for programs of few numbers, where numpy's calls would cost more than its arithmetic: formulas. Networks keep
their matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from integraph.flow.exact.plan import ExactPlan, PlannedBlock
from integraph.flow.exact.schedule import Code, schedule
from integraph.flow.exact.tape import Node, NoTape, Tape
from integraph.flow.exact.tape_functions import FAR, NEAR, TAPE
from integraph.gadgets.gadget import Gadget, arguments
from integraph.program.views import mark

SHORT = 400  # instructions
NUMBERS = 1500  # registers and weights of the blocks of a program, beyond which it is not tried


def trace(plan: ExactPlan) -> Code | None:
    """The outputs of a program as a tape; None where it has none."""
    blocks = [planned.block for planned in plan.planned]
    if sum(given.size for block in blocks for given in (*block.refs(), *block.tensors.values())) > NUMBERS:
        return None
    try:
        return _trace(plan)
    except (NoTape, TypeError):  # a gadget of somebody else may use numpy, which does not know nodes
        return None


def _trace(plan: ExactPlan) -> Code:
    program = plan.program
    tape = Tape(program.inputs, SHORT)
    states = np.full((program.width, 1), 0.0, object)
    for n in range(program.inputs):
        states[n, 0] = Node(tape, n) * (1.0 if program.scales is None else program.scales[n])
        tape.guard(states[n, 0])
    for planned in plan.planned:
        _advance(tape, planned, states)
    scales = np.ones(program.width) if program.scales is None else program.scales
    readout, outputs = program.readout, []
    for first, last in zip(readout.indptr[:-1], readout.indptr[1:], strict=True):
        registers = readout.indices[first:last]
        weights = readout.data[first:last] * (1.0 / scales[registers])
        outputs.append(sum(w * y for w, y in zip(weights.tolist(), states[registers, 0], strict=True)))
    return schedule(tape, outputs)


def _advance(tape: Tape, planned: PlannedBlock, states: Any) -> None:
    """One block; what it must leave positive or finite becomes a guard."""
    block = planned.block
    assert isinstance(block.op, Gadget)
    start, operands, tensors = arguments(block, states)
    from_zero = _FROM_ZERO.get(block.op.name) if planned.fresh else None
    if from_zero is not None:
        ends = tuple(np.frompyfunc(partial(from_zero, tape, planned.t), 1, 2)(operands[0]))
    else:
        closed = block.op.closed(TAPE, planned.t, start, operands, tensors)
        ends = closed.ends
        for quantity in closed.alive.values():
            for value in np.ravel(quantity):
                tape.guard(value, NEAR, FAR)
    for ref, end, live in zip(block.targets, ends, planned.live, strict=True):
        mark(ref, states, end)
        if live:
            for value in np.ravel(end):
                tape.guard(value)


def _tanh(tape: Tape, t: float, x: Any) -> tuple[Any, Any]:
    alpha = tape.push("tanh", t * x)
    return alpha, x * alpha


def _log_cosh(tape: Tape, t: float, x: Any) -> tuple[Any, Any]:
    return x * tape.push("tanh", t * x), TAPE.log_cosh(t * x, 0.0)


_FROM_ZERO: dict[str, Callable[[Tape, float, Any], tuple[Any, Any]]] = {"tanh": _tanh, "log_cosh": _log_cosh}
