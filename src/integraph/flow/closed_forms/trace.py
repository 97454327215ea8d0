"""From a program to the operations of its closed forms: every block runs once on symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.flow.closed_forms.contraction import contract
from integraph.flow.closed_forms.expansions import expansions
from integraph.flow.closed_forms.functions import SymbolFunctions
from integraph.flow.closed_forms.liveness import prune
from integraph.flow.closed_forms.operations import ELEMENTWISE, ClosedForms
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol
from integraph.flow.closed_forms.register_file import RegisterFile
from integraph.gadgets.gadget import Closed, Gadget, with_affine_form
from integraph.program.views import Index, dense

if TYPE_CHECKING:
    from integraph.program import Block, Program

EVERY = frozenset(ELEMENTWISE)
DENSE = 4  # of so many registers of a read-out one must have a weight for a matrix to pay


def trace(program: Program, native: frozenset[str] = EVERY, kind: type = np.float64) -> ClosedForms:
    """The closed forms of a program. `native` are the elementwise operations that may be used, `kind` the numbers that
    they will compute with."""
    recorder = Recorder(native, expansions(), kind)
    f, registers = SymbolFunctions(recorder), RegisterFile(recorder, program.width)
    given: Array = recorder.record("input", lanes=(program.inputs,))
    scales = np.ones(program.width) if program.scales is None else program.scales
    ends, positive = [given], []
    registers.write(dense(0, (program.inputs,)), given * scales[: program.inputs, None])
    for segment in program.segments:
        for block in segment.blocks:
            closed = _closed(f, block, segment.tau, registers)
            for ref, end in zip(block.targets, closed.ends, strict=True):
                registers.write(ref, end)
            ends += closed.ends
            positive += [_guard(block, quantity) for quantity in closed.alive.values()]
    outputs = _outputs(program, scales, registers)
    needed = [one.index for one in positive if isinstance(one, Symbol)]
    return prune(recorder.operations, outputs.index, needed, [end.index for end in ends if isinstance(end, Symbol)])


def _closed(f: SymbolFunctions, block: Block, t: float, registers: RegisterFile) -> Closed:
    if not isinstance(block.op, Gadget) or not block.op.exact:
        raise UsageError(
            f"a block of the gadget {block.op.name!r} has no closed form: choose a format of equations, such as json"
        )
    start, operands = (tuple(registers.read(ref) for ref in refs) for refs in (block.targets, block.operands))
    shortcut = _FROM_ZERO.get(block.op.name)
    arguments = with_affine_form(block, start, operands)
    if shortcut is not None and not any(isinstance(one, Symbol) or np.any(one) for one in start):
        return Closed(shortcut(f, t, arguments[1][0]))
    with np.errstate(all="ignore"):
        return block.op.closed(f, t, *arguments)


def _guard(block: Block, quantity: Array) -> Array:
    if not isinstance(quantity, Symbol) and not (np.asarray(quantity) > 0).all():
        raise UsageError(f"the flow of a block of the gadget {block.op.name!r} ends too early, whatever the input")
    return quantity


def _outputs(program: Program, scales: np.ndarray, registers: RegisterFile) -> Symbol:
    """C y: one register each, or a matrix product, or, of a sparse read-out, a sum for each output."""
    readout, recorder = program.readout, registers.recorder
    weights = readout.multiply(1.0 / scales[None, :]).tocsr()
    counts, used = np.diff(weights.indptr), np.unique(weights.indices).astype(np.int64)
    most = int(counts.max(initial=0))
    if DENSE * most > len(used) > 1 and most > 1:
        value = contract(recorder, weights[:, used].toarray()[..., None], registers.read(Index(used))[None])
    else:
        places, factors = np.zeros((program.outputs, max(most, 1)), np.int64), np.zeros((program.outputs, max(most, 1)))
        rows = np.repeat(np.arange(program.outputs), counts)
        columns = np.arange(len(rows)) - np.repeat(weights.indptr[:-1], counts)
        places[rows, columns], factors[rows, columns] = weights.indices, weights.data
        value = contract(recorder, factors[..., None], registers.read(Index(places)))
    value = recorder.broadcast(value, (program.outputs,))
    if isinstance(value, Symbol):
        return value
    return recorder.record("broadcast", value[..., 0], lanes=(program.outputs,))


def _tanh(f: SymbolFunctions, t: float, x: Array) -> tuple[Array, ...]:
    alpha = f.tanh(t * x)
    return alpha, x * alpha


def _log_cosh(f: SymbolFunctions, t: float, x: Array) -> tuple[Array, ...]:
    return x * f.tanh(t * x), f.log_cosh(t * x, 0.0)


_FROM_ZERO: dict[str, Callable[[SymbolFunctions, float, Array], tuple[Array, ...]]] = {
    "tanh": _tanh,
    "log_cosh": _log_cosh,
}
