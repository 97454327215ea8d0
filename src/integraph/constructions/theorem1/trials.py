"""Functions that only show their values: fits are tried until the error that is seen is at most ε/2."""

from __future__ import annotations

import math

from integraph.constructions.theorem1 import plans
from integraph.constructions.theorem1.derivative_bounds import ladder
from integraph.constructions.theorem1.fit import fit as fitted
from integraph.constructions.theorem1.plans import Choice
from integraph.constructions.theorem1.task import Task
from integraph.errors import UsageError
from integraph.numbers.multi_index import count

EVALUATIONS = 300_000  # of a function without a formula, for one fit
ASKED, ASKED_ONE_BY_ONE = 20_000_000, 200_000  # in all, with many points at a time or with one
FALLING, STUCK = 0.9, 6  # an error that is not below 0.9 of the best after 6 more tries will not come down
SEEN = (16.0, 0.55)  # κ and spread where no bound tells


def trial_choices(task: Task) -> list[Choice]:
    """For every order the fewest cells at which no more than ε/2 is seen, rounding included."""
    d, outputs = task.function.inputs, task.function.outputs
    meter = TrialCounter(task)
    choices: list[Choice] = []
    limit = EVALUATIONS
    for n in (task.order,) if task.order is not None else reversed(ladder(d)):
        most = min(plans.most(d, n, outputs), int((limit / (count(d, n) * outputs)) ** (1 / d)))
        low, high = meter.bracket(n, most)
        if high > most:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if meter.good(n, middle) else (middle, high)
        choices += plans.lean(d, outputs, n, high, SEEN[0] * max(high, 1), SEEN[1], task.read_in, math.nan)
        limit = min(limit, choices[-1].coefficients)
    if not choices:
        raise _out_of_sight(task, meter)
    return choices


class TrialCounter:
    """Fits of a function that only shows its values, and how often it was asked."""

    def __init__(self, task: Task) -> None:
        self.task, self.asked, self.reach = task, 0, math.inf
        values = task.function.values
        self.allowed = ASKED if getattr(values, "batched", True) else ASKED_ONE_BY_ONE

    def good(self, n: int, N: int) -> bool:
        """Whether at most ε/2 is seen; not, once the function was asked too often."""
        if self.asked > self.allowed:
            return False
        fit = fitted(self.task, n, N, SEEN[0] * max(N, 1), SEEN[1])
        self.asked += fit.asked
        self.reach = min(self.reach, 2 * fit.likely)
        return 2 * fit.likely <= self.task.eps

    def bracket(self, n: int, most: int) -> tuple[int, int]:
        """(too few, enough) cells, more and more of them; (…, more than `most`) if the error does not come down."""
        low, high, stuck = -1, 0, 0
        while high <= most:
            before = self.reach
            if self.good(n, high):
                return low, high
            stuck = 0 if self.reach < FALLING * before else stuck + 1
            if (stuck >= STUCK and high > STUCK) or self.asked > self.allowed:
                break
            low, high = high, max(high + 1, int(1.6 * high))
        return low, most + 1


def _out_of_sight(task: Task, meter: TrialCounter) -> UsageError:
    return UsageError(
        f"not seen after {meter.asked} values of {task.function.name}; the best fit is off by about "
        f"{meter.reach:.2g}: ask for a larger eps, or give a formula if there is one",
        argument="eps",
        value=task.eps,
    )
