"""Engine "taylor": validated Taylor integration of eq. (1) from its terms alone, raw blocks included.

A step carries the middle of the balls by its Taylor polynomial, with the majorant's bound of the tail, and the radii
by a differential inequality: in the tube that no solution leaves during the step, |δ|' ≤ M|δ| with M ≥ J on the
diagonal and M ≥ |J| beside it, so r(h) ≤ e^{Mh} r(0), component by component. Where registers decay, so do their radii.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from integraph.certify.enclosure.systems import Entries, System, sizes, systems
from integraph.certify.problem import PrecisionTooLow, Unprovable
from integraph.certify.readout import read_out
from integraph.numbers.arb.conversion import ONE, ZERO, Balls, largest, precision, size, symmetric
from integraph.numbers.arb.majorant import balanced, majorant
from integraph.numbers.arrays import Floats
from integraph.program import Program

MOST = 512  # bits: the order grows with them, and the work with its square
STEPS = 2000  # of one system in one segment
SHORTEST = 2.0**-15  # step, as a part of the duration
ROUGH = 64  # bits for radii
KNOWN = 16  # bits of a register that is not wide
TERMS, HALVINGS = 1000, 40  # of the series for radii: at most so many, and how many after they begin to fall
SHARE = 2.0**-16  # of the radius, that a tail may add
SPREAD = 128  # bits between the registers that want the longest and the shortest step


def taylor(program: Program, start: Balls) -> Balls:
    """The outputs for all inputs in the balls, at the precision of the moment."""
    states = [*start, *[ZERO] * (program.width - program.inputs)]
    for number, segment in enumerate(program.segments):
        ends = list(states)
        for system in systems(program, number, states):
            try:
                states_after = integrate(system, [states[r] for r in system.registers], segment.duration)
            except Unprovable as reason:
                name = program.registers.name(system.registers[0])
                raise type(reason)(f"segment {segment.label!r}, the flow of {name}: {reason}") from None
            for register, end in zip(system.registers, states_after, strict=True):
                ends[register] = end
        states = ends
    return read_out(program, states)


@dataclass(frozen=True, slots=True, eq=False)
class _Flow:
    """A system whose coefficients are balls, as its middle and the rest; rough if the rest is not tiny."""

    whole: System
    middle: System
    rest: System
    rough: bool


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Where every solution is at the end of a step, and the tube that it does not leave on the way."""

    end: Balls
    tube: Balls
    duration: arb


def integrate(system: System, y: Balls, duration: float) -> Balls:
    """y(duration) from every start in the balls."""
    for step in steps(system, y, duration):
        y = step.end
    return y


def steps(system: System, y: Balls, duration: float) -> Iterator[Step]:
    """The steps from every start in the balls, until the time is over."""
    rough = any(ball.rel_accuracy_bits() < ROUGH // 2 for ball in system.coefficients() if not ball.is_zero())
    flow = _Flow(system, system.each(lambda c: c.mid()), system.each(lambda c: c - c.mid()), rough)
    left, s = arb(duration), np.ones(len(y))
    for _ in range(STEPS):
        if not left > 0:
            return
        step, s = _step(flow, y, s, left, SHORTEST * duration)
        yield step
        y = step.end
        left -= step.duration
    raise _trouble(y, f"{STEPS} Taylor steps are not enough")


def _step(flow: _Flow, y: Balls, s: Floats, left: arb, shortest: float) -> tuple[Step, Floats]:
    """A step and the scales it used; its length is what is left of the time, or at least the shortest."""
    radii = [size(ball - ball.mid()) for ball in y]
    slope = flow.whole.slope(y)
    majorant_sizes = sizes(flow.whole, slope, flow.whole.jacobian(y))
    s = balanced(majorant_sizes, s)
    limit = majorant(majorant_sizes, s, largest(left), flow.rough)
    if limit is None:
        raise PrecisionTooLow("a rate of change is not finite: the solution may escape")
    order = 4 + ctx.prec * 2 // 5
    longest, k = limit.best(order, _goal(y, slope, radii, s, left))
    if not (longest > shortest or left <= longest):
        raise _trouble(y, "the Taylor steps become too short")
    h = left if left <= longest else arb(_short(longest))
    ratio = arb(largest(h)) / arb(limit.time[k])
    tail = arb(limit.size[k]) * ratio ** (order + 1) / (1 - ratio)
    reach, scales = arb(limit.reach(largest(h))), [arb(scale) for scale in s.tolist()]
    tube = [ball + symmetric(reach * scale) for ball, scale in zip(y, scales, strict=True)]
    driven = [size(gap) for gap in flow.rest.slope(tube)]
    grown = _grown(flow.whole.jacobian(tube), driven, radii, s, h)
    ends = []
    series = flow.middle.series([ball.mid() for ball in y], order)
    for coefficients, scale, radius in zip(series, scales, grown, strict=True):
        value = ZERO
        for c in reversed(coefficients):
            value = value * h + c
        ends.append(value + symmetric(size(tail * scale) + radius))
    if not all(ball.is_finite() for ball in ends):
        raise PrecisionTooLow("a register has no finite bound: the solution may escape")
    return Step(ends, tube, h), s


def _trouble(y: Balls, what: str) -> Unprovable:
    """The error for a step that fails: only wide balls can be helped, by more bits."""
    if any(ball.rel_accuracy_bits() < KNOWN for ball in y if not ball.is_zero()):
        return PrecisionTooLow(f"{what}: the solution may escape")
    return Unprovable(f"{what}: it is too stiff for this engine, or escapes")


def _goal(y: Balls, slope: Balls, radii: Balls, s: Floats, left: arb) -> float:
    """log₂ of the tail, in the norm, that no register notices, neither in its precision nor in its radius."""
    goals = []
    for ball, rate, radius, scale in zip(y, slope, radii, s.tolist(), strict=True):
        value = max(largest(ball), min(largest(rate * left), scale), 1e-300)
        precise, wide = math.log2(value) - ctx.prec, largest(radius) * SHARE
        goals.append((max(precise, math.log2(wide)) if wide > 0 else precise) - math.log2(scale))
    return max(min(goals), max(goals) - SPREAD)


def _short(h: float) -> float:
    """A slightly smaller step with few binary digits, so that times add up exactly."""
    mantissa, exponent = math.frexp(h)
    return math.ldexp(math.floor(mantissa * 4096) / 4096, exponent)


def _grown(jacobian: Entries, driven: Balls, radii: Balls, s: Floats, h: arb) -> Balls:
    """r(h) of r' = Mr + g, as e^{−ch} e^N r where one more entry of r is 1 and drives by g; c makes N ≥ 0 everywhere.

    Once n ≥ 2b with b ≥ |N| in the norm of the scales, the terms N^n r/n! at least halve: all that follow one are at
    most as large together.
    """
    with precision(ROUGH):
        count = len(radii)
        if not all(entry.is_finite() for entry in (*jacobian.values(), *driven)):
            return [arb.pos_inf()] * count
        scales = [arb(scale) for scale in s.tolist()]
        diagonal = [*(jacobian.get((i, i), ZERO).upper() for i in range(count)), ZERO]
        c = max(ZERO, *(-d for d in diagonal))
        entries = [(i, j, h * size(entry)) for (i, j), entry in jacobian.items() if i != j]
        entries += [(i, i, h * (d + c)) for i, d in enumerate(diagonal)]
        entries += [(i, count, h * g) for i, g in enumerate(driven)]
        push = max(_sizes(driven, scales))
        scales.append(ONE / arb(push) if push > 0 else ONE)
        rows = [ZERO] * (count + 1)
        for i, j, entry in entries:
            rows[i] += entry * scales[j] / scales[i]
        halving = 2 * max(map(largest, rows))
        if not halving < TERMS:
            return [arb.pos_inf()] * count
        total = term = [*radii, ONE if push > 0 else ZERO]
        for n in range(1, math.ceil(halving) + HALVINGS):
            fresh = [ZERO] * len(term)
            for i, j, entry in entries:
                fresh[i] += entry * term[j]
            term = [t / n for t in fresh]
            total = [x + t for x, t in zip(total, term, strict=True)]
        rest = max(_sizes(term, scales))
        fall = (-c * h).exp()
        return [size((x + arb(rest) * scale) * fall) for x, scale in zip(total[:count], scales, strict=False)]


def _sizes(balls: Balls, scales: Balls) -> list[float]:
    return [largest(ball / scale) for ball, scale in zip(balls, scales, strict=True)]
