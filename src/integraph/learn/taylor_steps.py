"""How many Taylor steps of which order a compiled program needs, so that a model of its controls can be trained.

Learned controls are small, and one step of order 8 a segment is near the true flow. Those of a compiled net are not: a
tanh of large arguments, or a register that decays, needs steps as short as its rates are large.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from integraph.errors import UsageError
from integraph.flow.jax.taylor import Controls, solution, terms_of
from integraph.program import Program

ORDERS = (8, 16)
MOST = 256  # steps of a segment, at most
NEAR = 1e-10  # to the true flow, relative to the largest register of a row, and to 1
ROWS = 32  # starts that are tried


def enough(controls: Controls, program: Program) -> tuple[int, int]:
    """The order and number of steps that are near the true flow with the fewest terms, at random points of the box of
    the program, or of [−1, 1]ᵈ where it has none. Points whose solution ends before T do not count."""
    starts = np.zeros((ROWS, program.width))
    unit, box = np.random.default_rng(0).uniform(size=(ROWS, program.inputs)), program.box
    starts[:, : program.inputs] = 2.0 * unit - 1.0 if box is None else box.low + unit * (box.high - box.low)
    with jax.enable_x64(True):
        truth = np.asarray(solution(controls, starts))
        kept = np.isfinite(truth).all(1)
        if not kept.any():
            raise UsageError(
                "no random point of the box has a flow that reaches T, so there is nothing to train from: compile with "
                "a smaller box"
            )
        scale = np.maximum(1.0, np.abs(truth[kept]).max(1, keepdims=True))
        found = []
        for order in ORDERS:
            steps = 1
            while steps <= MOST and not np.all(
                np.abs(np.asarray(_ends(controls, starts, steps, order=order))[kept] - truth[kept]) <= NEAR * scale
            ):
                steps *= 2
            if steps <= MOST:
                found.append((order * steps, order, steps))
    if not found:
        raise UsageError(
            f"the program is stiff: {MOST} Taylor steps of order {ORDERS[-1]} a segment are not near its flow. Train "
            "it by its closed forms with learn.fine_tune, or compile it with a larger eps or by method='wide'"
        )
    return min(found)[1:]


@partial(jax.jit, static_argnames="order")
def _ends(controls: Controls, y: Any, steps: Any, *, order: int) -> Any:
    """y(T) by equal steps, whose number may change without compiling again."""

    def segment(y: Any, controls: Controls) -> tuple[Any, None]:
        def step(_: Any, y: Any) -> Any:
            terms = terms_of(controls, y, 1.0 / steps, order)
            return sum(terms[1:], terms[0])

        return jax.lax.fori_loop(0, steps, step, y), None

    return jax.lax.scan(segment, jnp.asarray(y), controls)[0]
