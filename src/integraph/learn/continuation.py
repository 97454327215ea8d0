"""`train`: a model that is given, trained on a table in the units that it has.

The estimators make a model for a table, with scales of its columns. A model of a compiled program has its units, and
its controls are not to be drawn again: this trains it as it is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.learn import training
from integraph.learn.objective import CROSS_ENTROPY, SQUARE, Rows
from integraph.learn.quadratic_ode import QuadraticODE, whole
from integraph.learn.table import table
from integraph.numbers.arrays import Floats, real
from integraph.progress import late_bar


def train(
    model: QuadraticODE,
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = SQUARE,
    learning_rate: float = 0.003,
    max_steps: int = 2000,
    batch_size: int = 128,
    patience: int = 20,
    alpha: float = 0.0,
    penalty: float = 100.0,
    validation_fraction: float = 0.15,
    seed: int = 0,
    progress: bool = True,
) -> training.Training:
    """Train a model further on rows X (n, inputs) with targets y (n, outputs), in float64, by Adam on its Taylor steps.

    `loss` is "square", or "cross_entropy" with probabilities of classes as y. A share `validation_fraction` of the
    rows, drawn by `seed`, is held out: the result is the model with the smallest error of the true flow on these, the
    given one included, after `max_steps` at most, or `patience` rounds of 50 steps without a smaller error. `alpha` is
    the weight of the squares of all parameters, `penalty` that of the last terms of the Taylor steps. Ctrl-C ends
    training with the best model so far.
    """
    if not isinstance(model, QuadraticODE):
        raise UsageError(
            f"train takes a QuadraticODE, got {model!r:.60}: of a program, QuadraticODE.from_program(program)",
            argument="model",
        )
    if loss not in (SQUARE, CROSS_ENTROPY):
        raise UsageError(f"a loss is {SQUARE} or {CROSS_ENTROPY}", argument="loss", value=loss)
    rates = {
        name: _rate(name, value, least)
        for name, value, least in (
            ("learning_rate", learning_rate, 1e-12), ("alpha", alpha, 0.0), ("penalty", penalty, 0.0),
            ("validation_fraction", validation_fraction, 1e-12),
        )
    }  # fmt: skip
    settings = training.Settings(
        loss, penalty=rates["penalty"], alpha=rates["alpha"], learning_rate=rates["learning_rate"],
        batch=whole("batch_size", batch_size), most=whole("max_steps", max_steps),
        patience=whole("patience", patience), seed=whole("seed", seed, 0),
    )  # fmt: skip
    x, target = table(X, y, model.inputs, model.outputs, "the model")
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(model)):
        raise UsageError("the controls of the model are not all finite: begin with another one", argument="model")
    if loss == CROSS_ENTROPY:
        _check_probabilities(target)
    if len(x) < 2:
        raise UsageError("training needs two rows at least, one of them held out: there is one", argument="X")
    held = min(max(1, round(rates["validation_fraction"] * len(x))), len(x) - 1)
    order = np.random.default_rng(settings.seed).permutation(len(x))
    rows = Rows(np.pad(x, ((0, 0), (0, model.width - model.inputs))), target)
    with jax.enable_x64(True), late_bar(progress, "training") as show:
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, np.float64), model)
        result = training.train(start, rows.taken(order[held:]), rows.taken(order[:held]), settings, show)
        # numpy arrays stay float64 wherever they are used next
        return replace(result, model=jax.tree.map(np.asarray, result.model))


def _check_probabilities(target: Floats) -> None:
    if target.shape[1] < 2:
        raise UsageError("cross_entropy compares classes: the model needs two outputs or more", argument="loss")
    wrong = (target < 0).any(1) | (np.abs(target.sum(1) - 1.0) > 1e-6)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(
            f"row {row} of y is {target[row].tolist()}: cross_entropy takes probabilities of classes, which are ≥ 0 "
            "and add up to 1",
            argument="y",
        )


def _rate(name: str, value: Any, least: float) -> float:
    number = real(value, name)
    if not (least <= number < math.inf) or (name == "validation_fraction" and number >= 1.0):
        share = ", a share of the rows, below 1" if name == "validation_fraction" else f", {least:g} or more"
        raise UsageError(f"needs a finite number{share}", argument=name, value=value)
    return number
