"""The polynomial that stands for a function, with the error that was seen, or an error that says why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from integraph.constructions.surrogate import chebyshev, diagnosis, noise
from integraph.constructions.surrogate.diagnosis import UNKNOWN, noisy, singular
from integraph.constructions.surrogate.sampling import HIGHEST, Sampler
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.intervals import Interval
from integraph.targets import Function
from integraph.targets.function import Alpha

MOST = 20_000  # calls, unless the user says how many
SHARE = 0.125  # of ε, for the polynomial
SUSPICIOUS = {1: 140, 2: 1000, 3: 3000}  # calls after which a function may not be smooth; 5000 for more inputs
FALLING, STAGES = 0.5, 3  # an error that is not below half of what it was three polynomials before stands still
LUCK = 4.0
AGAIN = 2.5  # times more calls until f is asked again
DUST = 1e-3  # of the tolerance: high degrees that are left out


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """Σ c_ν T_ν on the box. `error` is the largest difference from f at the check points: seen, not promised."""

    coefficients: Floats
    box: Interval
    error: float
    note: str = ""  # what f looks like, if that is not smooth
    _derivatives: dict[Alpha, Floats] = field(default_factory=dict)

    @property
    def degree(self) -> float:
        """The geometric mean over the directions."""
        sizes = self.coefficients.shape[:-1]
        return float(math.prod(sizes) ** (1 / len(sizes)))

    def values(self, x: Floats) -> Floats:
        return chebyshev.evaluate(self.coefficients, self._to_cube(x))

    def derivative(self, alpha: Alpha, x: Floats) -> Floats:
        """∂^α by x, of the polynomial."""
        if alpha not in self._derivatives:
            self._derivatives[alpha] = chebyshev.differentiate(self.coefficients, alpha)
        slope = float(np.prod((2.0 / (self.box.high - self.box.low)) ** np.array(alpha)))
        return slope * chebyshev.evaluate(self._derivatives[alpha], self._to_cube(x))

    def _to_cube(self, x: Floats) -> Floats:
        low, high = self.box.low, self.box.high
        result: Floats = np.clip(((x - low) - (high - x)) / (high - low), -1.0, 1.0)
        return result


def surrogate(function: Function, box: Interval, eps: float) -> Surrogate:
    """The polynomial that is within a small part of ε of f at all check points. A UsageError if there is none within
    the calls that are allowed, or where no more of them would help."""
    search = Search(function, box, eps)
    while not search.good():
        search.doubt()
        search.sampler.grow(search.tolerance)
    coefficients = chebyshev.trim(search.sampler.coefficients, DUST * search.tolerance)
    error = max(search.sampler.error(coefficients), search.remainder)
    return Surrogate(coefficients, box, error, search.diagnosis.look)


class Search:
    """Polynomials of higher and higher degree, and doubts in them."""

    def __init__(self, function: Function, box: Interval, eps: float) -> None:
        assert function.meter is not None
        self.meter, self.name, self.eps, self.tolerance = function.meter, function.name, eps, SHARE * eps
        self.allowed = MOST if self.meter.limit is None else self.meter.limit
        self.sampler = Sampler(function, box)
        self.errors: list[float] = []
        self.diagnosis = UNKNOWN
        self.listened = 0  # the number of polynomials when f was asked whether it is noisy
        self.looked = 0  # the number of calls when f was last asked whether it is smooth

    @property
    def left(self) -> int:
        """Calls."""
        return self.allowed - self.meter.spent

    def good(self) -> bool:
        """Whether the next polynomial is good enough."""
        if not self.sampler.possible or self.sampler.missing > self.left:
            self._listen()
            self._look()
            raise self._refusal(limited=self.sampler.possible)
        self.errors.append(self.sampler.fit())
        if self.errors[-1] <= self.tolerance and self.rough:
            self._look()
            self.errors[-1] = self.sampler.error(self.sampler.coefficients)
        return max(self.errors[-1], self.sampler.tail, self.remainder) <= self.tolerance

    @property
    def rough(self) -> bool:
        """Whether the coefficients of f say that it is not smooth; if they are dust they say nothing."""
        return self.sampler.slow and self.sampler.remainder > DUST * self.tolerance

    @property
    def remainder(self) -> float:
        """What is left of a function that is not smooth: its error is large near one place, where no check may be."""
        return LUCK * self.sampler.remainder if self.rough else 0.0

    def doubt(self) -> None:
        """Ask once whether f is noisy, when its errors stand still, and whether it is smooth, when it took many calls.
        A UsageError where more calls will not help."""
        stages = len(self.errors)
        before = self.errors[: stages - STAGES]
        still = bool(before) and self.errors[-1] > FALLING * min(before)
        if still and self.diagnosis.noise and stages >= self.listened + STAGES:
            raise self._refusal()
        if still:
            self._listen()
        if self.meter.spent > SUSPICIOUS.get(len(self.sampler.sides), 5000):
            self._look()
        if self.diagnosis.hopeless or (self.diagnosis.look and self._out_of_reach):
            raise self._refusal()

    @property
    def _out_of_reach(self) -> bool:
        """Whether errors that fall like 1/degree, as at a kink, are too large; the last ones may have been unlucky."""
        factor = max(min(self.errors[-STAGES:]), self.remainder) / (LUCK * self.tolerance)
        calls = self.meter.spent * factor ** len(self.sampler.sides)
        return bool(factor * self.sampler.sides.max() > HIGHEST or calls > self.allowed)

    def _listen(self) -> None:
        if not self.listened and self.errors and self.left >= noise.CALLS:
            self.listened = len(self.errors)
            self.diagnosis = noisy(self.sampler, self.tolerance) or self.diagnosis

    def _look(self) -> None:
        enough = self.left >= diagnosis.calls(len(self.sampler.sides))
        if self.meter.spent > AGAIN * self.looked and self.errors and enough and not self.diagnosis.look:
            self.looked = self.meter.spent
            self.diagnosis = singular(self.sampler) or self.diagnosis

    def _refusal(self, limited: bool = False) -> UsageError:
        best = f"; the best one is off by about {min(self.errors):.2g}" if self.errors else ""
        look = f"; it looks like {self.diagnosis.look}" if self.diagnosis.look else ""
        more = "allow more calls, " if limited else ""
        return UsageError(
            f"for eps = {self.eps:g} " * limited
            + f"no fit is that close after {self.meter.spent} values of {self.name}{best}{look}: "
            + f"{more}{self.diagnosis.remedy}",
            argument="max_calls" if limited else "eps",
            value=self.allowed if limited else self.eps,
        )
