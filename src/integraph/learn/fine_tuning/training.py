"""The loop of fine-tuning: Adam on the mean square error, which keeps the best weights and never goes on from NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.progress import late_bar

RISEN = 4.0  # times the least mean square error, at the end: the rate was too large
HALVINGS = 30  # of the learning rate after steps that lead nowhere: then it ends
Loss = Callable[[dict[str, Any], Any, Any], Any]  # of weights, inputs and targets


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The best weights, the root mean square error on the rows of each step and of the best weights on all rows, how
    many steps were skipped because the loss or its gradient was not finite, and a sentence about the ending."""

    weights: dict[str, Floats]
    history: Floats
    skipped: int
    ending: str


def train(
    loss: Loss,
    weights: dict[str, Floats],
    X: Floats,
    y: Floats,
    *,
    steps: int,
    learning_rate: float,
    batch: int | None,
    seed: int,
    progress: bool,
) -> Trained:
    """Weights for which the loss is smaller, at least not larger, than at the start."""
    optimiser = optax.inject_hyperparams(optax.adam)(learning_rate=learning_rate)
    value, slope = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
    rng, count = np.random.default_rng(seed), len(X)
    few = count if batch is None else min(batch, count)
    now: Any = {name: jnp.asarray(one) for name, one in weights.items()}
    state, best, least = optimiser.init(now), now, float(value(now, X, y))
    if not math.isfinite(least):
        raise UsageError("the program has no finite outputs on these rows, so there is nothing to start from")
    history, skipped, step, ending, first = list[float](), 0, 0, "", least
    try:
        with late_bar(progress, "training") as update:
            while step < steps and skipped <= HALVINGS:
                rows = slice(None) if few == count else rng.choice(count, few, replace=False)
                error, gradient = slope(now, X[rows], y[rows])
                if step % (count // few) == 0:  # of a pass over all rows
                    all_rows = float(error if few == count else value(now, X, y))
                    best, least = (now, all_rows) if all_rows < least else (best, least)
                step += 1
                if not all(bool(jnp.isfinite(part).all()) for part in (error, *gradient.values())):
                    skipped += 1
                    rate = state.hyperparams["learning_rate"] / 2
                    now, state = best, optimiser.init(best)
                    state.hyperparams["learning_rate"] = rate
                    continue
                history.append(float(error))
                moved, state = optimiser.update(gradient, state, now)
                now = optax.apply_updates(now, moved)
                update(step / steps, f"training: RMS {least**0.5:.3g}")
            if skipped > HALVINGS:
                ending = f"ended after {step} steps, because {skipped} of them led to no finite error"
    except KeyboardInterrupt:
        ending = f"interrupted after {step} steps: the best weights are kept"
    last = float(value(now, X, y))
    best, least = (now, last) if last < least else (best, least)
    return Trained(
        {name: np.asarray(one) for name, one in best.items()}, np.sqrt([*history, least]), skipped,
        (ending or f"all {step} steps taken") + _outcome(first, least, last),
    )  # fmt: skip


def _outcome(first: float, least: float, last: float) -> str:
    """What became of the error, where it is not what a user hopes for."""
    if least >= first:
        return "; no step led to a smaller error, so the program is as it was: choose a smaller learning_rate"
    if not last <= RISEN * least:
        return f"; the RMS error rose to {last**0.5:.3g}, so the best weights are kept: choose a smaller learning_rate"
    return ""
