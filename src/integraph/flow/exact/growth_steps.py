"""Fast steps of `powers`, `spiral` and `power_spiral`: one call of a kernel, whatever the lanes read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from integraph.flow.exact.affine_steps import Step, compiles
from integraph.gadgets.growth import Growth
from integraph.numbers.arrays import Floats, Indices
from integraph.program import Block

GATHERED = 64  # registers that a lane may read: they are listed

Generic = Callable[[Block, Floats, float], Step]
Binder = Callable[[Block, Floats, float, bool, tuple[bool, ...]], Step | None]


def growth(generic: Generic) -> Binder:
    """The binder of all three; a chunk with a doubtful lane goes to the generic step."""

    def bind(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
        if not compiles() or any(ref.shape[-1] > GATHERED for ref in block.operands):
            return None
        from integraph.flow.exact.growth_flow import DOUBTFUL, FINE, growth_flow

        settles, closed_form = block.op.targets[0] == "p" and live[0], generic(block, states, t)
        given = (states, *_listed(block, states.shape[1]), t, settles)

        def step() -> bool:
            verdict = growth_flow(*given)
            return closed_form() if verdict == DOUBTFUL else verdict == FINE

        return step

    return bind


def _listed(block: Block, count: int) -> tuple[Any, ...]:
    """A block as the kernel takes it: all registers and weights one by one, and a buffer for `count` inputs."""
    op = block.op
    assert isinstance(op, Growth)
    every, powered = np.arange(block.targets[-1].size), op.targets[0] == "p"
    groups = _groups(op, block, every) if powered else every
    p = block.targets[0].indices().reshape(-1, block.targets[0].shape[-1]) if powered else np.zeros((1, 0))
    lanes = np.stack([ref.indices().ravel() for ref in block.targets[powered:]])
    (a, _), (w, x), (b, _) = (_weighed(op, block, name, groups) for name in ("a", "w", "b"))
    (c, turn), (d, _) = (_weighed(op, block, name, every) for name in ("c", "d"))
    registers = [part.astype(np.uint32) for part in (p, lanes, x, turn)]
    return *registers, a, w, b.sum(1), c, d.sum(1), np.empty((len(groups), count))


def _groups(op: Growth, block: Block, lanes: Indices) -> Indices:
    """The first lane of every group with one factor: a row, if its lanes have the same weights, or each lane alone."""
    firsts = lanes[:: block.targets[-1].shape[-1]]
    alike = block.operands[0].shape[-1] == 0
    for name in {"a", "b"} & set(block.tensors):
        values = op.values(block, name, lanes).reshape(
            len(firsts), -1, 1 if name == "b" else block.targets[0].shape[-1]
        )
        alike = alike and bool((values == values[:, :1]).all())
    return firsts if alike else lanes


def _weighed(op: Growth, block: Block, name: str, lanes: Indices) -> tuple[Floats, Indices]:
    """A tensor's values at the lanes, and the registers that it weighs; nothing where there is no such tensor."""
    if name not in block.tensors:
        return np.zeros((len(lanes), 0)), np.zeros((len(lanes), 0), np.int64)
    return np.ascontiguousarray(op.values(block, name, lanes)), op.reads(block, name, lanes).astype(np.int64)
