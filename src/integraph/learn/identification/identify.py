"""`identify`: from trajectories to the quadratic system that they follow."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from integraph.constructions.lifting.construction import lift
from integraph.constructions.lifting.quadratic_system import QuadraticSystem
from integraph.errors import SourceError, UsageError
from integraph.frontends import function
from integraph.frontends.dynamics import read_system
from integraph.frontends.input_names import names, numbered
from integraph.learn.identification.estimation import best_fit
from integraph.learn.identification.features import Features
from integraph.learn.identification.roughness import doubt
from integraph.learn.identification.shooting import linearised
from integraph.learn.identification.trajectories import Trajectory, trajectories
from integraph.numbers.arrays import Floats, real
from integraph.progress import late_bar
from integraph.targets.function import point
from integraph.text import counted

ERRORS = 4.0  # standard errors that a coefficient must differ from 0 by


@dataclass(frozen=True, eq=False)
class Identification:
    """What the data say: Θ (states, features) with standard errors, the features as formulas, the noise of each state
    (a standard deviation), and the number of intervals over which solutions follow the data. A short window says that
    the vector field is chaotic, or not quadratic."""

    system: QuadraticSystem
    features: tuple[str, ...]
    coefficients: Floats
    standard_errors: Floats
    noise: Floats
    window: int

    def __repr__(self) -> str:
        count = counted(int(np.count_nonzero(self.coefficients)), "term")
        noise = ", ".join(f"{one:.2g}" for one in self.noise)
        return f"{count}, noise {noise} over windows of {counted(self.window, 'interval')}\n{self.system}"


def identify(
    data: Any,
    dt: Any,
    *,
    inputs: Any = None,
    states: str | Sequence[str] = (),
    input_names: str | Sequence[str] = (),
    functions: str | Sequence[str] = (),
    errors: float = ERRORS,
    progress: bool = True,
) -> QuadraticSystem:
    """The system x' = b + A x + Q(x, x) that trajectories follow.

    `data` is an array with a row for each time and a column for each state, or a list of such arrays; `dt` the time
    between rows, or their times (a list of them for a list of trajectories). `inputs` are values u that were held from
    each row to the next. `functions` are formulas of the states, such as "sin(x)", that the right-hand side may use as
    it uses states; the result is lifted. A coefficient is kept if it differs from 0 by `errors` standard errors.
    """
    return identification(
        data,
        dt,
        inputs=inputs,
        states=states,
        input_names=input_names,
        functions=functions,
        errors=errors,
        progress=progress,
    ).system


def identification(
    data: Any,
    dt: Any,
    *,
    inputs: Any = None,
    states: str | Sequence[str] = (),
    input_names: str | Sequence[str] = (),
    functions: str | Sequence[str] = (),
    errors: float = ERRORS,
    progress: bool = True,
) -> Identification:
    """The same, with standard errors and noise."""
    known = trajectories(data, dt, inputs)
    threshold = real(errors, "errors")
    if not 0 <= threshold < np.inf:
        raise UsageError("needs a finite number of standard errors, 0 or more", argument="errors", value=errors)
    called = _names(states, known[0].states.shape[1], "states", "x")
    forced = _names(input_names, known[0].inputs.shape[1], "input_names", "u")
    features = _features(called, forced, functions, known)
    with threadpool_limits(1), late_bar(progress, "identifying") as show:  # threads that wait for each other are slow
        fit = best_fit(known, features, threshold, show)
    matrix, _ = linearised(fit, fit.mask).reduced()
    spread = np.zeros_like(fit.theta)
    spread[fit.mask] = np.linalg.norm(np.linalg.pinv(np.linalg.qr(matrix, mode="r")), axis=1)
    theta = np.where(fit.mask, fit.theta, 0.0)
    noise = 1.0 / fit.weights
    if sentence := doubt(known, called, noise):
        warnings.warn(sentence, UserWarning, stacklevel=3)
    name = f"a system identified from {counted(sum(map(len, known)), 'sample')}"
    return Identification(
        _system(theta, features, called, forced, name),
        features.names,
        theta,
        spread,
        noise,
        fit.windows.times.shape[1] - 1,
    )


def _names(given: str | Sequence[str], count: int, argument: str, letter: str) -> tuple[str, ...]:
    if not given:
        return tuple(name.replace("x", letter) for name in numbered(count)) if count else ()
    called = names(given, argument)
    if len(called) != count:
        raise UsageError(f"the data have {count}, not {len(called)}", argument=argument, value=given)
    for name in called:
        try:
            read_system({name: "0"})
        except (SourceError, UsageError):
            raise UsageError(
                f"equations cannot have the name {name!r}: take a letter, then letters, digits and _, and no word that "
                "means something else",
                argument=argument,
                value=given,
            ) from None
    return called


def _features(
    states: tuple[str, ...], inputs: tuple[str, ...], functions: str | Sequence[str], data: Sequence[Trajectory]
) -> Features:
    texts = (functions,) if isinstance(functions, str) and functions else functions
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise UsageError(
            "needs formulas of the states, as 'sin(x)' or ['sin(x)', 'x^2']", argument="functions", value=functions
        )
    texts = tuple(texts)
    if not texts:
        return Features(len(states), None, states + inputs)
    expression = function(list(texts), variables=states).expression
    assert expression is not None
    features = Features(len(states), expression, (*states, *texts, *inputs))
    for one in data:
        values = features.factors(one.states.T, one.inputs.T)[0]
        if not np.isfinite(values).all():
            row, column = (int(n) for n in np.argwhere(~np.isfinite(values.T))[0])
            raise SourceError(
                f"{features.texts[column]} is {values[column, row]} at {point(one.states[row], states)}, a sample"
            )
    return features


def _system(
    theta: Floats, features: Features, states: tuple[str, ...], inputs: tuple[str, ...], name: str
) -> QuadraticSystem:
    """x' = Θφ, read as equations and lifted where functions occur."""
    sides = {
        state: " + ".join(
            f"({value!r})" if name == "1" else f"({value!r})*{name}"
            for value, name in zip(row.tolist(), features.names, strict=True)
            if value
        )
        or "0"
        for state, row in zip(states, theta, strict=True)
    }
    return lift(replace(read_system(sides, inputs=inputs), name=name), progress=False)
