"""What the kinds share: a program against its oracle, in values, in shapes and in what it promises.

Two correct computations differ by rounding, and by how much depends on the conditioning of what is computed. So an
oracle also says how far its own result moves when everything on the way is perturbed a little: that is asked only where
the difference is not tiny anyway. Where rounding alone could have moved the result by 1e-3 of its size, nothing is
decided. Of the budget only what is smoothed or left behind counts: rounding of the controls is rounding like any other.
"""

from __future__ import annotations

import functools
import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.kind import AGREES, FAILS, REFUSED, STATUSES, UNDECIDED, Outcome
from integraph import Program
from integraph.errors import IntegraphError, SourceError, SpecError, StepLimitError, UsageError
from integraph.program.engine import Failure, Status

ENGINES, FREES = ("exact", "taylor", "precise"), ("keep", "clean", "decay", "auto")
SLOW, SELDOM = "oracle", 5  # an engine for one case of so many
DECAYS = ("decay", "auto")
TINY = {"exact": 1e-12, "precise": 1e-12, "taylor": 1e-9, SLOW: 1e-7}  # of a result's size, or of 1 if it is smaller
DECAYED = 1e-9  # the same, where decay leaves something and nothing is promised
HAZY = 1e-3
EPS = 1e-3
STEPS = 20_000  # of taylor: a stiff program should give up soon

Points = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Subject:
    """What is compiled, on which box, and who knows better."""

    compile: Callable[..., Program]  # takes free and eps, as integraph.compile does
    truth: Callable[[Points], Points]  # (B, inputs) → (B, outputs); NaN or infinite where there is no value
    slack: Callable[[Points], Points]  # (B, inputs) → (B, outputs): how far rounding may move the truth
    low: Points
    high: Points
    excuse: Callable[[Points], str] = lambda x: ""  # why the flow may fail at one point that has a value


@dataclass(frozen=True)
class Plan:
    """What to try: the first engine and policy always, at all points, the others at a few."""

    engines: tuple[str, ...] = ENGINES[:1]
    frees: tuple[str, ...] = FREES[:1]
    search: int = 0  # steps of the search for a broken promise
    eps: float = EPS  # where a tolerance is needed
    always: bool = False  # a tolerance for the other policies, even where none is needed


def engines(seed: int) -> tuple[str, ...]:
    """Those that a thorough check of a case takes."""
    return (*ENGINES, SLOW) if seed % SELDOM == 0 else ENGINES


def judge(subject: Subject, x: Points, plan: Plan, rng: np.random.Generator) -> Outcome:
    """The first failure, or else what became of the first program: x are points of the box."""
    try:
        return _judged(subject, x, plan, rng)
    except SpecError as error:  # what the compiler made itself breaks a rule
        return crash(error)
    except IntegraphError as error:
        return Outcome(REFUSED, reason(error))
    except Exception as error:
        return crash(error)


def _judged(subject: Subject, x: Points, plan: Plan, rng: np.random.Generator) -> Outcome:
    program, eps = compiled(subject, plan)
    first = compare(subject, program, x, plan.engines[0])
    if first.status == FAILS:
        return first
    for outcome in _others(subject, program, x[:2], plan, plan.eps if plan.always else eps):
        if outcome.status == FAILS:
            return outcome
    if plan.search and program.budget is not None:
        broken = promise(subject, program, x, plan.search, rng)
        if broken.status == FAILS:
            return broken
    return first


def compiled(subject: Subject, plan: Plan) -> tuple[Program, float | None]:
    """The program, and the tolerance: none, unless it is refused without one."""
    try:
        return subject.compile(free=plan.frees[0], eps=None), None
    except SourceError:
        return subject.compile(free=plan.frees[0], eps=plan.eps), plan.eps


def _others(subject: Subject, program: Program, x: Points, plan: Plan, eps: float | None) -> Iterable[Outcome]:
    for engine in plan.engines[1:]:
        yield compare(subject, program, x, engine)
    for free in plan.frees[1:]:
        try:
            other = subject.compile(free=free, eps=eps)
        except UsageError:
            if eps is None:
                raise
            continue  # what decay leaves, or rounding of the controls, may be more than the tolerance
        found = compare(subject, other, x, plan.engines[0], free)
        yield Outcome(found.status, f"{found.detail}, free={free}")


def compare(subject: Subject, program: Program, x: Points, engine: str, free: str = FREES[0]) -> Outcome:
    """Values at some points, and how many there are.

    Where the oracle has no value, the flow must fail. Where it has one, the flow must not, unless there is an excuse.
    """
    own = max(TINY[engine], DECAYED if free in DECAYS and program.budget is None else 0.0)
    with np.errstate(all="ignore"):
        wanted = subject.truth(x)
    flow = program.flow(x, engine, max_steps=STEPS)
    if flow.outputs.shape != wanted.shape:
        return Outcome(FAILS, f"shape: {flow.outputs.shape[1]} outputs, the oracle has {wanted.shape[1]} [{engine}]")
    failed = {failure.input: failure for failure in flow.failures}
    seen = [_row(subject, program, x[k], wanted[k], flow.outputs[k], failed.get(k), engine, own) for k in range(len(x))]
    return min(seen, key=lambda outcome: (-STATUSES.index(outcome.status), not outcome.detail))


def _row(
    subject: Subject, program: Program, x: Points, wanted: Points, found: Points, failure: Failure | None, engine: str,
    own: float,
) -> Outcome:  # fmt: skip
    at = f"at {x.tolist()} [{engine}]"
    if not np.isfinite(wanted).all():
        if failure is not None:
            return Outcome(REFUSED, f"no value: {failure.status.name.lower()}, and none of the oracle")
        k = int(np.flatnonzero(~np.isfinite(wanted))[0])
        return Outcome(FAILS, f"value: output {k} is {found[k]!r}, the oracle says {wanted[k]} {at}")
    if failure is not None:
        if engine in ("taylor", SLOW) and failure.status == Status.STEP_LIMIT:
            return Outcome(REFUSED, f"{engine} used up its steps")
        excuse = subject.excuse(x)
        if excuse and failure.status != Status.STEP_LIMIT:
            return Outcome(REFUSED, excuse)
        return Outcome(FAILS, f"value: none ({failure}), the oracle says {wanted.tolist()} {at}")
    return _close(subject, program, x, wanted, found, own, at)


def _close(
    subject: Subject, program: Program, x: Points, wanted: Points, found: Points, own: float, at: str
) -> Outcome:
    size, off = np.maximum(np.abs(wanted), 1.0), np.abs(found - wanted)
    budget = program.budget
    allowed = own * size + (0.0 if budget is None else budget.approximation + budget.residue)
    if (off <= allowed).all():
        return Outcome(AGREES)
    with np.errstate(all="ignore"):
        slack = subject.slack(x[None])[0]
    hazy = ~(slack <= HAZY * size)
    over = np.where(hazy, -np.inf, (off - (allowed + slack)) / size)
    if (over <= 0).all():
        return Outcome(UNDECIDED, "ill-conditioned") if (hazy & (off > allowed)).any() else Outcome(AGREES)
    k = int(np.argmax(over))
    smoothed = budget is not None and budget.approximation > 0
    return Outcome(
        FAILS,
        f"{'promise' if smoothed else 'value'}: output {k} is {found[k]!r}, the oracle says {wanted[k]!r} "
        f"(allowed {allowed[k]:.2g}, rounding {slack[k]:.2g}) {at}",
    )


def promise(subject: Subject, program: Program, x: Points, steps: int, rng: np.random.Generator) -> Outcome:
    """The promised error at the worst point that a pattern search finds, from the worst of x and some corners on."""

    def off(points: Points) -> Points:
        with np.errstate(all="ignore"):
            far = np.abs(program.flow(points, "exact").outputs - subject.truth(points))
        return np.nan_to_num(far, nan=-1.0, posinf=-1.0).max(1)

    points = np.concatenate([x, _corners(subject, 8, rng)])
    best = points[np.argmax(off(points))]
    width = 0.3 * (subject.high - subject.low)
    for _ in range(steps):
        moves = width * rng.standard_normal((8, len(best))) * (rng.random((8, len(best))) < 0.5)
        around = np.concatenate([best[None], np.clip(best + moves, subject.low, subject.high)])
        found = around[np.argmax(off(around))]
        width = width * (0.6 if (found == best).all() else 1.2)
        best = found
    return compare(subject, program, best[None], "exact")


def _corners(subject: Subject, count: int, rng: np.random.Generator) -> Points:
    return np.where(rng.random((count, len(subject.low))) < 0.5, subject.low, subject.high)


def points(low: Points, high: Points, count: int, rng: np.random.Generator) -> Points:
    """Random points of a box; the last is a corner."""
    inside = low + (high - low) * rng.random((count, len(low)))
    inside[-1] = np.where(rng.random(len(low)) < 0.5, low, high)
    return inside


def reason(error: IntegraphError) -> str:
    """Why something was refused, without numbers and names, so that reasons can be counted."""
    if isinstance(error, StepLimitError):
        return "step limit"
    text = re.sub(r"'[^']*'|\([^)]*\)|\[[^]]*\]", "…", str(error))
    text = re.sub(r"[-−]?\d[\d.e+−-]*", "#", text)
    return f"{type(error).__name__}: {text[:70]}"


def guarded(check: Callable[[Any, Any], Outcome]) -> Callable[[Any, Any], Outcome]:
    """The check of a kind: whatever exception passes, it is a finding."""

    @functools.wraps(check)
    def outcome(kind: Any, case: Any) -> Outcome:
        try:
            return check(kind, case)
        except Exception as error:
            return crash(error)

    return outcome


def crash(error: BaseException) -> Outcome:
    """An exception that is not ours: what it says, and where in the package it was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "integraph" in Path(f.filename).parts]
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}" if frames else ""
    return Outcome(FAILS, f"crash: {type(error).__name__}: {str(error)[:200]}{where}")
