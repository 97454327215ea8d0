"""The fast step of softmax: rows that are clearly alive by a compiled loop, the others by the closed form."""

from __future__ import annotations

import numpy as np

from integraph.flow.exact.affine_steps import Step, compiles
from integraph.gadgets.functions.namespace import FLOAT
from integraph.gadgets.gadget import Gadget
from integraph.numbers.arrays import Floats
from integraph.program import Block, View


def softmax(block: Block, states: Floats, t: float, fresh: bool, live: tuple[bool, ...]) -> Step | None:
    """c is a number, a tensor, or registers; None where registers are not one after the other."""
    op, refs = block.op, block.refs()
    if not compiles() or not all(isinstance(ref, View) and ref.contiguous for ref in refs):
        return None
    from integraph.flow.exact.softmax_flow import softmax_many, softmax_one

    assert isinstance(op, Gadget)
    n, inputs, rest = refs[0].shape[-1], states.shape[1], live[1] or live[2]
    a, u, s = (refs[role].of(states).reshape(-1, n, inputs) for role in (0, 1, 3))
    m = refs[2].of(states).reshape(-1, inputs)
    if len(block.operands) == 2:
        c = refs[4].of(states).reshape(m.shape)
    else:
        given = np.broadcast_to(block.tensors.get("c", np.zeros(())), refs[2].shape)
        c = np.repeat(given.reshape(-1, 1), inputs, 1)
    run, kernel = (a, u, m, s, c), softmax_many
    if inputs == 1:
        run, kernel = (a[..., 0], u[..., 0], m[..., 0], s[..., 0], c[..., 0]), softmax_one

    def step() -> bool:
        done = kernel(*run, t, rest)
        if done == len(m):
            return True
        start, operands = (a[done:], u[done:], m[done:]), (s[done:], c[done:])
        closed = op.closed(FLOAT, t, start, operands, {"c": c[done:]})
        for target, end in zip(start, closed.ends, strict=True):
            target[...] = end
        alive = closed.alive["m"]
        return bool(((alive > 0) & (alive < np.inf)).all()) and all(bool(np.isfinite(end).all()) for end in closed.ends)

    return step
