"""What training computes: a step of Adam on Taylor steps, errors on held-out rows, outputs of the true flow.

All is compiled for shapes, not for models: rows are padded to a power of two, and inputs to the width.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from integraph.flow.jax.taylor import flow
from integraph.learn.quadratic_ode import QuadraticODE
from integraph.numbers.arrays import Floats, Indices

Array = Any
JUDGED, TIGHT = 1e-8, 1e-13  # tolerances of the true flow: on held-out rows, and of predictions
CLIP = 1.0  # norm of a gradient
LOST = 10.0  # what a row that blows up counts: as if it were wrong by three standard deviations
FEW = 64  # rows of the smallest shape that is compiled
SQUARE, CROSS_ENTROPY = "square", "cross_entropy"
OPTIMISER = optax.chain(optax.clip_by_global_norm(CLIP), optax.scale_by_adam())
STATIC = ("loss", "order", "steps")


class Rows(NamedTuple):
    """Starts y(0) (N, W) and targets (N, outputs)."""

    start: Floats
    target: Floats

    def taken(self, where: Indices) -> Rows:
        """Some of them, by number."""
        return Rows(self.start[where], self.target[where])


def row_losses(outputs: Array, target: Array, loss: str) -> Array:
    """(B,): mean squares, or cross entropies with targets as probabilities."""
    if loss == SQUARE:
        return jnp.mean((outputs - target) ** 2, axis=-1)
    return -jnp.sum(target * jax.nn.log_softmax(outputs), axis=-1)


@partial(jax.jit, static_argnames=STATIC)
def adam_step(
    model: QuadraticODE, state: Any, rows: Rows, rates: Floats, *, loss: str, order: int, steps: int
) -> tuple[QuadraticODE, Any, Array, Array]:
    """Model and state after a step with rates (learning rate, penalty, alpha), the loss, and whether that and its
    gradient are finite: where not, nothing changes."""

    def objective(model: QuadraticODE) -> tuple[Array, Array]:
        end, last = flow(model.controls(), rows.start, order=order, steps=steps)
        fit = jnp.mean(row_losses(end @ model.C.T, rows.target, loss))
        size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(model))
        return fit + rates[1] * jnp.mean(last) + rates[2] * size, fit

    (_, fit), slopes = jax.value_and_grad(objective, has_aux=True)(model)
    change, following = OPTIMISER.update(slopes, state)
    finite = jnp.isfinite(fit) & jnp.isfinite(optax.global_norm(slopes))
    moved = jax.tree.map(lambda old, more: jnp.where(finite, old - rates[0] * more, old), model, change)
    return moved, jax.tree.map(partial(jnp.where, finite), following, state), fit, finite


@partial(jax.jit, static_argnames=STATIC)
def errors(
    model: QuadraticODE, rows: Rows, weight: Floats, *, loss: str, order: int, steps: int
) -> tuple[Array, Array, Array, Array]:
    """Mean losses by Taylor steps and by the true flow, the root mean square of the difference of their outputs, and
    the number of rows whose true flow blows up."""
    by_steps = flow(model.controls(), rows.start, order=order, steps=steps)[0] @ model.C.T
    by_flow = model.solution(rows.start, tolerance=JUDGED)
    losses = (row_losses(outputs, rows.target, loss) for outputs in (by_steps, by_flow))
    steps_mean, flow_mean = (jnp.sum(weight * jnp.where(jnp.isfinite(one), one, LOST)) for one in losses)
    apart = jnp.mean((by_steps - by_flow) ** 2, axis=-1)
    lost = jnp.sum((weight > 0) & ~jnp.isfinite(by_flow).all(-1))
    return steps_mean, flow_mean, jnp.sqrt(jnp.sum(weight * jnp.where(jnp.isfinite(apart), apart, 0.0))), lost


def padded(rows: Rows) -> tuple[Rows, Floats]:
    """64, 128, 256 … rows, the first ones again behind the last, and weights that leave these out and add up to 1."""
    count = len(rows.start)
    places = np.arange(max(FEW, 1 << (count - 1).bit_length()))
    return rows.taken(places % count), np.where(places < count, 1.0 / count, 0.0)


def flow_outputs(model: QuadraticODE, x: Floats, tolerance: float = TIGHT) -> Floats:
    """Outputs (B, outputs) of the true flow for x (B, d); rows that blow up are NaN."""
    start = np.pad(x, ((0, 0), (0, model.width - x.shape[1])))
    rows, _ = padded(Rows(start, start))
    return np.array(_solution(model.with_inputs(model.width), rows.start, tolerance))[: len(x)]


_solution = jax.jit(lambda model, start, tolerance: model.solution(start, tolerance=tolerance))


def with_linear_start(model: QuadraticODE, rows: Rows, held_out: Rows) -> QuadraticODE:
    """The read-out by ridge regression on the states at the end, with the ridge that is best on the held-out rows: the
    model starts where a linear one ends."""
    states = _with_readout(model, np.eye(model.width))
    ends, others = (np.nan_to_num(flow_outputs(states, one.start, JUDGED)) for one in (rows, held_out))
    values, vectors = np.linalg.eigh(ends.T @ ends)
    side = vectors.T @ (ends.T @ rows.target)
    ridges = len(ends) * 10.0 ** np.arange(-8.0, 3.0)
    trials = [vectors @ (side / (np.maximum(values, 0.0) + ridge)[:, None]) for ridge in ridges]
    best = min(trials, key=lambda C: float(np.sum((others @ C - held_out.target) ** 2)))
    return _with_readout(model, best.T)


def _with_readout(model: QuadraticODE, C: Floats) -> QuadraticODE:
    return eqx.tree_at(lambda one: one.C, model, jnp.asarray(C))  # type: ignore[no-any-return]
