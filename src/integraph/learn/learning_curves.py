"""The picture of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from integraph.learn.training import Look
from integraph.plot.picture import DASHED, POINTS, Curve, Panel, Picture, alone


def learning_curves(history: Sequence[Look], ending: str, loss: str) -> Picture:
    """Held-out errors of the true flow and of Taylor steps after every round, with the best."""
    steps = np.array([float(look.step) for look in history])

    def values(name: str) -> np.ndarray:
        found = np.array([getattr(look, name) for look in history], np.float64)
        found[~np.isfinite(found)] = np.nan
        return np.sqrt(found) if loss == "square" else found

    flow = values("held_out_flow")
    best = int(np.nanargmin(flow))
    marks = (
        Curve(steps, flow, "held out, true flow", 0),
        Curve(steps, values("held_out_steps"), "held out, Taylor steps", 1, DASHED),
        Curve(steps, values("loss"), "batches of the round", 2, DASHED),
        Curve(steps[best : best + 1], flow[best : best + 1], "the model", 0, POINTS),
    )
    said = "error, in standard deviations of the target" if loss == "square" else "cross entropy"
    panel = Panel("held-out error", "steps", said, marks, log_y=True)
    return alone("learning", "Learning curves", f"Ended: {ending}.", panel)
