"""The flow of a vector field from time to time. Every step begins and ends at a float, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from integraph.certify.loops.rows import ModelRows
from integraph.certify.loops.steps import LEAST, SOLUTIONS, flow_step
from integraph.certify.solutions.vector_field import VectorField
from integraph.clock import check_deadline
from integraph.numbers.arrays import Floats

SHORTEST = 2.0**-40  # of the whole time: a shorter step means that there is no end
GROWTH = 1.5  # of a step beside the one before
FEW = 2.0**20  # numerators of steps between the times that are asked for, so that their sums are floats


@dataclass(frozen=True, slots=True, eq=False)
class Advance:
    """The states at the time `end`, and a box that contains them since the last one."""

    end: float
    rows: ModelRows
    over: Floats


def integrate(field: VectorField, times: Floats) -> Iterator[Advance]:
    """Steps through all these times, in order and > 0, until the last one or one that cannot be reached."""
    rows, now, span = field.start, 0.0, math.inf
    shortest = max(float(times[-1]) * SHORTEST, math.ulp(0.0)) if len(times) else 0.0
    for target in times.tolist():
        while now < target:
            left = _below(Fraction(target) - Fraction(now))
            trial = left if left <= span else _rounded(span)
            advance = _step(field, rows, Fraction(now), trial)
            while advance is None and trial * LEAST >= shortest:
                trial *= LEAST
                advance = _step(field, rows, Fraction(now), trial)
            if advance is None:
                return
            taken = advance.end - now
            if taken < 0.75 * left or left > span:
                span = taken * GROWTH
            now, rows = advance.end, advance.rows
            yield advance


def _step(field: VectorField, rows: ModelRows, now: Fraction, trial: float) -> Advance | None:
    """A step of at most this time, and where it does not end at a float, a minute one to the next."""
    check_deadline()
    step = flow_step(field.tape, rows, trial, 1.0, SOLUTIONS)
    if step is None:
        return None
    now += Fraction(trial * step.share)
    end, over = step.end(), step.tube(0.0, 1.0).ranges()
    if not np.isfinite(over).all():
        return None
    goal = _below(now)
    goal = goal if goal == now else math.nextafter(goal, math.inf)
    if now < goal:
        rest = _step(field, end, now, _below(Fraction(goal) - now))
        if rest is None:
            return None
        over = np.stack([np.minimum(over[:, 0], rest.over[:, 0]), np.maximum(over[:, 1], rest.over[:, 1])], 1)
        return Advance(rest.end, rest.rows, over)
    return Advance(goal, end, over)


def _below(time: Fraction) -> float:
    """The largest float that is not larger."""
    nearest = float(time)
    return nearest if Fraction(nearest) <= time else math.nextafter(nearest, 0.0)


def _rounded(span: float) -> float:
    """A span with few bits."""
    fraction, exponent = math.frexp(span)
    return math.ldexp(math.floor(fraction * FEW) / FEW, exponent)
