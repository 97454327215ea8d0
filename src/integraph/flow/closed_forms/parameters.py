"""The tensors of a program's blocks, by name: what a language with derivatives can differentiate by, and train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from integraph.program import Program

READOUT = "readout"
Place = tuple[int, int, str]  # segment, block, tensor


class Parameters:
    """`values`: each tensor once, however many blocks share it, and the weights of the read-out. `names`: of every
    tensor of every block."""

    def __init__(self, program: Program) -> None:
        self.values: dict[str, NDArray[np.float64]] = {}
        self.names: dict[Place, str] = {}
        known: dict[Any, str] = {}
        for place, op, tensor in _tensors(program):
            number, block, name = place
            own = known.setdefault(_memory(tensor), f"s{number}_b{block}_{op}_{name}")
            self.values.setdefault(own, tensor)
            self.names[place] = own
        self.values[READOUT] = program.readout.data


def _tensors(program: Program) -> Iterator[tuple[Place, str, NDArray[np.float64]]]:
    for number, segment in enumerate(program.segments):
        for place, block in enumerate(segment.blocks):
            for name, tensor in block.tensors.items():
                if name not in block.op.integers:
                    yield (number, place, name), block.op.name, tensor


def _memory(tensor: NDArray[np.float64]) -> Any:
    """Equal for arrays that are one array, axes of length 1 apart."""
    steps = tuple((n, step) for n, step in zip(tensor.shape, tensor.strides, strict=True) if n != 1)
    return tensor.__array_interface__["data"][0], steps
