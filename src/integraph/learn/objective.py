"""What training computes: a step of Adam on Taylor steps, errors on held-out rows, outputs of the true flow.

All is compiled for shapes, not for models: rows come in chunks of a few sizes, and inputs are padded to the width.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.special import log_softmax

from integraph.flow.jax.taylor import Controls, flow, solution
from integraph.learn.quadratic_ode import QuadraticODE
from integraph.numbers.arrays import Floats, Indices

Array = Any
JUDGED, TIGHT = 1e-8, 1e-13  # tolerances of the true flow: on held-out rows, and of predictions
CLIP = 1.0  # norm of a gradient
LOST = 10.0  # what a row that blows up counts: as if it were wrong by three standard deviations
FEW, MANY = 64, 1024  # rows that are computed at once: few shapes are compiled
SQUARE, CROSS_ENTROPY = "square", "cross_entropy"
OPTIMISER = optax.chain(optax.clip_by_global_norm(CLIP), optax.scale_by_adam())


class Rows(NamedTuple):
    """Starts y(0) (N, W) and targets (N, outputs)."""

    start: Floats
    target: Floats

    def taken(self, where: Indices) -> Rows:
        """Some of them, by number."""
        return Rows(self.start[where], self.target[where])


def row_losses(outputs: Array, target: Array, loss: str) -> Array:
    """(B,): mean squares, or cross entropies with targets as probabilities. Arrays of numpy stay there: jax would
    compile for each number of rows."""
    if loss == SQUARE:
        return ((outputs - target) ** 2).mean(-1)
    logarithms = jax.nn.log_softmax if isinstance(outputs, jax.Array) else partial(log_softmax, axis=-1)
    return -(target * logarithms(outputs)).sum(-1)


@partial(jax.jit, static_argnames="loss")
def adam_step(
    model: QuadraticODE, state: Any, rows: Rows, rates: Floats, *, loss: str
) -> tuple[QuadraticODE, Any, Array, Array]:
    """Model and state after a step with rates (learning rate, penalty, alpha), the loss, and whether that and its
    gradient are finite: where not, nothing changes."""

    def objective(model: QuadraticODE) -> tuple[Array, Array]:
        end, last = flow(model.controls(), rows.start, order=model.order, steps=model.steps)
        fit = jnp.mean(row_losses(model.read_out(end), rows.target, loss))
        size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(model))
        return fit + rates[1] * jnp.mean(last) + rates[2] * size, fit

    (_, fit), slopes = jax.value_and_grad(objective, has_aux=True)(model)
    change, following = OPTIMISER.update(slopes, state)
    finite = jnp.isfinite(fit) & jnp.isfinite(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slopes)))
    moved = jax.tree.map(lambda old, more: jnp.where(finite, old - rates[0] * more, old), model, change)
    return moved, jax.tree.map(partial(jnp.where, finite), following, state), fit, finite


class Errors(NamedTuple):
    """Mean losses by Taylor steps and by the true flow, the root mean square of the difference of their outputs, and
    the number of rows whose true flow blows up."""

    by_steps: float
    by_flow: float
    gap: float
    blow_ups: int


def errors(model: QuadraticODE, rows: Rows, *, loss: str) -> Errors:
    """On held-out rows."""
    C, controls = np.asarray(model.C), model.controls()
    by_steps = _in_chunks(partial(_flow_end, controls, model.order, model.steps), rows.start) @ C.T
    by_flow = _in_chunks(partial(solution, controls, tolerance=JUDGED), rows.start) @ C.T
    lost = ~np.isfinite(by_flow).all(1)
    both = np.isfinite(by_steps).all(1) & ~lost
    with np.errstate(over="ignore"):
        apart = np.mean((by_steps[both] - by_flow[both]) ** 2, axis=1)
    return Errors(
        _mean_loss(by_steps, rows.target, loss),
        _mean_loss(by_flow, rows.target, loss),
        float(np.sqrt(apart.mean())) if len(apart) else 0.0,
        int(lost.sum()),
    )


def _flow_end(controls: Controls, order: int, steps: int, start: Floats) -> Array:
    return flow(controls, start, order=order, steps=steps)[0]


def _mean_loss(outputs: Floats, target: Floats, loss: str) -> float:
    with np.errstate(all="ignore"):
        losses = np.asarray(row_losses(outputs, target, loss))
    return float(np.mean(np.where(np.isfinite(losses), losses, LOST)))


def flow_outputs(model: QuadraticODE, x: Floats) -> Floats:
    """Outputs (B, outputs) of the true flow for x (B, d); rows that blow up are NaN."""
    C: Floats = np.asarray(model.C)
    return flow_ends(model, x, TIGHT) @ C.T


def flow_ends(model: QuadraticODE, x: Floats, tolerance: float) -> Floats:
    """States at the end (B, W)."""
    start = np.pad(x, ((0, 0), (0, model.width - x.shape[1])))
    return _in_chunks(partial(solution, model.controls(), tolerance=tolerance), start)


def _in_chunks(function: Callable[[Floats], Array], rows: Floats) -> Floats:
    """A function of rows, in chunks of one of two sizes, the last one padded with rows that it has already."""
    chunk = FEW if len(rows) <= 4 * FEW else MANY
    parts = [
        np.asarray(function(rows[np.arange(first, first + chunk) % len(rows)])) for first in range(0, len(rows), chunk)
    ]
    return np.concatenate(parts)[: len(rows)]
