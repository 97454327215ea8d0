"""What a function looks like that no polynomial fits: noise, or a place where it is not smooth; and what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from integraph.constructions.surrogate import chebyshev, noise
from integraph.constructions.surrogate.sampling import Sampler
from integraph.constructions.surrogate.singularity import CALLS, ENDLESS, POLE, Singularity, singularity
from integraph.numbers.arrays import Floats
from integraph.numbers.low_discrepancy import kronecker

WAVES = 10.0  # of the polynomial, about: what is looked at closely
AMPLIFIED = 100.0  # noise in an error: a polynomial through noisy values, times the safety of the tolerance


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`look` completes "it looks like …", `remedy` "…: do this". More calls do not help if it is `hopeless`, and with
    `noise` only as long as errors fall."""

    look: str
    remedy: str
    hopeless: bool = False
    noise: bool = False


UNKNOWN = Diagnosis("", "ask for a larger eps, take a smaller box, or give a formula if there is one")


def noisy(sampler: Sampler, tolerance: float) -> Diagnosis | None:
    """Noise that hides the tolerance, in the middle of the box. It takes `noise.CALLS` calls."""
    line = Line(sampler, 2.0 * kronecker(1, len(sampler.sides))[0] - 1.0, 0)
    fine, coarse = (line(noise.around(line.place, spacing)) for spacing in noise.SPACINGS)
    flat = not np.ptp(fine, axis=0).any()  # values that are rounded to few digits look like steps from near
    level = noise.noise_level(coarse if flat else fine)
    if not AMPLIFIED * level > tolerance:
        return None
    enough = float(f"{AMPLIFIED * level:.1g}")
    remedy = f"ask for eps ≥ {enough:g}, or take the noise out of the function"
    return Diagnosis(f"noise of about {level:.2g}", remedy, hopeless=level > tolerance, noise=True)


def singular(sampler: Sampler) -> Diagnosis | None:
    """A kink, a jump, a pole on one of the lines through the worst point; it takes at most `calls(d)` calls."""
    scale = float(np.abs(sampler.values).max())
    for near in (False, True):  # a small kink shows only near it, and when the smooth part is taken away
        for axis, side in enumerate(sampler.sides):
            line = Line(sampler, sampler.worst, axis)
            line = line.near(WAVES / side) if near else line
            place = singularity(line, scale)
            if place is not None:
                return _described(sampler, line, place)
    return None


def calls(d: int) -> int:
    """The most that `singular` takes."""
    return 2 * d * CALLS


def _described(sampler: Sampler, line: Line, place: Singularity) -> Diagnosis:
    at = line.points(np.array([place.place]))[0]
    x = sampler.to_box(at)
    name = sampler.variables[line.axis]
    here = f"{name} = {x[line.axis]:.6g}"
    rest = [f"{other} = {x[n]:.3g}" for n, other in enumerate(sampler.variables) if n != line.axis]
    where = ", ".join([f"{here} where {rest[0]}", *rest[1:]]) if rest else here
    inside = sampler.box.low[line.axis] < x[line.axis] < sampler.box.high[line.axis]
    split = f"split the box at {here}, ask for a larger eps" if inside else f"take a box that ends before {here}"
    remedy = "leave it out of the box" if place.kind == POLE else split
    look = f"{place.kind} near {where}"
    return Diagnosis(look, f"{remedy}, or give a formula if there is one", place.kind in ENDLESS)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """f along one input, through a point of the cube: t in [0, 1] → (B, outputs); less its polynomial, if `fitted`."""

    sampler: Sampler
    through: Floats
    axis: int
    low: float = -1.0
    high: float = 1.0
    fitted: bool = False

    def near(self, width: float) -> Line:
        """The part of it around the point, without what the polynomial explains."""
        low, high = self.through[self.axis] - width, self.through[self.axis] + width
        return replace(self, low=max(low, -1.0), high=min(high, 1.0), fitted=True)

    @property
    def place(self) -> float:
        """Where on the line the point is."""
        return float((self.through[self.axis] - self.low) / (self.high - self.low))

    def points(self, t: Floats) -> Floats:
        points = np.tile(self.through, (len(t), 1))
        points[:, self.axis] = (1.0 - t) * self.low + t * self.high
        return points

    def __call__(self, t: Floats) -> Floats:
        s = self.points(t)
        values = self.sampler.check(s)
        return values - chebyshev.evaluate(self.sampler.coefficients, s) if self.fitted else values
