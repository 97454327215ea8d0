"""A program against an oracle of 60 digits that also says how much of a value float64 may lose.

Every engine is compared where the oracle has a value; where it has none, the flow must fail. The promise is about the
exact flow: that is the `precise` engine with more bits than anybody needs, at points where the difference is large.
There the oracle's own rounding counts too: of e^189 − (e^189 − 1) it has no digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from mpmath import mp, mpf

from fuzz.judge import DECAYS, STEPS, Points
from fuzz.kind import AGREES, FAILS, UNDECIDED, Outcome
from integraph import Program
from integraph.program.engine import Flow, Status

DIGITS = 60
ROUND = mpf(2) ** -53
ORACLE = mpf(10) ** (2 - DIGITS)  # the same for the oracle itself
LARGEST = mpf(10) ** 300  # beyond, float64 may overflow on the way
SLACK = 64  # times what float64 may lose
ROUGH = 1e-9  # of taylor, and of what decay leaves
BITS = 200  # of the flow that a promise is about
ZOOMS, AROUND, BEST = 4, 128, 3  # of the search for a large difference

Value = tuple[mpf, mpf]  # a number, and by how much it may be off


class Undefined:
    """There is no real number, whatever rounding does; or, if `near`, it is a matter of rounding."""

    def __init__(self, near: bool) -> None:
        self.near = near


Row = list[Value | Undefined]  # the outputs at one point


@dataclass(frozen=True, eq=False)
class Subject:
    truth: Callable[[Points, mpf], list[Row]]  # points and the relative error of a rounding
    values: Callable[[Points], Points]  # in float64, to know where to look
    box: Sequence[tuple[float, float]]
    outputs: int
    seed: int
    eps: float | None

    @property
    def ends(self) -> tuple[Points, Points]:
        low, high = np.array(self.box, np.float64).T
        return low, high

    def points(self, count: int) -> Points:
        """Random ones, corners, the middle, and 0 or 1 where they are inside."""
        rng, (low, high) = np.random.default_rng(self.seed), self.ends
        inside = rng.uniform(low, high, (count, len(low)))
        corners = np.where(rng.integers(0, 2, (3, len(low))), high, low)
        special = np.clip(np.array([[0.0] * len(low), [1.0] * len(low), 0.5 * (low + high)]), low, high)
        return np.concatenate([inside, corners, special])


def judge(subject: Subject, program: Program, free: str, engines: Sequence[str], x: Points) -> Outcome:
    """The first failure, or whether anything remains undecided."""
    if program.outputs != subject.outputs:
        return Outcome(FAILS, f"shape: {free}: {program.outputs} outputs, wanted {subject.outputs}")
    wanted, undecided = subject.truth(x, ROUND), ""
    for engine in engines:
        flow = program.flow(x, engine=engine, max_steps=STEPS)
        for row in range(len(x)):
            outcome = _point(subject, program, free, flow, row, x, wanted[row])
            if outcome.status == FAILS:
                return Outcome(FAILS, f"value: {outcome.detail} at {x[row].tolist()} [{engine}, {free}]")
            undecided = undecided or (outcome.detail if outcome.status == UNDECIDED else "")
    broken = promise(subject, program, x)
    if broken:
        return Outcome(FAILS, f"promise: {broken} [{free}]")
    return Outcome(UNDECIDED, undecided) if undecided else Outcome(AGREES)


def _point(subject: Subject, program: Program, free: str, flow: Flow, row: int, x: Points, wanted: Row) -> Outcome:
    """One input of one engine."""
    failure = next((failure for failure in flow.failures if failure.input == row), None)
    missing = [value for value in wanted if isinstance(value, Undefined)]
    loose = free in DECAYS and program.budget is None
    if missing and failure is None:
        if any(value.near for value in missing):
            return Outcome(AGREES)
        if subject.eps is not None or loose:
            return Outcome(UNDECIDED, f"{'decayed' if loose else 'smoothed'} where there is no value")
        return Outcome(FAILS, f"{flow.outputs[row].tolist()} where there is no value")
    if missing:
        return Outcome(AGREES)
    if failure is not None:
        if flow.engine == "taylor" and failure.status is not Status.ESCAPED:
            return Outcome(UNDECIDED, f"taylor: {failure.status.name.lower()}")
        lost = SLACK * ROUND if flow.engine != "taylor" else ROUGH
        if not _safe(subject.truth(x, lost)[row]):
            return Outcome(UNDECIDED, "no value where that is ill-conditioned")
        return Outcome(FAILS, f"none ({failure}), the oracle says {[float(v) for v, _ in wanted]}")
    for (value, off), found in zip(wanted, flow.outputs[row].tolist(), strict=True):
        if not mp.isfinite(off):
            return Outcome(UNDECIDED, "ill-conditioned")
        allowed = SLACK * off + 4 * ROUND * abs(value) + mpf(10) ** -300
        if program.budget is not None:
            allowed += program.budget.total
        if flow.engine == "taylor" or loose:
            allowed += SLACK * SLACK * off + ROUGH * max(1, abs(value))
        if not abs(mpf(found) - value) <= allowed:
            return Outcome(FAILS, f"{found!r}, the oracle says {float(value)!r} (allowed {float(allowed):.2g})")
    return Outcome(AGREES)


def _safe(row: Row) -> bool:
    """Whether there are values also where everything is rounded to fewer digits."""
    return all(not isinstance(value, Undefined) and mp.isfinite(value[1]) for value in row)


def promise(subject: Subject, program: Program, x: Points) -> str:
    """Where the exact flow is further from the truth than promised, in words."""
    if program.budget is None:
        return ""
    total = mpf(program.budget.total)
    if subject.eps is not None and not total <= subject.eps:
        return f"{float(total)!r} is promised, {subject.eps!r} was asked for"
    points = np.concatenate([x, _worst(subject, program, x)])
    flow = replace(program, bits=BITS).flow(points, engine="precise")
    for row, wanted in enumerate(subject.truth(points, ORACLE)):
        for value, found in zip(wanted, flow.outputs[row].tolist(), strict=True):
            if isinstance(value, Undefined) or not np.isfinite(found):
                continue
            off = abs(mpf(found) - value[0])
            if off > total + 2 * ROUND * abs(mpf(found)) + mpf(10) ** -30 + own_rounding(value):
                return f"off by {float(off)!r}, promised {float(total)!r}, at {points[row].tolist()}"
    return ""


def own_rounding(value: Value) -> mpf:
    """Of the oracle with its own unit; where a value is infinitely steep that says nothing."""
    return value[1] if mp.isfinite(value[1]) else mpf(0)


def _worst(subject: Subject, program: Program, x: Points) -> Points:
    """Where the difference looks largest in float64."""
    rng, (low, high) = np.random.default_rng(subject.seed + 1), subject.ends
    points = np.concatenate([x, rng.uniform(low, high, (AROUND, len(low)))])
    for zoom in range(ZOOMS):
        with np.errstate(all="ignore"):
            off = np.abs(program.flow(points, engine="exact").outputs - subject.values(points)).max(1)
        best = points[np.argsort(np.where(np.isfinite(off), -off, 0.0), kind="stable")[:BEST]]
        moves = 0.2 ** (zoom + 1) * (high - low) * rng.normal(size=(BEST, AROUND // BEST, len(low)))
        points = np.concatenate([best, np.clip((best[:, None] + moves).reshape(-1, len(low)), low, high)])
    return best
