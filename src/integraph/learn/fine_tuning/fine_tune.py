"""`fine_tune`: a compiled net trained on rows, as its own weights; the program keeps its registers and terms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from integraph.errors import UsageError
from integraph.frontends import network
from integraph.learn.fine_tuning.tied import Tied, rebuilt, tied
from integraph.learn.fine_tuning.training import train
from integraph.learn.quadratic_ode import whole
from integraph.learn.table import table
from integraph.numbers.arrays import Floats, real
from integraph.program import Program
from integraph.targets import Network
from integraph.text import counted

RATES = ("r", "k", "c")  # tensors of decay rates, steepnesses and shifts: how a gadget works, not what it computes


@dataclass(frozen=True, slots=True, eq=False)
class FineTuning:
    """The trained program, the network with the trained weights (None if they were untied), the root mean square error
    on the rows of each step and at the end on all, how many steps were skipped because the flow blew up, and a sentence
    that says why training ended and what came of it."""

    program: Program
    network: Network | None
    history: Floats
    skipped: int
    ending: str

    def __repr__(self) -> str:
        first, last = self.history[0], self.history[-1]
        lost = f", {counted(self.skipped, 'step')} skipped" if self.skipped else ""
        steps = counted(len(self.history) - 1, "step")
        return f"RMS error {first:.3g} → {last:.3g} in {steps}{lost}: {self.ending}\n{self.program!r}"


def fine_tune(
    program: Program,
    X: ArrayLike,
    y: ArrayLike,
    source: Any = None,
    *,
    steps: int = 500,
    learning_rate: float = 0.01,
    batch: int | None = None,
    frozen: str | Sequence[str] = (),
    untied: bool = False,
    seed: int = 0,
    progress: bool = True,
) -> FineTuning:
    """Train a compiled program on rows X (n, inputs) with targets y (n, outputs), by Adam on the mean square error.

    `source` is the network that it was compiled from, by method "wide" or "narrow": its weights A1, b1, A2, … are
    trained, and the tensors of the program follow them, so that result.network and result.program stay one function, up
    to the error that `certify` proves. `frozen` names weights that stay. Weights that are exactly 0 have no term, and
    stay 0. With `untied` the tensors of the program are trained as they are, each for itself, whatever it was compiled
    from; then there is no network. Rates stay in both cases, and so do W, D and the terms. `batch` rows, drawn by
    `seed`, make a step; without it all do. Steps whose loss is not finite are skipped, with a smaller learning rate.
    Ctrl-C ends training with the best weights so far.
    """
    rows, targets = _rows(program, X, y)
    _check(steps, learning_rate, batch, seed)
    function, own = program.to_jax()
    maps = None if untied else _tie(program, source)
    if maps is None:
        start = {name: value for name, value in own.items() if name.rpartition("_")[2] not in RATES}
    else:
        start = maps.weights
    held = _frozen(frozen, start)
    free = {name: value for name, value in start.items() if name not in held}
    kept = {name: value for name, value in start.items() if name in held}

    def tensors(weights: dict[str, Any]) -> dict[str, Any]:
        return {**own, **weights} if maps is None else {**own, **maps({**kept, **weights})}

    def loss(weights: dict[str, Any], x: Any, wanted: Any) -> Any:
        return ((function(tensors(weights), x) - wanted) ** 2).mean()

    with jax.enable_x64(True):
        result = train(
            loss, free, rows, targets, steps=steps, learning_rate=float(learning_rate), batch=batch, seed=seed,
            progress=progress,
        )  # fmt: skip
    made = rebuilt(program, tensors(result.weights))
    net = None if maps is None else maps.trained({**kept, **result.weights})
    return FineTuning(made, net, result.history, result.skipped, result.ending)


def _rows(program: Program, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    if not isinstance(program, Program):
        raise UsageError(
            f"fine_tune takes a program, then X, y and the network, got {program!r:.60} first: compile a net, or "
            "read a file with integraph.load",
            argument="program",
        )
    if isinstance(X, Network | Program):
        raise UsageError("X holds rows of inputs: the network comes after y, as source=…", argument="X")
    rows, targets = table(X, y, program.inputs, program.outputs, "the program")
    box = program.box
    if box is not None:
        outside = (rows < box.low) | (rows > box.high)
        if outside.any():
            row, column = (int(n) for n in np.argwhere(outside)[0])
            raise UsageError(
                f"row {row} is outside the box that the program was compiled for: component {column} is "
                f"{rows[row, column]:g}, and the box has [{box.low[column]:g}, {box.high[column]:g}]: leave it out, or "
                "compile with a larger box",
                argument="X",
            )
    return rows, targets


def _check(steps: int, learning_rate: float, batch: int | None, seed: int) -> None:
    whole("steps", steps)
    whole("batch", 1 if batch is None else batch)
    whole("seed", seed, 0)
    rate = real(learning_rate, "learning_rate")
    if not (math.isfinite(rate) and rate > 0):
        raise UsageError("must be finite and > 0: nothing would be learned", argument="learning_rate", value=rate)


def _tie(program: Program, source: Any) -> Tied:
    if source is None:
        raise UsageError(
            "a program stores its tensors, not the weights that they were made from: give the network too, as "
            "source=…, or train the tensors as they are with untied=True",
            argument="source",
        )
    return tied(program, source if isinstance(source, Network) else network(source))


def _frozen(frozen: str | Sequence[str], start: dict[str, Floats]) -> set[str]:
    names = [frozen] if isinstance(frozen, str) else frozen
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"needs names of weights, among {', '.join(start)}", argument="frozen", value=frozen)
    held = set(names)
    unknown = sorted(held - start.keys())
    if unknown:
        raise UsageError(
            f"there is no {unknown[0]!r}: the weights are {', '.join(start)}", argument="frozen", value=frozen
        )
    if held >= start.keys():
        raise UsageError("all weights are frozen, so nothing is left to train", argument="frozen", value=frozen)
    return held
