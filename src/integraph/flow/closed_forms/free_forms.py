"""Blocks without a closed form as one operation: their flow in unit time, for languages that integrate it."""

from __future__ import annotations

import numpy as np

from integraph.errors import UsageError
from integraph.flow.closed_forms.recorder import Array, Recorder, Symbol, constant
from integraph.gadgets.gadget import Closed
from integraph.gadgets.low_rank import low_rank
from integraph.gadgets.raw import products
from integraph.numbers.arrays import Indices
from integraph.program import Block

LARGEST = 1 << 24  # numbers of the controls of a block, which are dense


def free_form(
    recorder: Recorder, block: Block, t: float, start: Array, operands: Array, tensors: dict[str, Array]
) -> Closed:
    """The end of a block of a program in its own units, which runs for a time t."""
    m, n = block.targets[0].size, block.targets[0].size + block.operands[0].size
    given = _low_rank(tensors, m, n) if block.op is low_rank else _raw(recorder, block, tensors["value"], m, n)
    controls = (*(t * one for one in given[:3]), *given[3:])
    rows = recorder.broadcast(start, (m,)), recorder.broadcast(operands, (n - m,)), *controls
    end = recorder.record("free_flow", *(one if isinstance(one, Symbol) else constant(one) for one in rows), lanes=(m,))
    return Closed((end,))


def _low_rank(tensors: dict[str, Array], m: int, n: int) -> tuple[Array, ...]:
    b, A = tensors.get("b", np.zeros((m, 1))), tensors.get("A", np.zeros((m, n, 1)))
    return b, A, tensors["U"], tensors["V1"], tensors["V2"]


def _raw(recorder: Recorder, block: Block, value: Array, m: int, n: int) -> tuple[Array, ...]:
    """b, A and U hold the triples' values, V₁ and V₂ ones."""
    index = block.tensors["index"]
    bent, pairs, column = products(index)
    count = pairs.shape[1]
    if (m + 2 * n) * count + m * n > LARGEST:
        raise UsageError(
            f"the {block.op.name} block has {n:,} registers and {count:,} products of two of them, and its controls "
            f"would be more than {LARGEST:,} numbers in jax or PyTorch: the engine taylor runs it"
        )
    high = index[:, 1:].max(1)
    fixed, linear = ~bent & (high < 0), ~bent & (high >= 0)
    unit = np.eye(n)
    return (
        _placed(recorder, value, fixed, index[fixed, 0], (m,)),
        _placed(recorder, value, linear, index[linear, 0] * n + high[linear], (m, n)),
        _placed(recorder, value, bent, index[bent, 0] * count + column, (m, count)),
        *(unit[side][..., None] for side in pairs),
    )


def _placed(recorder: Recorder, value: Array, which: Indices, places: Indices, shape: tuple[int, ...]) -> Array:
    """An array with some of the values at flat places, where those of one place are added, and 0 elsewhere."""
    numbers, size = np.flatnonzero(which), int(np.prod(shape))
    if not len(numbers):
        return np.zeros((*shape, 1))
    order = np.argsort(places, kind="stable")
    numbers, places = numbers[order], places[order]
    turn = np.arange(len(places)) - np.searchsorted(places, places)  # of those of one place
    reads = np.full((size, int(turn.max()) + 1), value.shape[0])
    reads[places, turn] = numbers
    if isinstance(value, Symbol):
        row = recorder.record("concatenate", value, np.zeros(1), lanes=(value.shape[0] + 1,))
        read = recorder.gather(row, reads)
        return recorder.reshape(recorder.record("sum", read, lanes=(size,)), shape)
    return np.append(constant(value), 0.0)[reads].sum(1).reshape(shape)[..., None]
