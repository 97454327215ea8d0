"""Theorem 1 for any function: from a plan to a program, with its error bound and the largest error at sample points."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from integraph.bounds import moments
from integraph.constructions.theorem1 import lean, printed
from integraph.constructions.theorem1.fit import fit
from integraph.constructions.theorem1.local_polynomials import LocalPolynomials
from integraph.constructions.theorem1.monomials import CENTRE
from integraph.constructions.theorem1.planner import plan, would_fit
from integraph.constructions.theorem1.plans import TERMS, Choice, megabytes
from integraph.constructions.theorem1.table_error import OFF, off_between_nodes
from integraph.constructions.theorem1.task import Task
from integraph.errors import UsageError
from integraph.numbers.arrays import Floats
from integraph.numbers.multi_index import below, count, of_degree
from integraph.numbers.roundoff import UP, U
from integraph.program import Budget, Domain, Origin, Program, build
from integraph.program.engine import DOUBLE
from integraph.program.origin import FORMULA, FUNCTION, LOOK, Option
from integraph.program.summary import above

EVALUATION = 1e-13  # of Σ|coefficients|: what evaluating a fit in float64 may add to the error that is seen
TRIES = 8  # orders, the cheapest first, until rounding leaves room for ε
ROOM = 1.5  # times the rounding of a choice is left to it when it is planned again


class RoundingError(UsageError):
    """A choice that suffices in real arithmetic but not in float64, which costs `rounding`."""

    def __init__(self, message: str, eps: float, rounding: float) -> None:
        super().__init__(message, argument="eps", value=eps)
        self.rounding = rounding


def sobolev(task: Task) -> Program:
    """A program within ε of the function on the box, by its error budget, or without one by samples only."""
    cheapest: dict[int, Choice] = {}
    for choice in plan(task).alternatives:
        cheapest.setdefault(choice.order, choice)
    refused: list[RoundingError] = []
    for choice in list(cheapest.values())[:TRIES]:
        try:
            return compiled(task, choice)
        except RoundingError as reason:
            refused.append(reason)
            again = _with_room(task, choice, reason.rounding)
        if again is not None:
            try:
                return compiled(task, again)
            except RoundingError as reason:
                refused.append(reason)
    raise min(refused, key=lambda reason: reason.rounding)


def _with_room(task: Task, choice: Choice, rounding: float) -> Choice | None:
    """The same order with more cells, so that rounding fits into ε too; None if it is most of ε."""
    if choice.method != "lean" or task.function.table is not None or not ROOM * rounding < 0.9 * task.eps:
        return None
    return plan(replace(task, eps=task.eps - ROOM * rounding, order=choice.order)).chosen


def compiled(task: Task, choice: Choice) -> Program:
    """The program of one choice."""
    if choice.terms > TERMS:
        enough = would_fit(task, choice.order)
        fits = f"eps = {above(enough)} would fit" if math.isfinite(enough) else "no eps would fit"
        raise UsageError(
            f"{choice.method}: {choice.terms} terms, W = {choice.width}, D = {choice.depth}, about "
            f"{megabytes(choice.memory)}, are more than the limit of {TERMS} terms: {fits}; try another order, or lean"
        )
    worst = task.known.within(choice.order) if task.known.anything else None
    centre = CENTRE if choice.method == "lean" else -printed.DELTA[choice.method]
    result = fit(task, choice.order, choice.N, choice.c, choice.spread, centre, worst)
    if choice.method == "lean":
        d, m = task.function.inputs, task.function.outputs
        shape = lean.Shape(d, m, choice.N, choice.order, choice.right, choice.batch, task.read_in)
        registers, segments, out = lean.construct(
            shape, task.cube, choice.c, result.local.coefficients, task.function.variables
        )
        bits, controls = DOUBLE, None
    else:
        registers, segments, out, bits, controls = printed.construct(task, choice, result.local)
    cells = f"N = {choice.N}, c = {choice.c:g}" if choice.N else "N = 0"
    source = f"{task.function.name}, Theorem 1, {choice.method}, order {choice.order}, {cells}"
    if task.function.table is not None and worst is None:
        off = off_between_nodes(task.function.table, task.cube, choice.order)
        source += f"; by its own values {OFF} {off:.2g} between its nodes"
    if task.surrogate is not None and task.surrogate.note:
        source += f"; the function looks like {task.surrogate.note}"
    program = replace(build(registers, segments, out, source=source, origin=_origin(task, choice)), bits=bits)
    if worst is not None:
        budget = _budget(task, choice, result.local, worst, controls)
        if task.function.table is None and not result.seen <= budget.total + EVALUATION * float(
            np.max(result.local.size)
        ):
            cause = "a defect, please report it"
            if task.known.norm is not None:
                cause = f"norm = {task.known.norm} is too small, or the values of the function are not exact"
            raise UsageError(
                f"the error bound is {above(budget.total)}, but a difference of {result.seen:.3g} was found: {cause}"
            )
        program = program.annotate(budget=budget)
    return program if math.isnan(result.seen) else program.with_errors(seen=result.seen)


def _origin(task: Task, choice: Choice) -> Origin:
    options: dict[str, Option] = {"order": choice.order, "N": choice.N}
    options |= {"c": choice.c} if choice.N else {}
    options |= {} if choice.method == "lean" else {"gamma": task.gamma}
    options |= {} if task.function.meter is None else {"calls": task.function.meter.spent}
    if task.function.table is not None and not task.known.anything:
        options[OFF] = float(f"{off_between_nodes(task.function.table, task.cube, choice.order):.2g}")
    options |= {LOOK: task.surrogate.note} if task.surrogate is not None and task.surrogate.note else {}
    f, box = task.function, Domain(task.cube.box.low, task.cube.box.high)
    if f.expression is not None and f.expression.formula:
        return Origin(f.expression.source, FORMULA, choice.method, task.eps, options, f.variables, box)
    return Origin(f.name, FUNCTION, choice.method, task.eps, options, box=box)


def _budget(
    task: Task, choice: Choice, polynomials: LocalPolynomials, worst: Floats, controls: Floats | None
) -> Budget:
    """The moment bound, and what rounding adds: of Newton's coefficients, of their expansion, of the controls."""
    d, n, N = task.function.inputs, choice.order, choice.N
    M = moments.moments(n, N, choice.c / max(N, 1), choice.spread)
    parts = moments.bound(worst[count(d, n) :] * float(max(N, 1)) ** -n, of_degree(d, n), M)
    approximation = min(float(np.max(parts)), choice.bound)
    newton = moments.bound(polynomials.newton, below(d, n), M)
    if controls is None:
        bumps = math.expm1(lean.BumpRegisters.error(d, N, choice.c))
        size = worst[0] + approximation + newton + polynomials.powers
        controls = bumps * size + (d + 2) * U * polynomials.size
    rounding = UP * float(np.max(newton + polynomials.powers + controls))
    if not approximation + rounding <= task.eps:
        raise RoundingError(
            f"this cannot be promised: rounding of the controls to float64 may cost {above(rounding)}, the "
            f"approximation {above(approximation)}: ask for a larger eps, another order or another method",
            task.eps,
            rounding,
        )
    box = task.cube.box
    return Budget(box.low, box.high, approximation, 0.0, rounding)
