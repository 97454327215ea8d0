"""The read-out C of a model by linear regression on its states at the end: before training, and after it.

Squares are smallest for a C in closed form, whatever the other controls are. Before training, the ridge is the one that
is best on the held-out rows, and the model starts where a linear one ends. After it, all rows take part, those held out
too: the ridge has the smallest error when each row in turn is left out, which one decomposition tells of all rows.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from integraph.learn.objective import JUDGED, Rows, flow_ends
from integraph.learn.quadratic_ode import QuadraticODE
from integraph.numbers.arrays import Floats

STARTS = 10.0 ** np.arange(-8.0, 3.0)  # ridges, for each row, before training
ENDS = 10.0 ** np.arange(-14.0, 3.0, 0.25)  # and after it


def with_linear_start(model: QuadraticODE, rows: Rows, held_out: Rows) -> QuadraticODE:
    """The model with the read-out that is best on the held-out rows."""
    ends, others = (np.nan_to_num(flow_ends(model, one.start, JUDGED)) for one in (rows, held_out))
    values, vectors = np.linalg.eigh(ends.T @ ends)
    side = vectors.T @ (ends.T @ rows.target)
    trials = [vectors @ (side / (np.maximum(values, 0.0) + ridge)[:, None]) for ridge in len(ends) * STARTS]
    return _with(model, min(trials, key=lambda C: float(np.sum((others @ C - held_out.target) ** 2))))


def with_last_fit(model: QuadraticODE, rows: Rows) -> QuadraticODE:
    """The model with the read-out that is best where each row in turn is left out. Rows that blow up do not count."""
    ends = flow_ends(model, rows.start, JUDGED)
    kept = np.isfinite(ends).all(1)
    with np.errstate(all="ignore"):
        if not kept.any() or not np.isfinite(np.sum(ends[kept] ** 2)):
            return model
        U, sizes, V = np.linalg.svd(ends[kept], full_matrices=False)
        target, side = rows.target[kept], U.T @ rows.target[kept]
        least, best = np.inf, None
        for ridge in len(U) * ENDS:
            share = sizes**2 / (sizes**2 + ridge)
            residuals = (target - U @ (share[:, None] * side)) / (1.0 - (U**2) @ share)[:, None]
            error = float(np.mean(residuals**2))
            if error < least:
                least, best = error, V.T @ ((sizes / (sizes**2 + ridge))[:, None] * side)
    return model if best is None else _with(model, best)


def _with(model: QuadraticODE, C: Floats) -> QuadraticODE:
    return eqx.tree_at(lambda one: one.C, model, jnp.asarray(C.T))  # type: ignore[no-any-return]
