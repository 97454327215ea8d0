"""One step of a plant again: a box that no solution leaves, the Taylor series on rows, the remainder over the box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb

from integraph.certify.certificate.replay import CertificateFault
from integraph.certify.loops.replay import intervals
from integraph.certify.loops.replay.disturbance import Noise, drive
from integraph.certify.loops.replay.formulas import row_ring
from integraph.certify.loops.replay.functions import coefficients_of
from integraph.certify.loops.replay.intervals import Ends
from integraph.certify.loops.replay.rows import Row, of_ball
from integraph.certify.loops.replay.series import Ring, Stream, Streams, held
from integraph.certify.loops.replay.sets import StateSet
from integraph.numbers.arb.conversion import ONE, ZERO, Balls
from integraph.targets.expression import Expression

PIECES = 4  # of a step, for what holds between sampling times


@dataclass(frozen=True, eq=False)
class ReplayedStep:
    """Coefficients of the states as rows over the errors of `start`, the remainder of each, and how far disturbances
    drive it."""

    start: StateSet
    series: list[list[Row]]
    rest: list[Ends]
    driven: Balls

    @cached_property
    def end(self) -> StateSet:
        """States and inputs at the end."""
        states = [
            (sum(rows[1:], rows[0]) + _enclosing(rest.ball(), rows[0])).scaled(ONE, ZERO, off)
            for rows, rest, off in zip(self.series, self.rest, self.driven, strict=True)
        ]
        return self.start.image(states, range(len(states), len(self.start.p)))

    def between(self) -> list[list[Row]]:
        """The states over pieces of time; the last symbol of the rows is the time in its piece."""
        parts = list(zip(self.series, self.rest, self.driven, strict=True))
        return [[_over(rows, rest, n).scaled(ONE, ZERO, off) for rows, rest, off in parts] for n in range(PIECES)]


def _enclosing(ball: arb, like: Row) -> Row:
    return of_ball(ball, like.k, len(like.g))


def _over(rows: list[Row], rest: Ends, n: int) -> Row:
    """Σ x_j τ^j + [0, 1]·rest for τ = c + ρθ, |θ| ≤ 1: the value at c, the middle of the speed times θ, a radius."""
    c, rho, end = arb(2 * n + 1) / (2 * PIECES), arb(1) / (2 * PIECES), arb(n + 1) / PIECES
    value, speed, bent = rows[0], None, ZERO
    for j, row in enumerate(rows[1:], 1):
        value = value + row.scaled(c**j)
        part = row.scaled(rho * j * c ** (j - 1))
        speed = part if speed is None else speed + part
        if j > 1:
            whole = sum(row.sizes, ZERO) + row.errors
            bent += whole * (j * (j - 1) // 2) * rho**2 * end ** (j - 2)
    low, high = speed.range() if speed is not None else (ZERO, ZERO)
    moved = low.union(high)
    off = rest.ball().union(ZERO)
    r = value.r + moved.rad() + bent + off.rad()
    shifted = value.scaled(ONE, off.mid())
    return Row(value.k, shifted.p, [*value.g, moved.mid()], r.upper())


def interval_ring() -> Ring:
    """The arithmetic of intervals."""

    def function(name: str | Fraction, x: Ends) -> Ends:
        ball = coefficients_of(name)(x.ball(), 0)[0]
        return Ends(ball.lower(), ball.upper())

    return Ring(lambda ball: Ends(ball.lower(), ball.upper()), intervals.dot, function)


def flow(plant: Expression, ring: Ring, values: Sequence[Any], states: int, h: arb) -> list[Stream]:
    """Coefficients of the states, x(τh) = Σ x_j τ^j, from values of states and inputs."""
    derivatives: list[Stream] = []

    def state(n: int) -> Stream:
        def rule(j: int) -> Any:
            if j == 0:
                return values[n]
            before = derivatives[n][j - 1]
            return None if before is None else before.scaled(h / j)

        return Stream(rule)

    streams = [state(n) if n < states else held(value) for n, value in enumerate(values)]
    derivatives += Streams(ring).formula(plant, streams)
    return streams[:states]


def replay_step(
    plant: Expression, start: StateSet, h: arb, order: int, box: Sequence[Ends], noise: Noise | None = None
) -> ReplayedStep:
    """The step of length h, or a CertificateFault. With noise, the last rows of the start are its middle."""
    n = len(box)
    ranges = [Ends(*row.range()) for row in start.rows]
    wide = [*box, *ranges[n:]]
    if noise is not None:
        wide[-len(noise.ends) :] = noise.ends
    over = flow(plant, interval_ring(), wide, n, h)
    for number, (stream, side, own) in enumerate(zip(over, box, ranges, strict=False)):
        moved = stream[1] or Ends(ZERO, ZERO)
        low, high = own.low + moved.low.min(ZERO), own.high + moved.high.max(ZERO)
        if not (moved.finite and side.low <= low and high <= side.high):
            raise CertificateFault(f"solutions may leave the box of state {number + 1}")
    driven = [ZERO] * n
    if noise is not None:
        driven = drive(interval_ring(), plant, wide, noise, n, h)
        over = flow(plant, interval_ring(), [*box, *ranges[n:]], n, h)  # of the solutions without noise
    rest = [stream[order + 1] or Ends(ZERO, ZERO) for stream in over]
    if not all(ends.finite for ends in rest) or not all(off.is_finite() for off in driven):
        raise CertificateFault("a remainder has no bound")
    streams = flow(plant, row_ring(start.k, len(start.p)), start.rows, n, h)
    zero = of_ball(ZERO, start.k, len(start.p))
    series = [[zero if (row := stream[j]) is None else row for j in range(order + 1)] for stream in streams]
    if not all(row.finite for rows in series for row in rows):
        raise CertificateFault("a function of the plant is not defined on all states")
    return ReplayedStep(start, series, rest, driven)
