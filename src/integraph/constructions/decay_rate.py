"""The smallest decay rate at which a budget holds, with few evaluations of the budget, each a pass through all layers.

Bisection chooses the rates to try. The residue of decay is nearly a multiple of e^−r, so that two evaluations decide
most of these rates without further ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from integraph.constructions.theorem2.budget import Parts

LARGEST_RATE = 700.0  # e^−700 is almost nothing
DECAY_RATE = 40.0  # leaves e^−40 = 4e−18 of a register: less than float64 resolves
GUESSES, NEAR = 4, 2e-3  # how often, and how near to the guess it is looked


class RateSearch:
    """Bisection for a budget that falls with the rate: above `eps` at `low`, within it at `high`."""

    def __init__(self, error: Callable[[float], Parts], eps: float) -> None:
        self._error, self._eps = error, eps
        self._known: dict[float, Parts] = {}
        self.low, self.high = 0.0, math.inf

    def error(self, r: float) -> Parts:
        if r not in self._known:
            self._known[r] = self._error(r)
        return self._known[r]

    def within(self, r: float) -> bool:
        """Whether the budget at r is within eps, by evaluating it."""
        holds = self.error(r).total <= self._eps
        if holds:
            self.high = min(self.high, r)
        else:
            self.low = max(self.low, r)
        return holds

    def surely(self, r: float) -> bool:
        """Whether it is within eps, by the budget at other rates where that suffices."""
        return r >= self.high or (r > self.low and self.within(r))

    def guess(self, r: float) -> float:
        """Where the budget is all used, if the residue at r grows as e^−r does; NaN where nothing can be said."""
        parts = self.error(r)
        room = self._eps - parts.approximation - parts.rounding
        return r + math.log(parts.residue / room) if 0 < parts.residue < math.inf and room > 0 else math.nan

    def narrow(self, r: float) -> None:
        """Evaluate on both sides of guesses, beginning at r, until they are confirmed."""
        for _ in range(GUESSES):
            centre = self.guess(r)
            above, below = centre + NEAR, centre - NEAR
            if not self.low < above < self.high:
                return
            if not self.within(above):
                r = above
            elif below > self.low and self.within(below):
                r = below
            else:
                return


def smallest(error: Callable[[float], Parts], eps: float) -> tuple[float, Parts] | None:
    """The rate, to a hundredth, and the whole budget there, which is at most ε; None if there is none."""
    rates, low, high = RateSearch(error, eps), 0.0, DECAY_RATE
    while not rates.within(high):
        if high >= LARGEST_RATE:
            return None
        low, high = high, min(2 * high, LARGEST_RATE)
    rates.narrow(high)
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rates.surely(middle) else (middle, high)
    hundredths = math.ceil(100.0 * high)
    while not rates.within(hundredths / 100.0):  # rounding was not up, or the budget not monotone
        hundredths += 1
    return hundredths / 100.0, rates.error(hundredths / 100.0)
