"""Which order, how many cells, how steep: the cheapest choice whose bound is below ε.

`lean` uses the moment bound, `remark` and `paper` the formulas of the theorem for f/‖f‖. Without bounds of the
derivatives, trial fits decide (`fit.trial_choices`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from integraph.bounds import moments
from integraph.bounds.paper import theorem1
from integraph.bounds.sobolev.norm import derivative_bounds
from integraph.constructions.theorem1 import a_posteriori, plans
from integraph.constructions.theorem1.derivative_bounds import extra_orders, ladder
from integraph.constructions.theorem1.fit import trial_choices
from integraph.constructions.theorem1.plans import TERMS, Choice, Plan
from integraph.constructions.theorem1.samples import Samples
from integraph.constructions.theorem1.table_error import off_between_nodes
from integraph.constructions.theorem1.task import Task
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import count, factorials, of_degree
from integraph.numbers.roundoff import U
from integraph.program.summary import above

KAPPAS = (6.0, 8.0, 12.0, 16.0, 24.0, 40.0)  # c/N: steeper bumps overlap less, and are stiffer
SPREADS = (0.5, 0.55, 0.6, 0.65, 0.75)
TAYLOR = 0.0
ROOM = 1 - 2.0**-10  # of ε for the approximation, the rest for rounding
RISK = 0.25  # of ε that rounding may be expected to cost before the search for higher orders ends
TRIED = 4  # times fewer cells than the moment bound asks for, at most
PATIENCE = 3  # orders without a better choice before the search ends


def plan(task: Task) -> Plan:
    """The choice, and what else was considered."""
    by = "terms" if task.width is None and task.method == "lean" else "size"
    if task.function.table is not None:
        choices = [_of_table(task)]
    elif task.method != "lean":
        choices = _printed(task)
    elif task.known.anything:
        choices = _lean(task, by)
    else:
        choices = trial_choices(task)
    return plans.choose(task.function.name, task.eps, choices, by, task.width)


def _best(choices: list[Choice], by: str, width: int | None) -> Choice | None:
    fitting = [choice for choice in choices if width is None or choice.width <= width]
    return min(fitting, key=lambda choice: choice.cost(by), default=None)


def _lean(task: Task, by: str) -> list[Choice]:
    """For every order the fewest cells, with the flattest bumps that allow so few."""
    choices: list[Choice] = []
    reach = math.inf  # the smallest ε that any order reaches within the limit
    best, since = None, 0
    for n, worst in task.known.orders(task.order):
        if not task.eps >= U * float(np.max(worst[0])):
            raise UsageError(
                f"{task.function.name} is as large as {above(float(np.max(worst[0])))}, of which float64 keeps "
                f"{U:.2g}: ask for a larger eps",
                argument="eps",
                value=task.eps,
            )
        if choices and _rounding(worst, task.function.inputs, n) > RISK * task.eps:
            break
        chosen = _cells(task, n, worst, best if by == "terms" else None)
        if isinstance(chosen, float):
            reach = min(reach, chosen)
            continue
        choices += chosen
        now = _best(choices, by, task.width)
        since = 0 if now != best else since + 1
        best = now
        if since >= PATIENCE and best is not None and by == "terms":
            break
    if not choices:
        raise _too_large(task, reach)
    return choices


def _cells(task: Task, n: int, worst: Floats, best: Choice | None) -> list[Choice] | float:
    """All shapes of the fewest cells for order n; or the bound of as many cells as the limit allows.

    Fewer cells than the moment bound asks for are tried only where they would beat the best choice so far."""
    d, outputs, goal = task.function.inputs, task.function.outputs, task.eps * ROOM
    most = plans.most_cells(d, n, outputs)
    if most < 0:
        return math.inf
    leading = worst[count(d, n) : count(d, n + 1)]
    steepest = KAPPAS[-1]
    N = min(_fewest(leading, d, n, steepest, spread, goal, most) for spread in SPREADS)
    judge = BoundEvaluator(task, n, worst, leading)
    promising = judge.most if best is None else min(judge.most, _with_fewer(d, n, outputs, best.coefficients))
    if N > promising >= 0 and TRIED * promising >= N and judge.best(promising).bound <= goal:
        N = promising
    if most < N:
        return judge.best(most).bound
    verdict = judge.best(N)
    while not verdict.bound <= goal:  # near the ends of [0, 1] it may be worse
        N += 1
        if most < N:
            return verdict.bound
        verdict = judge.best(N)
    low = -1 if promising >= N else N - 1
    while N - low > 1:
        middle = (low + N) // 2
        tried = judge.best(middle)
        if tried.bound <= goal:
            N, verdict = middle, tried
        else:
            low = middle
    if promising >= N or judge.most < N:
        verdict = judge.flattest(N, goal, verdict)
    choices = _shapes(task, n, N, verdict)
    return choices if task.width is None else choices + _flat(task, n, judge, goal, most)


def _flat(task: Task, n: int, judge: BoundEvaluator, goal: float, most: int) -> list[Choice]:
    """More cells with flat bumps: those can be refilled where steep ones would underflow, so they can be narrower."""
    flattest, d = KAPPAS[0], task.function.inputs
    N = min(_fewest(judge.leading, d, n, flattest, spread, goal, most) for spread in SPREADS)
    if most < N or not judge.at(N, flattest).bound <= goal:
        return []
    return _shapes(task, n, N, judge.at(N, flattest))


def _shapes(task: Task, n: int, N: int, verdict: Verdict) -> list[Choice]:
    f, c = task.function, verdict.kappa * max(N, 1)
    return plans.lean(f.inputs, f.outputs, n, N, c, verdict.spread, task.read_in, verdict.bound)


def _with_fewer(d: int, n: int, outputs: int, coefficients: int) -> int:
    """The largest N with no more coefficients than that; −1 if there is none."""
    N = int((coefficients / (count(d, n) * outputs)) ** (1 / d) + 1e-9) - 1
    return max(N, -1)


class Verdict(NamedTuple):
    bound: float
    kappa: float
    spread: float


class BoundEvaluator:
    """The error bound of an order with N cells: the moment bound, and the a posteriori bound of the fit where
    affordable."""

    def __init__(self, task: Task, n: int, worst: Floats, leading: Floats) -> None:
        self.task, self.n, self.worst, self.leading = task, n, worst, leading
        self.d = task.function.inputs
        self.samples = Samples(task.function, task.cube, worst)
        self.more = next(more for more in range(extra_orders(self.d) + 1) if count(self.d, n + more + 1) >= len(worst))
        self.most = a_posteriori.affordable(self.d, n, self.more, task.function.outputs)
        self.sizes: dict[tuple[int, float], Floats] = {}  # of the last fit

    def at(self, N: int, kappa: float) -> Verdict:
        n, d = self.n, self.d
        spread = min(SPREADS, key=lambda spread: float(moments.moments(n, min(N, 3), kappa, spread)[n]))
        value = bound(self.leading, d, n, N, kappa, spread)
        if self.most >= N and self.more:
            if (N, spread) not in self.sizes:
                self.sizes = {(N, spread): a_posteriori.sizes(self.samples, n, self.more, N, spread)}
            beyond, sizes = self.worst[count(d, n + self.more) :], self.sizes[N, spread]
            value = min(value, a_posteriori.a_posteriori_bound(sizes, n, self.more, N, kappa, spread, beyond))
        return Verdict(value, kappa, spread)

    def best(self, N: int) -> Verdict:
        """With the steepest bumps, which overlap least."""
        return self.at(N, KAPPAS[-1] if N else KAPPAS[0])

    def flattest(self, N: int, goal: float, known: Verdict) -> Verdict:
        """The flattest bumps that are still good enough."""
        for kappa in KAPPAS[:-1] if N else ():
            tried = self.at(N, kappa)
            if tried.bound <= goal:
                return tried
        return known


def _rounding(worst: Floats, d: int, n: int) -> float:
    """About what float64 loses when polynomials of order n are written in powers of t − ½ of the whole cube."""
    return 16 * n * U * float(np.max(worst[: count(d, n)].sum(0)))


def bound(leading: Floats, d: int, n: int, N: int, kappa: float, spread: float) -> float:
    """The moment bound, the largest over the outputs; `leading` is sup |f^(α)|/α! for |α| = n, on the cube."""
    M = moments.moments(n, N, kappa, spread)
    return float(np.max(moments.bound(leading * float(max(N, 1)) ** -n, of_degree(d, n), M)))


def _fewest(leading: Floats, d: int, n: int, kappa: float, spread: float, eps: float, most: int) -> int:
    """The fewest cells whose bound is at most ε, judged by five of them; more than `most` if there is none."""
    for N in range(min(5, most) + 1):
        if bound(leading, d, n, N, kappa, spread) <= eps:
            return N
    constant = float(np.max(moments.bound(leading, of_degree(d, n), moments.moments(n, 5, kappa, spread))))
    cells = (constant / eps) ** (1 / n)
    return max(6, math.ceil(cells)) if cells <= most else most + 1


def _too_large(task: Task, reach: float) -> UsageError:
    fits = f"eps ≥ {above(reach)} would fit" if math.isfinite(reach) else "no eps would: there are too many inputs"
    return UsageError(
        f"for {task.function.name} that needs more than {TERMS} terms "
        f"({plans.megabytes(8 * plans.COPIES * TERMS)} while compiling): {fits}; or take a smaller box",
        argument="eps",
        value=task.eps,
    )


def _printed(task: Task) -> list[Choice]:
    """The paper's own N, δ and c for every order, for f/‖f‖ where the norm is more than 1."""
    choices: list[Choice] = []
    best, since, refused = None, 0, None
    for n, norm in _norms(task):
        try:
            choices.append(_size(task, n, max(norm, 1.0), task.eps))
        except UsageError as reason:
            refused = reason
            continue
        now = _best(choices, "size", None)
        since, best = (0 if now != best else since + 1), now
        if since >= PATIENCE:
            break
    if not choices:
        assert refused is not None
        raise refused
    return choices


def would_fit(task: Task, n: int) -> float:
    """An ε, as small as doubling finds it, for which order n as printed stays within the limit; ∞ if there is none."""
    norm = next(norm for order, norm in _norms(replace(task, order=n)) if order == n)
    eps, scale = task.eps, max(norm, 1.0)
    while math.isfinite(eps) and _size(task, n, scale, eps).terms > TERMS:
        eps *= 2.0
    return eps


def _size(task: Task, n: int, scale: float, eps: float) -> Choice:
    f = task.function
    chosen = theorem1.paper(f.inputs, n, eps / scale, task.gamma)
    return plans.printed(task.method, chosen, f.outputs, task.read_in, scale)


def _norms(task: Task) -> Iterator[tuple[int, float]]:
    """(n, ‖f‖_{n,∞} on the cube): an upper bound where there is one, else the largest value at sample points."""
    d = task.function.inputs
    if task.known.anything:
        for n, worst in task.known.orders(task.order):
            yield n, float((worst[: count(d, n + 1)] * factorials(d, n + 1)[:, None]).max())
        return
    if task.function.derivative is None:
        raise UsageError(
            f"it needs the derivatives of {task.function.name}: give derivatives=…, and norm=… for a promise; or take "
            "'lean', which needs values only",
            argument="method",
            value=task.method,
        )
    box = task.cube.box
    for n in (task.order,) if task.order is not None else ladder(d):
        seen = derivative_bounds(task.function, n, box.low, box.high)
        yield n, float((seen.lower * (task.cube.widths**seen.alphas).prod(1)[:, None]).max())


def _of_table(task: Task) -> Choice:
    """The cells are those of the table, and its order unless a smaller one is asked for."""
    table = task.function.table
    assert table is not None
    d, n, N = task.function.inputs, task.order or table.order, table.N
    if n > table.order:
        raise UsageError(f"the table has derivatives for an order up to {table.order}", argument="order", value=n)
    kappa = min(KAPPAS, key=lambda kappa: float(moments.moments(n, N, kappa, TAYLOR)[n]))
    error = math.nan
    if task.known.anything:
        worst, _, _ = task.known.upto(n)
        error = bound(worst[count(d, n) :], d, n, N, kappa, TAYLOR)
        if not error <= task.eps * ROOM:
            raise UsageError(
                f"the table has N = {N} and order {n}: with norm = {task.known.norm:g} that bounds the error by "
                f"{above(error)}, not by eps = {task.eps:g}: give a finer table, more derivatives or a larger eps"
            )
    elif not (off := off_between_nodes(table, task.cube, n)) <= task.eps:
        raise UsageError(
            f"the table has N = {N} and order {n}: its own values at neighbouring nodes say that it is off by up to "
            f"about {off:.2g} between them: ask for a larger one, or give a finer table or more derivatives",
            argument="eps",
            value=task.eps,
        )
    shapes = plans.lean(d, task.function.outputs, n, N, kappa * N, TAYLOR, task.read_in, error)
    if shapes[0].terms > TERMS:
        raise _too_large(task, math.inf)
    best = _best(shapes, "terms" if task.width is None else "size", task.width)
    return best if best is not None else min(shapes, key=lambda choice: choice.width)
