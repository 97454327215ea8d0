"""Training of quadratic ODEs: Adam on Taylor steps, judged by the true flow.

Two errors are measured on held-out rows at the end of every round: that of the Taylor steps, which training sees, and
that of the true flow, which the model is. A penalty on the last terms of the series keeps them together; it grows while
they are apart. The model with the smallest held-out error of the true flow is the result. Steps whose loss or gradient
is not finite change nothing and are counted; where the loss diverges, training returns to the best model with a smaller
rate, and ends when that does not help.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from integraph.learn.objective import FEW, OPTIMISER, SQUARE, Rows, adam_step, errors
from integraph.learn.quadratic_ode import QuadraticODE
from integraph.numbers.arrays import Indices
from integraph.text import counted

Show = Callable[[float, str], None]
ROUND = 50  # steps between two looks at the held-out rows
APART = 0.3  # the share of the held-out error that steps may be from the flow
STRICTER, STRICTEST = 4.0, 1e8  # growth of the penalty where they are further, and its end
DIVERGED = 10.0  # times the best loss
SLOWER, RESTARTS = 0.3, 3  # the rate after a divergence, and how many are tried
FITTED = 0.9  # of the held-out error: where batches have less, more steps only fit them better


@dataclass(frozen=True)
class Settings:
    """`loss` is "square" or "cross_entropy"; `patience` counts rounds without a smaller held-out error."""

    loss: str = SQUARE
    penalty: float = 100.0
    alpha: float = 0.0
    learning_rate: float = 0.02
    batch: int = 128
    most: int = 4000
    patience: int = 20
    seed: int = 0


@dataclass(frozen=True)
class Look:
    """What a round ended with: the mean loss of its batches, held-out losses by Taylor steps and by the true flow, the
    distance of their outputs (root mean square), held-out rows that blow up, steps skipped so far, the penalty."""

    step: int
    loss: float
    held_out_steps: float
    held_out_flow: float
    gap: float
    blow_ups: int
    skipped: int
    penalty: float


@dataclass(frozen=True)
class Training:
    """The best model, all looks, the one of the best model, a sentence that says why training ended, and whether that
    was Ctrl-C."""

    model: QuadraticODE
    history: tuple[Look, ...]
    best: Look
    ending: str
    interrupted: bool = False

    def __repr__(self) -> str:
        first, best = self.history[0], self.best
        change = f"held-out loss {first.held_out_flow:.3g} → {best.held_out_flow:.3g}"
        steps = counted(self.history[-1].step, "step")
        return f"{change} (Taylor steps {best.held_out_steps:.3g}) in {steps}: {self.ending}"


def train(model: QuadraticODE, rows: Rows, held_out: Rows, settings: Settings, show: Show) -> Training:
    """The model with the smallest loss on held-out rows. `show(share, text)` is called after each round."""
    run = _Run(model.with_inputs(model.width), rows, held_out, settings)
    ending, interrupted = "", False
    try:
        while not ending:
            look = run.history[-1]
            skipped = f", {look.skipped} steps skipped" if look.skipped else ""
            show(
                look.step / settings.most,
                f"training: held-out loss {look.held_out_flow:.3g} (Taylor steps {look.held_out_steps:.3g}){skipped}",
            )
            ending = run.round()
    except KeyboardInterrupt:
        ending, interrupted = f"interrupted after {run.history[-1].step} steps: the best model is kept", True
    skipped = f"; {run.skipped} steps were skipped, because a solution blew up" if run.skipped else ""
    best = run.best_model.with_inputs(model.inputs)
    return Training(best, tuple(run.history), run.best, ending + skipped, interrupted)


class _Run:
    """A training under way."""

    def __init__(self, model: QuadraticODE, rows: Rows, held_out: Rows, settings: Settings) -> None:
        self.settings, self.rows, self.held_out = settings, rows, held_out
        batch = settings.batch if len(rows.start) > 4 * FEW else min(settings.batch, FEW)
        self.batches = _batches(np.random.default_rng(settings.seed), len(rows.start), batch)
        self.model = self.best_model = model
        self.state = OPTIMISER.init(model)
        self.penalty, self.slower, self.restarts, self.skipped = settings.penalty, 1.0, 0, 0
        self.best = self._look(0, math.nan)
        self.history = [self.best]

    def round(self) -> str:
        """Some steps and a look; the sentence with which training ends, if it does."""
        first = self.history[-1].step
        last = min(first + ROUND, self.settings.most)
        look = self._look(last, self._steps(first, last))
        self.history.append(look)
        if look.held_out_flow < self.best.held_out_flow:
            self.best, self.best_model = look, self.model
        if look.gap > APART * math.sqrt(look.held_out_flow):
            self.penalty = min(STRICTER * self.penalty, STRICTEST)
        least = min(one.loss for one in self.history[1:])
        if not look.loss <= DIVERGED * max(least, self.best.held_out_flow):
            self.restarts += 1
            self.model, self.state, self.slower = self.best_model, OPTIMISER.init(self.model), SLOWER * self.slower
            if self.restarts > RESTARTS:
                return f"the loss diverged after {last} steps, and smaller rates did not help: the best model is kept"
        if self.best.held_out_flow == 0.0:
            return "the held-out error is 0"
        if last == self.settings.most:
            return f"all {last} steps taken"
        waited = (last - self.best.step) // ROUND
        if waited >= self.settings.patience and look.loss < FITTED * self.best.held_out_flow:
            return f"no smaller held-out error in {waited} rounds"
        return ""

    def _steps(self, first: int, last: int) -> float:
        """The mean loss of steps first … last; infinite if all were skipped."""
        outcomes: list[Any] = []
        for step in range(first, last):
            cosine = 0.5 * (1.0 + math.cos(math.pi * step / self.settings.most))
            rate = self.slower * self.settings.learning_rate * cosine
            rates = np.array([rate, self.penalty, self.settings.alpha])
            batch = self.rows.taken(next(self.batches))
            self.model, self.state, *outcome = adam_step(self.model, self.state, batch, rates, loss=self.settings.loss)
            outcomes.append(outcome)
        losses, finite = np.array(outcomes, np.float64).T
        self.skipped += int(np.sum(finite == 0.0))
        return float(losses[finite == 1.0].mean()) if finite.any() else math.inf

    def _look(self, step: int, loss: float) -> Look:
        return Look(step, loss, *errors(self.model, self.held_out, loss=self.settings.loss), self.skipped, self.penalty)


def _batches(random: np.random.Generator, count: int, batch: int) -> Iterator[Indices]:
    """Numbers of rows, `batch` at a time: all in a random order, then in another."""
    order = np.zeros(0, np.int64)
    while True:
        while len(order) < batch:
            order = np.concatenate([order, random.permutation(count)])
        yield order[:batch]
        order = order[batch:]
