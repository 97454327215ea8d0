"""Engine "taylor": validated Taylor integration of eq. (1) from its terms alone, raw blocks included.

A step carries the middle of the balls by its Taylor polynomial, with what the majorant says of the tail, and the radii
by a differential inequality: in the tube that no solution leaves during the step, |δ|' ≤ M|δ| with M ≥ J on the diagonal
and M ≥ |J| beside it, so r(h) ≤ e^{Mh} r(0), component by component. What decays takes its radius along.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb, ctx

from integraph.certify.arbs import ZERO, Balls, largest, precision, size, symmetric
from integraph.certify.problem import Unprovable
from integraph.certify.read_out import read_out
from integraph.certify.taylor_majorant import balanced, majorant, sizes
from integraph.certify.taylor_split import Entries, System, systems
from integraph.program import Program
from integraph.program.views import Floats

STEPS = 2000  # of one system in one segment
ROUGH = 64  # bits for radii
TERMS, TINY = 1000, 2.0**-40  # of the series for radii: at most so many, and what may be left out
SHARE = 2.0**-7  # of the radius, that a tail may add


def taylor(program: Program, start: Balls) -> Balls:
    """The outputs for all inputs in the balls, at the precision of the moment."""
    states = [*start, *[ZERO] * (program.width - program.inputs)]
    for number, segment in enumerate(program.segments):
        ends = list(states)
        for system in systems(program, number, states):
            try:
                found = integrate(system, [states[r] for r in system.registers], segment.duration)
            except Unprovable as reason:
                name = program.registers.name(system.registers[0])
                raise Unprovable(f"segment {segment.label!r}, the flow of {name}: {reason}") from None
            for register, end in zip(system.registers, found, strict=True):
                ends[register] = end
        states = ends
    return read_out(program, states)


def integrate(system: System, y: Balls, duration: float) -> Balls:
    """y(duration) from every start in the balls."""
    left, s = arb(duration), np.ones(len(y))
    for _ in range(STEPS):
        if not left > 0:
            return y
        y, s, h = _step(system, y, s, left)
        left -= h
    raise Unprovable(f"{STEPS} Taylor steps are not enough: divide the box, or raise the precision")


def _step(system: System, y: Balls, s: Floats, left: arb) -> tuple[Balls, Floats, arb]:
    """The state after a step, the scales it used, its length."""
    radii = [size(ball - ball.mid()) for ball in y]
    found = sizes(system, system.slope(y), system.jacobian(y))
    s = balanced(found, s)
    limit = majorant(found, s, largest(left))
    if limit is None:
        raise Unprovable("a rate of change is not finite: the solution may escape; divide the box")
    order = 4 + ctx.prec * 2 // 5
    longest, k = limit.best(order, _goal(y, radii, s))
    h = left if left <= longest else arb(_short(longest))
    length = largest(h)
    ratio = arb(length) / arb(limit.time[k])
    tail = arb(limit.size[k]) * ratio ** (order + 1) / (1 - ratio)
    middle = [ball.mid() for ball in y]
    reach = limit.reach(length)
    tube = [ball + symmetric(arb(reach) * arb(float(scale))) for ball, scale in zip(y, s, strict=True)]
    grown = _grown(system.jacobian(tube), radii, s, h)
    ends = []
    for coefficients, scale, radius in zip(system.series(middle, order), s.tolist(), grown, strict=True):
        value = ZERO
        for c in reversed(coefficients):
            value = value * h + c
        ends.append(value + symmetric(size(tail * arb(scale))) + symmetric(radius))
    if not all(ball.is_finite() for ball in ends):
        raise Unprovable("a register is not known: the solution may escape; divide the box")
    return ends, s, h


def _goal(y: Balls, radii: Balls, s: Floats) -> float:
    """log₂ of the tail, in the norm, that neither the precision nor the radii notice."""
    scales = [arb(scale) for scale in s.tolist()]
    top, wide = max(_sizes(y, scales)), max(_sizes(radii, scales))
    precise = math.log2(max(top, 1e-300)) - ctx.prec
    return max(precise, math.log2(wide * SHARE)) if wide > 1e-300 else precise


def _short(h: float) -> float:
    """A little less, with few binary digits, so that times add up exactly."""
    mantissa, exponent = math.frexp(h)
    return math.ldexp(math.floor(mantissa * 4096) / 4096, exponent)


def _grown(jacobian: Entries, radii: Balls, s: Floats, h: arb) -> Balls:
    """e^{Mh} r as e^{−ch} e^N r, where c makes N = (M + c)h nowhere negative.

    Once n ≥ 2b with b ≥ |N| in the norm of the scales, the terms N^n r/n! at least halve: all that follow one are at most
    as large together.
    """
    with precision(ROUGH):
        if not all(entry.is_finite() for entry in jacobian.values()):
            return [arb.pos_inf()] * len(radii)
        diagonal = [jacobian.get((i, i), ZERO).upper() for i in range(len(radii))]
        c = max(ZERO, *(-d for d in diagonal))
        entries = [(i, j, h * size(entry)) for (i, j), entry in jacobian.items() if i != j]
        entries += [(i, i, h * (d + c)) for i, d in enumerate(diagonal)]
        scales = [arb(scale) for scale in s.tolist()]
        rows = [ZERO] * len(radii)
        for i, j, entry in entries:
            rows[i] += entry * scales[j] / scales[i]
        halving = 2 * max(map(largest, rows))
        if not halving < TERMS:
            return [arb.pos_inf()] * len(radii)
        total, term, n, rest = list(radii), list(radii), 0, math.inf
        while n < halving or rest > TINY * max(_sizes(total, scales)):
            n += 1
            fresh = [ZERO] * len(term)
            for i, j, entry in entries:
                fresh[i] += entry * term[j]
            term = [t / n for t in fresh]
            total = [x + t for x, t in zip(total, term, strict=True)]
            rest = max(_sizes(term, scales))
        fall = (-c * h).exp()
        return [size((x + arb(rest) * scale) * fall) for x, scale in zip(total, scales, strict=True)]


def _sizes(balls: Balls, scales: Balls) -> list[float]:
    return [largest(ball / scale) for ball, scale in zip(balls, scales, strict=True)]
