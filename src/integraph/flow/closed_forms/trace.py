"""From a program to the operations of its closed forms: every block runs once on symbolic arrays."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from integraph.errors import UsageError
from integraph.flow.closed_forms.contraction import contract
from integraph.flow.closed_forms.expansions import expansions
from integraph.flow.closed_forms.free_forms import free_form
from integraph.flow.closed_forms.functions import SymbolFunctions
from integraph.flow.closed_forms.liveness import prune, spoils
from integraph.flow.closed_forms.operations import EVERY, ClosedForms
from integraph.flow.closed_forms.parameters import READOUT, Parameters, Place
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol
from integraph.flow.closed_forms.register_file import RegisterFile
from integraph.flow.closed_forms.shortcuts import shortcut
from integraph.gadgets.free_form import FreeForm
from integraph.gadgets.gadget import Closed, Gadget, with_affine_form
from integraph.program.views import Index, dense

if TYPE_CHECKING:
    from integraph.program import Block, Program

DENSE = 4  # of so many registers of a read-out one must have a weight for a matrix to pay


def trace(
    program: Program,
    native: frozenset[str] = EVERY,
    kind: type = np.float64,
    parameters: Parameters | None = None,
    free: Collection[str] = (),
) -> ClosedForms:
    """The closed forms of a program. `native` are the operations that may be used, `kind` the numbers that they will
    compute with, `free` the names of the parameters that stay symbols; the others are constants."""
    recorder = Recorder(native, expansions(), kind)
    f, registers = SymbolFunctions(recorder), RegisterFile(recorder, program.width)
    tensors = _Tensors(recorder, parameters, free)
    given: Array = recorder.record("input", lanes=(program.inputs,))
    scales = np.ones(program.width) if program.scales is None else program.scales
    ends: list[Array] = [given]
    positive: list[tuple[Symbol, tuple[Array, ...]]] = []
    registers.write(dense(0, (program.inputs,)), given * scales[: program.inputs, None])
    for number, segment in enumerate(program.segments):
        for place, block in enumerate(segment.blocks):
            closed, short = _closed(f, block, segment.tau, registers, tensors.of(block, number, place))
            alive = [_guard(block, quantity) for quantity in closed.alive.values()]
            if recorder.smooth and not short:
                closed = Closed(tuple(_spoilt(f, end, alive) for end in closed.ends))
            for ref, end in zip(block.targets, closed.ends, strict=True):
                registers.write(ref, end)
            ends += () if short else closed.ends
            positive += [(one, closed.ends) for one in alive if isinstance(one, Symbol)]
    outputs = _outputs(program, scales, registers, tensors)
    covered = spoils(recorder.operations, outputs.index) if recorder.smooth else set()
    needed = [
        one.index
        for one, spoilt in positive
        if not any(end.index in covered and _over(one, end) is not None for end in spoilt if isinstance(end, Symbol))
    ]
    return prune(recorder.operations, outputs.index, needed, [end.index for end in ends if isinstance(end, Symbol)])


class _Tensors:
    """The tensors of blocks as closed forms take them: symbols for those that are free."""

    def __init__(self, recorder: Recorder, parameters: Parameters | None, free: Collection[str]) -> None:
        self.recorder, self.parameters, self.free = recorder, parameters, free

    def of(self, block: Block, segment: int, place: int) -> dict[str, Array]:
        return {name: self._tensor(tensor, (segment, place, name)) for name, tensor in block.tensors.items()}

    def _tensor(self, tensor: np.ndarray, place: Place) -> Array:
        name = "" if self.parameters is None else self.parameters.names.get(place, "")
        if self.parameters is None or name not in self.free:
            return tensor[..., None]
        stored = self.recorder.record("parameter", lanes=self.parameters.values[name].shape, name=name)
        return self.recorder.reshape(stored, tensor.shape)

    def readout(self, data: np.ndarray) -> Array:
        """The weights of the read-out in a row, and a 0 at its end."""
        if READOUT not in self.free:
            return np.append(data, 0.0)[:, None]
        stored = self.recorder.record("parameter", lanes=data.shape, name=READOUT)
        return self.recorder.record("concatenate", stored, np.zeros(1), lanes=(len(data) + 1,))


def _closed(
    f: SymbolFunctions, block: Block, t: float, registers: RegisterFile, tensors: dict[str, Array]
) -> tuple[Closed, bool]:
    """The ends of a block, and whether a shortcut gave them."""
    free = isinstance(block.op, FreeForm) and "free_flow" in f.recorder.native
    if not isinstance(block.op, Gadget) or not (free or block.op.exact):
        raise UsageError(
            f"a block of the gadget {block.op.name!r} has no closed form: choose a format of equations, such as json"
        )
    start, operands = (tuple(registers.read(ref) for ref in refs) for refs in (block.targets, block.operands))
    if free:
        return free_form(f.recorder, block, t, start[0], operands[0], tensors), False
    arguments = with_affine_form(block, start, operands, tensors)
    short = shortcut(f, block, t, *arguments)
    if short is not None:
        return short, True
    with np.errstate(all="ignore"):
        return block.op.closed(f, t, *arguments), False


def _guard(block: Block, quantity: Array) -> Array:
    if not isinstance(quantity, Symbol) and not (np.asarray(quantity) > 0).all():
        raise UsageError(f"the flow of a block of the gadget {block.op.name!r} ends too early, whatever the input")
    return quantity


def _over(quantity: Array, end: Array) -> Array:
    """A quantity of lanes, or of rows of lanes, over the lanes of an end; None if it is neither."""
    if not isinstance(quantity, Symbol) or not isinstance(end, Symbol):
        return None
    if quantity.lanes == end.lanes:
        return quantity
    return quantity[..., None, :] if quantity.lanes == end.lanes[:-1] else None


def _spoilt(f: SymbolFunctions, end: Array, alive: list[Array]) -> Array:
    """NaN where the solution ends too early. To add it costs less than to look for it in the end."""
    for quantity in alive:
        over = _over(quantity, end)
        if over is not None:
            end = end + f.where(f.less(0.0, over), 0.0, np.nan)
    return end


def _outputs(program: Program, scales: np.ndarray, registers: RegisterFile, tensors: _Tensors) -> Symbol:
    """C y: one register each, or a matrix product, or, of a sparse read-out, a sum for each output."""
    readout, recorder = program.readout, registers.recorder
    row = tensors.readout(readout.data)
    counts, used = np.diff(readout.indptr), np.unique(readout.indices).astype(np.int64)
    most, last = int(counts.max(initial=0)), len(readout.data)
    rows = np.repeat(np.arange(program.outputs), counts)
    if readout.has_canonical_format and DENSE * most > len(used) > 1 and most > 1:
        columns, reads = np.searchsorted(used, readout.indices), used[None]
    else:
        columns = np.arange(last) - np.repeat(readout.indptr[:-1], counts)
        reads = np.zeros((program.outputs, max(most, 1)), np.int64)
        reads[rows, columns] = readout.indices
    places = np.full((program.outputs, reads.shape[1]), last)
    places[rows, columns] = np.arange(last)
    weights = recorder.gather(row, places) * (1.0 / scales)[reads][..., None]
    value = recorder.broadcast(contract(recorder, weights, registers.read(Index(reads))), (program.outputs,))
    if isinstance(value, Symbol):
        return value
    return recorder.record("broadcast", value[..., 0], lanes=(program.outputs,))
