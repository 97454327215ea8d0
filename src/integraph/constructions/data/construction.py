"""From rows to a program: fitted to some of them, measured on the others, which nothing else has used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from integraph.constructions.data.coverage import WHOLE, coverage
from integraph.constructions.data.least_squares import LeastSquares
from integraph.constructions.data.selection import Trial, fitted_values, select, steepness
from integraph.constructions.data.split import Split, split
from integraph.constructions.theorem1 import lean, plans
from integraph.constructions.theorem1.task import Task
from integraph.constructions.theorem1.task import task as theorem1_task
from integraph.errors import SourceError, UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.program import Domain, Origin, Program, build
from integraph.program.origin import DATA, HELD_OUT, RMS, Option
from integraph.program.summary import above
from integraph.targets.function import Function
from integraph.targets.rows import Rows
from integraph.text import clean, counted

WHATEVER = 1.0  # the tolerance where none is given: it has no part in the fit
FEWEST = 5  # places, so that some can be held out
REPEATED = 5  # rows at places that have others, from which noise is known
LARGEST = 1e300  # value of an output: beyond, the coefficients of a fit may overflow
NAMED = 8  # outputs whose differences are told one by one


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What the rows that were held out say of a fit, for each output."""

    rows: int
    largest: Floats
    rms: Floats
    noise: Floats  # standard deviation, about
    repeated: bool  # noise is that of rows at one place; else it is all that the fit does not explain


def fitted(
    function: Function, box: Interval, eps: float | None, *, method: str, order: int | None, width: int | None
) -> Program:
    """The program; a UsageError if `eps` is given and a row that was held out differs by more."""
    if method != "lean":
        raise UsageError("data are compiled by method='lean': leave it out", argument="method", value=method)
    rows = function.rows
    assert rows is not None
    inside = ((rows.x >= box.low) & (rows.x <= box.high)).all(1)
    outside = int(np.count_nonzero(~inside))
    kept = Rows(rows.x[inside], rows.y[inside], rows.names)
    _check(function, kept, outside)
    task = theorem1_task(function, box, WHATEVER if eps is None else eps, order=order, width=width)
    t = np.clip(task.cube.forth(kept.x), 0.0, 1.0)
    chosen = split(kept)
    size = np.abs(kept.y).max(0)
    unit = np.exp2(np.ceil(np.log2(np.where(size > 0, size, 1.0))))  # powers of 2, so that nothing is rounded
    y = kept.y / unit
    from threadpoolctl import threadpool_limits  # only data need it

    with threadpool_limits(1):  # the systems are small, and threads that wait for each other are slow
        trial = select(
            t, y, chosen, order=order, eps=None if eps is None else eps / unit, narrow_enough=_narrow_enough(task)
        )
        fit = LeastSquares(t[chosen.fitted], y[chosen.fitted], trial.n, trial.ridge)
        coefficients = fit.coefficients(trial.N)
    choice = plans.choose(function.name, task.eps, _shapes(task, trial.n, trial.N), _by(task), width).chosen
    coefficients *= unit
    held = _held_out(kept, t, chosen, trial, coefficients, unit)
    largest = float(held.largest.max())
    if eps is not None and not largest <= eps:
        raise _refusal(held, eps)
    f = task.function
    shape = lean.Shape(f.inputs, f.outputs, trial.N, trial.n, choice.right, choice.batch, task.read_in)
    registers, segments, out = lean.construct(shape, task.cube, choice.c, coefficients, f.variables)
    covered = coverage(t)
    options = _options(rows, outside, choice, held, len(kept.x), covered)
    origin = Origin(f.name, DATA, "lean", eps, options, f.variables, Domain(box.low, box.high))
    program = build(registers, segments, out, source=_source(task, choice, held, covered, outside), origin=origin)
    return program.with_errors(seen=largest)


def _check(function: Function, rows: Rows, outside: int) -> None:
    """Enough rows, at places that differ in every input."""
    beyond = f"; {counted(outside, 'row')} lie outside the box" if outside else ""
    places = int(rows.places[-1]) + 1 if len(rows.x) else 0
    if places < FEWEST:
        same = "" if places == len(rows.x) else f" at {places} different places"
        raise SourceError(
            f"{function.name}: {counted(len(rows.x), 'row')}{same}{beyond}: at least {FEWEST} different ones are "
            "needed, because some are held out to measure the error"
        )
    still = np.flatnonzero(np.ptp(rows.x, axis=0) == 0)
    if len(still):
        name = function.variables[still[0]]
        raise SourceError(
            f"{function.name}: {name} is {rows.x[0, still[0]]:g} in every row{beyond}: nothing says what depends "
            "on it, so leave this column out"
        )
    size = np.abs(rows.y).max(0)
    if size.max() > LARGEST:
        name = rows.names[int(size.argmax())]
        raise SourceError(
            f"{function.name}: {name} reaches {size.max():.3g}, and sums of such numbers are none in float64: divide "
            f"it, so that it stays below {LARGEST:g}"
        )


def _shapes(task: Task, n: int, N: int) -> list[plans.Choice]:
    f = task.function
    return plans.lean(f.inputs, f.outputs, n, N, steepness(N), math.nan, task.read_in, math.nan)


def _by(task: Task) -> str:
    return "terms" if task.width is None else "size"


def _narrow_enough(task: Task) -> Callable[[int, int], bool] | None:
    """Whether a program of order n with N cells can be as narrow as it must be; None if it need not be."""
    width = task.width
    if width is None:
        return None
    return lambda n, N: min(choice.width for choice in _shapes(task, n, N)) <= width


def _held_out(rows: Rows, t: Floats, chosen: Split, trial: Trial, coefficients: Floats, unit: Floats) -> HeldOut:
    out = ~chosen.fitted
    off = np.abs(fitted_values(coefficients, trial.n, trial.N, t[out]) - rows.y[out])
    rms = unit * np.sqrt(((off / unit) ** 2).mean(0))
    noise = _repeated(rows, unit)
    share = trial.coefficients / rows.y.shape[1] / np.count_nonzero(chosen.fitted)  # a fit follows noise by that much
    unexplained = rms / math.sqrt(1.0 + share)
    return HeldOut(len(off), off.max(0), rms, unexplained if noise is None else noise, repeated=noise is not None)


def _repeated(rows: Rows, unit: Floats) -> Floats | None:
    """The standard deviation of rows at one place; None if there are too few."""
    places = rows.places
    counts = np.bincount(places)
    more = len(places) - len(counts)
    if more < REPEATED:
        return None
    y = rows.y / unit
    means = np.stack([np.bincount(places, column) for column in y.T], 1) / counts[:, None]
    result: Floats = unit * np.sqrt(((y - means[places]) ** 2).sum(0) / more)
    return result


def _refusal(held: HeldOut, eps: float) -> UsageError:
    worst = int(np.argmax(held.largest))
    largest, rms, noise = (float(part[worst]) for part in (held.largest, held.rms, held.noise))
    return UsageError(
        f"the rows do not show that: on {counted(held.rows, 'held-out row')} the best fit differs by up to "
        f"{largest:.3g} (RMS {rms:.3g}); {_noise(held, noise)}: ask for eps = {above(1.05 * largest)} or more, or "
        "leave it out for the best fit",
        argument="eps",
        value=eps,
    )


def _noise(held: HeldOut, noise: float) -> str:
    if held.repeated:
        return f"rows at one place scatter by about {noise:.2g}"
    return f"noise, or detail that the rows do not resolve, is about {noise:.2g}"


def _options(
    rows: Rows, outside: int, choice: plans.Choice, held: HeldOut, kept: int, covered: float
) -> dict[str, Option]:
    options: dict[str, Option] = {"order": choice.order, "N": choice.N}
    options |= {"c": choice.c} if choice.N else {}
    options |= {"fitted rows": kept - held.rows, HELD_OUT: held.rows}
    options |= {RMS: _short(held.rms.max()), "noise": _short(held.noise.max())}
    options |= {"rows with gaps": rows.gaps} if rows.gaps else {}
    options |= {"rows outside the box": outside} if outside else {}
    options |= {"covered": round(covered, 3)} if covered < WHOLE else {}
    if len(rows.names) > 1:
        for name, largest, rms in list(zip(rows.names, held.largest, held.rms, strict=True))[:NAMED]:
            options[f"largest difference of {clean(name, 100)}"] = f"{largest:.3g} (RMS {rms:.3g})"
    return options


def _source(task: Task, choice: plans.Choice, held: HeldOut, covered: float, outside: int) -> str:
    """In words, with everything that a reader must know of it."""
    rows = task.function.rows
    assert rows is not None
    worst = int(np.argmax(held.noise))
    cells = f"N = {choice.N}, c = {choice.c:g}" if choice.N else "N = 0"
    parts = [f"{task.function.name}, Theorem 1, lean, order {choice.order}, {cells}", *rows.notes]
    parts += [f"{counted(outside, 'row')} outside the box left out"] if outside else []
    parts += [f"the rows cover {100 * covered:.3g} % of the box, elsewhere it extrapolates"] if covered < WHOLE else []
    return "; ".join([*parts, _noise(held, float(held.noise[worst]))])


def _short(value: float) -> float:
    return float(f"{value:.3g}")
